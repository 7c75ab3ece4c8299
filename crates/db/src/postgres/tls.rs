//! TLS towards PostgreSQL, by rustls.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use iolite_model::ErrorCause;

use crate::error::{Error, Result};
use crate::tls::{TlsMode, TlsSettings};

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
    let chain = match (settings.mode(), &settings.root) {
        (TlsMode::VerifyCa | TlsMode::VerifyFull, Some(file)) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(file)? {
                roots.add(certificate?)?;
            }
            Some(WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build()?)
        }
        _ => None,
    };
    let any_name = settings.mode() != TlsMode::VerifyFull;
    let verifier = Arc::new(Verifier { chain, any_name, provider: provider.clone() });
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
    /// The name in the certificate does not count (`verify-ca`).
    any_name: bool,
    provider: Arc<CryptoProvider>,
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
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
