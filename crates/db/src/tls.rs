//! How far a connection to a server is protected: the words of libpq (`sslmode` and companions) and of MySQL (`ssl-mode`),
//! which mean the same in the URL of either.

use std::io::Read;
use std::path::{Path, PathBuf};

use iolite_model::ErrorCause;

use crate::error::{Error, Result};

/// What a connection has to be. libpq's modes ("SSL Mode Descriptions", PostgreSQL's manual, 34.19.3), in MySQL's words
/// DISABLED, PREFERRED, REQUIRED, VERIFY_CA and VERIFY_IDENTITY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsMode {
    /// Never encrypted.
    Disable,
    /// Encrypted where the server can do it; its certificate is not verified. The default, as in libpq and MySQL.
    Prefer,
    /// Encrypted, or no connection; the server's certificate is not verified unless an authority's certificate is given.
    Require,
    /// Encrypted, and the server's certificate comes from the authority given.
    VerifyCa,
    /// The same, and it was issued for the host of the URL.
    VerifyFull,
}

impl TlsMode {
    fn parse(word: &str) -> Result<TlsMode> {
        match word.to_ascii_lowercase().replace('_', "-").as_str() {
            "disable" | "disabled" => Ok(TlsMode::Disable),
            "allow" | "prefer" | "preferred" => Ok(TlsMode::Prefer),
            "require" | "required" => Ok(TlsMode::Require),
            "verify-ca" => Ok(TlsMode::VerifyCa),
            "verify-full" | "verify-identity" => Ok(TlsMode::VerifyFull),
            _ => Err(Error::Url(
                "sslmode is one of disable, prefer, require, verify-ca and verify-full".to_owned(),
            )),
        }
    }
}

/// What is known of the protection wanted; each source (URL, service file, environment) fills in what those before it left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TlsSettings {
    pub(crate) mode: Option<TlsMode>,
    /// Certificates of the authorities that are trusted, in PEM.
    pub(crate) root: Option<PathBuf>,
    /// These are the authorities that this host trusts, any of which issues certificates to anybody: only the name distinguishes servers.
    pub(crate) system: bool,
    /// Certificate of this client, in PEM, and its key.
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl TlsSettings {
    /// Takes what concerns TLS out of a URL's parameters; the URL without them, and what they say.
    ///
    /// # Errors
    /// [`Error::Url`] for a mode that there is not.
    pub(crate) fn take(url: &str) -> Result<(String, TlsSettings)> {
        let mut settings = TlsSettings::default();
        let Some((before, query)) = url.split_once('?') else { return Ok((url.to_owned(), settings)) };
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !settings.set(name, &decoded(value))? {
                others.push(pair);
            }
        }
        let rest =
            if others.is_empty() { before.to_owned() } else { format!("{before}?{}", others.join("&")) };
        Ok((rest, settings))
    }

    /// Sets what `name` stands for where it is not set yet; whether the name concerns TLS at all.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        let path = Some(PathBuf::from(value));
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "sslmode" | "ssl-mode" => {
                self.mode = self.mode.or(Some(TlsMode::parse(value)?));
            }
            "sslrootcert" | "ssl-ca" if self.root.is_none() => {
                self.system = value == "system";
                let bundle = BUNDLES.iter().map(PathBuf::from).find(|bundle| self.system && bundle.exists());
                self.root = bundle.or(path);
            }
            "sslrootcert" | "ssl-ca" => {}
            "sslcert" | "ssl-cert" => self.certificate = self.certificate.take().or(path),
            "sslkey" | "ssl-key" => self.key = self.key.take().or(path),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Adds the files in libpq's directory (`~/.postgresql`) for what was not specified.
    pub(crate) fn add_files(&mut self, directory: &Path) {
        let file = |name: &str| Some(directory.join(name)).filter(|file| file.is_file());
        self.root = self.root.take().or_else(|| file("root.crt"));
        if self.certificate.is_none()
            && self.key.is_none()
            && let (Some(certificate), Some(key)) = (file("postgresql.crt"), file("postgresql.key"))
        {
            (self.certificate, self.key) = (Some(certificate), Some(key));
        }
    }

    /// The mode in force. An authority that is given is there to be asked: `require` verifies it, as in libpq.
    pub(crate) fn mode(&self) -> TlsMode {
        let usual = if self.system { TlsMode::VerifyFull } else { TlsMode::Prefer };
        match self.mode.unwrap_or(usual) {
            TlsMode::Require if self.root.is_some() => TlsMode::VerifyCa,
            mode => mode,
        }
    }

    /// # Errors
    /// [`Error::Url`] where verification is asked for without an authority, or a certificate comes without its key.
    pub(crate) fn check(&self) -> Result<()> {
        if self.system && self.mode() != TlsMode::VerifyFull {
            return Err(Error::Url(
                "sslrootcert=system needs sslmode=verify-full: the system's authorities issue certificates to anybody"
                    .to_owned(),
            ));
        }
        if matches!(self.mode(), TlsMode::VerifyCa | TlsMode::VerifyFull) && self.root.is_none() {
            return Err(Error::Url(
                "verifying the server's certificate needs the certificate of the authority that issued it: add \
                 sslrootcert=FILE (PEM) to the URL, or sslrootcert=system, or use sslmode=require"
                    .to_owned(),
            ));
        }
        if self.certificate.is_some() != self.key.is_some() {
            return Err(Error::Url("sslcert=FILE and sslkey=FILE belong together: give both".to_owned()));
        }
        for file in [&self.root, &self.certificate, &self.key].into_iter().flatten() {
            let mut text = Vec::new();
            let read = std::fs::File::open(file).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
            read.map_err(|source| {
                let likely = Some(ErrorCause::TlsFileMissing);
                Error::Io { doing: "read", path: file.clone(), source, likely }
            })?;
            if !text.windows(PEM.len()).any(|part| part == PEM) {
                let why = "it holds neither a certificate nor a key in PEM";
                return Err(Error::engine("use", file.display(), why, ErrorCause::TlsFileInvalid));
            }
        }
        Ok(())
    }
}

