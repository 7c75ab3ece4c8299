//! A private server in a directory of its own, for those who have none running: durable, with small buffers, reached through a
//! socket in that directory, and through a port of the loopback interface only where asked for.
//!
//! What is in the directory: `data`, `log`, the socket, the superuser's `password` for the port, and our mark. PostgreSQL refuses
//! to be run by root, so when root starts it, it is another user's, and so is the directory.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use iolite_model::{Bytes, ErrorCause};

use super::connect::Target;
use crate::error::{Error, Result};
use crate::private::{self, ServerUser};
use crate::started::Started;

/// The file that marks a directory as ours.
const MARK: &str = "iolite-postgres";
/// The superuser, and the database.
const NAME: &str = "iolite";
/// The port that names the socket where no other is asked for.
const PORT: u16 = 5432;
/// Bytes of a socket's path: sun_path of unix(7) without its last byte.
const SOCKET_PATH: usize = 107;
/// What a server's own files take, and as much again for its log to grow.
const OWN_FILES: Bytes = Bytes(100 << 20);
/// Seconds that a server may take to start (it may have to recover) and to stop (it has to write what is in its buffers).
const PATIENCE: &str = "120";
/// Users that can run it for root, the first that there is.
const USERS: [&str; 2] = ["postgres", "nobody"];
/// Where distributions put the programs, with their version in between.
const PROGRAMS: [(&str, &str); 3] =
    [("/usr/lib/postgresql", "bin"), ("/usr", "bin"), ("/usr/local/pgsql", "")];

/// How long the process of a killed server may stay a zombie.
const ZOMBIE: Duration = Duration::from_secs(15);

/// The server's programs, and who runs them.
struct Programs {
    directory: PathBuf,
    user: Option<ServerUser>,
}

/// Starts a server in `directory`, which is made where it is not there; with `port`, also on a free port of the loopback
/// interface. It goes on when this program ends. What an earlier server has left there is used.
///
/// # Errors
/// [`Error::Foreign`] for a directory with other things in it, [`Error::Build`] without PostgreSQL's programs,
/// [`Error::Engine`] when one runs there already, when there is no room for it, or when it does not start, [`Error::Io`].
pub fn start(directory: &Path, port: bool) -> Result<Started> {
    let programs = Programs::find()?.of_owner(directory);
    let directory = claim(directory, &programs)?;
    let _held = private::hold(&directory)?;
    if programs.pid(&directory).is_some() {
        return Err(problem(
            "start a server in",
            &directory,
            "one runs there already",
            ErrorCause::PrivateRunning,
        ));
    }
    if !directory.join("data").exists() {
        private::require_space(&directory, OWN_FILES)?;
        let user = programs.user;
        create(&directory, &programs).map_err(|error| private::explained(error, user, &directory))?;
    }
    wait_for_end(&directory);
    let port = if port { Some(private::port(&directory)?) } else { None };
    configure(&directory, port)?;
    let log = directory.join("log");
    programs
        .run(&directory, "pg_ctl", &["start", "-w", "-s", "-t", PATIENCE, "-D", "data", "-l", "log"])
        .map_err(|error| match (error, fs::read_to_string(&log)) {
            (Error::Engine { doing, place, cause, likely }, Ok(log)) => {
                let lines: Vec<&str> = log.lines().rev().take(5).collect();
                let last: Vec<&str> = lines.into_iter().rev().collect();
                let cause = format!("{cause}; its log ends with: {}", last.join(" | ")).into();
                Error::Engine { doing, place, cause, likely }
            }
            (error, _) => error,
        })?;
    let pid = programs.pid(&directory).ok_or_else(|| {
        problem("start a server in", &directory, "it has ended at once", ErrorCause::PrivateLog)
    })?;
    create_database(&directory, port)?;
    Ok(Started { url: url(&directory, port)?, pid, port })
}

/// The server that runs in `directory`, if one does.
///
/// # Errors
/// [`Error::Build`] without PostgreSQL's programs, [`Error::Io`] when its password can't be read.
pub fn running(directory: &Path) -> Result<Option<Started>> {
    let Ok(real) = directory.canonicalize() else { return Ok(None) };
    if !real.join(MARK).exists() {
        return Ok(None);
    }
    let Some(pid) = Programs::find()?.of_owner(directory).pid(&real) else { return Ok(None) };
    // Its port is in line 4, and in line 6 the address that it listens at ("postmaster.pid", miscadmin.h).
    let lock = fs::read_to_string(real.join("data/postmaster.pid")).unwrap_or_default();
    let line = |number: usize| lock.lines().nth(number - 1).unwrap_or_default().trim();
    let port = line(4).parse().ok().filter(|_| !line(6).is_empty());
    Ok(Some(Started { url: url(&real, port)?, pid, port }))
}

