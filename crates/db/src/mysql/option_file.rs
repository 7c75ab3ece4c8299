//! What a URL leaves out and the clients of MariaDB and MySQL find in `~/.my.cnf`, and in the files that it includes.
//!
//! Source: MariaDB's knowledge base, "Configuring MariaDB with Option Files"; MySQL's manual, 6.2.2.2.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use mysql::{Opts, OptsBuilder};

use crate::client_file;
use crate::error::{Error, Result};
use crate::ini::{self, Setting};
use crate::tls::TlsSettings;

/// The sections that clients read.
const SECTIONS: [&str; 5] = ["client", "client-server", "client-mariadb", "mysql", "mariadb-client"];
/// Most files that are read, so that files which include each other come to an end.
const MAX_FILES: usize = 100;

/// What was read of option files.
#[derive(Default)]
struct OptionFiles {
    /// Files that were opened, or tried.
    tried: usize,
    /// Those that are not used, each with the reason.
    unused: Vec<String>,
    /// Whether there were more than are read.
    more: bool,
}

/// The user's own settings; none without the file, or where it is not used.
pub(super) fn settings() -> Vec<Setting> {
    own().0
}

/// Settings of the text of an option file.
pub(super) fn settings_of(text: &str) -> Vec<Setting> {
    valued(OptionFiles::default().lines_of(text))
}

/// Which files are not used although they are named, and why.
pub(crate) fn caveats() -> Vec<String> {
    own().1
}

/// `~/.my.cnf`, where it is there.
fn own() -> (Vec<Setting>, Vec<String>) {
    let path = std::env::var_os("HOME").map(|home| Path::new(&home).join(".my.cnf"));
    let path = path.filter(|path| !matches!(path.try_exists(), Ok(false)));
    let mut files = OptionFiles::default();
    let lines = path.map(|path| files.of_file(&path)).unwrap_or_default();
    (valued(lines), files.unused)
}

fn valued(lines: Vec<Setting>) -> Vec<Setting> {
    lines.into_iter().map(|(name, value)| (name, value_of(&value))).collect()
}

/// What a value stands for: without the quotes around it, its escapes (`\n`, `\s` for a space) undone.
fn value_of(raw: &str) -> String {
    let quoted = ['"', '\''].into_iter().find_map(|quote| raw.strip_prefix(quote)?.strip_suffix(quote));
    let mut value = String::new();
    let mut characters = quoted.unwrap_or(raw).chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            value.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('r') => value.push('\r'),
            Some('b') => value.push('\u{8}'),
            Some('s') => value.push(' '),
            Some(plain @ ('\\' | '"' | '\'')) => value.push(plain),
            other => value.extend(std::iter::once('\\').chain(other)),
        }
    }
    value
}

/// A line up to a `#` outside of quotes. The clients cut it before they look for a `=`: options that stand alone have comments, too.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, character) in line.char_indices() {
        match (quote, character) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character && !escaped => quote = None,
            _ => {}
        }
        escaped = quote.is_some() && character == '\\' && !escaped;
    }
    line
}

/// The files of a directory that are option files, by name.
fn cnf_files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cnf") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl OptionFiles {
    /// As with the servers' own clients, a file that everybody may write to is not used.
    fn of_file(&mut self, path: &Path) -> Vec<Setting> {
        self.tried += 1;
        let shown = path.display();
        let mode = std::fs::metadata(path).map(|found| found.permissions().mode());
        let why = match client_file::read(path) {
            _ if mode.is_ok_and(|mode| mode & 0o002 != 0) => {
                format!("everybody may write to it (chmod 0600 {shown})")
            }
            Ok(text) => return self.lines_of(&text),
            Err(error) => error.to_string(),
        };
        self.unused.push(format!("the option file {shown} is not used: {why}"));
        Vec::new()
    }

    /// Settings as they stand.
    fn lines_of(&mut self, text: &str) -> Vec<Setting> {
        ini::with_directives(text, &SECTIONS, without_comment, &mut |directive| self.included(directive))
    }

    /// `!include FILE`, and `!includedir DIRECTORY`: its files that end in `.cnf`, by name.
    fn included(&mut self, directive: &str) -> Vec<Setting> {
        let (order, path) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let path = PathBuf::from(path.trim());
        let files = match order {
            "include" => vec![path],
            "includedir" => match cnf_files(&path) {
                Ok(files) => files,
                Err(error) => {
                    let shown = path.display();
                    self.unused.push(format!("the option files in {shown} are not used: {error}"));
                    return Vec::new();
                }
            },
            _ => return Vec::new(),
        };
        let mut settings = Vec::new();
        for file in files {
            if self.tried < MAX_FILES {
                settings.extend(self.of_file(&file));
            } else if !self.more {
                self.more = true;
                let shown = file.display();
                self.unused.push(format!(
                    "the option file {shown} and all that are included after it are not used: at most {MAX_FILES} files are read"
                ));
            }
        }
        settings
    }
}

