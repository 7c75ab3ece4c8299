//! From a URL to a connection that is set as all of ours are, and what a server's refusals mean.

use std::path::Path;
use std::time::Duration;

use crate::mysql::rows::Rows;
use iolite_model::ErrorCause;
use mysql::prelude::Queryable;
use mysql::{ClientIdentity, Conn, DriverError, Opts, OptsBuilder, SslOpts};

use super::option_file;
use super::version::Version;
use crate::error::{Error, Result};
use crate::tls::{self, TlsMode, TlsSettings};

/// Where servers put their socket when nobody says otherwise, for `localhost` without a port (clients of MariaDB and MySQL
/// don't take TCP for that either).
const SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];
/// How long a host may take to answer a TCP connection. Longer than a lost packet or two cost.
const CONNECT: Duration = Duration::from_secs(10);
/// What every session of ours needs: times without daylight saving (they are taken from the server's clock), bytes as they
/// are, and no surprise from the server's defaults.
const INIT: &str = "SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES', autocommit = 1, \
                    foreign_key_checks = 1, unique_checks = 1, sql_select_limit = 18446744073709551615, \
                    completion_type = 'NO_CHAIN'";
/// The same, as a statement of its own: its variable has another name in each of the two.
const READ_WRITE: &str = "SET SESSION TRANSACTION READ WRITE";

/// The database (schema) of a URL, and how to get there.
#[derive(Clone)]
pub struct Target {
    opts: Opts,
    /// Whether a connection that the server can't encrypt will do.
    unencrypted: bool,
    /// The URL without its password.
    pub place: String,
    /// The database's name within the server.
    pub schema: String,
}

impl Target {
    /// Reads a URL: `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, optionally with `?socket=PATH` and `sslmode`, `sslrootcert`,
    /// `sslcert`, `sslkey` (or MySQL's words for them: `ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key`). What it leaves out comes
    /// from `~/.my.cnf`.
    ///
    /// # Errors
    /// [`Error::Url`]; the password is in no message. [`Error::Io`] for certificates that are not there.
    pub fn parse(url: &str) -> Result<Target> {
        Target::completed(url, &option_file::settings())
    }

    /// The same, where `~/.my.cnf` has this text.
    ///
    /// # Errors
    /// As [`parse`](Target::parse).
    pub fn with_options(url: &str, text: &str) -> Result<Target> {
        Target::completed(url, &option_file::settings_of(text))
    }

    fn completed(url: &str, settings: &[(String, String)]) -> Result<Target> {
        let refused = |why: &str| {
            Error::Url(format!(
                "the database's URL {why}: write mysql://USER:PASSWORD@HOST:PORT/DATABASE, or \
                 mysql://USER:PASSWORD@localhost/DATABASE?socket=PATH, special characters as %XX"
            ))
        };
        let (url, mut tls) = TlsSettings::take(url)?;
        let rest = url
            .strip_prefix("mysql://")
            .or_else(|| url.strip_prefix("mariadb://"))
            .ok_or_else(|| refused("does not begin with mysql:// or mariadb://"))?;
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        if query.split('&').any(|pair| !pair.is_empty() && !pair.starts_with("socket=")) {
            return Err(refused("has a parameter that is neither `socket` nor one of TLS"));
        }
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        // The driver wants a host. One that is not there comes from the file, or is this one.
        let (login, host) = authority.rsplit_once('@').map_or(("", authority), |(login, host)| (login, host));
        let whole = match host.is_empty() {
            true if login.is_empty() => format!("mysql://localhost{rest}"),
            true => format!("mysql://{login}@localhost{}", &rest[authority.len()..]),
            false => format!("mysql://{rest}"),
        };
        let opts = Opts::from_url(&whole).map_err(|_| refused("cannot be read"))?;
        let opts: Opts = option_file::complete(opts, authority, settings, &mut tls)?.into();
        let schema = opts.get_db_name().unwrap_or_default().to_owned();
        if schema.is_empty() {
            return Err(refused("names no database"));
        }
        let socket = opts.get_socket().map(str::to_owned);
        let host = opts.get_ip_or_hostname().into_owned();
        let port = authority.rsplit('@').next().unwrap_or_default().rsplit(']').next().unwrap_or_default();
        let usual = || {
            let named = host == "localhost" && !port.contains(':');
            SOCKETS.into_iter().find(|path| named && Path::new(path).exists()).map(str::to_owned)
        };
        let user = opts.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let place = match &socket {
            Some(socket) => format!("mysql://{user}{host}/{schema}?socket={socket}"),
            None => format!("mysql://{user}{host}:{}/{schema}", opts.get_tcp_port()),
        };
        let socket = socket.or_else(usual);
        let protected = if socket.is_none() { protection(&tls)? } else { None };
        let opts = OptsBuilder::from_opts(opts)
            .socket(socket)
            .ssl_opts(protected)
            .prefer_socket(false)
            .tcp_nodelay(true)
            .tcp_connect_timeout(Some(CONNECT))
            .into();
        Ok(Target { opts, unencrypted: tls.mode() == TlsMode::Prefer, place, schema })
    }

