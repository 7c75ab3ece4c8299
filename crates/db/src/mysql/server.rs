//! A private MariaDB server in a directory of its own, for those who have none running, and for the tests: everything that
//! makes writes durable is on, and the buffer pool is small, so that reads are reads.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iolite_model::{Bytes, ErrorCause};
use mysql::{Conn, OptsBuilder};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::error::{Error, Result};
use crate::private::{self, ServerUser};
use crate::started::Started;

/// How long a server may take to start or to stop, writing back what its buffer pool holds.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Where servers are besides the PATH: users other than root seldom have it there.
const SERVER_PLACES: [&str; 4] = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/bin"];
/// What a server's own files take: the log, and its own tables.
const OWN_FILES: Bytes = Bytes(400 << 20);
/// Longest path of a socket, with its NUL.
const SOCKET_PATH: usize = 108;
/// File that says a directory is one of ours, and what clients need to know.
const URL_FILE: &str = "iolite-server";
/// File with InnoDB's page size, where it is not the default.
const PAGE: &str = "page-size";
const DEFAULT_PAGE: u64 = 16 << 10;
/// Page sizes that InnoDB has (powers of two).
const PAGES: std::ops::RangeInclusive<u64> = 4096..=65_536;
/// The server adds an extension to a name without one.
const LOG: &str = "server.log";
/// What the server executes before it takes connections.
const BEFORE_CLIENTS: &str = "init.sql";
/// Database that is created for blocks and globals.
const SCHEMA: &str = "iolite";

/// How a private server is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// InnoDB's buffer pool.
    pub buffer_pool: Bytes,
    /// Also reachable by TCP, at a free port of the loopback address.
    pub tcp: bool,
    /// InnoDB's page size: of a server whose data is created now; `None` for the default.
    pub page: Option<Bytes>,
    /// Options for mariadbd besides ours, behind them.
    pub more: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { buffer_pool: Bytes(64 << 20), tcp: false, page: None, more: Vec::new() }
    }
}

/// Options of mariadbd with which it shows waits for its mutexes, latches and files.
const INSTRUMENTED: [&str; 4] = [
    "--performance-schema=ON",
    "--performance-schema-instrument=wait/synch/%/innodb/%=ON",
    "--performance-schema-instrument=wait/io/file/innodb/%=ON",
    "--performance-schema-consumer-events-waits-current=ON",
];

/// The options of a server that is to show such waits, or none.
pub(crate) fn instrumented(wanted: bool) -> Vec<String> {
    let options = if wanted { &INSTRUMENTED[..] } else { &[] };
    options.iter().map(|option| (*option).to_owned()).collect()
}

/// Whether a server was started with them.
pub(crate) fn is_instrumented(pid: u32) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).any(|argument| argument == INSTRUMENTED[0].as_bytes())
}

