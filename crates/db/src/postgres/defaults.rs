//! What a URL leaves out and libpq adds: a service's settings, the environment, the password file.
//!
//! Sources: PostgreSQL's manual, "Environment Variables", "The Connection Service File" and "The Password File" (34.15 to 34.17).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use postgres::Config;
use postgres::config::{Host, TargetSessionAttrs};

use crate::client_file;
use crate::error::{Error, Result};
use crate::ini;
use crate::tls::{TlsSettings, decoded};

/// Where a service file is looked for after the user's own.
const SYSTEM_SERVICES: [&str; 2] =
    ["/etc/postgresql-common/pg_service.conf", "/etc/sysconfig/pgsql/pg_service.conf"];
/// Names of libpq's settings that we know, and the environment's names for them.
const VARIABLES: [(&str, &str); 12] = [
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("dbname", "PGDATABASE"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
];

/// The environment that a URL is completed from, so that tests have one of their own.
pub struct ClientEnvironment<'a> {
    /// Value of a variable that is set and not empty.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl ClientEnvironment<'_> {
    /// A file or directory of the user.
    pub(super) fn home(&self, file: &str) -> Option<PathBuf> {
        Some(PathBuf::from((self.variable)("HOME")?).join(file))
    }

    /// Settings by name, the more important before the others: of the service (the URL's, or the environment's), then the
    /// environment's own.
    ///
    /// # Errors
    /// [`Error::Url`] for a service that no file has.
    pub(super) fn settings(&self, service: Option<&str>) -> Result<Vec<(String, String)>> {
        let service = service.map(str::to_owned).or_else(|| (self.variable)("PGSERVICE"));
        let mut settings = match service {
            Some(name) => self.service(&name)?,
            None => Vec::new(),
        };
        for (name, variable) in VARIABLES {
            if let Some(value) = (self.variable)(variable) {
                settings.push((name.to_owned(), value));
            }
        }
        Ok(settings)
    }

    fn service(&self, name: &str) -> Result<Vec<(String, String)>> {
        let own =
            (self.variable)("PGSERVICEFILE").map(PathBuf::from).or_else(|| self.home(".pg_service.conf"));
        let files = own.into_iter().chain(SYSTEM_SERVICES.map(PathBuf::from));
        files
            .filter_map(|file| client_file::read(&file).ok())
            .map(|text| ini::settings(&text, &[name]))
            .find(|settings| !settings.is_empty())
            .ok_or_else(|| {
                // A URL in its place may have a password.
                let shown = if name.contains(['@', ':']) { "***" } else { name };
                Error::Url(format!(
                    "no service `{shown}` in ~/.pg_service.conf, PGSERVICEFILE or {}: correct its name, or let this user read the file",
                    SYSTEM_SERVICES[0]
                ))
            })
    }

    /// The password file, where there is one.
    ///
    /// # Errors
    /// Its path, where others may read it: as in libpq it is not used then.
    pub(super) fn password_file(&self) -> std::result::Result<Option<PathBuf>, PathBuf> {
        let named = (self.variable)("PGPASSFILE").map(PathBuf::from).or_else(|| self.home(".pgpass"));
        // A pipe would be waited for: libpq does not read it either.
        let found = |file: PathBuf| {
            std::fs::metadata(&file).ok().filter(std::fs::Metadata::is_file).map(|metadata| (file, metadata))
        };
        let Some((file, metadata)) = named.and_then(found) else {
            return Ok(None);
        };
        if metadata.permissions().mode() & 0o077 == 0 { Ok(Some(file)) } else { Err(file) }
    }

    /// The password for a connection to a single host from the password file; none where there are several, of which each has
    /// its own.
    pub(super) fn password(file: &Path, config: &Config) -> Option<String> {
        let [host] = config.get_hosts() else { return None };
        let text = client_file::read(file).ok()?;
        let user = config.get_user().unwrap_or_default();
        let database = config.get_dbname().unwrap_or(user);
        let host = match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) if path != Path::new("/var/run/postgresql") && path != Path::new("/tmp") => {
                path.display().to_string()
            }
            Host::Unix(_) => "localhost".to_owned(),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
        text.lines().find_map(|line| matching(line, [&host, &port, database, user]))
    }
}

