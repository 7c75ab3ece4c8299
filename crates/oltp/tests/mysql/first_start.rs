//! The first start of a private server: nobody gets in before it has its password.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ::mysql::{Conn, OptsBuilder};
use iolite_db::mysql::server::{self, Options};
use iolite_model::Bytes;

/// Accounts that mariadb-install-db creates without a password, or that a server lets in without one.
const ACCOUNTS: [&str; 4] = ["root", "mysql", "", "mariadb.sys"];

/// While it starts, a stranger tries the socket and the port again and again.
#[test]
fn nobody_gets_in_without_the_password_while_a_server_starts_first() {
    let directory = tempfile::tempdir().unwrap();
    let (ended, tries, entered) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
    let socket = directory.path().join("socket").display().to_string();
    let options = Options { buffer_pool: Bytes(32 << 20), tcp: true, ..Options::default() };
    let started = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                for account in ACCOUNTS {
                    let opts =
                        OptsBuilder::new().user(Some(account)).socket(Some(&socket)).prefer_socket(false);
                    tries.fetch_add(1, Ordering::Relaxed);
                    entered.fetch_add(Conn::new(opts).is_ok().into(), Ordering::Relaxed);
                }
                std::thread::yield_now();
            }
        });
        let started = server::start(directory.path(), &options);
        ended.store(true, Ordering::Relaxed);
        started
    });
    let started = match started {
        Ok(started) => started,
        Err(error) if error.to_string().contains("install") => return println!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    };
    let by_port = ACCOUNTS.map(|account| {
        let opts = OptsBuilder::new().user(Some(account)).ip_or_hostname(Some("127.0.0.1"));
        Conn::new(opts.tcp_port(started.port.unwrap())).is_ok()
    });
    let of_password = Conn::new(
        OptsBuilder::new().user(Some("root")).pass(Some(password(&started.url))).socket(Some(&socket)),
    );
    server::stop(directory.path()).unwrap();
    assert!(of_password.is_ok(), "{:?}", of_password.err());
    assert!(tries.load(Ordering::Relaxed) > 100, "{tries:?} tries");
    assert_eq!((entered.load(Ordering::Relaxed), by_port), (0, [false; 4]));
}

/// The password in a URL.
fn password(url: &str) -> &str {
    url.split("://").nth(1).unwrap().split('@').next().unwrap().split(':').nth(1).unwrap()
}