/// Starts a private server in `directory`, which is made, or is empty, or was made by an earlier start, whose contents are
/// kept. The server goes on after this program has ended, until [`stop`].
///
/// # Errors
/// [`Error::Build`] without MariaDB's programs; [`Error::Foreign`] when the directory holds something else;
/// [`Error::Engine`] when a server runs there already, has no room, or does not start, with what its log says.
pub fn start(directory: &Path, options: &Options) -> Result<Started> {
    let server = program("mariadbd").ok_or(LACKING)?;
    let place = ServerDirectory::of(directory)?;
    let _held = private::hold(&place.directory)?;
    if let Some(pid) = place.running() {
        return Err(place.failed(
            "start a server in",
            format!("one runs there already, process {pid}"),
            ErrorCause::PrivateRunning,
        ));
    }
    place.refuse_other_page(options.page)?;
    let user = ServerUser::of_root(&["mysql", "nobody"]);
    let secret = match place.password() {
        Some(secret) => secret,
        None => {
            private::require_space(&place.directory, OWN_FILES)?;
            let made = place.initialise(user, options.page);
            made.map_err(|error| private::explained(error, user, &place.directory))?
        }
    };
    let port = if options.tcp { Some(private::port(&place.directory)?) } else { None };
    let log = place.log()?;
    let before_clients = place.write_before_clients(&secret, user)?;
    let mut command = Command::new(server);
    command.args(place.arguments(options, port)).stdin(Stdio::null()).process_group(0);
    command.stdout(log.try_clone().map_err(|e| place.io("open the log in", e))?).stderr(log);
    if let Some(user) = user {
        user.run(&mut command);
    }
    let mut child = command.spawn().map_err(|e| place.io("run mariadbd in", e))?;
    let pid = child.id();
    let ready = place.wait_until_ready(&mut child, &secret);
    // It holds the password, and is not needed any more.
    let _ = fs::remove_file(before_clients);
    if let Err(error) = ready {
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    Ok(place.started(pid, &secret, port))
}

/// The server that runs in `directory`, if one does.
///
/// # Errors
/// [`Error::Engine`] when its password can't be read.
pub fn running(directory: &Path) -> Result<Option<Started>> {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let place = ServerDirectory { directory: absolute };
    let Some(pid) = place.running() else { return Ok(None) };
    let secret = place.password().ok_or_else(|| {
        let why = format!("a server is running there as process {pid}, but its password cannot be read");
        place.failed("reach the server in", why, ErrorCause::NotPermitted)
    })?;
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let port = String::from_utf8_lossy(&arguments)
        .split('\0')
        .find_map(|argument| argument.strip_prefix("--port=")?.parse().ok());
    Ok(Some(place.started(pid, &secret, port)))
}

/// Stops the server of a directory, cleanly: what it has in memory is written first. The directory stays.
///
/// # Errors
/// [`Error::Engine`] when none runs there, or it does not end within two minutes.
pub fn stop(directory: &Path) -> Result<()> {
    let place = ServerDirectory { directory: directory.to_owned() };
    let _held = directory.exists().then(|| private::hold(directory)).transpose()?;
    let Some(pid) = place.running() else {
        let why = "none runs there".to_owned();
        return Err(place.failed("stop the server in", why, ErrorCause::PrivateNotRunning));
    };
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| {
        place.failed("stop the server in", format!("its process is {pid}"), ErrorCause::PrivateLog)
    })?;
    kill_process(process, Signal::TERM).map_err(|e| place.io("stop the server in", e.into()))?;
    let deadline = Instant::now() + PATIENCE;
    while place.running().is_some() {
        // Where this program started it, it is to be waited for.
        let _ = waitpid(Some(process), WaitOptions::NOHANG);
        if Instant::now() > deadline {
            let why = format!("process {pid} still runs after {} s", PATIENCE.as_secs());
            return Err(place.failed("stop the server in", why, ErrorCause::PrivateLog));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

const LACKING: Error = Error::Build {
    what: "start a private MariaDB: its programs mariadbd and mariadb-install-db are not installed",
    remedy: ErrorCause::PrivateMariadbMissing,
};

/// A server's directory.
struct ServerDirectory {
    directory: PathBuf,
}

impl ServerDirectory {
    /// The directory, made if it is not there.
    fn of(directory: &Path) -> Result<ServerDirectory> {
        let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        let place = ServerDirectory { directory: absolute };
        if place.socket().as_os_str().len() >= SOCKET_PATH {
            let why = format!("the path of its socket would be longer than {SOCKET_PATH} bytes");
            return Err(place.failed("start a server in", why, ErrorCause::LongPath));
        }
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&place.directory);
        made.map_err(|e| place.io("create", e))?;
        let mut entries = fs::read_dir(&place.directory).map_err(|e| place.io("list", e))?;
        if !place.directory.join(URL_FILE).exists() && entries.next().is_some() {
            return Err(Error::Foreign { path: place.directory });
        }
        Ok(place)
    }

    fn started(&self, pid: u32, secret: &str, port: Option<u16>) -> Started {
        let url = match port {
            Some(port) => format!("mysql://root:{secret}@127.0.0.1:{port}/{SCHEMA}"),
            None => format!(
                "mysql://root:{secret}@localhost/{SCHEMA}?socket={}",
                private::encoded(&self.socket())
            ),
        };
        Started { url, pid, port }
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }

    fn io(&self, doing: &'static str, source: std::io::Error) -> Error {
        Error::io(doing, &self.directory, source)
    }

    fn failed(&self, doing: &'static str, why: String, likely: ErrorCause) -> Error {
        Error::engine(doing, self.directory.display(), why, likely)
    }

    fn log(&self) -> Result<File> {
        let log = OpenOptions::new().create(true).append(true).mode(0o600).open(self.directory.join(LOG));
        log.map_err(|e| self.io("open the log in", e))
    }

    /// What the end of the log says.
    fn log_says(&self) -> String {
        let log = fs::read(self.directory.join(LOG)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
        let lines = if errors.is_empty() { log.lines().collect() } else { errors };
        lines[lines.len().saturating_sub(3)..].join("; ")
    }

    /// The process of the server that runs here.
    fn running(&self) -> Option<u32> {
        let text = fs::read_to_string(self.directory.join("pid")).ok()?;
        let pid: u32 = text.trim().parse().ok()?;
        // Its number may be another's by now; one that has ended and is not yet waited for has no arguments.
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let own = std::path::absolute(&self.directory).unwrap_or_else(|_| self.directory.clone());
        let argument = format!("--datadir={}", own.join("data").display());
        arguments.split(|&byte| byte == 0).any(|given| given == argument.as_bytes()).then_some(pid)
    }

    fn password(&self) -> Option<String> {
        let text = fs::read_to_string(self.directory.join(URL_FILE)).ok()?;
        let secret = text.lines().next()?.strip_prefix("password ")?;
        (!secret.is_empty() && secret.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            .then(|| secret.to_owned())
    }

    /// # Errors
    /// There is data of another page size already.
    fn refuse_other_page(&self, asked: Option<Bytes>) -> Result<()> {
        let there = self.page().unwrap_or(DEFAULT_PAGE);
        match asked {
            Some(Bytes(asked)) if self.password().is_some() && asked != there => {
                let why = format!("its data has pages of {}", Bytes(there));
                Err(self.failed("start a server with that block size in", why, ErrorCause::PrivateBlockSize))
            }
            _ => Ok(()),
        }
    }

    /// The page size of the data that is there, which a server must be started with.
    fn page(&self) -> Option<u64> {
        fs::read_to_string(self.directory.join(PAGE)).ok()?.trim().parse().ok()
    }

    /// Notes the page size of data that is about to be created.
    fn note_page(&self, page: Option<Bytes>) -> Result<()> {
        let path = self.directory.join(PAGE);
        match page {
            Some(Bytes(page)) if PAGES.contains(&page) && page.is_power_of_two() => {
                fs::write(path, format!("{page}\n")).map_err(|e| self.io("write to", e))
            }
            Some(page) => {
                let why = format!("InnoDB has no pages of {page}");
                Err(self.failed("create a server in", why, ErrorCause::PrivateNoSuchBlockSize))
            }
            // Of an attempt that was interrupted.
            None => match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.io("write to", error)),
                _ => Ok(()),
            },
        }
    }

    /// Makes the server's own tables, and a password.
    fn initialise(&self, user: Option<ServerUser>, page: Option<Bytes>) -> Result<String> {
        let install = program("mariadb-install-db").ok_or(LACKING)?;
        // The directory is ours from here on, also when what follows fails: the next start begins anew.
        let marker = self.directory.join(URL_FILE);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&marker)
            .map_err(|e| self.io("write to", e))?;
        self.note_page(page)?;
        let data = self.directory.join("data");
        if data.exists() {
            fs::remove_dir_all(&data).map_err(|e| self.io("remove what an interrupted start left in", e))?;
        }
        for path in [&data, &self.directory.join("tmp")] {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|e| self.io("create a directory in", e))?;
        }
        drop(self.log()?);
        if let Some(user) = user {
            for path in ["", "data", "tmp", LOG].map(|name| self.directory.join(name)) {
                user.give(&path).map_err(|e| self.io("give the server's user", e))?;
            }
        }
        let log = self.log()?;
        let mut command = Command::new(install);
        command.args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"]);
        // Its own --tmpdir is cut at a space.
        command.arg(format!("--datadir={}", data.display())).env("TMPDIR", self.directory.join("tmp"));
        command.args(self.page().map(|page| format!("--innodb-page-size={page}")));
        if let Some(user) = user {
            user.run(&mut command);
        }
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(|e| self.io("open the log in", e))?)
            .stderr(log);
        let status = command.status().map_err(|e| self.io("run mariadb-install-db in", e))?;
        if !status.success() {
            let why = format!("mariadb-install-db ended with {status}: {}", self.log_says());
            return Err(self.failed("create the tables of a server in", why, ErrorCause::PrivateLog));
        }
        let mut secret = String::new();
        for seed in 0..2 {
            let _ = write!(secret, "{:016x}", RandomState::new().hash_one(seed));
        }
        writeln!(file, "password {secret}")
            .and_then(|()| file.sync_all())
            .map_err(|e| self.io("write the password to", e))?;
        Ok(secret)
    }

    /// As durable as it can be set, and nothing that reads or writes beside what it is asked for.
    fn arguments(&self, options: &Options, port: Option<u16>) -> Vec<String> {
        let path = |option: &str, name: &str| format!("--{option}={}", self.directory.join(name).display());
        let mut arguments = vec![
            // Has to be the first.
            "--no-defaults".to_owned(),
            path("datadir", "data"),
            path("socket", "socket"),
            path("pid-file", "pid"),
            path("tmpdir", "tmp"),
            path("log-error", LOG),
            path("init-file", BEFORE_CLIENTS),
            format!("--innodb-buffer-pool-size={}", options.buffer_pool.0),
            // So many pages MariaDB keeps free. Its default, 1536, is a third of a small pool, or all of it: then the inner
            // pages of a tree are thrown out, and a block takes two reads.
            format!("--innodb-lru-scan-depth={}", (options.buffer_pool.0 >> 18).max(100)),
        ];
        let fixed = [
            "--innodb-flush-log-at-trx-commit=1",
            "--innodb-doublewrite=1",
            "--innodb-file-per-table=1",
            "--innodb-log-file-size=256M",
            "--innodb-buffer-pool-dump-at-shutdown=0",
            "--innodb-buffer-pool-load-at-startup=0",
            // Servers that no longer know it do so by themselves.
            "--loose-innodb-flush-method=O_DIRECT",
            "--skip-log-bin",
            "--local-infile=1",
            "--max-allowed-packet=64M",
            "--max-connections=1000",
        ];
        arguments.extend(fixed.map(str::to_owned));
        arguments.extend(self.page().map(|page| format!("--innodb-page-size={page}")));
        arguments.extend(options.more.iter().cloned());
        match port {
            Some(port) => arguments.extend([format!("--port={port}"), "--bind-address=127.0.0.1".to_owned()]),
            None => arguments.push("--skip-networking".to_owned()),
        }
        arguments
    }

    /// Waits until it takes connections.
    fn wait_until_ready(&self, child: &mut Child, secret: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let opts = || {
            let socket = self.socket().display().to_string();
            OptsBuilder::new().user(Some("root")).pass(Some(secret)).socket(Some(socket)).prefer_socket(false)
        };
        loop {
            if Conn::new(opts()).is_ok() {
                return Ok(());
            }
            if let Ok(Some(status)) = child.try_wait() {
                let why = format!("it ended with {status}: {}", self.log_says());
                return Err(self.failed("start the server in", why, ErrorCause::PrivateLog));
            }
            if Instant::now() > deadline {
                let why = format!(
                    "it does not accept connections after {} s: {}",
                    PATIENCE.as_secs(),
                    self.log_says()
                );
                return Err(self.failed("start the server in", why, ErrorCause::PrivateLog));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Writes what the server executes at each start before it takes the first connection (init-file): the password, no other
    /// account that anybody could use, and the database for us.
    fn write_before_clients(&self, secret: &str, user: Option<ServerUser>) -> Result<PathBuf> {
        let path = self.directory.join(BEFORE_CLIENTS);
        let failed = |e| self.io("write to", e);
        // One that an interrupted start has left is another user's.
        let _ = fs::remove_file(&path);
        let mut file =
            OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path).map_err(failed)?;
        // A statement per line.
        let statements = format!(
            "ALTER USER root@localhost IDENTIFIED BY '{secret}';\n\
             DELETE FROM mysql.global_priv WHERE NOT (User = 'root' AND Host = 'localhost') AND User <> 'mariadb.sys' \
             AND JSON_VALUE(Priv, '$.is_role') IS NULL;\n\
             FLUSH PRIVILEGES;\n\
             CREATE DATABASE IF NOT EXISTS {SCHEMA};\n"
        );
        file.write_all(statements.as_bytes()).map_err(failed)?;
        if let Some(user) = user {
            user.give(&path).map_err(|e| self.io("give the server's user", e))?;
        }
        Ok(path)
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(SERVER_PLACES.map(PathBuf::from));
    let is_executable = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    places.map(|place| place.join(name)).find(is_executable)
}