    /// Whether the server must be on this host, as far as the way to it shows.
    pub fn is_local(&self) -> bool {
        self.opts.get_socket().is_some() || self.opts.addr_is_loopback()
    }

    /// A new connection, set as all of ours.
    pub fn open(&self) -> Result<Conn> {
        let mut conn = self.handshake().map_err(|e| self.refusal("connect to", e))?;
        let version = Version::of(&mut conn).map_err(|e| self.refusal("ask for the version of", e))?;
        version.check(&self.place)?;
        // A limit on the time of statements would end a batch, or a setup, half-way.
        let more = match version.mariadb {
            true => ", max_statement_time = 0, innodb_compression_default = 0",
            false => ", max_execution_time = 0, information_schema_stats_expiry = 0",
        };
        conn.query_drop("SET NAMES binary")
            .and_then(|()| conn.query_drop(format!("{INIT}{more}")))
            .and_then(|()| conn.query_drop(READ_WRITE))
            .map_err(|e| self.refusal("configure a session of", e))?;
        Ok(conn)
    }

    fn handshake(&self) -> mysql::Result<Conn> {
        match Conn::new(self.opts.clone()) {
            // Preferred, not required: once more without.
            Err(mysql::Error::DriverError(DriverError::TlsNotSupported)) if self.unencrypted => {
                Conn::new(OptsBuilder::from_opts(self.opts.clone()).ssl_opts(None::<SslOpts>))
            }
            answer => answer,
        }
    }

    /// How connections reach the server: client-timed operations bear the encryption's time.
    pub(super) fn connection(&self, conn: &mut Conn) -> mysql::Result<String> {
        if self.opts.get_socket().is_some() {
            return Ok("unix socket".to_owned());
        }
        let status = |conn: &mut Conn, name: &str| -> mysql::Result<String> {
            let row: Option<(String, String)> =
                conn.query_row(format!("SHOW SESSION STATUS LIKE '{name}'"))?;
            Ok(row.map(|(_, value)| value).unwrap_or_default())
        };
        let cipher = status(conn, "Ssl_cipher")?;
        if cipher.is_empty() {
            return Ok("TCP, not encrypted".to_owned());
        }
        Ok(format!("{} {cipher}", status(conn, "Ssl_version")?))
    }

    /// The server's (or the way's) refusal, with what usually helps.
    pub fn refusal(&self, doing: &'static str, error: mysql::Error) -> Error {
        let denied = code(&error) == Some(1045);
        let (cause, mut likely) = explain(error);
        if denied && self.opts.get_socket().is_none() && self.opts.get_ssl_opts().is_none() {
            likely = ErrorCause::MyUnencrypted;
        }
        Error::engine(doing, &self.place, cause, likely)
    }

    /// The same for an error that a procedure of ours handed back.
    pub fn returned(&self, doing: &'static str, code: u16, message: &str) -> Error {
        Error::engine(doing, &self.place, format!("ERROR {code}: {message}"), likely(code, message))
    }

