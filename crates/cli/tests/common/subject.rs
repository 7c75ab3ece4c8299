//! A database that the program is tried on: in a directory, or of a private server.

use std::process::{Command, Output, Stdio};

use super::{IOLITE, TestDirectory, private, stderr};

/// A database that is measured; a private server of it is stopped in the end.
pub(crate) struct Subject {
    pub(crate) place: TestDirectory,
    pub(crate) db: String,
    /// The server's name and directory.
    pub(crate) stop: Option<[String; 2]>,
}

impl Drop for Subject {
    fn drop(&mut self) {
        if let Some([server, directory]) = &self.stop {
            let _ = Command::new(IOLITE).args(["db", "stop", server, directory]).output();
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

impl Subject {
    pub(crate) fn sqlite() -> Subject {
        let place = TestDirectory::new();
        let db = format!("sqlite:{}", place.data().display());
        Subject { place, db, stop: None }
    }

    /// `None`, with the reason printed, where its programs are missing.
    pub(crate) fn server(server: &str) -> Option<Subject> {
        let place = TestDirectory::new();
        // Not beneath a home directory, which the server's user may not pass; and a socket's path is short.
        let directory = tempfile::tempdir().unwrap().keep();
        let db = private::start(server, &directory)?;
        let stop = Some([server.to_owned(), directory.display().to_string()]);
        Some(Subject { place, db, stop })
    }

    /// Stops its server, or starts it again; what `iolite db` prints.
    pub(crate) fn serve(&self, verb: &str) -> String {
        let [server, directory] = self.stop.as_ref().unwrap();
        let done = Command::new(IOLITE).args(["db", verb, server, directory]).output().unwrap();
        assert!(done.status.success(), "{verb}: {}", stderr(&done));
        String::from_utf8(done.stdout).unwrap()
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(IOLITE);
        command.args(arguments).env("IOLITE_DB", &self.db).env("NO_COLOR", "1").stdin(Stdio::null());
        let measures = matches!(
            arguments,
            ["tproc-c" | "ranread", "run" | "sweep" | "check" | "ab", ..] | ["waits" | "observe", ..]
        );
        if measures || arguments[0] == "results" {
            command.arg("--results").arg(self.place.results());
        }
        command
    }

    /// What psql answers to statements, one after the other in one session.
    pub(crate) fn psql(&self, statements: &[&str]) -> String {
        let each = statements.iter().flat_map(|statement| ["-c", statement]);
        let output = Command::new("psql").args([&self.db, "-XAtq"]).args(each).output().unwrap();
        assert!(output.status.success(), "{statements:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// MariaDB's own client with these statements, in one session.
    pub(crate) fn mariadb(&self, statements: &[&str]) -> Command {
        mariadb(&self.db, statements)
    }

    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn build(&self) {
        let built = self.done(&["tproc-c", "build", "--reduction", "100", "--warehouses", "2", "--quiet"]);
        assert!(built.contains("2 warehouses") && built.contains("REDUCED to 1/100"), "{built}");
    }

    /// A run is shown again as it was printed, as text and as JSON.
    pub(crate) fn shows_again(&self, printed: &str) {
        assert_eq!(self.done(&["results", "show", "latest"]), printed);
        let shown: serde_json::Value =
            serde_json::from_str(&self.done(&["results", "json", "latest"])).unwrap();
        assert_eq!(shown["format"], "iolite-tproc-c/1");
    }
}

/// MariaDB's own client, in the database of a private server's URL.
pub(crate) fn mariadb(url: &str, statements: &[&str]) -> Command {
    let socket = url.split("socket=").nth(1).unwrap().split('&').next().unwrap();
    let user = url.split("//").nth(1).unwrap().split(['@', ':']).next().unwrap();
    let password = url.split('@').next().unwrap().split("//").nth(1).unwrap().split(':').nth(1).unwrap_or("");
    let name = url.split('?').next().unwrap().rsplit('/').next().unwrap();
    let socket = format!("--socket={}", socket.replace("%2F", "/"));
    let mut command = Command::new("mariadb");
    command.args([&socket, "-u", user, "-N", "-B", "-e", &statements.join("; "), name]);
    command.env("MYSQL_PWD", password);
    command
}

/// White space of any kind is one blank.
pub(crate) fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
