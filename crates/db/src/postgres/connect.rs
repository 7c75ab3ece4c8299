//! The way to the server: what the URL says, connections, and what the server has to be.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_model::ErrorCause;
use postgres::config::{Host, SslMode};
use postgres::{CancelToken, Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::defaults::{self, ClientEnvironment};
use super::failure::{failed, is_handshake};
use super::tls;
use crate::error::{Error, Result};
use crate::tls::{TlsMode, TlsSettings};

/// The oldest version that will do, as `server_version_num` has it: procedures that commit came with 11.
const OLDEST: i32 = 110_000;
/// How long a connection may take, where the URL says nothing of it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Settings of a role or a database that would end our work in the middle, or hide our tables behind others.
const SESSION: &str = "SELECT set_config(s.name, w.value, false) FROM pg_catalog.pg_settings s JOIN (VALUES \
     ('statement_timeout', '0'), ('lock_timeout', '10s'), ('idle_in_transaction_session_timeout', '0'), \
     ('idle_session_timeout', '0'), ('transaction_timeout', '0'), ('client_min_messages', 'warning'), \
     ('search_path', 'pg_catalog'), ('default_transaction_isolation', 'read committed'), \
     ('default_transaction_read_only', 'off')) w (name, value) ON w.name = s.name";

/// A PostgreSQL database, by its URL.
pub struct Target {
    config: Config,
    /// What makes connections secure, where they may be.
    tls: Option<MakeRustlsConnect>,
    place: String,
    unix_socket: bool,
    loopback: bool,
    /// The password file, where it is not used because others may read it.
    ignored: Option<PathBuf>,
}

impl Target {
    /// Reads a URL as libpq has it. What it leaves out is as with libpq: from the service, the environment and the password
    /// file, the socket's usual directory, the name of the user.
    ///
    /// # Errors
    /// [`Error::Url`] without the password in it; [`Error::Io`] and [`Error::Engine`] for certificates that can't be used.
    pub fn new(url: &str) -> Result<Target> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Target::within(url, &ClientEnvironment { variable: &variable })
    }

    /// The same, in this environment.
    ///
    /// # Errors
    /// As [`new`](Target::new).
    pub fn within(url: &str, surroundings: &ClientEnvironment<'_>) -> Result<Target> {
        let (url, service) = defaults::take(url, "service");
        // The driver takes all of it for one directory.
        let (url, hosts) = defaults::take(&url, "host");
        let (url, mut tls) = TlsSettings::take(&url)?;
        let mut config: Config = url.parse().map_err(|_| {
            // The parser's own words may hold pieces of a password that is not encoded as URLs want it.
            Error::Url(
                "invalid PostgreSQL URL: the format is postgres://USER:PASSWORD@HOST:PORT/DATABASE, for a unix \
                 socket postgres://USER@/DATABASE?host=/DIRECTORY&port=PORT, with anything but letters and digits in \
                 passwords as %XX; of the options of libpq service, sslmode, sslrootcert, sslcert, sslkey and \
                 connect_timeout can be used"
                    .to_owned(),
            )
        })?;
        if let Some(hosts) = hosts.filter(|hosts| !hosts.is_empty()) {
            defaults::add_hosts(&mut config, &hosts);
        }
        // Read otherwise, the end of a password would be taken for a part of the host, and shown.
        let authority =
            url.split("://").nth(1).unwrap_or_default().split(['/', '?']).next().unwrap_or_default();
        if authority.matches('@').count() > 1 {
            return Err(Error::Url(
                "the URL of PostgreSQL has more than one @: write those in a password as %40".into(),
            ));
        }
        defaults::complete(&mut config, &mut tls, &surroundings.settings(service.as_deref())?)?;
        let ignored = complete(&mut config, surroundings);
        let place = place(&config);
        let loopback = |host: &Host| match host {
            Host::Tcp(name) => {
                name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
            Host::Unix(_) => false,
        };
        let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
        // Where an address is given it is connected to, whatever the name.
        let unix_socket = addresses.is_empty() && hosts.iter().all(|host| matches!(host, Host::Unix(_)));
        let loopback = if addresses.is_empty() {
            hosts.iter().all(loopback)
        } else {
            addresses.iter().all(std::net::IpAddr::is_loopback)
        };
        // As with libpq, nothing is encrypted on a socket of this host, whatever is asked for.
        let connector = if unix_socket { None } else { tls::connector(&tls, &place)? };
        config.ssl_mode(match (&connector, tls.mode()) {
            (None, _) => SslMode::Disable,
            (Some(_), TlsMode::Prefer) => SslMode::Prefer,
            (Some(_), _) => SslMode::Require,
        });
        Ok(Target { unix_socket, loopback, place, config, tls: connector, ignored })
    }

    /// What of the client's configuration is not used.
    pub fn caveats(&self) -> Vec<String> {
        let ignored = |file: &PathBuf| {
            format!(
                "the password file {} is not used: its group or others may access it (chmod 0600 {0})",
                file.display()
            )
        };
        self.ignored.iter().map(ignored).collect()
    }

    /// Whether the server must be on this host, as far as the way to it shows.
    pub fn is_local(&self) -> bool {
        self.unix_socket || self.loopback
    }

    /// For messages: the server and the database, without the password.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Connects through a socket of this host.
    pub fn unix_socket(&self) -> bool {
        self.unix_socket
    }

    /// Connects to an address that is this host, or what is tunnelled to it.
    pub fn loopback(&self) -> bool {
        self.loopback
    }

    /// The database's name within the server.
    pub fn database(&self) -> &str {
        self.config.get_dbname().or(self.config.get_user()).unwrap_or_default()
    }

    /// Another database of the same server, for the same user.
    pub fn with_database(&self, name: &str) -> Target {
        let mut config = self.config.clone();
        config.dbname(name);
        let (tls, ignored) = (self.tls.clone(), self.ignored.clone());
        Target { place: place(&config), config, tls, ignored, ..*self }
    }

    /// A connection of its own.
    ///
    /// # Errors
    /// [`Error::Engine`], [`Error::TooOld`].
    pub fn connect(&self) -> Result<Client> {
        let mut client = self.handshake().map_err(|e| self.failed("connect to", e))?;
        let row = client
            .query_one("SELECT current_setting('server_version_num')::int, version()", &[])
            .map_err(|e| self.failed("ask the version of", e))?;
        self.admit(row.get(0), row.get(1))?;
        client.execute(SESSION, &[]).map_err(|e| self.failed("configure a session of", e))?;
        Ok(client)
    }

    /// Connects, for a session that is shown statements of others: in a database in SQL_ASCII these are any bytes, which the server
    /// would refuse to convert.
    ///
    /// # Errors
    /// As [`connect`](Target::connect).
    pub(super) fn connect_to_watch(&self) -> Result<Client> {
        const AS_IT_IS: &str = "SELECT set_config('client_encoding', 'SQL_ASCII', false) WHERE getdatabaseencoding() = 'SQL_ASCII'";
        let mut client = self.connect()?;
        // Sessions of this name are not among those that are sampled.
        client
            .batch_execute(AS_IT_IS)
            .and_then(|()| client.batch_execute("SET application_name = 'iolite monitor'"))
            .map_err(|e| self.failed("configure a session of", e))?;
        Ok(client)
    }

    fn handshake(&self) -> std::result::Result<Client, postgres::Error> {
        let Some(tls) = &self.tls else { return self.config.connect(NoTls) };
        match self.config.connect(tls.clone()) {
            // Preferred, not required: as libpq, once more without.
            Err(error) if is_handshake(&error) && self.config.get_ssl_mode() == SslMode::Prefer => {
                self.config.clone().ssl_mode(SslMode::Disable).connect(NoTls)
            }
            answer => answer,
        }
    }

    /// Asks the server to cancel what a session of this database executes, over a connection of its own.
    ///
    /// # Errors
    /// The request could not be sent.
    pub fn cancel(&self, session: &CancelToken) -> std::result::Result<(), postgres::Error> {
        match &self.tls {
            Some(tls) => session.cancel_query(tls.clone()),
            None => session.cancel_query(NoTls),
        }
    }

    /// A failure of something done with this database.
    pub fn failed(&self, doing: &'static str, error: postgres::Error) -> Error {
        failed(doing, &self.place, error)
    }

    fn admit(&self, number: i32, version: &str) -> Result<()> {
        if number >= OLDEST {
            return Ok(());
        }
        let found = version.split(" on ").next().unwrap_or(version).to_owned();
        Err(Error::TooOld {
            place: self.place.clone(),
            found,
            needed: "PostgreSQL 11",
            likely: ErrorCause::PgTooOld,
        })
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.place).finish()
    }
}

