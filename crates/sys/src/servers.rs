//! Servers of databases whose files these are, although nobody has them open just now.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::holders::{Backing, backing_of, held, named, opened_by, others};

/// The server of PostgreSQL, MariaDB or MySQL that runs in a directory above a file: it opens its files only when it needs them, so
/// that nobody may have this one open just now.
pub fn server_above(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let above = path
        .ancestors()
        .skip(1)
        .find_map(|directory| postgres_in(directory).or_else(|| innodb_in(directory)));
    above.or_else(|| binary_log_of(&path)).or_else(|| linked_by_a_server(path))
}

/// How long the data directories of running servers are looked at: one may be on a file system that does not respond.
const PATIENCE: Duration = Duration::from_secs(5);

/// The server whose data directory has a link to a file, or to a directory above it; `None` also where one does not respond.
fn linked_by_a_server(path: PathBuf) -> Option<String> {
    static UNRESPONSIVE: AtomicBool = AtomicBool::new(false);
    if UNRESPONSIVE.load(Ordering::Relaxed) {
        return None;
    }
    let (answer, asked) = mpsc::channel();
    let look = move || answer.send(postgres_with(&path).or_else(|| innodb_with(&path)));
    thread::Builder::new().spawn(look).ok()?;
    asked.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        UNRESPONSIVE.store(true, Ordering::Relaxed);
        None
    })
}

/// The server of PostgreSQL whose tablespace, or whose log outside of its data directory, a file is in.
fn postgres_with(path: &Path) -> Option<String> {
    let directories = path.ancestors().skip(1);
    let above: Vec<Backing> =
        directories.filter_map(|at| Some(backing_of(&fs::metadata(at).ok()?))).collect();
    let is_it = |process: &u32| {
        is_called(*process, &["postgres"]) && places_of_postgres(*process).any(|place| above.contains(&place))
    };
    others().find(is_it).map(named)
}

/// The directories that links in a server's data directory lead to. Each of its processes works there.
fn places_of_postgres(process: u32) -> impl Iterator<Item = Backing> {
    let data = PathBuf::from(format!("/proc/{process}/cwd"));
    let spaces = fs::read_dir(data.join("pg_tblspc")).into_iter().flatten().flatten();
    let links: Vec<PathBuf> = spaces.map(|space| space.path()).chain([data.join("pg_wal")]).collect();
    links.into_iter().filter_map(move |link| {
        let target = fs::read_link(&link).ok()?;
        held(&as_seen_by(process, link.parent()?, &target))
    })
}

/// A path that a process in this directory uses. Of one in a container, it is as seen in it.
fn as_seen_by(process: u32, directory: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix("/") {
        Ok(inside) => PathBuf::from(format!("/proc/{process}/root")).join(inside),
        Err(_) => directory.join(path),
    }
}

fn is_called(process: u32, names: &[&str]) -> bool {
    let name = fs::read_to_string(format!("/proc/{process}/comm"));
    name.is_ok_and(|name| names.contains(&name.trim()))
}

/// The process that PostgreSQL's own file names, which works in that directory, or another server that does: in a container processes
/// have other numbers, and the directory another name.
fn postgres_in(directory: &Path) -> Option<String> {
    let text = fs::read_to_string(directory.join("postmaster.pid")).ok()?;
    let is_server = |process: u32| is_called(process, &["postgres"]);
    let works_there = |process: &u32| match fs::read_link(format!("/proc/{process}/cwd")) {
        Ok(at) => at == directory,
        // Another user's: its name has to do.
        Err(_) => is_server(*process),
    };
    let stated = text.lines().next().and_then(|line| line.trim().parse().ok());
    if let Some(process) = stated.filter(works_there) {
        return Some(named(process));
    }
    let here = backing_of(&fs::metadata(directory).ok()?);
    let is_here =
        |process: &u32| is_server(*process) && held(Path::new(&format!("/proc/{process}/cwd"))) == Some(here);
    others().find(is_here).map(named)
}

/// The process that has InnoDB's system tablespace open, as a server has from its start to its end.
fn innodb_in(directory: &Path) -> Option<String> {
    opened_by(&File::open(directory.join("ibdata1")).ok()?)
}

/// The server of MariaDB or MySQL that has put a table into this file, outside of its data directory (DATA DIRECTORY): a file in the
/// directory of the database, which ends with `.isl`, has its path. The server works in its data directory.
fn innodb_with(path: &Path) -> Option<String> {
    let own = backing_of(&fs::metadata(path).ok()?);
    let is_it = |process: &u32| {
        let data = PathBuf::from(format!("/proc/{process}/cwd"));
        is_called(*process, &["mariadbd", "mysqld"])
            && links_of_innodb(&data)
                .any(|(directory, target)| held(&as_seen_by(*process, &directory, &target)) == Some(own))
    };
    others().find(is_it).map(named)
}

