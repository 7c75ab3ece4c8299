//! Files of settings as clients of databases keep them: sections in brackets, `name = value`, comments.

/// The settings of the sections of these names, in the order of the file; names in lower case, as they stand.
pub(crate) fn settings(text: &str, sections: &[&str]) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut wanted = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            wanted = sections.contains(&name.trim());
        } else if wanted && !line.is_empty() {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            settings.push((name.trim().to_ascii_lowercase(), unquoted(value.trim())));
        }
    }
    settings
}

/// A value without the quotes around it.
fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.to_owned();
        }
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn sections_names_and_values_are_read() {
        let text = "# c\nuser=nobody\n[client]\nuser = me\npassword=\"a#b = c\"\nssl\n[mysqld]\nuser=x\n; c\n[ mysql ]\nport=7";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            settings(text, &["client", "mysql"]),
            [pair("user", "me"), pair("password", "a#b = c"), pair("ssl", ""), pair("port", "7")]
        );
        assert!(settings("", &["client"]).is_empty());
    }
}
