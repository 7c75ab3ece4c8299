//! What listens at the address of a database and is none.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{IOLITE, TestDirectory, stderr};
use crate::{ended_by_itself, injected};

/// What a service does with a client.
type Service = fn(TcpStream);

/// A service at a port of its own, whose clients are served until the test ends.
fn listen(service: Service) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(service));
    port
}

/// Reads what a client says first, if it says anything, and answers with this.
fn answer(mut client: TcpStream, text: &[u8]) {
    let _ = client.set_read_timeout(Some(Duration::from_millis(200)));
    let _ = client.read(&mut [0; 4096]);
    // Whoever has gone away needs no answer.
    let _ = client.write_all(text);
}

fn a_web_server(client: TcpStream) {
    answer(client, b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<h1>Bad Request</h1>\n");
}

fn one_that_closes(client: TcpStream) {
    drop(client);
}

fn noise(client: TcpStream) {
    let bytes: Vec<u8> = (0..8192_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    answer(client, &bytes);
}

/// Agrees to TLS as PostgreSQL does, and goes on in plain text.
fn no_tls_after_all(client: TcpStream) {
    answer(client, b"Sorry, that was a joke: this is no TLS\n");
}

/// A greeting of MariaDB's that promises 16 MB and ends after some bytes.
fn a_greeting_cut_short(client: TcpStream) {
    answer(client, b"\xff\xff\xff\0\n10.11.6-MariaDB\0");
}

/// An answer that never ends, of lengths that are not there.
fn lengths_of_two_gigabytes(client: TcpStream) {
    answer(client, b"R\x7f\xff\xff\xff\0\0\0\0R\x7f\xff\xff\xff");
}

const SERVICES: &[(&str, Service)] = &[
    ("a web server", a_web_server),
    ("one that closes", one_that_closes),
    ("noise", noise),
    ("no TLS after all", no_tls_after_all),
    ("a greeting cut short", a_greeting_cut_short),
    ("lengths of two gigabytes", lengths_of_two_gigabytes),
];

#[test]
fn what_is_no_database_is_an_error_and_is_not_waited_for() {
    let place = TestDirectory::new();
    for (name, service) in SERVICES {
        let port = listen(*service);
        for url in [
            format!("postgres://app:secret@127.0.0.1:{port}/shop?sslmode=disable"),
            format!("postgres://app:secret@127.0.0.1:{port}/shop?sslmode=require"),
            format!("mysql://app:secret@127.0.0.1:{port}/shop?sslmode=disable"),
            format!("mysql://app:secret@127.0.0.1:{port}/shop?sslmode=require"),
        ] {
            let begun = Instant::now();
            let mut command = Command::new("prlimit");
            // What promises gigabytes gets none.
            command.args(["--as=4294967296", IOLITE, "ranread", "get-sizes", "--db", &url]);
            let output = command.env("HOME", place.root.path()).stdin(Stdio::null()).output().unwrap();
            injected("services that are no database", 1);
            ended_by_itself(&output);
            let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{name} {url}: {text}");
            assert!(text.contains("error:") && text.contains("127.0.0.1"), "{name} {url}: {text}");
            assert!(!text.contains("secret"), "{name} {url}: {text}");
            assert!(!text.contains("check the user and the password"), "{name} {url}: {text}");
            println!("{name} {url} after {:?}: {text}", begun.elapsed());
        }
    }
}
