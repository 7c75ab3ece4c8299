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

use ::mysql::prelude::Queryable;
use iolite_db::mysql::server::Options;
use iolite_db::{Error, Instance, Mysql, Postgres, Started, mysql, postgres};
use iolite_model::{Bytes, Durability, ErrorCause};
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
        self.issue_to("iolite", name, host, years)
    }

    /// The same with this common name.
    fn issue_to(&self, owner: &str, name: &str, host: &str, years: (i32, i32)) -> (PathBuf, PathBuf) {
        let mut parameters = CertificateParams::new(vec![host.to_owned()]).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, owner);
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

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, connected: Connected) {
    assert!(matches!(&connected, Err(text) if text.contains(cause.remedy())), "{cause:?}: {connected:?}");
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
        produced(ErrorCause::CertificateOfOtherAuthority, stranger);
    }
    refused(connect("sslmode=verify-full"), "sslrootcert=FILE", "sslmode=require");
    if Path::new("/etc/ssl/certs/ca-certificates.crt").exists() {
        produced(ErrorCause::CertificateOfOtherAuthority, connect("sslrootcert=system"));
    } else {
        println!("skipped: sslrootcert=system: the package ca-certificates is not installed");
    }
    let missing = connect(&format!("sslmode=verify-ca&sslrootcert={}", file("missing.pem")));
    produced(ErrorCause::TlsFileMissing, missing);
    fs::write(directory.join("no.pem"), "no certificate").unwrap();
    let invalid = connect(&format!("sslmode=verify-ca&sslrootcert={}", file("no.pem")));
    produced(ErrorCause::TlsFileInvalid, invalid);
}

/// The same when the certificate is for another host, or has expired.
fn names_and_dates_count(directory: &Path, connect: &dyn Fn(&str) -> Connected, expired: bool) {
    let root = format!("sslrootcert={}", directory.join("ca.pem").display());
    encrypted(connect("sslmode=require"));
    if expired {
        produced(ErrorCause::CertificateExpired, connect(&format!("sslmode=verify-ca&{root}")));
    } else {
        encrypted(connect(&format!("sslmode=verify-ca&{root}")));
        produced(ErrorCause::CertificateOfOtherHost, connect(&format!("sslmode=verify-full&{root}")));
    }
}