    /// Something else that is wrong with the database's contents.
    pub fn damaged(&self, doing: &'static str, cause: String) -> Error {
        Error::engine(doing, &self.place, cause, ErrorCause::ContentsChanged)
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({})", self.place)
    }
}

/// The driver's form of what is wanted; `None` for connections that are not to be encrypted.
fn protection(tls: &TlsSettings) -> Result<Option<SslOpts>> {
    if tls.mode() == TlsMode::Disable {
        return Ok(None);
    }
    tls.check()?;
    let identity = tls.certificate.clone().zip(tls.key.clone());
    Ok(Some(
        SslOpts::default()
            .with_root_cert_path(tls.root.clone())
            .with_client_identity(identity.map(|(certificate, key)| ClientIdentity::new(certificate, key)))
            .with_danger_accept_invalid_certs(!matches!(tls.mode(), TlsMode::VerifyCa | TlsMode::VerifyFull))
            .with_danger_skip_domain_validation(tls.mode() != TlsMode::VerifyFull),
    ))
}

/// Whether the connection is gone, so that a new one may do.
pub fn is_gone(error: &mysql::Error) -> bool {
    match error {
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) => true,
        // Shutdown in progress; killed.
        mysql::Error::MySqlError(error) => matches!(error.code, 1053 | 1927),
        _ => false,
    }
}

/// The number of a server's error.
pub fn code(error: &mysql::Error) -> Option<u16> {
    match error {
        mysql::Error::MySqlError(error) => Some(error.code),
        _ => None,
    }
}

/// The error's text, and what it most likely comes from.
fn explain(error: mysql::Error) -> (String, ErrorCause) {
    let text = error.to_string();
    let likely = match &error {
        mysql::Error::MySqlError(error) => likely(error.code, &error.message),
        _ if tls::cause(&text).is_some() => tls::cause(&text).unwrap_or(ErrorCause::TlsHandshake),
        mysql::Error::DriverError(DriverError::TlsNotSupported) => ErrorCause::TlsNotOffered,
        mysql::Error::DriverError(
            DriverError::UnknownAuthPlugin(_)
            | DriverError::CleartextPluginDisabled
            | DriverError::OldMysqlPasswordDisabled,
        ) => ErrorCause::AuthenticationMethod,
        _ if text.contains("lookup address") => ErrorCause::HostUnknown,
        mysql::Error::IoError(error) => unreached(error.kind()),
        mysql::Error::CodecError(_) if text.contains("max_allowed_packet") => ErrorCause::MyPacket,
        mysql::Error::CodecError(_) => ErrorCause::ServerGone,
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, _, kind)))) => unreached(*kind),
        mysql::Error::DriverError(DriverError::ConnectTimeout) => ErrorCause::HostSilent,
        _ => ErrorCause::MyOther,
    };
    (text, likely)
}

/// Why there is no connection, or no more.
fn unreached(kind: std::io::ErrorKind) -> ErrorCause {
    match kind {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => ErrorCause::NoServer,
        std::io::ErrorKind::PermissionDenied => ErrorCause::SocketClosed,
        std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => ErrorCause::HostSilent,
        _ => ErrorCause::ServerGone,
    }
}