/// What the links of InnoDB in a data directory lead to, each with its directory.
fn links_of_innodb(data: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let databases = fs::read_dir(data).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = databases.flat_map(|database| fs::read_dir(database).into_iter().flatten().flatten());
    let links = files.map(|file| file.path()).filter(|file| file.extension() == Some(OsStr::new("isl")));
    links.filter_map(|link| {
        let target = fs::read_to_string(&link).ok()?;
        Some((link.parent()?.to_owned(), PathBuf::from(target.trim())))
    })
}

/// The server that writes the binary log which this file is part of: it has the list of all parts open beside them, and only the last
/// part.
fn binary_log_of(path: &Path) -> Option<String> {
    let number = path.extension()?.to_str()?;
    let is_part = number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_part.then(|| opened_by(&File::open(path.with_extension("index")).ok()?)).flatten()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A program that waits, once it has the name of its file: that is set after a start has returned.
    fn started(command: &mut Command) -> Child {
        let name = Path::new(command.get_program()).file_name().unwrap().to_str().unwrap().to_owned();
        let child = command.arg("60").spawn().unwrap();
        while !is_called(child.id(), &[&name]) {
            thread::yield_now();
        }
        child
    }

    #[test]
    fn a_server_is_above_its_files_while_it_works_there() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        fs::create_dir(real.join("base")).unwrap();
        let (file, beside) = (real.join("base/1"), real.join("postmaster.pid"));
        fs::write(&file, "x").unwrap();
        let mut child = started(Command::new("sleep").current_dir(&real));
        let working = child.id();
        for (text, found) in [
            (format!("{working}\n{}\n", real.display()), Some(format!("sleep (process {working})"))),
            // A file that a crash has left, whose number is another program's by now.
            (format!("{}\n", std::process::id()), None),
            ("4294967294\n".to_owned(), None),
            ("-1\n".to_owned(), None),
            (String::new(), None),
        ] {
            fs::write(&beside, &text).unwrap();
            assert_eq!(server_above(&file), found, "{text}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A server in a container has another number there than here, and its directory another name.
    #[test]
    fn a_server_in_a_container_is_above_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().canonicalize().unwrap().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("1"), "x").unwrap();
        fs::write(data.join("postmaster.pid"), "1\n/var/lib/postgresql/data\n").unwrap();
        assert_eq!(server_above(&data.join("1")), None, "what a crash has left");
        // The name of a process is that of its program.
        let (program, elsewhere) = (dir.path().join("postgres"), dir.path().join("elsewhere"));
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        for (at, is_there) in [(&elsewhere, false), (&data, true)] {
            let mut child = started(Command::new(&program).current_dir(at));
            let found = server_above(&data.join("1"));
            child.kill().unwrap();
            child.wait().unwrap();
            let expected = is_there.then(|| format!("postgres (process {})", child.id()));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn tablespaces_and_the_log_of_a_server_are_its_files_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for directory in ["data/pg_tblspc", "space/PG_15_1/5", "log", "other"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        for (target, link) in [("space", "data/pg_tblspc/16384"), ("log", "data/pg_wal")] {
            std::os::unix::fs::symlink(at(target), at(link)).unwrap();
        }
        let files = ["space/PG_15_1/5/1259", "log/000000010000000000000001", "other/file"].map(at);
        files.iter().for_each(|file| fs::write(file, "x").unwrap());
        let program = at("postgres");
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut child = started(Command::new(&program).current_dir(at("data")));
        let found = files.clone().map(|file| server_above(&file));
        child.kill().unwrap();
        child.wait().unwrap();
        let server = Some(format!("postgres (process {})", child.id()));
        assert_eq!(found, [server.clone(), server, None]);
        assert_eq!(files.map(|file| server_above(&file)), [None, None, None], "it has ended");
    }

    /// A program of the name works where MariaDB does.
    #[test]
    fn tables_elsewhere_and_closed_binary_logs_are_a_servers_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for directory in ["data/test", "space/test", "log"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let files =
            ["space/test/t.ibd", "space/test/other.ibd", "log/bin.000001", "log/other.000001"].map(at);
        files.iter().for_each(|file| fs::write(file, "x").unwrap());
        fs::write(at("data/test/t.isl"), files[0].display().to_string()).unwrap();
        fs::write(at("log/bin.index"), "./bin.000001\n./bin.000002\n").unwrap();
        let program = at("mariadbd");
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let list = File::options().append(true).open(at("log/bin.index")).unwrap();
        let mut child = started(Command::new(&program).current_dir(at("data")).stdin(list));
        let found = files.clone().map(|file| server_above(&file));
        child.kill().unwrap();
        child.wait().unwrap();
        let server = Some(format!("mariadbd (process {})", child.id()));
        assert_eq!(found, [server.clone(), None, server, None]);
        assert_eq!(files.map(|file| server_above(&file)), [None, None, None, None], "it has ended");
    }
}
