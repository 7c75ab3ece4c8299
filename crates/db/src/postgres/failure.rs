//! What the server's refusals mean, and what helps.

use std::error::Error as _;
use std::io;

use postgres::error::{DbError, SqlState};

use crate::error::Error;
use crate::tls;

/// A failure in the form that the whole program reports.
pub(crate) fn failed(doing: &'static str, place: &str, error: postgres::Error) -> Error {
    let remedy = remedy(&error);
    Error::Engine { doing, place: place.to_owned(), cause: described(&error).into(), remedy }
}

/// Whether this is the server's answer of that code.
pub fn is(error: &postgres::Error, state: &SqlState) -> bool {
    error.code() == Some(state)
}

/// The error with its causes in one line: the crate's own text says little without them.
fn described(error: &postgres::Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return answered(answer);
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

fn answered(answer: &DbError) -> String {
    let mut text = answer.message().to_owned();
    for more in [answer.detail(), answer.hint()].into_iter().flatten() {
        text = format!("{text} ({more})");
    }
    text
}

/// Whether the connection failed while its protection was agreed on.
pub(super) fn is_handshake(error: &postgres::Error) -> bool {
    error.code().is_none() && error.to_string() == HANDSHAKE
}

/// How the driver words a failed handshake; it has no kind for it.
const HANDSHAKE: &str = "error performing TLS handshake";

fn remedy(error: &postgres::Error) -> &'static str {
    match error.as_db_error() {
        Some(answer) => access_remedy(answer.message()).unwrap_or_else(|| answer_remedy(answer.code())),
        None => tls::remedy(&described(error)).unwrap_or_else(|| way_remedy(error)),
    }
}

/// What helps where the server takes this user only over protected connections. It gives the same code as for a wrong password
/// (28000), and words that have been the same since version 9.5 (auth.c).
fn access_remedy(message: &str) -> Option<&'static str> {
    if message.contains("no pg_hba.conf entry") && message.contains("no encryption") {
        return Some(
            "the server lets this user in only over TLS, or not from this host: use sslmode=require (or verify-full with \
             sslrootcert=FILE), or add a line to pg_hba.conf",
        );
    }
    if message.contains("no pg_hba.conf entry") {
        return Some("the server does not let this user in from this host: add a line to pg_hba.conf");
    }
    message.contains("valid client certificate").then_some(
        "the server wants a certificate of the client: add sslcert=FILE and sslkey=FILE to the URL",
    )
}

/// What helps when there was no answer.
fn way_remedy(error: &postgres::Error) -> &'static str {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(cause) = cause.downcast_ref::<io::Error>() {
            return match cause.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    "no server listens there: start it, or a private one (iolite db start postgres DIR), or correct the URL"
                }
                io::ErrorKind::PermissionDenied => {
                    "the socket's directory is closed to this user: run as another"
                }
                io::ErrorKind::TimedOut => "the host does not respond: correct the URL, or check firewalls",
                // The standard library has no kind for it that is stable.
                _ if cause.to_string().contains("lookup address") => {
                    "no host of that name is known here: correct the URL"
                }
                _ => GONE,
            };
        }
        source = cause.source();
    }
    match error.to_string().as_str() {
        "invalid configuration" => {
            "specify the password in the URL (postgres://USER:PASSWORD@HOST/DATABASE) or in the environment as PGPASSWORD"
        }
        HANDSHAKE => {
            "the server does not support TLS, or no common version: use sslmode=prefer or disable, or check its setting ssl"
        }
        "timeout waiting for server" => "the host does not respond: correct the URL, or check firewalls",
        _ => GONE,
    }
}

const GONE: &str = "the server has ended or the connection was lost: see its log and start it again";

/// What helps against an answer of this code.
fn answer_remedy(state: &SqlState) -> &'static str {
    match state.code() {
        "28P01" | "28000" => {
            "correct the user and the password (in the URL, or PGPASSWORD), or let this user in (pg_hba.conf)"
        }
        "3D000" => "create the database (createdb NAME), or name another one in the URL",
        "55006" => "end the other sessions in that database, and repeat",
        "42501" | "55000" => "connect as a superuser or as a role that has been granted this",
        "53100" | "58030" => {
            "the server's file system is full or failing: free some space, purge, or ask for less"
        }
        "53200" => "the server is out of memory: lower its shared_buffers or work_mem, or fewer jobs",
        "53300" => {
            "raise max_connections on the server (or this role's: ALTER ROLE ... CONNECTION LIMIT), end other sessions, or run \
             fewer jobs"
        }
        "57014" => {
            "it was cancelled by a user or a timeout: check statement_timeout of this role and database"
        }
        "57P01" | "57P02" | "57P03" => GONE,
        "58P01" | "0A000" => {
            "install the server's contributed extensions (package postgresql-contrib) or ask its administrator for them"
        }
        "55P03" => "another session is using it: end that one (pg_stat_activity shows it) or wait for it",
        "25006" => {
            "this server only reads (a standby, or default_transaction_read_only): measure the primary"
        }
        "40P01" | "40001" => "another session works on the same rows: end that one",
        "2BP01" => "something that iolite did not make depends on it: drop that first",
        _ => "see the server's log; if it happens again, purge the database and create it again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_remedies_of_their_own() {
        let general = answer_remedy(&SqlState::from_code("XX000"));
        for code in ["28P01", "28000", "3D000", "42501", "53100", "53300", "57P01", "58P01", "55P03", "25006"]
        {
            assert_ne!(answer_remedy(&SqlState::from_code(code)), general, "{code}");
        }
    }
}