/// Stops the server in `directory`, which writes everything to its files first, and ends its sessions. The directory stays.
///
/// # Errors
/// [`Error::Missing`] where there never was one, [`Error::Engine`] when none runs there or it does not stop.
pub fn stop(directory: &Path) -> Result<()> {
    let programs = Programs::find()?.of_owner(directory);
    let missing = || Error::Missing { place: directory.display().to_string() };
    let real = directory.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(),
        _ => io("find", directory, error),
    })?;
    let mark = real.join(MARK);
    if !mark.try_exists().map_err(|e| io("examine", &mark, e))? {
        return Err(missing());
    }
    let _held = private::hold(&real)?;
    if programs.pid(&real).is_none() {
        return Err(problem("stop the server in", &real, "none runs there", ErrorCause::PrivateNotRunning));
    }
    programs.run(&real, "pg_ctl", &["stop", "-w", "-s", "-t", PATIENCE, "-m", "fast", "-D", "data"]).map(drop)
}

impl Programs {
    /// Whether there are any here.
    fn find() -> Result<Programs> {
        let missing = Error::Build {
            what: "start a PostgreSQL server: initdb and pg_ctl are missing on this host",
            remedy: ErrorCause::PrivatePostgresMissing,
        };
        let directory =
            candidates().into_iter().find(|bin| bin.join("initdb").exists() && bin.join("pg_ctl").exists());
        Ok(Programs { directory: directory.ok_or(missing)?, user: ServerUser::of_root(&USERS) })
    }

    /// For root: as the user whose server it is already.
    fn of_owner(self, directory: &Path) -> Programs {
        use std::os::unix::fs::MetadataExt;
        let owner = fs::metadata(directory.join("data"));
        let owner = owner.map(|data| ServerUser { uid: data.uid(), gid: data.gid() });
        match (self.user, owner) {
            (Some(_), Ok(owner)) if owner.uid != 0 => Programs { user: Some(owner), ..self },
            _ => self,
        }
    }

    /// The server's process, when one runs in the directory.
    fn pid(&self, directory: &Path) -> Option<u32> {
        self.run(directory, "pg_ctl", &["status", "-D", "data"]).ok()?;
        noted(directory).filter(|&pid| !is_zombie(pid))
    }

    fn run(&self, directory: &Path, program: &'static str, arguments: &[&str]) -> Result<Output> {
        let path = self.directory.join(program);
        let mut command = Command::new(&path);
        command.args(arguments).current_dir(directory).stdin(Stdio::null()).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
        if let Some(user) = self.user {
            user.run(&mut command);
        }
        let output = command.output().map_err(|e| io("run", &path, e))?;
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        let doing = match program {
            "initdb" => "create a server in",
            _ if arguments.first() == Some(&"stop") => "stop the server in",
            _ => "start a server in",
        };
        Err(problem(doing, directory, &format!("{program}: {said}"), ErrorCause::PrivateLog))
    }
}

/// Directories that may hold the programs, the likeliest first.
fn candidates() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    for (above, below) in PROGRAMS {
        let mut versions: Vec<PathBuf> =
            fs::read_dir(above).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
        versions.sort_by_key(|path| std::cmp::Reverse(version(path)));
        found.extend(versions.into_iter().map(|path| if below.is_empty() { path } else { path.join(below) }));
    }
    found
}

