//! TLS towards PostgreSQL, by rustls.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use iolite_model::ErrorCause;

use crate::error::{Error, Result};
use crate::tls::{AUTHORITY, TlsMode, TlsSettings, VERSION_1};

/// What makes connections secure as the settings want it; `None` where they are not to be.
///
/// # Errors
/// [`Error::Url`] for settings that contradict one another, [`Error::Engine`] for certificates that can't be used.
pub(super) fn connector(settings: &TlsSettings, place: &str) -> Result<Option<MakeRustlsConnect>> {
    if settings.mode() == TlsMode::Disable {
        return Ok(None);
    }
    settings.check()?;
    let unusable = |cause: Box<dyn std::error::Error + Send + Sync>| {
        Error::engine("prepare TLS for", place, cause, ErrorCause::TlsFileInvalid)
    };
    configuration(settings).map(|config| Some(MakeRustlsConnect::new(config))).map_err(unusable)
}

fn configuration(
    settings: &TlsSettings,
) -> std::result::Result<ClientConfig, Box<dyn std::error::Error + Send + Sync>> {
    let provider = Arc::new(ring::default_provider());
    let mut trusted = Vec::new();
    let chain = match (settings.mode(), &settings.root) {
        (TlsMode::VerifyCa | TlsMode::VerifyFull, Some(file)) => {
            trusted = CertificateDer::pem_file_iter(file)?.collect::<std::result::Result<Vec<_>, _>>()?;
            let mut roots = RootCertStore::empty();
            if settings.system {
                // Of so many, one may be of a kind that is not known here.
                roots.add_parsable_certificates(trusted.iter().cloned());
            } else {
                trusted.iter().try_for_each(|certificate| roots.add(certificate.clone()))?;
            }
            Some(WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build()?)
        }
        _ => None,
    };
    let any_name = settings.mode() != TlsMode::VerifyFull;
    let verifier = Arc::new(Verifier { chain, trusted, any_name, provider: provider.clone() });
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match (&settings.certificate, &settings.key) {
        (Some(certificate), Some(key)) => {
            let chain =
                CertificateDer::pem_file_iter(certificate)?.collect::<std::result::Result<Vec<_>, _>>()?;
            Ok(builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key)?)?)
        }
        _ => Ok(builder.with_no_client_auth()),
    }
}

/// What is asked of the server's certificate. The connection is always encrypted for whoever has the key of the certificate shown.
#[derive(Debug)]
struct Verifier {
    /// Checks the chain up to a root that is trusted, and the name; without it any certificate will do (`prefer`, `require`).
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// The certificates of these roots.
    trusted: Vec<CertificateDer<'static>>,
    /// The name in the certificate does not count (`verify-ca`).
    any_name: bool,
    provider: Arc<CryptoProvider>,
}

/// Whether an error is this one of webpki, which rustls has no word for.
fn is_webpki(error: &TlsError, word: &str) -> bool {
    matches!(error, TlsError::InvalidCertificate(CertificateError::Other(other)) if other.to_string() == word)
}

impl Verifier {
    /// Verifies the name in a certificate that is a root itself: self-signed as in PostgreSQL's manual ("Creating Certificates"), it is by
    /// default an authority's, which webpki, when it has verified the dates, does not accept as a server's.
    fn verify_root(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> std::result::Result<ServerCertVerified, TlsError> {
        if !self.any_name {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    /// Certificates of version 1, whose keys webpki does not read, do where no certificate is verified: whoever shows one could show any.
    fn or_unverified(
        &self,
        answer: std::result::Result<HandshakeSignatureValid, TlsError>,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        match answer {
            Err(error) if self.chain.is_none() && is_webpki(&error, VERSION_1) => {
                Ok(HandshakeSignatureValid::assertion())
            }
            answer => answer,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, TlsError> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, others, name, ocsp, now) {
            Err(error) if is_webpki(&error, AUTHORITY) && self.trusted.contains(certificate) => {
                self.verify_root(certificate, name)
            }
            // The name is looked at last, when the chain has been found good.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            answer => answer,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        self.or_unverified(verify_tls12_signature(message, certificate, signature, algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        self.or_unverified(verify_tls13_signature(message, certificate, signature, algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
