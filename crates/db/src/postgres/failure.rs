//! What the server's refusals mean, and what helps.

use std::error::Error as _;
use std::io;

use iolite_model::ErrorCause;
use postgres::error::{DbError, SqlState};

use crate::error::Error;
use crate::tls;

/// A failure in the form that the whole program reports.
pub(crate) fn failed(doing: &'static str, place: &str, error: postgres::Error) -> Error {
    Error::engine(doing, place, described(&error), likely(&error))
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

fn likely(error: &postgres::Error) -> ErrorCause {
    match error.as_db_error() {
        Some(answer) => of_access(answer.message()).unwrap_or_else(|| of_answer(answer.code())),
        None => tls::cause(&described(error)).unwrap_or_else(|| of_way(error)),
    }
}

/// What keeps this user out. The server gives the same code as for a wrong password (28000), and words that have been the same
/// since version 9.5 (auth.c).
fn of_access(message: &str) -> Option<ErrorCause> {
    let refused = message.contains("no pg_hba.conf entry") || message.contains("pg_hba.conf rejects");
    if refused && message.contains("no encryption") {
        return Some(ErrorCause::PgTlsRequired);
    }
    if refused {
        return Some(ErrorCause::PgHostRefused);
    }
    // An account whose certificate is for somebody else is refused in these words.
    if message.contains("certificate authentication failed") {
        return Some(ErrorCause::ClientCertificateRefused);
    }
    message.contains("valid client certificate").then_some(ErrorCause::ClientCertificateMissing)
}

/// Why there was no answer.
fn of_way(error: &postgres::Error) -> ErrorCause {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(cause) = cause.downcast_ref::<io::Error>() {
            return match cause.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ErrorCause::NoServer,
                io::ErrorKind::PermissionDenied => ErrorCause::SocketClosed,
                io::ErrorKind::TimedOut => ErrorCause::HostSilent,
                // The standard library has no kind for it that is stable.
                _ if cause.to_string().contains("lookup address") => ErrorCause::HostUnknown,
                _ => ErrorCause::ServerGone,
            };
        }
        source = cause.source();
    }
    match error.to_string().as_str() {
        "invalid configuration" if described(error).contains("number of") => ErrorCause::PgHosts,
        "invalid configuration" => ErrorCause::PgNoPassword,
        HANDSHAKE => ErrorCause::TlsNotOffered,
        "authentication error" => ErrorCause::AuthenticationMethod,
        "timeout waiting for server" => ErrorCause::HostSilent,
        _ => ErrorCause::ServerGone,
    }
}

/// What an answer of this code comes from (PostgreSQL's manual, Appendix A).
fn of_answer(state: &SqlState) -> ErrorCause {
    match state.code() {
        "28P01" | "28000" => ErrorCause::PgLogin,
        "3D000" => ErrorCause::PgNoDatabase,
        "55006" => ErrorCause::PgDatabaseInUse,
        "42501" | "55000" => ErrorCause::PgPrivilege,
        "53100" | "58030" => ErrorCause::PgFull,
        "53200" => ErrorCause::PgMemory,
        "53300" => ErrorCause::PgConnections,
        "57014" => ErrorCause::PgCancelled,
        "57P01" | "57P02" | "57P03" => ErrorCause::ServerGone,
        "58P01" | "0A000" => ErrorCause::PgNotInstalled,
        "55P03" => ErrorCause::PgLocked,
        "25006" => ErrorCause::PgReadOnly,
        "40P01" | "40001" => ErrorCause::PgConflict,
        "2BP01" => ErrorCause::PgDependents,
        _ => ErrorCause::PgOther,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_causes_of_their_own() {
        for code in ["28P01", "28000", "3D000", "42501", "53100", "53300", "57P01", "58P01", "55P03", "25006"]
        {
            assert_ne!(of_answer(&SqlState::from_code(code)), ErrorCause::PgOther, "{code}");
        }
    }
}