/// The password of a line `host:port:database:user:password` whose first four fit (`*` fits all, `\` takes the next as it is).
fn matching(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => fields.last_mut()?.extend(characters.next()),
            ':' if fields.len() <= wanted.len() => fields.push(String::new()),
            other => fields.last_mut()?.push(other),
        }
    }
    let fits = wanted.iter().zip(&fields).all(|(wanted, field)| field == "*" || field == wanted);
    (fits && fields.len() == wanted.len() + 1).then(|| fields.pop()).flatten()
}

/// Takes a parameter out of a URL: the URL without it, and its value.
pub(super) fn take(url: &str, name: &str) -> (String, Option<String>) {
    let Some((before, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let value = |pair: &str| Some(pair.strip_prefix(name)?.strip_prefix('=')?.to_owned());
    let (taken, others): (Vec<&str>, Vec<&str>) =
        query.split('&').filter(|pair| !pair.is_empty()).partition(|pair| value(pair).is_some());
    let rest = if others.is_empty() { before.to_owned() } else { format!("{before}?{}", others.join("&")) };
    (rest, taken.first().and_then(|pair| value(pair)).map(|value| decoded(&value)))
}

/// Parameters of libpq that are of no effect here: GSSAPI that may be left out, compression by TLS, an encoding that is always UTF-8.
const WITHOUT_EFFECT: [&str; 6] = [
    "gsslib",
    "krbsrvname",
    "gssdelegation",
    "sslcompression",
    "client_encoding",
    "fallback_application_name",
];
/// Those that are of effect in libpq, and that the driver does not know.
const UNAVAILABLE: [&str; 14] = [
    "gssencmode",
    "passfile",
    "requirepeer",
    "require_auth",
    "sslcrl",
    "sslcrldir",
    "sslpassword",
    "sslcertmode",
    "sslsni",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "min_protocol_version",
    "max_protocol_version",
    "replication",
];

/// Takes out of a URL what is of no effect.
///
/// # Errors
/// [`Error::Url`] with the name of a parameter of libpq that can't be used. Others are not named: they may be a part of a password.
pub(super) fn without_effect(url: &str) -> Result<String> {
    let mut url = url.to_owned();
    for name in WITHOUT_EFFECT {
        url = take(&url, name).0;
    }
    for name in UNAVAILABLE {
        let (rest, value) = take(&url, name);
        let optional = name == "gssencmode" && value.as_deref() != Some("require");
        if value.is_some() && !optional {
            return Err(Error::Url(format!(
                "iolite does not have the parameter `{name}` of PostgreSQL's URLs: leave it out"
            )));
        }
        url = rest;
    }
    Ok(url)
}

/// Adds hosts as libpq separates them: directories of sockets, names and addresses.
pub(super) fn add_hosts(config: &mut Config, hosts: &str) {
    for host in hosts.split(',') {
        config.host(host.trim());
    }
}

/// What a server has to allow. The driver has no words for what libpq has since 14: a standby is a server that takes no writes, and it
/// has no preferences.
fn session_attributes(value: &str) -> Result<TargetSessionAttrs> {
    match value {
        "any" => Ok(TargetSessionAttrs::Any),
        "read-write" | "primary" => Ok(TargetSessionAttrs::ReadWrite),
        "read-only" | "standby" => Ok(TargetSessionAttrs::ReadOnly),
        "prefer-standby" => Err(Error::Url(
            "target_session_attrs (PGTARGETSESSIONATTRS) cannot be prefer-standby: it leaves open which server is measured; \
             specify standby, or any"
                .to_owned(),
        )),
        _ => Err(Error::Url(
            "target_session_attrs (PGTARGETSESSIONATTRS) is one of any, read-write, read-only, primary and standby".to_owned(),
        )),
    }
}

/// Completes what the URL has left out. Settings that are not known here are for other clients.
pub(super) fn complete(
    config: &mut Config,
    tls: &mut TlsSettings,
    settings: &[(String, String)],
) -> Result<()> {
    let hosts_given = !config.get_hosts().is_empty() || !config.get_hostaddrs().is_empty();
    let mut attributes_given = false;
    for (name, value) in settings {
        if tls.set(name, value)? {
            continue;
        }
        let wrong = || Error::Url(format!("`{name}` of the service file or the environment cannot be used"));
        match name.as_str() {
            "host" if !hosts_given && config.get_hosts().is_empty() => {
                add_hosts(config, value);
            }
            "hostaddr" if !hosts_given && config.get_hostaddrs().is_empty() => {
                for address in value.split(',') {
                    config.hostaddr(address.trim().parse().map_err(|_| wrong())?);
                }
            }
            "port" if config.get_ports().is_empty() => {
                for port in value.split(',') {
                    config.port(port.trim().parse().map_err(|_| wrong())?);
                }
            }
            "target_session_attrs" if !attributes_given => {
                config.target_session_attrs(session_attributes(value)?);
                attributes_given = true;
            }
            "dbname" if config.get_dbname().is_none() => {
                config.dbname(value);
            }
            "user" if config.get_user().is_none() => {
                config.user(value);
            }
            "password" if config.get_password().is_none() => {
                config.password(value);
            }
            "connect_timeout" if config.get_connect_timeout().is_none() => {
                let seconds = value.parse().map_err(|_| wrong())?;
                config.connect_timeout(std::time::Duration::from_secs(seconds));
            }
            _ => {}
        }
    }
    // An address alone is the name as well: certificates are compared with it, and passwords looked up.
    if config.get_hosts().is_empty() {
        let addresses: Vec<String> = config.get_hostaddrs().iter().map(ToString::to_string).collect();
        for address in &addresses {
            config.host(address);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn parameters_of_libpq_are_left_out_or_named() {
        let url = "postgres://me@h/db?gssencmode=prefer&connect_timeout=3&client_encoding=auto";
        assert_eq!(without_effect(url).unwrap(), "postgres://me@h/db?connect_timeout=3");
        for wrong in ["gssencmode=require", "sslcrl=/x", "passfile=/x"] {
            let error = without_effect(&format!("postgres://me@h/db?{wrong}")).unwrap_err().to_string();
            assert!(error.contains(&format!("`{}`", wrong.split('=').next().unwrap())), "{error}");
        }
        // Perhaps a part of a password.
        assert!(without_effect("postgres://me:pass?secret=word@h/db").is_ok());
    }

    #[test]
    fn password_lines_fit_by_field() {
        let wanted = ["db.example.org", "5432", "shop", "me"];
        assert_eq!(matching("db.example.org:5432:shop:me:secret", wanted).as_deref(), Some("secret"));
        assert_eq!(matching("*:*:*:me:a\\:b:c\\\\d", wanted).as_deref(), Some("a:b:c\\d"));
        for other in ["other:5432:shop:me:x", "#*:*:*:*:x", "*:*:*:you:x", "*:*:*", ""] {
            assert_eq!(matching(other, wanted), None, "{other}");
        }
    }

    /// As libpq: lists of hosts and ports belong together, and an address without a name stands for it.
    #[test]
    fn several_hosts_and_addresses_alone_are_taken_from_the_environment() {
        let completed = |settings: &[(&str, &str)]| {
            let settings: Vec<_> = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            let (mut config, mut tls): (Config, _) =
                ("postgres://me@/shop".parse().unwrap(), TlsSettings::default());
            complete(&mut config, &mut tls, &settings).map(|()| config)
        };
        let config = completed(&[
            ("host", "one, two"),
            ("port", "5432,7"),
            ("target_session_attrs", "read-write"),
            ("host", "three"),
        ])
        .unwrap();
        assert_eq!(config.get_hosts(), [Host::Tcp("one".into()), Host::Tcp("two".into())]);
        assert_eq!(config.get_ports(), [5432, 7]);
        assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        let config = completed(&[("hostaddr", "10.0.0.9")]).unwrap();
        assert_eq!(config.get_hosts(), [Host::Tcp("10.0.0.9".into())]);
        for wrong in [("hostaddr", "x"), ("port", "5432,x"), ("target_session_attrs", "master")] {
            assert!(completed(&[wrong]).unwrap_err().to_string().contains(wrong.0));
        }
    }

    #[test]
    fn words_of_libpq_for_the_kind_of_server_are_taken_but_for_a_preference() {
        use TargetSessionAttrs::{Any, ReadOnly, ReadWrite};
        for (word, attributes) in [
            ("any", Any),
            ("read-write", ReadWrite),
            ("read-only", ReadOnly),
            ("primary", ReadWrite),
            ("standby", ReadOnly),
        ] {
            assert_eq!(session_attributes(word).unwrap(), attributes, "{word}");
        }
        let refused = session_attributes("master").unwrap_err().to_string();
        assert!(refused.contains("primary and standby"), "{refused}");
        let refused = session_attributes("prefer-standby").unwrap_err().to_string();
        assert!(refused.contains("specify standby, or any"), "{refused}");
        // The first that says something counts, also where it is what holds anyway.
        let (mut config, mut tls): (Config, _) =
            ("postgres://me@h/d".parse().unwrap(), TlsSettings::default());
        let setting = |value: &str| ("target_session_attrs".to_owned(), value.to_owned());
        complete(&mut config, &mut tls, &[setting("any"), setting("primary")]).unwrap();
        assert_eq!(config.get_target_session_attrs(), Any);
    }

    #[test]
    fn what_the_url_leaves_out_comes_from_service_environment_and_password_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        std::fs::write(path(".pg_service.conf"), "[shop]\nhost=db.example.org\nsslmode=require\nuser=s\n")
            .unwrap();
        std::fs::write(path(".pgpass"), "db.example.org:77:shop:s:secret\n").unwrap();
        std::fs::set_permissions(path(".pgpass"), std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut variables = HashMap::from([
            ("HOME", directory.path().display().to_string()),
            ("PGUSER", "e".to_owned()),
            ("PGPORT", "77".to_owned()),
        ]);
        let variable = |name: &str| variables.get(name).cloned();
        let surroundings = ClientEnvironment { variable: &variable };
        let (url, service) = take("postgres:///shop?service=shop", "service");
        assert_eq!(url, "postgres:///shop");
        let settings = surroundings.settings(service.as_deref()).unwrap();
        let (mut config, mut tls): (Config, _) = (url.parse().unwrap(), TlsSettings::default());
        complete(&mut config, &mut tls, &settings).unwrap();
        assert_eq!(config.get_hosts(), [Host::Tcp("db.example.org".into())]);
        assert_eq!((config.get_user(), config.get_ports()), (Some("s"), &[77][..]));
        assert_eq!(tls.mode, Some(crate::tls::TlsMode::Require));
        let file = surroundings.password_file().unwrap().unwrap();
        assert_eq!(ClientEnvironment::password(&file, &config).as_deref(), Some("secret"));
        // Others may read it: not used.
        std::fs::set_permissions(path(".pgpass"), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(surroundings.password_file().unwrap_err(), file);
        assert!(surroundings.settings(Some("other")).unwrap_err().to_string().contains("`other`"));
        // What the URL says stands.
        let (mut config, mut tls): (Config, _) =
            ("postgres://u@h:5/d".parse().unwrap(), TlsSettings::default());
        complete(&mut config, &mut tls, &settings).unwrap();
        assert_eq!((config.get_user(), config.get_ports().len()), (Some("u"), 1));
        variables.clear();
    }
}
