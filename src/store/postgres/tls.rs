//! Encrypts connections to PostgreSQL.
//!
//! `sslmode` means what it means in libpq: `prefer` and `require` do not verify the server's certificate,
//! only `verify-full` does, with the certificates in `sslrootcert` or else the system's.

use rustls_platform_verifier::Verifier;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Encrypted;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Whether and how a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    /// Never.
    Disable,
    /// If the server can.
    Prefer,
    /// Always, without verifying the server's certificate.
    Require,
    /// Always, and the certificate must be valid for the host of the address.
    VerifyFull,
}

/// Encrypts connections in one mode.
#[derive(Clone)]
pub(super) struct Connector(Arc<ClientConfig>);

/// Encrypts a connection to one host.
pub(super) struct HostConnector {
    config: Arc<ClientConfig>,
    host: ServerName<'static>,
}

/// An encrypted connection.
pub(super) struct EncryptedSocket(Encrypted<Socket>);

/// Accepts every certificate.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl TlsMode {
    /// Reads the value of `sslmode`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "disable" => Ok(Self::Disable),
            "prefer" => Ok(Self::Prefer),
            "require" => Ok(Self::Require),
            "verify-full" => Ok(Self::VerifyFull),
            _ => Err("its `sslmode` is not known: use disable, prefer, require or verify-full".to_owned()),
        }
    }

    /// The part of it that the driver decides.
    pub(super) fn of_driver(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::VerifyFull => SslMode::Require,
        }
    }
}

impl Connector {
    /// For a mode, with the certificates in a file instead of the system's.
    pub(super) fn new(mode: TlsMode, root: Option<&Path>) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let unusable = |error: Error| format!("it cannot be verified: {error}");
        let verifier: Arc<dyn ServerCertVerifier> = match (mode, root) {
            (TlsMode::VerifyFull, Some(root)) => trusting(root, &provider)?,
            (TlsMode::VerifyFull, None) => Arc::new(Verifier::new(Arc::clone(&provider)).map_err(unusable)?),
            (TlsMode::Disable | TlsMode::Prefer | TlsMode::Require, _) => {
                Arc::new(Unverified(Arc::clone(&provider)))
            }
        };
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(unusable)?.dangerous().with_custom_certificate_verifier(verifier);
        Ok(Self(Arc::new(builder.with_no_client_auth())))
    }
}

/// A verifier that trusts what the certificates in this file have signed.
fn trusting(root: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
    let wrong = |reason: &dyn fmt::Display| format!("`sslrootcert` names `{}`: {reason}", root.display());
    let text = std::fs::read(root).map_err(|error| wrong(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    if roots.is_empty() {
        return Err(wrong(&"it contains no certificate, no line `-----BEGIN CERTIFICATE-----`"));
    }
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    builder.build().map_err(|error| wrong(&error))
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = EncryptedSocket;
    type TlsConnect = HostConnector;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<HostConnector, InvalidDnsNameError> {
        // A socket of this machine has no name, and is never encrypted.
        let domain = if domain.is_empty() { "localhost" } else { domain };
        Ok(HostConnector { config: Arc::clone(&self.0), host: domain.to_owned().try_into()? })
    }
}

impl TlsConnect<Socket> for HostConnector {
    type Stream = EncryptedSocket;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedSocket>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        let handshake = TlsConnector::from(self.config).connect(self.host, stream);
        Box::pin(async { handshake.await.map(EncryptedSocket) })
    }
}

impl TlsStream for EncryptedSocket {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for EncryptedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for EncryptedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