/// Where systems keep the authorities that they trust: Debian, Red Hat, SUSE, BSD.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Bytes of a file of certificates that are looked at: those of all authorities of a system are a twentieth of it.
const LARGEST: u64 = 8 << 20;

/// How each part of a file in PEM begins (RFC 7468).
const PEM: &[u8] = b"-----BEGIN ";

/// A part of a URL with its %XX replaced.
pub(crate) fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// What webpki calls a server's certificate that is an authority's (`webpki::Error`).
pub(crate) const AUTHORITY: &str = "CaUsedAsEndEntity";

/// What webpki calls a certificate of another version than 3.
pub(crate) const VERSION_1: &str = "UnsupportedCertVersion";

/// Why a handshake failed, by the words of rustls (`rustls::Error`, `CertificateError`, `AlertDescription`); `None` for other errors.
pub(crate) fn cause(text: &str) -> Option<ErrorCause> {
    let holds = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // An alert is the server's answer: it speaks of the client's certificate.
    if text.contains("received fatal alert") {
        return Some(if holds(&["CertificateRequired", "certificate required"]) {
            ErrorCause::ClientCertificateMissing
        } else if holds(CLIENT_REFUSED) {
            ErrorCause::ClientCertificateRefused
        } else {
            ErrorCause::TlsHandshake
        });
    }
    if holds(&["Expired", "certificate expired", "certificate has expired"]) {
        return Some(ErrorCause::CertificateExpired);
    }
    if holds(&["NotValidForName", "not valid for name"]) {
        return Some(ErrorCause::CertificateOfOtherHost);
    }
    if holds(&[AUTHORITY]) {
        return Some(ErrorCause::CertificateIsAuthority);
    }
    if holds(&[VERSION_1]) {
        return Some(ErrorCause::CertificateVersion);
    }
    if holds(&["UnknownIssuer", "BadSignature", "unknown issuer"]) {
        return Some(ErrorCause::CertificateOfOtherAuthority);
    }
    holds(&["invalid peer certificate", "InvalidCertificate", "peer is incompatible"])
        .then_some(ErrorCause::TlsHandshake)
}