/// Adds what neither the URL nor its surroundings say, as libpq would. Returns the password file that is not used, if any.
fn complete(config: &mut Config, surroundings: &ClientEnvironment) -> Option<PathBuf> {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        let usual = Path::new("/var/run/postgresql");
        config.host_path(if usual.is_dir() { usual } else { Path::new("/tmp") });
    }
    if config.get_user().is_none()
        && let Some(user) = (surroundings.variable)("USER")
    {
        config.user(&user);
    }
    let mut ignored = None;
    if config.get_password().is_none() {
        match surroundings.password_file() {
            Ok(file) => {
                if let Some(password) = file.and_then(|file| ClientEnvironment::password(&file, config)) {
                    config.password(password);
                }
            }
            Err(file) => ignored = Some(file),
        }
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(PATIENCE);
    }
    config.application_name("iolite");
    ignored
}

/// What messages call the database.
fn place(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]:{}", port(at)),
            Host::Tcp(name) => format!("{name}:{}", port(at)),
            Host::Unix(path) => path.join(format!(".s.PGSQL.{}", port(at))).display().to_string(),
        })
        .collect();
    let user = config.get_user().unwrap_or("(no user)");
    let database = config.get_dbname().unwrap_or(user);
    format!("database {database} of PostgreSQL at {} (as {user})", hosts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_no_password() {
        let target = Target::new("postgres://me:se%40cret@host:77/db?sslmode=disable").unwrap();
        assert_eq!(target.place(), "database db of PostgreSQL at host:77 (as me)");
        assert!(!target.unix_socket() && !target.loopback());
        let target = Target::new("postgres://me@/db?host=/tmp/x&port=7").unwrap();
        assert_eq!(target.place(), "database db of PostgreSQL at /tmp/x/.s.PGSQL.7 (as me)");
        assert!(target.unix_socket() && !target.loopback());
        let target = Target::new("postgres://me@/db?host=/tmp/x,db.example&port=7,8").unwrap();
        assert_eq!(target.config.get_hosts(), [Host::Unix("/tmp/x".into()), Host::Tcp("db.example".into())]);
        assert!(!target.unix_socket() && target.config.get_ports() == [7, 8]);
        assert!(Target::new("postgres://me@/db?host=localhost").unwrap().loopback());
        assert!(Target::new("postgres://me@[::1]/db").unwrap().loopback());
        for wrong in [
            "postgres://me:s@secret@host/db",
            "postgres://me:secret@host/db?secret=1",
            "postgres://me:secret@host:port/db",
        ] {
            let error = Target::new(wrong).unwrap_err();
            assert!(matches!(&error, Error::Url(text) if !text.contains("secret")), "{error}");
        }
    }

    #[test]
    fn sockets_are_never_encrypted_and_hosts_are_where_possible() {
        let nothing = ClientEnvironment { variable: &|_| None };
        let mode = |url: &str| {
            let target = Target::within(url, &nothing).unwrap();
            (target.config.get_ssl_mode(), target.tls.is_some())
        };
        assert_eq!(mode("postgres://me@host/db"), (SslMode::Prefer, true));
        assert_eq!(mode("postgres://me@host/db?sslmode=require"), (SslMode::Require, true));
        assert_eq!(mode("postgres://me@host/db?sslmode=disable"), (SslMode::Disable, false));
        assert_eq!(mode("postgres://me@/db?host=/tmp&sslmode=require"), (SslMode::Disable, false));
        // An address without a name is no socket.
        let variable = |name: &str| (name == "PGHOSTADDR").then(|| "10.0.0.9".to_owned());
        let remote =
            Target::within("postgres://me@/db?sslmode=require", &ClientEnvironment { variable: &variable });
        let remote = remote.unwrap();
        assert_eq!((remote.config.get_ssl_mode(), remote.tls.is_some()), (SslMode::Require, true));
        assert!(!remote.is_local() && remote.place().contains("at 10.0.0.9:5432"), "{}", remote.place());
        let error = Target::within("postgres://me@host/db?sslmode=verify-full", &nothing).unwrap_err();
        assert!(error.to_string().contains("sslrootcert=FILE"), "{error}");
    }

    #[test]
    fn a_password_file_that_others_may_read_is_not_used_and_said() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("passwords");
        std::fs::write(&file, "*:*:*:*:secret\n").unwrap();
        let variable = |name: &str| (name == "PGPASSFILE").then(|| file.display().to_string());
        let target = |url: &str, mode: u32| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            Target::within(url, &ClientEnvironment { variable: &variable }).unwrap()
        };
        let (with, without) = ("postgres://me:own@host/db", "postgres://me@host/db");
        assert_eq!(target(without, 0o644).config.get_password(), None);
        let said = target(without, 0o644).caveats().join("");
        assert!(said.contains(&file.display().to_string()) && said.contains("0600"), "{said}");
        assert_eq!(target(without, 0o600).config.get_password(), Some(&b"secret"[..]));
        assert!(target(without, 0o600).caveats().is_empty() && target(with, 0o644).caveats().is_empty());
    }

    /// docs/errors.md lists each call as the test of that cause.
    fn produced(cause: ErrorCause, error: &Error) {
        assert!(error.to_string().contains(cause.remedy()), "{error}");
    }

    #[test]
    fn ports_that_do_not_belong_to_hosts_are_named() {
        let target = Target::new("postgres://me@/db?host=/nonexistent&port=7,8").unwrap();
        let Err(error) = target.connect() else { panic!("connected to nothing") };
        produced(ErrorCause::PgHosts, &error);
    }

    #[test]
    fn versions_without_procedures_are_too_old() {
        let target = Target::new("postgres://me@host/db").unwrap();
        target.admit(110_000, "PostgreSQL 11.0 on x").unwrap();
        target.admit(180_001, "PostgreSQL 18.1 on x").unwrap();
        let error = target.admit(100_023, "PostgreSQL 10.23 on x86_64, compiled").unwrap_err();
        assert!(matches!(&error, Error::TooOld { found, .. } if found == "PostgreSQL 10.23"), "{error}");
        produced(ErrorCause::PgTooOld, &error);
    }
}
