//! The way to the server: what the URL says, connections, and what the server has to be.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use iolite_model::ErrorCause;
use postgres::config::{Host, SslMode};
use postgres::{CancelToken, Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::defaults::{self, ClientEnvironment};
use super::failure::{failed, is_handshake};
use super::hosts::{self, HostConfig};
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
    /// All hosts, without what the password file has for them.
    config: Config,
    /// Each of them, in the order that they are tried in.
    hosts: Vec<HostConfig>,
    /// Which of them the first connection has reached. All others go there, too, and nowhere else: sessions and counters of one run
    /// belong to one server.
    reached: Arc<OnceLock<usize>>,
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
        // It does not know all words of it.
        let (url, attributes) = defaults::take(&url, "target_session_attrs");
        let url = defaults::without_effect(&url)?;
        let (url, mut tls) = TlsSettings::take(&url)?;
        let mut config: Config = url.parse().map_err(|_| {
            // The parser's own words may hold pieces of a password that is not encoded as URLs want it.
            Error::Url(
                "invalid PostgreSQL URL: the format is postgres://USER:PASSWORD@HOST:PORT/DATABASE, for a unix \
                 socket postgres://USER@/DATABASE?host=/DIRECTORY&port=PORT, with anything but letters and digits in \
                 passwords as %XX; of the options of libpq service, sslmode, sslrootcert, sslcert, sslkey, \
                 target_session_attrs and connect_timeout can be used"
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
        let attributes = attributes.map(|value| ("target_session_attrs".to_owned(), value));
        let settings = surroundings.settings(service.as_deref())?;
        let settings: Vec<_> = attributes.into_iter().chain(settings).collect();
        defaults::complete(&mut config, &mut tls, &settings)?;
        complete(&mut config, surroundings);
        if let Some(directory) = surroundings.home(".postgresql") {
            tls.add_files(&directory);
        }
        Target::to(config, &tls, surroundings)
    }

    /// To the hosts of a configuration that is complete but for passwords and TLS.
    fn to(mut config: Config, tls: &TlsSettings, surroundings: &ClientEnvironment<'_>) -> Result<Target> {
        let place = hosts::place(&config);
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
        let connector = if unix_socket { None } else { tls::connector(tls, &place)? };
        config.ssl_mode(match (&connector, tls.mode()) {
            (None, _) => SslMode::Disable,
            (Some(_), TlsMode::Prefer) => SslMode::Prefer,
            (Some(_), _) => SslMode::Require,
        });
        let (password_file, ignored) = match surroundings.password_file() {
            _ if config.get_password().is_some() => (None, None),
            Ok(file) => (file, None),
            Err(file) => (None, Some(file)),
        };
        let hosts = hosts::each(&config, password_file.as_deref());
        Ok(Target {
            hosts,
            reached: Arc::default(),
            unix_socket,
            loopback,
            place,
            config,
            tls: connector,
            ignored,
        })
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

    /// For messages: the server and the database, without the password; all servers as long as none of them is connected to.
    pub fn place(&self) -> &str {
        self.reached().map_or(&self.place, |host| &host.place)
    }

    /// The host that all connections go to, once there was one.
    fn reached(&self) -> Option<&HostConfig> {
        self.hosts.get(*self.reached.get()?)
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
        let named = |config: &Config| {
            let mut config = config.clone();
            config.dbname(name);
            config
        };
        let config = named(&self.config);
        Target {
            hosts: self.hosts.iter().map(|host| HostConfig::new(named(&host.config))).collect(),
            reached: Arc::clone(&self.reached),
            tls: self.tls.clone(),
            place: hosts::place(&config),
            config,
            ignored: self.ignored.clone(),
            ..*self
        }
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

    /// Connects to the first host that allows it; from then on to that one.
    fn handshake(&self) -> std::result::Result<Client, postgres::Error> {
        let mut refusal = None;
        for (at, host) in self.hosts.iter().enumerate().filter(|_| self.reached().is_none()) {
            match self.handshake_with(&host.config) {
                Ok(client) if *self.reached.get_or_init(|| at) == at => return Ok(client),
                // Another session was first meanwhile, at another host.
                Ok(_) => break,
                Err(error) => refusal = Some(error),
            }
        }
        match (self.reached(), refusal) {
            (Some(host), _) => self.handshake_with(&host.config),
            (None, Some(error)) => Err(error),
            (None, None) => self.handshake_with(&self.config),
        }
    }

    fn handshake_with(&self, config: &Config) -> std::result::Result<Client, postgres::Error> {
        let Some(tls) = &self.tls else { return config.connect(NoTls) };
        match config.connect(tls.clone()) {
            // Preferred, not required: as libpq, once more without.
            Err(error) if is_handshake(&error) && config.get_ssl_mode() == SslMode::Prefer => {
                config.clone().ssl_mode(SslMode::Disable).connect(NoTls)
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
        failed(doing, self.place(), error)
    }

    fn admit(&self, number: i32, version: &str) -> Result<()> {
        if number >= OLDEST {
            return Ok(());
        }
        let found = version.split(" on ").next().unwrap_or(version).to_owned();
        Err(Error::TooOld {
            place: self.place().to_owned(),
            found,
            needed: "PostgreSQL 11",
            likely: ErrorCause::PgTooOld,
        })
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.place()).finish()
    }
}

/// Adds what neither the URL nor its surroundings say, as libpq would.
fn complete(config: &mut Config, surroundings: &ClientEnvironment) {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        let usual = Path::new("/var/run/postgresql");
        config.host_path(if usual.is_dir() { usual } else { Path::new("/tmp") });
    }
    if config.get_user().is_none()
        && let Some(user) = (surroundings.variable)("USER")
    {
        config.user(&user);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(PATIENCE);
    }
    config.application_name("iolite");
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use postgres::config::TargetSessionAttrs;

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
        let primary = Target::new("postgres://me@one,two/db?target_session_attrs=primary").unwrap();
        assert!(
            primary
                .hosts
                .iter()
                .all(|host| host.config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite)
        );
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
        let password = |target: Target| target.hosts[0].config.get_password().map(<[u8]>::to_vec);
        assert_eq!(password(target(without, 0o644)), None);
        let said = target(without, 0o644).caveats().join("");
        assert!(said.contains(&file.display().to_string()) && said.contains("0600"), "{said}");
        assert_eq!(password(target(without, 0o600)), Some(b"secret".to_vec()));
        assert_eq!(password(target(with, 0o600)), Some(b"own".to_vec()));
        assert!(target(without, 0o600).caveats().is_empty() && target(with, 0o644).caveats().is_empty());
    }

    /// A server that asks for a password, takes any, and keeps those that it was sent; while it is `closed` it hangs up.
    struct Greeter {
        port: u16,
        closed: Arc<AtomicBool>,
        sent: Arc<Mutex<Vec<String>>>,
    }

    fn greeter() -> Greeter {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (closed, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (shut, kept) = (Arc::clone(&closed), Arc::clone(&sent));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten().filter(|_| !shut.load(Ordering::Relaxed)) {
                // A client without a password goes away.
                let _ = greet(stream, &kept);
            }
        });
        Greeter { port, closed, sent }
    }

    /// Reads the rest of a message behind its length.
    fn message(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut text = vec![0; (u32::from_be_bytes(length) - 4) as usize];
        stream.read_exact(&mut text)?;
        Ok(text)
    }

    fn greet(mut stream: TcpStream, kept: &Mutex<Vec<String>>) -> std::io::Result<()> {
        message(&mut stream)?;
        stream.write_all(b"R\0\0\0\x08\0\0\0\x03")?;
        stream.read_exact(&mut [0])?;
        let password = message(&mut stream)?;
        kept.lock().unwrap().push(String::from_utf8_lossy(&password).trim_end_matches('\0').to_owned());
        stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I")
    }

    #[test]
    fn all_sessions_use_the_server_that_the_first_has_reached_each_with_its_own_password() {
        use std::os::unix::fs::PermissionsExt;
        let (one, two, three) = (greeter(), greeter(), greeter());
        two.closed.store(true, Ordering::Relaxed);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        let lines = format!("*:{}:*:*:second\n*:{}:*:*:third\n", two.port, three.port);
        std::fs::write(file.path(), lines).unwrap();
        let variable = |name: &str| (name == "PGPASSFILE").then(|| file.path().display().to_string());
        let url = format!(
            "postgres://me@127.0.0.1:{},127.0.0.1:{},127.0.0.1:{}/db?sslmode=disable",
            one.port, two.port, three.port
        );
        let target = Target::within(&url, &ClientEnvironment { variable: &variable }).unwrap();
        let connect = |target: &Target| drop(target.handshake().unwrap());
        connect(&target);
        assert!(target.place().contains(&format!("at 127.0.0.1:{} ", three.port)), "{}", target.place());
        // The one before is there again: it is another server.
        two.closed.store(false, Ordering::Relaxed);
        connect(&target);
        connect(&target.with_database("other"));
        assert_eq!(*three.sent.lock().unwrap(), ["third"; 3]);
        assert!(one.sent.lock().unwrap().is_empty() && two.sent.lock().unwrap().is_empty());
        // Nor is another one tried when it goes away.
        three.closed.store(true, Ordering::Relaxed);
        assert!(target.handshake().is_err() && two.sent.lock().unwrap().is_empty());
        assert!(
            Target::within(&url, &ClientEnvironment { variable: &variable }).unwrap().handshake().is_ok()
        );
        assert_eq!(*two.sent.lock().unwrap(), ["second"]);
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
