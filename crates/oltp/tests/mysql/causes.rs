//! Each cause that MariaDB's refusals have, produced, and the remedy that is named.

use std::process::Command;

use ::mysql::Conn;
use ::mysql::prelude::Queryable;
use iolite_db::mysql::connect::Target;
use iolite_db::mysql::server::Options;
use iolite_model::{Bytes, ErrorCause};
use iolite_oltp::ran::Adapter;

use crate::common::{go, produced, silent};
use crate::harness::Server;

/// What a statement is refused with.
fn refused(target: &Target, conn: &mut Conn, sql: &str) -> String {
    // An error may come with the rows, which have to be read for that.
    target.refusal("execute a statement in", conn.query::<::mysql::Row, _>(sql).expect_err(sql)).to_string()
}

/// Why no connection comes about.
fn unconnected(url: &str) -> String {
    Target::parse(url).unwrap().open().expect_err(url).to_string()
}

#[test]
fn what_the_server_refuses_has_the_remedy_of_its_cause() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let target = Target::parse(&server.started.url).unwrap();
    let mut conn = target.open().unwrap();
    let mut refused = |sql: &str| refused(&target, &mut conn, sql);
    produced(ErrorCause::MyTableMissing, refused("SELECT * FROM iolite.there_is_none"));
    produced(ErrorCause::MyProcedureMissing, refused("CALL iolite.there_is_none()"));
    produced(ErrorCause::MyStopped, refused("KILL QUERY CONNECTION_ID()"));
    produced(ErrorCause::MyOther, refused("SELECT FROM WHERE"));
    server.ask("CREATE TABLE held (n INT PRIMARY KEY); INSERT INTO held VALUES (1)");
    let mut other = target.open().unwrap();
    other.query_drop("BEGIN").unwrap();
    other.query_drop("UPDATE held SET n = 2").unwrap();
    produced(ErrorCause::MyLocked, refused("SELECT n FROM iolite.held FOR UPDATE NOWAIT"));
    other.query_drop("ROLLBACK").unwrap();
    other.query_drop("START TRANSACTION READ ONLY").unwrap();
    produced(ErrorCause::MyReadOnly, self::refused(&target, &mut other, "INSERT INTO held VALUES (3)"));
    other.query_drop("ROLLBACK").unwrap();
    other.query_drop("SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'").unwrap();
    let unknown = "CREATE TABLE other (n INT) ENGINE = NoSuchEngine";
    produced(ErrorCause::MyOption, self::refused(&target, &mut other, unknown));
    server.ask("SET GLOBAL max_allowed_packet = 1048576");
    let mut small = target.open().unwrap();
    let large = format!("SELECT LENGTH('{}')", "x".repeat(2 << 20));
    produced(ErrorCause::MyPacket, self::refused(&target, &mut small, &large));
    roles(&server);
}

/// What depends on who connects.
fn roles(server: &Server) {
    server.ask(
        "CREATE USER weak@localhost IDENTIFIED BY 'weak'; GRANT SELECT ON iolite.* TO weak@localhost; \
         CREATE USER one@localhost IDENTIFIED BY 'one' WITH MAX_USER_CONNECTIONS 1; GRANT SELECT ON iolite.* TO one@localhost",
    );
    let as_user = |name: &str| server.url(&format!("root:{}", server.password()), &format!("{name}:{name}"));
    let weak = Target::parse(&as_user("weak")).unwrap();
    produced(ErrorCause::MyPrivilege, refused(&weak, &mut weak.open().unwrap(), "CREATE TABLE new (n INT)"));
    let first = Target::parse(&as_user("one")).unwrap().open().unwrap();
    produced(ErrorCause::MyConnections, unconnected(&as_user("one")));
    drop(first);
    server.ask(
        "CREATE USER locked@localhost IDENTIFIED BY 'locked' ACCOUNT LOCK; \
         CREATE USER expired@localhost IDENTIFIED BY 'expired' PASSWORD EXPIRE; GRANT SELECT ON iolite.* TO expired@localhost",
    );
    produced(ErrorCause::MyAccount, unconnected(&as_user("locked")));
    produced(ErrorCause::MyAccount, unconnected(&as_user("expired")));
    produced(ErrorCause::MyLogin, unconnected(&server.url(server.password(), "wrong")));
    produced(ErrorCause::MyNoDatabase, unconnected(&server.url("/iolite?", "/nowhere?")));
    produced(ErrorCause::NoServer, unconnected(&server.url("/socket", "/nothing")));
}