/// The number at the end of a directory's name (`15`, `pgsql-16`); 0 without one.
fn version(path: &Path) -> u32 {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

/// Makes the directory ours: it is empty, or was ours already.
fn claim(directory: &Path, programs: &Programs) -> Result<PathBuf> {
    // Before anything is made; once more by its real name, which may be another one.
    refuse_long(&std::path::absolute(directory).map_err(|e| io("find", directory, e))?)?;
    fs::create_dir_all(directory).map_err(|e| io("create", directory, e))?;
    let real = directory.canonicalize().map_err(|e| io("find", directory, e))?;
    refuse_long(&real)?;
    let mark = real.join(MARK);
    if mark.exists() {
        return Ok(real);
    }
    if fs::read_dir(&real).map_err(|e| io("list", &real, e))?.next().is_some() {
        return Err(Error::Foreign { path: real });
    }
    fs::set_permissions(&real, fs::Permissions::from_mode(0o700)).map_err(|e| io("close", &real, e))?;
    give(&real, programs)?;
    // The mark comes last, and whole: a directory with it is as it has to be.
    fs::write(&mark, "A server created by iolite (iolite db start postgres).\n").map_err(|e| {
        let _ = fs::remove_file(&mark);
        io("write", &mark, e)
    })?;
    Ok(real)
}

/// Refuses a directory in which a socket's path would be too long.
fn refuse_long(directory: &Path) -> Result<()> {
    let longest = directory.join(".s.PGSQL.65535").as_os_str().len();
    if longest <= SOCKET_PATH {
        return Ok(());
    }
    let cause = format!(
        "the path of its socket would have {longest} bytes, and {SOCKET_PATH} is the most there can be"
    );
    Err(problem("start a server in", directory, &cause, ErrorCause::LongPath))
}

/// The process that a server has noted in its lock file.
fn noted(directory: &Path) -> Option<u32> {
    let text = fs::read_to_string(directory.join("data/postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse().ok()
}

/// Whether a process has ended, and nobody has taken notice yet: PostgreSQL's programs take it for one that runs.
fn is_zombie(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|arguments| arguments.is_empty())
}

/// Waits until a server that was killed is gone: as long as its process is a zombie, the next one would not start.
fn wait_for_end(directory: &Path) {
    let until = Instant::now() + ZOMBIE;
    while noted(directory).is_some_and(is_zombie) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Gives a file to who runs the server.
fn give(path: &Path, programs: &Programs) -> Result<()> {
    programs.user.map_or(Ok(()), |user| user.give(path)).map_err(|e| io("change the owner of", path, e))
}

/// Makes the server's data under another name first: what was interrupted is created again.
fn create(directory: &Path, programs: &Programs) -> Result<()> {
    let unfinished = directory.join("data.unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(|e| io("remove", &unfinished, e))?;
    }
    let password = directory.join("password");
    if !password.exists() {
        write_password(&password).map_err(|e| io("write", &password, e))?;
        give(&password, programs)?;
    }
    let local = ["-A", "trust", "--auth-host=scram-sha-256", "--pwfile=password"];
    let cluster = ["-D", "data.unfinished", "-U", NAME, "-E", "UTF8", "--no-locale"];
    programs.run(directory, "initdb", &[&cluster[..], &local[..]].concat())?;
    let main = unfinished.join("postgresql.conf");
    let add = || fs::OpenOptions::new().append(true).open(&main)?.write_all(b"\ninclude '../iolite.conf'\n");
    add().map_err(|e| io("write", &main, e))?;
    let data = directory.join("data");
    fs::rename(&unfinished, &data).map_err(|e| io("rename", &unfinished, e))
}

/// For the port: whoever is on this host can get at that.
fn write_password(path: &Path) -> io::Result<()> {
    let mut bytes = [0; 24];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{text}")
}

/// Writes the settings: what makes commits durable, though it is PostgreSQL's default, and small buffers, so that a read is a read.
fn configure(directory: &Path, port: Option<u16>) -> Result<()> {
    let listen = if port.is_some() { "127.0.0.1" } else { "" };
    let port = port.unwrap_or(PORT);
    let socket = directory.display().to_string().replace('"', "\"\"").replace('\'', "''");
    let text = format!(
        "# Written by iolite at each start: settings of your own belong into postgresql.conf, behind the line that includes this.\n\
         fsync = on\nsynchronous_commit = on\nfull_page_writes = on\n\
         shared_buffers = 64MB\nmax_connections = 300\n\
         listen_addresses = '{listen}'\nport = {port}\nunix_socket_directories = '\"{socket}\"'\n"
    );
    let path = directory.join("iolite.conf");
    fs::write(&path, text).map_err(|e| io("write", &path, e))?;
    // Nothing in it is secret; the directory is closed to others.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).map_err(|e| io("open", &path, e))
}

fn create_database(directory: &Path, port: Option<u16>) -> Result<()> {
    let target = Target::new(&socket_url(directory, port, "postgres"))?;
    let mut client = target.connect()?;
    let failed = |e| target.failed("create a database in", e);
    let there = client.query_opt("SELECT FROM pg_database WHERE datname = $1", &[&NAME]).map_err(failed)?;
    if there.is_none() {
        client.batch_execute(&format!("CREATE DATABASE {NAME}")).map_err(failed)?;
    }
    Ok(())
}

fn url(directory: &Path, port: Option<u16>) -> Result<String> {
    let Some(port) = port else { return Ok(socket_url(directory, None, NAME)) };
    let path = directory.join("password");
    let password = fs::read_to_string(&path).map_err(|e| io("read", &path, e))?;
    Ok(format!("postgres://{NAME}:{}@127.0.0.1:{port}/{NAME}?sslmode=disable", password.trim()))
}

fn socket_url(directory: &Path, port: Option<u16>, database: &str) -> String {
    let (host, port) = (private::encoded(directory), port.unwrap_or(PORT));
    format!("postgres://{NAME}@/{database}?host={host}&port={port}")
}

fn problem(doing: &'static str, directory: &Path, cause: &str, likely: ErrorCause) -> Error {
    Error::engine(doing, directory.display(), cause, likely)
}

fn io(doing: &'static str, path: &Path, source: io::Error) -> Error {
    Error::io(doing, path, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let of = |name: &str| version(Path::new(name));
        assert_eq!((of("/x/9"), of("/usr/pgsql-16"), of("/usr/lib")), (9, 16, 0));
    }

    #[test]
    fn directories_of_others_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("mine"), "x").unwrap();
        let programs = Programs { directory: PathBuf::new(), user: None };
        assert!(matches!(claim(directory.path(), &programs), Err(Error::Foreign { .. })));
        let long = directory.path().join("x".repeat(100));
        let error = claim(&long, &programs).unwrap_err().to_string();
        assert!(error.contains("shorter"), "{error}");
    }

    #[test]
    fn odd_names_survive_in_urls() {
        let url = socket_url(Path::new("/tmp/a b&c"), None, "d");
        assert_eq!(url, "postgres://iolite@/d?host=/tmp/a%20b%26c&port=5432");
        assert!(Target::new(&url).unwrap().place().contains("/tmp/a b&c/.s.PGSQL.5432"));
    }
}