/// Completes what a URL with this authority (`USER:PASSWORD@HOST:PORT`) leaves out. As with the clients, what stands later in the
/// file replaces what stands earlier. A user in the URL is somebody else, whose password the file does not have.
pub(super) fn complete(
    opts: Opts,
    authority: &str,
    settings: &[(String, String)],
    tls: &mut TlsSettings,
) -> Result<OptsBuilder> {
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let of_file = |wanted: &str| {
        let found = settings.iter().rev().find(|(name, _)| name.replace('_', "-") == wanted);
        found.map(|(_, value)| value.as_str())
    };
    let named = |host: &str| !host.is_empty() && host != "localhost";
    let of_url = named(host);
    // A socket is for this host alone, whoever names another.
    let elsewhere = of_url || (host.is_empty() && of_file("host").is_some_and(named));
    let (user, mut builder) = (opts.get_user().map(str::to_owned), OptsBuilder::from_opts(opts.clone()));
    let mut own_password = None;
    // More than `ssl` asks for, wherever it stands.
    if of_file(VERIFY).is_some_and(is_on) {
        tls.set("sslmode", "verify-full")?;
    }
    let mut known = BTreeSet::new();
    for (name, value) in settings.iter().rev() {
        let name = name.replace('_', "-");
        if !known.insert(name.clone()) || tls.set(&name, value)? {
            continue;
        }
        match name.as_str() {
            "ssl" if is_on(value) => drop(tls.set("sslmode", "require")?),
            "user" if user.is_none() && login.is_empty() => builder = builder.user(Some(value)),
            "password" if opts.get_pass().is_none() => own_password = own_password.or(Some(value.clone())),
            "host" if host.is_empty() => builder = builder.ip_or_hostname(Some(value)),
            "port" if !of_url && !host.contains(':') => {
                let port = value.parse().map_err(|_| wrong("port"))?;
                builder = builder.tcp_port(port);
            }
            "socket" if !elsewhere && opts.get_socket().is_none() => builder = builder.socket(Some(value)),
            _ => {}
        }
    }
    if own_password.is_some() && (user.is_none() || user.as_deref() == of_file("user")) {
        builder = builder.pass(own_password);
    }
    Ok(builder)
}

/// MariaDB's option to verify the server's certificate and the name in it.
const VERIFY: &str = "ssl-verify-server-cert";

/// Whether an option is switched on: it is where it stands alone.
fn is_on(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "0" | "off" | "false" | "no")
}

