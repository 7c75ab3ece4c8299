//! TLS towards private servers with an authority of their own: what each sslmode accepts and refuses, and what is said then.

// Tests may give up, and say what they skip.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]
#![cfg(all(feature = "postgres", feature = "mysql"))]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iolite_db::mysql::server::Options;
use iolite_db::{Error, Instance, Mysql, Postgres, Started, mysql, postgres};
use iolite_model::{Bytes, Durability};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};

/// An authority, and where what it issues is kept: readable for the server's user.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: PathBuf,
    owner: (u32, u32),
}

impl Authority {
    /// One whose files are in `directory`, of the owner of `like`.
    fn new(directory: &Path, name: &str, like: &Path) -> Authority {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
        let owner = fs::metadata(like).unwrap();
        let authority =
            Authority { issuer, directory: directory.to_owned(), owner: (owner.uid(), owner.gid()) };
        authority.keep(&format!("{name}.pem"), &authority.issuer.pem());
        authority
    }

    fn keep(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        chown(&path, Some(self.owner.0), Some(self.owner.1)).unwrap();
        path
    }

    /// A certificate for `host`, and its key, as `NAME.crt` and `NAME.key`.
    fn issue(&self, name: &str, host: &str, years: (i32, i32)) -> (PathBuf, PathBuf) {
        let mut parameters = CertificateParams::new(vec![host.to_owned()]).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "iolite");
        parameters.not_before = date_time_ymd(years.0, 1, 1);
        parameters.not_after = date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let path = self.keep(&format!("{name}.crt"), &certificate.pem());
        (path, self.keep(&format!("{name}.key"), &key.serialize_pem()))
    }
}

const VALID: (i32, i32) = (2020, 2100);
const EXPIRED: (i32, i32) = (2000, 2001);

/// What the URL's parameters get: how the connection is protected, or the error.
type Connected = Result<String, String>;

fn connection(instance: Result<impl Instance, Error>) -> Connected {
    let description = instance.and_then(|instance| instance.describe(Durability::AsConfigured));
    let description = description.map_err(|error| error.to_string())?;
    Ok(description.settings.into_iter().find(|(name, _)| name == "connection").unwrap().1)
}

fn encrypted(connected: Connected) {
    assert!(matches!(&connected, Ok(text) if text.starts_with("TLSv1")), "{connected:?}");
}

fn refused(connected: Connected, word: &str, remedy: &str) {
    assert!(matches!(&connected, Err(text) if text.contains(word) && text.contains(remedy)), "{connected:?}");
}

/// All modes against a server that shows a certificate for 127.0.0.1, issued by `ca.pem`, while there is `other.pem`.
fn every_mode_does_what_it_says(directory: &Path, connect: &dyn Fn(&str) -> Connected) {
    let file = |name: &str| directory.join(name).display().to_string();
    assert_eq!(connect("sslmode=disable"), Ok("TCP, not encrypted".to_owned()));
    encrypted(connect(""));
    encrypted(connect("sslmode=require"));
    for mode in ["verify-ca", "verify-full", "require"] {
        encrypted(connect(&format!("sslmode={mode}&sslrootcert={}", file("ca.pem"))));
        let stranger = connect(&format!("sslmode={mode}&sslrootcert={}", file("other.pem")));
        refused(stranger, "UnknownIssuer", "not issued by the authority in sslrootcert");
    }
    refused(connect("sslmode=verify-full"), "sslrootcert=FILE", "sslmode=require");
    refused(
        connect(&format!("sslmode=verify-ca&sslrootcert={}", file("missing.pem"))),
        "missing.pem",
        "correct sslrootcert",
    );
}

/// The same when the certificate is for another host, or has expired.
fn names_and_dates_count(directory: &Path, connect: &dyn Fn(&str) -> Connected, expired: bool) {
    let root = format!("sslrootcert={}", directory.join("ca.pem").display());
    encrypted(connect("sslmode=require"));
    if expired {
        refused(connect(&format!("sslmode=verify-ca&{root}")), "xpired", "have it renewed");
    } else {
        encrypted(connect(&format!("sslmode=verify-ca&{root}")));
        refused(connect(&format!("sslmode=verify-full&{root}")), "ot valid for name", "sslmode=verify-ca");
    }
}

/// A private PostgreSQL that is reached at its port, and configured through its socket.
struct PostgresServer {
    base: String,
    socket: String,
    authority: Authority,
    directory: tempfile::TempDir,
}