/// By the numbers of MariaDB's and MySQL's error reference, which agree here.
fn likely(code: u16, message: &str) -> ErrorCause {
    match code {
        1045 | 1698 | 1524 => ErrorCause::MyLogin,
        // ER_SECURE_TRANSPORT_REQUIRED of MySQL.
        3159 => ErrorCause::MyUnencrypted,
        // Locked (MariaDB, MySQL); a password that has to be set.
        4151 | 3118 | 1820 | 1862 => ErrorCause::MyAccount,
        1049 => ErrorCause::MyNoDatabase,
        1044 | 1142 | 1143 | 1227 | 1370 | 1410 => ErrorCause::MyPrivilege,
        // Below 1000: of the library beneath the server (EE_WRITE, EE_CANT_CHSIZE, EE_DISK_FULL).
        3 | 14 | 20 | 1021 | 1026 | 1030 | 1114 => ErrorCause::MyFull,
        1040 | 1203 | 1226 => ErrorCause::MyConnections,
        1053 | 1927 | 1317 => ErrorCause::MyStopped,
        1205 | 1213 => ErrorCause::MyLocked,
        1290 if !message.contains("read-only") => ErrorCause::MyOption,
        1290 | 1792 | 1836 => ErrorCause::MyReadOnly,
        1153 => ErrorCause::MyPacket,
        1129 | 1130 => ErrorCause::MyHostRefused,
        1146 => ErrorCause::MyTableMissing,
        1305 | 1318 => ErrorCause::MyProcedureMissing,
        // InnoDB, or LOAD DATA LOCAL (MySQL 3948, MariaDB 4166), is switched off.
        1148 | 1286 | 1289 | 3948 | 4166 => ErrorCause::MyOption,
        _ => ErrorCause::MyOther,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_encrypted_as_asked_for() {
        let target = |query: &str| Target::completed(&format!("mysql://me@db.example.org/x{query}"), &[]);
        let plain = target("?sslmode=disable").unwrap();
        assert!(plain.opts.get_ssl_opts().is_none());
        let preferred = target("").unwrap();
        assert!(preferred.unencrypted && preferred.opts.get_ssl_opts().unwrap().accept_invalid_certs());
        let required = target("?ssl-mode=REQUIRED").unwrap();
        assert!(!required.unencrypted && required.opts.get_ssl_opts().is_some());
        assert!(target("?sslmode=verify-ca").unwrap_err().to_string().contains("sslrootcert=FILE"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "-----BEGIN CERTIFICATE-----").unwrap();
        let full = target(&format!("?sslmode=verify-full&sslrootcert={}", file.path().display())).unwrap();
        let tls = full.opts.get_ssl_opts().unwrap();
        assert!(!tls.accept_invalid_certs() && !tls.skip_domain_validation());
        assert_eq!(tls.root_cert_path(), Some(file.path()));
    }

    #[test]
    fn a_host_of_the_option_file_is_connected_to_whatever_socket_it_has() {
        let file = "[client]\nhost=db.example.org\nsocket=/run/x.sock\nport=77\nssl-mode=REQUIRED\n";
        let target = Target::with_options("mysql://me@/shop", file).unwrap();
        assert_eq!(target.place, "mysql://me@db.example.org:77/shop");
        assert!(target.opts.get_ssl_opts().is_some() && !target.unencrypted && !target.is_local());
        let file = file
            .replace("[client]\n", "[client]\nhost=one.example.org\n")
            .replace("host=db.example.org", "host=localhost");
        let target = Target::with_options("mysql://me@/shop", &file).unwrap();
        assert_eq!(target.place, "mysql://me@localhost/shop?socket=/run/x.sock");
    }

    #[test]
    fn urls_name_a_database_and_hide_the_password() {
        let target = Target::parse("mysql://me:se%40cret@[::1]:3307/shop").unwrap();
        assert_eq!((target.place.as_str(), target.schema.as_str()), ("mysql://me@[::1]:3307/shop", "shop"));
        assert_eq!(target.opts.get_pass(), Some("se@cret"));
        assert!(target.is_local());
        let target = Target::parse("mariadb://me@localhost/shop?socket=/tmp/a%20b.sock").unwrap();
        assert_eq!(target.opts.get_socket(), Some("/tmp/a b.sock"));
        assert!(!Target::parse("mysql://me@db.example.org/shop").unwrap().is_local());
        for wrong in [
            "mysql://me:secret@host",
            "mysql://me:secret@host/",
            "mysql://me:secret@host:port/x",
            "mysql://me:secret@host/x?password=secret",
            "http://me:secret@host/x",
        ] {
            let error = Target::parse(wrong).unwrap_err();
            assert!(matches!(error, Error::Url(_)), "{wrong}: {error}");
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        }
        assert!(!format!("{:?}", Target::parse("mysql://me:secret@host/x").unwrap()).contains("secret"));
    }
}