/// Accounts of plugins that Debian's package has: a missing client for one of them once ended the program.
#[test]
fn accounts_of_other_plugins_connect_or_have_their_remedy() {
    let Some(server) = Server::start(&Options::default()) else { return };
    let installed = |plugin: &str| {
        let mut root = Target::parse(&server.started.url).unwrap().open().unwrap();
        let done = root.query_drop(format!("INSTALL SONAME '{plugin}'"));
        if done.is_err() {
            println!("skipped: this server has no plugin {plugin}");
        }
        done.is_ok()
    };
    let as_user = |name: &str, word: &str| {
        server.url(&format!("root:{}", server.password()), &format!("{name}:{word}"))
    };
    if installed("auth_ed25519") {
        server.ask("CREATE USER ed@localhost IDENTIFIED VIA ed25519 USING PASSWORD('ed'); GRANT SELECT ON iolite.* TO ed@localhost");
        let user: Option<String> = Target::parse(&as_user("ed", "ed"))
            .unwrap()
            .open()
            .unwrap()
            .query_first("SELECT USER()")
            .unwrap();
        assert_eq!(user.as_deref(), Some("ed@localhost"));
        produced(ErrorCause::MyLogin, unconnected(&as_user("ed", "other")));
    }
    if installed("auth_pam") {
        server.ask("CREATE USER pam@localhost IDENTIFIED VIA pam; GRANT SELECT ON iolite.* TO pam@localhost");
        produced(ErrorCause::AuthenticationMethod, unconnected(&as_user("pam", "pam")));
    }
}

#[test]
fn a_clock_that_stands_still_has_its_remedy() {
    let more = vec!["--sysdate-is-now".to_owned()];
    let Some(server) = Server::start(&Options { more, ..Options::default() }) else { return };
    server.database().setup(Bytes(1 << 20), &mut go).unwrap();
    produced(ErrorCause::MyClockStands, server.database().within(0).err().unwrap());
}

#[test]
fn ways_to_no_server_have_the_remedy_of_their_cause() {
    let options = Options { buffer_pool: Bytes(32 << 20), tcp: true, ..Options::default() };
    let Some(server) = Server::start(&options) else { return };
    let wrong = server.url(server.password(), "wrong");
    produced(ErrorCause::MyUnencrypted, unconnected(&format!("{wrong}?sslmode=disable")));
    produced(ErrorCause::NoServer, unconnected("mysql://root@127.0.0.1:1/x"));
    produced(ErrorCause::HostUnknown, unconnected("mysql://root@no-such-host.invalid/x"));
    if let Some(silent) = silent() {
        produced(ErrorCause::HostSilent, unconnected(&format!("mysql://root@127.0.0.1:{}/x", silent.port)));
    }
    let target = Target::parse(&server.started.url).unwrap();
    let mut conn = target.open().unwrap();
    // Nobody may come from this address any more.
    server.ask("UPDATE mysql.global_priv SET Host = '192.0.2.1' WHERE Host = 'localhost'; FLUSH PRIVILEGES");
    produced(ErrorCause::MyHostRefused, unconnected(&server.started.url));
    let pid = server.started.pid.to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    produced(ErrorCause::ServerGone, refused(&target, &mut conn, "SELECT 1"));
}