fn wrong(name: &str) -> Error {
    Error::Url(format!("`{name}` in ~/.my.cnf cannot be used: correct it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::TlsMode;

    fn completed(url: &str, file: &str) -> (Opts, TlsSettings) {
        let mut tls = TlsSettings::default();
        let authority = url.strip_prefix("mysql://").unwrap().split('/').next().unwrap();
        let opts = Opts::from_url(url).unwrap();
        let builder = complete(opts, authority, &settings_of(file), &mut tls).unwrap();
        (builder.into(), tls)
    }

    #[test]
    fn the_file_fills_in_what_the_url_leaves_out() {
        let file = "[client]\nuser=me\npassword=old\npassword='se cret'\nssl-ca=/ca.pem\nssl_mode=VERIFY_CA\n[mysqld]\nuser=x\n";
        let (opts, tls) = completed("mysql://db.example.org/shop", file);
        assert_eq!((opts.get_user(), opts.get_pass()), (Some("me"), Some("se cret")));
        assert_eq!((tls.mode(), tls.root), (TlsMode::VerifyCa, Some("/ca.pem".into())));
        let (opts, _) = completed("mysql://me@db.example.org/shop", file);
        assert_eq!(opts.get_pass(), Some("se cret"));
        // Another user's password is another.
        let (opts, _) = completed("mysql://you@db.example.org/shop", file);
        assert_eq!((opts.get_user(), opts.get_pass()), (Some("you"), None));
        let (opts, _) = completed("mysql://me:mine@db.example.org/shop", file);
        assert_eq!(opts.get_pass(), Some("mine"));
    }

    #[test]
    fn a_certificate_is_verified_where_the_file_asks_for_it() {
        let mode =
            |file: &str| completed("mysql://db.example.org/shop", &format!("[client]\n{file}\n")).1.mode();
        assert_eq!(mode("ssl"), TlsMode::Require);
        assert_eq!(mode("ssl=0"), TlsMode::Prefer);
        assert_eq!(mode("ssl_verify_server_cert\nssl"), TlsMode::VerifyFull);
        assert_eq!(mode("ssl\nssl-verify-server-cert=OFF"), TlsMode::Require);
        // Comments stand behind names, too, and behind headings.
        assert_eq!(mode("ssl # required"), TlsMode::Require);
        assert_eq!(mode("ssl-verify-server-cert # = always"), TlsMode::VerifyFull);
        assert_eq!(mode("[mysqld]\n[client]  # mine\nssl-mode=REQUIRED#"), TlsMode::Require);
    }

    #[test]
    fn values_are_what_the_clients_take_them_for() {
        for (raw, value) in [
            ("plain", "plain"),
            ("a b # comment", "a b"),
            ("'a # b'  # comment", "a # b"),
            ("\"a#b = c\"", "a#b = c"),
            ("# comment", ""),
            (r"a\\b\sc\td", "a\\b c\td"),
            (r"'it\'s'", "it's"),
            (r"\q", r"\q"),
            ("\\", "\\"),
            ("\"", "\""),
            ("", ""),
        ] {
            let found = settings_of(&format!("[client]\nx = {raw}\n"));
            assert_eq!(found, [("x".to_owned(), value.to_owned())], "{raw}");
        }
    }

    #[test]
    fn included_files_are_read_in_their_place() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("more")).unwrap();
        std::fs::write(at("more/b.cnf"), "[client]\nuser=b\npassword='x # y'\n").unwrap();
        std::fs::write(at("more/a.cnf"), "[client]\nuser=a\n").unwrap();
        std::fs::write(at("more/notes.txt"), "[client]\nuser=nobody\n").unwrap();
        std::fs::write(at("one"), "[mysql]\nhost=db.example.org\n").unwrap();
        let text = format!(
            "[client]\nport=77\n!include {}\n!includedir {}\nssl-mode=REQUIRED\n",
            at("one").display(),
            at("more").display()
        );
        let names: Vec<String> =
            settings_of(&text).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            names,
            ["port=77", "host=db.example.org", "user=a", "user=b", "password=x # y", "ssl-mode=REQUIRED"]
        );
        let (opts, tls) = completed("mysql://localhost/shop", &text);
        assert_eq!((opts.get_user(), opts.get_pass()), (Some("b"), Some("x # y")));
        assert_eq!((opts.get_tcp_port(), tls.mode()), (77, TlsMode::Require));
    }

    #[test]
    fn files_that_include_each_other_come_to_an_end_and_those_not_used_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let circle = directory.path().join("circle");
        let order = format!("!include {}\n", circle.display());
        std::fs::write(&circle, format!("[client]\nuser=me\n{}", order.repeat(20))).unwrap();
        let mut files = OptionFiles::default();
        assert_eq!(files.of_file(&circle).len(), MAX_FILES);
        let said = files.unused.join("\n");
        assert!(files.unused.len() == 1 && said.contains("at most 100 files"), "{said}");
        let missing = directory.path().join("missing");
        let mut files = OptionFiles::default();
        let text =
            format!("!include {0}\n!includedir {0}\n!include {1}\n", missing.display(), circle.display());
        std::fs::set_permissions(&circle, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(files.lines_of(&text).is_empty());
        let said = files.unused.join("\n");
        assert!(files.unused.len() == 3 && said.contains("missing") && said.contains("chmod 0600"), "{said}");
    }

    #[test]
    fn a_socket_of_the_file_is_for_this_host() {
        let file = "[mysql]\nsocket=/run/x.sock\nport=77\n";
        assert_eq!(completed("mysql://localhost/shop", file).0.get_socket(), Some("/run/x.sock"));
        let (opts, _) = completed("mysql://db.example.org/shop", file);
        assert_eq!((opts.get_socket(), opts.get_tcp_port()), (None, 3306));
        // Nor is it for a host that the file itself names.
        let file = "[mysql]\nhost=db.example.org\nsocket=/run/x.sock\nport=77\n";
        let (opts, _) = completed("mysql://localhost/shop", file);
        assert_eq!(opts.get_socket(), Some("/run/x.sock"));
    }
}
