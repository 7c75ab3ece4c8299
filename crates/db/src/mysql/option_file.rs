//! What a URL leaves out and the clients of MariaDB and MySQL find in `~/.my.cnf`.
//!
//! Source: MariaDB's knowledge base, "Configuring MariaDB with Option Files"; MySQL's manual, 6.2.2.2.

use std::os::unix::fs::PermissionsExt;

use mysql::{Opts, OptsBuilder};

use crate::error::{Error, Result};
use crate::ini;
use crate::tls::TlsSettings;

/// The sections that clients read.
const SECTIONS: [&str; 5] = ["client", "client-server", "client-mariadb", "mysql", "mariadb-client"];

/// The user's file, where there is one.
enum OptionFile {
    Text(String),
    /// Why it is not used.
    Unused(String),
}

/// The user's own settings; none without the file, or where it is not used.
pub(super) fn settings() -> Vec<(String, String)> {
    match own_file() {
        Some(OptionFile::Text(text)) => ini::settings(&text, &SECTIONS),
        _ => Vec::new(),
    }
}

/// Why the user's file is not used, where it is there.
pub(crate) fn caveat() -> Option<String> {
    match own_file() {
        Some(OptionFile::Unused(why)) => Some(why),
        _ => None,
    }
}

/// `~/.my.cnf`. As with the servers' own clients, one that everybody may write to is not used.
fn own_file() -> Option<OptionFile> {
    let path = std::path::Path::new(&std::env::var_os("HOME")?).join(".my.cnf");
    let shown = path.display();
    if std::fs::metadata(&path).ok()?.permissions().mode() & 0o002 != 0 {
        let why =
            format!("the option file {shown} is not used: everybody may write to it (chmod 0600 {shown})");
        return Some(OptionFile::Unused(why));
    }
    Some(match std::fs::read_to_string(&path) {
        Ok(text) => OptionFile::Text(text),
        Err(error) => OptionFile::Unused(format!("the option file {shown} is not used: {error}")),
    })
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
    let named = !host.is_empty() && host != "localhost";
    let (user, mut builder) = (opts.get_user().map(str::to_owned), OptsBuilder::from_opts(opts.clone()));
    let mut own_password = None;
    // More than `ssl` asks for, wherever it stands.
    if settings
        .iter()
        .rev()
        .find(|(name, _)| name.replace('_', "-") == VERIFY)
        .is_some_and(|(_, value)| is_on(value))
    {
        tls.set("sslmode", "verify-full")?;
    }
    for (name, value) in settings.iter().rev() {
        let name = name.replace('_', "-");
        if tls.set(&name, value)? {
            continue;
        }
        match name.as_str() {
            "ssl" if is_on(value) => drop(tls.set("sslmode", "require")?),
            "user" if user.is_none() && login.is_empty() => builder = builder.user(Some(value)),
            "password" if opts.get_pass().is_none() => own_password = own_password.or(Some(value.clone())),
            "host" if host.is_empty() => builder = builder.ip_or_hostname(Some(value)),
            "port" if !named && !host.contains(':') => {
                let port = value.parse().map_err(|_| wrong("port"))?;
                builder = builder.tcp_port(port);
            }
            "socket" if !named && opts.get_socket().is_none() => builder = builder.socket(Some(value)),
            _ => {}
        }
    }
    let of_file = settings.iter().rev().find(|(name, _)| name == "user").map(|(_, value)| value.as_str());
    if own_password.is_some() && (user.is_none() || user.as_deref() == of_file) {
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
        let builder = complete(opts, authority, &ini::settings(file, &SECTIONS), &mut tls).unwrap();
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
    }

    #[test]
    fn a_socket_of_the_file_is_for_this_host() {
        let file = "[mysql]\nsocket=/run/x.sock\nport=77\n";
        assert_eq!(completed("mysql://localhost/shop", file).0.get_socket(), Some("/run/x.sock"));
        let (opts, _) = completed("mysql://db.example.org/shop", file);
        assert_eq!((opts.get_socket(), opts.get_tcp_port()), (None, 3306));
    }
}