/// A certificate of 127.0.0.1 that has signed itself, as an authority's: what OpenSSL makes by default.
fn self_signed(authority: &Authority, name: &str, host: &str, years: (i32, i32)) -> (PathBuf, PathBuf) {
    let mut parameters = CertificateParams::new(vec![host.to_owned()]).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.not_before = date_time_ymd(years.0, 1, 1);
    parameters.not_after = date_time_ymd(years.1, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    let path = authority.keep(&format!("{name}.crt"), &certificate.pem());
    (path, authority.keep(&format!("{name}.key"), &key.serialize_pem()))
}

/// A certificate of X.509 version 1, with its authority, as the manuals of PostgreSQL and MariaDB have OpenSSL make it; `None`, with the
/// reason printed, where OpenSSL makes none.
fn version_1(authority: &Authority) -> Option<(PathBuf, PathBuf, PathBuf)> {
    let at = |name: &str| authority.directory.join(name).display().to_string();
    let openssl = |arguments: &str| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let done = Command::new("openssl").args(arguments).current_dir(&authority.directory).output();
        done.ok()
            .filter(|done| done.status.success())
            .map(|done| String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let made = openssl("req -new -x509 -nodes -days 10 -subj /CN=v1-ca -keyout v1-ca.key -out v1-ca.pem")
        .and_then(|_| openssl("req -new -nodes -subj /CN=127.0.0.1 -keyout v1.key -out v1.csr"))
        .and_then(|_| {
            openssl("x509 -req -in v1.csr -days 10 -CA v1-ca.pem -CAkey v1-ca.key -set_serial 1 -out v1.crt")
        })
        .and_then(|_| openssl("x509 -in v1.crt -noout -text"));
    if made.is_none_or(|text| !text.contains("Version: 1 ")) {
        println!("skipped: OpenSSL makes no certificate of version 1 here");
        return None;
    }
    let keep = |name: &str| authority.keep(name, &fs::read_to_string(at(name)).unwrap());
    Some((keep("v1.crt"), keep("v1.key"), keep("v1-ca.pem")))
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

    /// Lets the server show another certificate of the authority.
    fn show(&self, name: &str, host: &str, years: (i32, i32)) {
        self.show_files(self.authority.issue(name, host, years));
    }

    fn show_files(&self, (certificate, key): (PathBuf, PathBuf)) {
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
    produced(ErrorCause::TlsNotOffered, connect("sslmode=require"));
    server.show("server", "127.0.0.1", VALID);
    every_mode_does_what_it_says(&directory, &connect);
    server.show("wrong", "db.example.org", VALID);
    names_and_dates_count(&directory, &connect, false);
    server.show("expired", "127.0.0.1", EXPIRED);
    names_and_dates_count(&directory, &connect, true);
    server.set(&[("ssl_min_protocol_version", "TLSv1"), ("ssl_max_protocol_version", "TLSv1.1")]);
    produced(ErrorCause::TlsHandshake, connect("sslmode=require"));
}

#[test]
fn certificates_as_manuals_make_them_are_accepted_by_postgresql() {
    let Some(server) = PostgresServer::start() else { return };
    let connect = |parameters: &str| server.connect(parameters);
    let show = |name: &str, host: &str, years| {
        let files = self_signed(&server.authority, name, host, years);
        server.show_files(files.clone());
        format!("sslrootcert={}", files.0.display())
    };
    let own = show("self", "127.0.0.1", VALID);
    encrypted(connect("sslmode=require"));
    encrypted(connect(&format!("sslmode=verify-ca&{own}")));
    encrypted(connect(&format!("sslmode=verify-full&{own}")));
    let other = format!("sslrootcert={}", server.authority.directory.join("ca.pem").display());
    produced(ErrorCause::CertificateIsAuthority, connect(&format!("sslmode=verify-ca&{other}")));
    // Names and dates count for it as well.
    let named = show("self-named", "db.example.org", VALID);
    produced(ErrorCause::CertificateIsAuthority, connect(&format!("sslmode=verify-ca&{own}")));
    encrypted(connect(&format!("sslmode=verify-ca&{named}")));
    produced(ErrorCause::CertificateOfOtherHost, connect(&format!("sslmode=verify-full&{named}")));
    let old = show("self-old", "127.0.0.1", EXPIRED);
    produced(ErrorCause::CertificateExpired, connect(&format!("sslmode=verify-ca&{old}")));
    let Some((certificate, key, root)) = version_1(&server.authority) else { return };
    server.show_files((certificate, key));
    server.set(&[("ssl_max_protocol_version", "TLSv1.2")]);
    encrypted(connect("sslmode=require"));
    server.set(&[("ssl_max_protocol_version", "")]);
    encrypted(connect("sslmode=prefer"));
    let verified = connect(&format!("sslmode=verify-ca&sslrootcert={}", root.display()));
    produced(ErrorCause::CertificateVersion, verified);
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
    produced(ErrorCause::PgTlsRequired, server.connect("sslmode=disable"));
    encrypted(server.connect("sslmode=prefer"));
    admit("hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca");
    produced(ErrorCause::ClientCertificateMissing, server.connect("sslmode=require"));
    let (certificate, key) = server.authority.issue("client", "client", VALID);
    let own = format!("sslcert={}&sslkey={}", certificate.display(), key.display());
    encrypted(server.connect(&format!("sslmode=require&{own}")));
    let incomplete = server.connect(&format!("sslmode=require&sslcert={}", certificate.display()));
    refused(incomplete, "sslkey", "give both");
    let with = |(certificate, key): (PathBuf, PathBuf)| {
        let files = format!("sslcert={}&sslkey={}", certificate.display(), key.display());
        server.connect(&format!("sslmode=require&{files}"))
    };
    let other =
        Authority::new(&server.authority.directory, "other", &server.authority.directory.join("data"));
    produced(ErrorCause::ClientCertificateRefused, with(other.issue("stranger", "client", VALID)));
    produced(ErrorCause::ClientCertificateRefused, with(server.authority.issue("old", "client", EXPIRED)));
    admit("hostssl all all 127.0.0.1/32 cert");
    // Issued for the role that connects, by its common name.
    encrypted(with(server.authority.issue_to("iolite", "owner", "client", VALID)));
    produced(
        ErrorCause::ClientCertificateRefused,
        with(server.authority.issue_to("somebody", "another", "client", VALID)),
    );
    admit("hostssl all nobody 127.0.0.1/32 trust");
    produced(ErrorCause::PgHostRefused, server.connect("sslmode=require"));
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
    produced(ErrorCause::TlsNotOffered, plain("sslmode=require"));
    let command_line = fs::read_to_string(format!("/proc/{}/cmdline", started.pid)).unwrap();
    let command_line: Vec<String> =
        // The file with the first statements is gone once they have been executed.
        command_line.split('\0').filter(|part| !part.is_empty() && !part.starts_with("--init-file")).map(str::to_owned).collect();
    mysql::server::stop(directory.path()).unwrap();
    let data = directory.path().join("data");
    Authority::new(directory.path(), "other", &data);
    let authority = Authority::new(directory.path(), "ca", &data);
    let start_with = |(certificate, key): (PathBuf, PathBuf), more: &[&str]| {
        let option = |name: &str, file: &Path| format!("--{name}={}", file.display());
        let mut options = vec![option("ssl-cert", &certificate), option("ssl-key", &key)];
        options.push(option("ssl-ca", &directory.path().join("ca.pem")));
        options.extend(more.iter().map(|&more| more.to_owned()));
        MariadbServer::start(directory.path(), started.clone(), &command_line, &options)
    };
    let start =
        |name: &str, host: &str, years, more: &[&str]| start_with(authority.issue(name, host, years), more);
    let server = start("server", "127.0.0.1", VALID, &[]);
    every_mode_does_what_it_says(directory.path(), &|parameters| server.connect(parameters));
    client_certificates_count(&server, &authority);
    drop(server);
    let server = start("wrong", "db.example.org", VALID, &["--require-secure-transport=ON"]);
    names_and_dates_count(directory.path(), &|parameters| server.connect(parameters), false);
    refused(server.connect("sslmode=disable"), "Access denied", "requires TLS");
    drop(server);
    let server = start("expired", "127.0.0.1", EXPIRED, &[]);
    names_and_dates_count(directory.path(), &|parameters| server.connect(parameters), true);
    drop(server);
    let files = self_signed(&authority, "self", "127.0.0.1", VALID);
    let server = start_with(files.clone(), &[]);
    encrypted(server.connect(""));
    let own = server.connect(&format!("sslmode=verify-ca&sslrootcert={}", files.0.display()));
    produced(ErrorCause::CertificateIsAuthority, own);
    drop(server);
    let Some((certificate, key, root)) = version_1(&authority) else { return };
    let server = start_with((certificate, key), &[]);
    encrypted(server.connect(""));
    let verified = server.connect(&format!("sslmode=verify-ca&sslrootcert={}", root.display()));
    produced(ErrorCause::CertificateVersion, verified);
}

/// Accounts that are declared with REQUIRE: what each lets in, and what it refuses.
fn client_certificates_count(server: &MariadbServer, authority: &Authority) {
    let mut root = mysql::connect::Target::parse(&server.started.url).unwrap().open().unwrap();
    let mut account = |name: &str, require: &str| {
        let rights = format!("GRANT SELECT ON *.* TO {name}");
        root.query_drop(format!("CREATE USER {name} IDENTIFIED BY 'x' REQUIRE {require}")).unwrap();
        root.query_drop(rights).unwrap();
    };
    account("bearer", "X509");
    account("named", "SUBJECT '/CN=somebody'");
    let password = server.started.url.split(['@', '/']).nth(2).unwrap();
    let connect = |user: &str, files: &str| {
        let url = server.started.url.replacen(password, &format!("{user}:x"), 1);
        connection(Mysql::new(&format!("{url}?sslmode=require&{files}")))
    };
    let files = |(certificate, key): (PathBuf, PathBuf)| {
        format!("sslcert={}&sslkey={}", certificate.display(), key.display())
    };
    let own = files(authority.issue("own", "client", VALID));
    encrypted(connect("bearer", &own));
    produced(ErrorCause::MyLogin, connect("bearer", ""));
    produced(ErrorCause::MyLogin, connect("named", &own));
    encrypted(connect("named", &files(authority.issue_to("somebody", "right", "client", VALID))));
    let other = Authority::new(&authority.directory, "other", &authority.directory.join("data"));
    let stranger = files(other.issue("stranger", "client", VALID));
    produced(ErrorCause::ClientCertificateRefused, connect("bearer", &stranger));
    let old = files(authority.issue("old", "client", EXPIRED));
    produced(ErrorCause::ClientCertificateRefused, connect("bearer", &old));
}