impl PostgresServer {
    /// `None`, with the reason printed, where the server's programs are missing.
    fn start() -> Option<PostgresServer> {
        let directory = tempfile::tempdir().unwrap();
        let started = match postgres::server::start(directory.path(), true) {
            Ok(started) => started,
            Err(Error::Build { what, .. }) => {
                println!("skipped: {what}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let real = directory.path().canonicalize().unwrap();
        let socket =
            format!("postgres://iolite@/iolite?host={}&port={}", real.display(), started.port.unwrap());
        let data = real.join("data");
        Authority::new(&real, "other", &data);
        let authority = Authority::new(&real, "ca", &data);
        let base = started.url.split('?').next().unwrap().to_owned();
        Some(PostgresServer { base, socket, authority, directory })
    }

    fn connect(&self, parameters: &str) -> Connected {
        connection(Postgres::new(&format!("{}?{parameters}", self.base)))
    }

    /// Sets parameters of the server, and waits until sessions see them.
    fn set(&self, settings: &[(&str, &str)]) {
        let open = || postgres::Target::new(&self.socket).unwrap().connect().unwrap();
        let mut client = open();
        for (name, value) in settings {
            client.batch_execute(&format!("ALTER SYSTEM SET {name} = '{value}'")).unwrap();
        }
        let before = client.query_one("SELECT pg_conf_load_time()::text", &[]).unwrap().get::<_, String>(0);
        client.batch_execute("SELECT pg_reload_conf()").unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while open().query_one("SELECT pg_conf_load_time()::text", &[]).unwrap().get::<_, String>(0) == before
        {
            assert!(Instant::now() < deadline, "the server does not read its settings again");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Lets the server show another certificate.
    fn show(&self, name: &str, host: &str, years: (i32, i32)) {
        let (certificate, key) = self.authority.issue(name, host, years);
        let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
        self.set(&[("ssl_cert_file", &certificate), ("ssl_key_file", &key), ("ssl", "on")]);
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let _ = postgres::server::stop(self.directory.path());
    }
}

#[test]
fn postgresql_is_reached_as_sslmode_says() {
    let Some(server) = PostgresServer::start() else { return };
    let connect = |parameters: &str| server.connect(parameters);
    let directory = server.authority.directory.clone();
    assert_eq!(connect("sslmode=prefer"), Ok("TCP, not encrypted".to_owned()));
    refused(connect("sslmode=require"), "TLS", "sslmode=prefer or disable");
    server.show("server", "127.0.0.1", VALID);
    every_mode_does_what_it_says(&directory, &connect);
    server.show("wrong", "db.example.org", VALID);
    names_and_dates_count(&directory, &connect, false);
    server.show("expired", "127.0.0.1", EXPIRED);
    names_and_dates_count(&directory, &connect, true);
}

#[test]
fn a_postgresql_that_requires_tls_says_so() {
    let Some(server) = PostgresServer::start() else { return };
    server.show("server", "127.0.0.1", VALID);
    let admit = |line: &str| {
        server.authority.keep("data/pg_hba.conf", &format!("local all all trust\n{line}\n"));
        server.set(&[("ssl_ca_file", &server.authority.directory.join("ca.pem").display().to_string())]);
    };
    admit("hostssl all all 127.0.0.1/32 scram-sha-256");
    refused(server.connect("sslmode=disable"), "no encryption", "only over TLS");
    encrypted(server.connect("sslmode=prefer"));
    admit("hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca");
    refused(server.connect("sslmode=require"), "certificate", "sslcert=FILE and sslkey=FILE");
    let (certificate, key) = server.authority.issue("client", "client", VALID);
    let own = format!("sslcert={}&sslkey={}", certificate.display(), key.display());
    encrypted(server.connect(&format!("sslmode=require&{own}")));
    let incomplete = server.connect(&format!("sslmode=require&sslcert={}", certificate.display()));
    refused(incomplete, "sslkey", "give both");
}

/// A MariaDB with the data and the settings of a private server, and more options.
struct MariadbServer {
    child: Child,
    started: Started,
}

impl MariadbServer {
    fn start(private: &Path, started: Started, command_line: &[String], more: &[String]) -> MariadbServer {
        let owner = fs::metadata(private.join("data")).unwrap();
        let mut command = Command::new(&command_line[0]);
        command.args(&command_line[1..]).args(more).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).uid(owner.uid()).gid(owner.gid()).spawn().unwrap();
        let mut server = MariadbServer { child, started };
        let deadline = Instant::now() + Duration::from_secs(120);
        while let Err(error) = server.connect("sslmode=require") {
            let ended = server.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{ended:?}: {error}");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn connect(&self, parameters: &str) -> Connected {
        connection(Mysql::new(&format!("{}?{parameters}", self.started.url)))
    }
}

impl Drop for MariadbServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn mariadb_is_reached_as_sslmode_says() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { buffer_pool: Bytes(32 << 20), tcp: true, ..Options::default() };
    let started = match mysql::server::start(directory.path(), &options) {
        Ok(started) => started,
        Err(Error::Build { what, .. }) => return println!("skipped: {what}"),
        Err(error) => panic!("{error}"),
    };
    let plain = |parameters: &str| connection(Mysql::new(&format!("{}?{parameters}", started.url)));
    assert_eq!(plain(""), Ok("TCP, not encrypted".to_owned()));
    refused(plain("sslmode=require"), "TLS", "sslmode=prefer or disable");
    let command_line = fs::read_to_string(format!("/proc/{}/cmdline", started.pid)).unwrap();
    let command_line: Vec<String> =
        // The file with the first statements is gone once they have been executed.
        command_line.split('\0').filter(|part| !part.is_empty() && !part.starts_with("--init-file")).map(str::to_owned).collect();
    mysql::server::stop(directory.path()).unwrap();
    let data = directory.path().join("data");
    Authority::new(directory.path(), "other", &data);
    let authority = Authority::new(directory.path(), "ca", &data);
    let start = |name: &str, host: &str, years, more: &[&str]| {
        let (certificate, key) = authority.issue(name, host, years);
        let option = |name: &str, file: &Path| format!("--{name}={}", file.display());
        let mut options = vec![option("ssl-cert", &certificate), option("ssl-key", &key)];
        options.push(option("ssl-ca", &directory.path().join("ca.pem")));
        options.extend(more.iter().map(|&more| more.to_owned()));
        MariadbServer::start(directory.path(), started.clone(), &command_line, &options)
    };
    let server = start("server", "127.0.0.1", VALID, &[]);
    every_mode_does_what_it_says(directory.path(), &|parameters| server.connect(parameters));
    drop(server);
    let server = start("wrong", "db.example.org", VALID, &["--require-secure-transport=ON"]);
    names_and_dates_count(directory.path(), &|parameters| server.connect(parameters), false);
    refused(server.connect("sslmode=disable"), "Access denied", "requires TLS");
    drop(server);
    let server = start("expired", "127.0.0.1", EXPIRED, &[]);
    names_and_dates_count(directory.path(), &|parameters| server.connect(parameters), true);
}
