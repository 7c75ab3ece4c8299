//! Files of settings as clients of databases keep them: sections in brackets, `name = value`, comments.

/// A setting: its name in lower case, and its value as it stands.
pub(crate) type Setting = (String, String);

/// The settings of the sections of these names, in the order of the file.
pub(crate) fn settings(text: &str, sections: &[&str]) -> Vec<Setting> {
    with_directives(text, sections, |line| line, &mut |_| Vec::new())
}

/// The same; of a setting counts what `uncommented` leaves of its line, and a line that begins with `!` stands for the settings that
/// `directive` has for it.
pub(crate) fn with_directives(
    text: &str,
    sections: &[&str],
    uncommented: fn(&str) -> &str,
    directive: &mut dyn FnMut(&str) -> Vec<Setting>,
) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut wanted = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(order) = line.strip_prefix('!') {
            settings.extend(directive(order));
        } else if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            wanted = sections.contains(&name.trim());
        } else if wanted {
            let line = uncommented(line);
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            settings.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> Setting {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn sections_names_and_values_are_read() {
        let text = "# c\nuser=nobody\n[client]\nuser = me\nPassword=\"a#b = c\"\nssl\n[mysqld]\nuser=x\n; c\n[ mysql ]\nport=7";
        assert_eq!(
            settings(text, &["client", "mysql"]),
            [pair("user", "me"), pair("password", "\"a#b = c\""), pair("ssl", ""), pair("port", "7")]
        );
        assert!(settings("", &["client"]).is_empty());
    }

    #[test]
    fn a_heading_ends_at_its_bracket_and_a_comment_is_a_matter_of_the_client() {
        let text = "[client]  # mine\nssl # always\n[other] ]\nx=1\n";
        assert_eq!(settings(text, &["client"]), [pair("ssl # always", "")]);
        let found = with_directives(
            text,
            &["client"],
            |line| line.split_once('#').map_or(line, |(l, _)| l),
            &mut |_| Vec::new(),
        );
        assert_eq!(found, [pair("ssl", "")]);
    }

    #[test]
    fn what_a_directive_stands_for_is_in_its_place() {
        let text = "[a]\nx=1\n!include f\ny=2\n";
        let mut seen = Vec::new();
        let found = with_directives(text, &["a"], |line| line, &mut |order| {
            seen.push(order.to_owned());
            vec![pair("z", "3")]
        });
        assert_eq!(found, [pair("x", "1"), pair("z", "3"), pair("y", "2")]);
        assert_eq!(seen, ["include f"]);
    }
}
