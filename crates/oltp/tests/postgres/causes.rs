//! Each cause that PostgreSQL's refusals have, produced, and the remedy that is named.

use ::postgres::Client;
use iolite_db::postgres::Target;
use iolite_model::{Bytes, ErrorCause};
use iolite_oltp::ran::{Adapter, RanPostgres, Settings};

use crate::common::{Small, go, produced, silent};
use crate::harness::Server;

/// What a statement is refused with.
fn refused(target: &Target, client: &mut Client, sql: &str) -> String {
    let error = client.batch_execute(sql).expect_err(sql);
    target.failed("execute a statement in", error).to_string()
}

/// Why no connection comes about.
fn unconnected(url: &str) -> String {
    Target::new(url).unwrap().connect().err().unwrap().to_string()
}

#[test]
fn what_the_server_refuses_has_the_remedy_of_its_cause() {
    let Some(server) = Server::start() else { return };
    let target = Target::new(&server.url).unwrap();
    let mut client = target.connect().unwrap();
    let mut refused = |sql: &str| {
        let text = refused(&target, &mut client, sql);
        let _ = client.batch_execute("ROLLBACK");
        text
    };
    produced(ErrorCause::PgCancelled, refused("SET statement_timeout = '50ms'; SELECT pg_sleep(600)"));
    produced(ErrorCause::PgNotInstalled, refused("CREATE EXTENSION there_is_none_of_this_name"));
    produced(ErrorCause::PgReadOnly, refused("BEGIN READ ONLY; CREATE TABLE public.new (n int)"));
    produced(ErrorCause::PgOther, refused("SELECT 1 / 0"));
    let more = "SELECT pg_advisory_xact_lock(n) FROM generate_series(1, 10000000) n";
    produced(ErrorCause::PgMemory, refused(&format!("RESET statement_timeout; {more}")));
    let dependent = "CREATE TABLE public.one (n int); CREATE VIEW public.other AS SELECT n FROM public.one; DROP TABLE public.one";
    produced(ErrorCause::PgDependents, refused(dependent));
    let mut other = target.connect().unwrap();
    other.batch_execute("CREATE TABLE public.held (n int); INSERT INTO public.held VALUES (1)").unwrap();
    other.batch_execute("BEGIN; LOCK TABLE public.held IN ACCESS EXCLUSIVE MODE").unwrap();
    produced(ErrorCause::PgLocked, refused("BEGIN; LOCK TABLE public.held NOWAIT"));
    other
        .batch_execute("ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT n FROM public.held")
        .unwrap();
    server.psql("UPDATE held SET n = 2");
    produced(ErrorCause::PgConflict, self::refused(&target, &mut other, "UPDATE public.held SET n = 3"));
    produced(ErrorCause::PgDatabaseInUse, refused("CREATE DATABASE copied TEMPLATE iolite"));
    produced(ErrorCause::ServerGone, refused("SELECT pg_terminate_backend(pg_backend_pid())"));
    roles(&server);
}

/// What depends on who connects.
fn roles(server: &Server) {
    server.psql("CREATE ROLE weak LOGIN; CREATE ROLE crowded LOGIN CONNECTION LIMIT 0");
    let as_role = |name: &str| server.url.replacen("iolite@", &format!("{name}@"), 1);
    produced(ErrorCause::PgConnections, unconnected(&as_role("crowded")));
    produced(ErrorCause::PgNoDatabase, unconnected(&server.url.replacen("/iolite?", "/elsewhere?", 1)));
    let weak = Target::new(&as_role("weak")).unwrap();
    let denied = refused(&weak, &mut weak.connect().unwrap(), "SELECT rolpassword FROM pg_authid");
    produced(ErrorCause::PgPrivilege, denied);
    server.psql("GRANT CREATE ON DATABASE iolite TO weak");
    let setup = |through_buffers| {
        let settings = Settings { through_buffers, ..Settings::default() };
        let database = RanPostgres::new(&as_role("weak"), settings).unwrap();
        database.setup(Bytes(1 << 20), &mut go).unwrap_err()
    };
    produced(ErrorCause::PgPrewarm, setup(false));
    produced(ErrorCause::PgInspect, setup(true));
}

#[test]
fn extensions_that_are_missing_have_their_remedy() {
    let Some(server) = Server::start() else { return };
    server.open().setup(Bytes(1 << 20), &mut go).unwrap();
    server.psql("DROP EXTENSION pg_prewarm; DROP EXTENSION pageinspect");
    for (through_buffers, cause) in
        [(false, ErrorCause::PgPrewarmMissing), (true, ErrorCause::PgInspectMissing)]
    {
        let settings = Settings { through_buffers, ..Settings::default() };
        let database = RanPostgres::new(&server.url, settings).unwrap();
        let error = database.session(0).and_then(|mut session| session.read_block(3)).unwrap_err();
        assert!(error.to_string().contains(cause.remedy()), "{cause:?}: {error}");
        if through_buffers {
            produced(ErrorCause::PgInspectMissing, error);
        } else {
            produced(ErrorCause::PgPrewarmMissing, error);
        }
    }
}

#[test]
fn ways_to_no_server_have_the_remedy_of_their_cause() {
    let Some(server) = Server::start_in(tempfile::tempdir().unwrap(), true) else { return };
    let host = server.url.rsplit_once('@').unwrap().1.to_owned();
    produced(ErrorCause::PgLogin, unconnected(&format!("postgres://iolite:wrong@{host}")));
    produced(ErrorCause::PgNoPassword, unconnected(&format!("postgres://iolite@{host}")));
    // It has no TLS, without which there is no channel to bind to.
    let bound = format!("{}&channel_binding=require", server.url);
    produced(ErrorCause::AuthenticationMethod, unconnected(&bound));
    produced(ErrorCause::NoServer, unconnected("postgres://iolite:x@127.0.0.1:1/iolite"));
    produced(ErrorCause::NoServer, unconnected("postgres://iolite:x@/iolite?host=/nonexistent"));
    produced(ErrorCause::HostUnknown, unconnected("postgres://iolite:x@no-such-host.invalid/iolite"));
    let Some(silent) = silent() else { return };
    produced(
        ErrorCause::HostSilent,
        unconnected(&format!("postgres://iolite:x@127.0.0.1:{}/iolite?connect_timeout=1", silent.port)),
    );
}

#[test]
fn a_full_file_system_has_its_remedy() {
    let Some(small) = Small::new(4) else { return };
    let Some(server) = Server::start() else { return };
    let owner = std::fs::metadata(server.directory.path().join("data")).unwrap();
    let place = small.path().join("space");
    std::fs::create_dir(&place).unwrap();
    use std::os::unix::fs::MetadataExt;
    std::os::unix::fs::chown(&place, Some(owner.uid()), Some(owner.gid())).unwrap();
    server.psql(&format!("CREATE TABLESPACE small LOCATION '{}'", place.display()));
    let target = Target::new(&server.url).unwrap();
    let mut client = target.connect().unwrap();
    let fill = "CREATE TABLE public.large TABLESPACE small AS SELECT repeat('x', 1000) FROM generate_series(1, 10000)";
    produced(ErrorCause::PgFull, refused(&target, &mut client, fill));
}