/// Alerts about a client's certificate (RFC 8446, 6.2), as rustls writes them.
const CLIENT_REFUSED: &[&str] = &[
    "UnknownCA",
    "UnknownCa",
    "BadCertificate",
    "UnsupportedCertificate",
    "CertificateRevoked",
    "CertificateExpired",
    "CertificateUnknown",
    "DecryptError",
    "AccessDenied",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_out_of_the_url() {
        let (rest, tls) =
            TlsSettings::take("postgres://me@h/db?sslmode=verify-full&port=7&sslrootcert=/a%20b.pem")
                .unwrap();
        assert_eq!(rest, "postgres://me@h/db?port=7");
        assert_eq!((tls.mode(), tls.root), (TlsMode::VerifyFull, Some("/a b.pem".into())));
        let (rest, tls) = TlsSettings::take("mysql://me@h/db?ssl-mode=VERIFY_IDENTITY&ssl_ca=x").unwrap();
        assert_eq!((rest.as_str(), tls.mode()), ("mysql://me@h/db", TlsMode::VerifyFull));
        let (rest, tls) = TlsSettings::take("mysql://me@h/db").unwrap();
        assert_eq!((rest.as_str(), tls.mode()), ("mysql://me@h/db", TlsMode::Prefer));
        assert!(TlsSettings::take("mysql://h/db?sslmode=perhaps").is_err());
    }

    #[test]
    fn an_authority_given_is_asked() {
        let (_, tls) = TlsSettings::take("postgres://h/db?sslmode=require&sslrootcert=/x").unwrap();
        assert_eq!(tls.mode(), TlsMode::VerifyCa);
        let missing = tls.check().unwrap_err().to_string();
        assert!(missing.contains("/x") && missing.contains("sslrootcert"), "{missing}");
        let (_, tls) = TlsSettings::take("postgres://h/db?sslmode=verify-full").unwrap();
        assert!(tls.check().unwrap_err().to_string().contains("sslrootcert=FILE"));
        let (_, tls) = TlsSettings::take("postgres://h/db?sslcert=/x").unwrap();
        assert!(tls.check().unwrap_err().to_string().contains("sslkey"));
    }

    #[test]
    fn the_systems_authorities_are_asked_for_the_name() {
        let take = |url: &str| TlsSettings::take(url).unwrap().1;
        assert_eq!(take("postgres://h/db?sslrootcert=system").mode(), TlsMode::VerifyFull);
        let weaker = take("postgres://h/db?sslrootcert=system&sslmode=require").check().unwrap_err();
        assert!(weaker.to_string().contains("verify-full"), "{weaker}");
        // The first that is given counts, also where it is no more than a file.
        let named = take("postgres://h/db?sslrootcert=/x&sslrootcert=system");
        assert_eq!((named.mode(), named.root), (TlsMode::Prefer, Some("/x".into())));
    }

    #[test]
    fn files_of_libpq_are_used_for_what_is_not_specified() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let added = |url: &str| {
            let mut tls = TlsSettings::take(url).unwrap().1;
            tls.add_files(directory.path());
            tls
        };
        assert_eq!(added("postgres://h/db"), TlsSettings::default());
        for name in ["root.crt", "postgresql.crt"] {
            std::fs::write(path(name), "").unwrap();
        }
        let tls = added("postgres://h/db?sslmode=require");
        assert_eq!(
            (tls.mode(), tls.root, tls.certificate),
            (TlsMode::VerifyCa, Some(path("root.crt")), None)
        );
        assert_eq!(added("postgres://h/db").mode(), TlsMode::Prefer);
        std::fs::write(path("postgresql.key"), "").unwrap();
        let tls = added("postgres://h/db?sslrootcert=/x");
        assert_eq!((tls.root, tls.key), (Some("/x".into()), Some(path("postgresql.key"))));
        assert_eq!(added("postgres://h/db?sslcert=/x").key, None);
    }
}
