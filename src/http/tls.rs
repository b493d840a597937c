//! TLS: reads certificate and key, and reloads them when asked.
//!
//! An unusable file is refused when it is read, at the start or at a reload, and never during a client's
//! handshake. After a failed reload the service keeps its certificate. Open connections keep the one they
//! started with.

use parking_lot::RwLock;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use tokio_rustls::rustls::{Error, InconsistentKeys, ServerConfig};

/// Why a certificate and its key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// Only one of the two is configured.
    #[error("`tls_cert` and `tls_key` belong together: only `{0}` is set; set both, or neither")]
    Half(&'static str),
    /// A file cannot be read.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why, in the words of the operating system.
        reason: String,
    },
    /// A file is not PEM.
    #[error("`{}` is not a PEM file: {reason}; convert it to PEM", .path.display())]
    NotPem {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        reason: String,
    },
    /// A file contains no certificate.
    #[error("`{}` contains no certificate: expected a line `-----BEGIN CERTIFICATE-----`", .0.display())]
    NoCertificate(PathBuf),
    /// A file contains no private key.
    #[error("`{}` contains no private key: expected a line like `-----BEGIN PRIVATE KEY-----`", .0.display())]
    NoKey(PathBuf),
    /// The key does not match the certificate.
    #[error(
        "the private key in `{}` does not match the certificate in `{}`: set `tls_key` to the key of this certificate",
        .key.display(), .cert.display()
    )]
    Mismatch {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// Both were read but cannot be used.
    #[error("the certificate in `{}` cannot be used: {reason}; set `tls_cert` to another one", .cert.display())]
    Unusable {
        /// The certificate's file.
        cert: PathBuf,
        /// Why.
        reason: String,
    },
}

/// The certificate of this service with its private key.
pub struct Tls {
    cert: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<ServerConfig>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("cert", &self.cert).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the two files, if they are configured.
    ///
    /// # Errors
    /// Only one is configured, or they cannot be used.
    pub fn read(cert: Option<&Path>, key: Option<&Path>) -> Result<Option<Self>, TlsError> {
        match (cert, key) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(TlsError::Half("tls_cert")),
            (None, Some(_)) => Err(TlsError::Half("tls_key")),
            (Some(cert), Some(key)) => {
                let current = RwLock::new(Arc::new(server_config(cert, key)?));
                Ok(Some(Self { cert: cert.to_owned(), key: key.to_owned(), current }))
            }
        }
    }

    /// Reads the files again.
    ///
    /// # Errors
    /// They cannot be used; the previous certificate stays in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let fresh = Arc::new(server_config(&self.cert, &self.key)?);
        *self.current.write() = fresh;
        Ok(())
    }

    /// Accepts handshakes with the current certificate.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.current.read()))
    }
}

fn server_config(cert: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let not_pem = |path: &Path, error: pem::Error| TlsError::NotPem {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let certificates = CertificateDer::pem_slice_iter(&read(cert)?).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| not_pem(cert, error))?;
    if certificates.is_empty() {
        return Err(TlsError::NoCertificate(cert.to_owned()));
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::NoKey(key.to_owned()),
        other => not_pem(key, other),
    })?;
    let unusable = |error: Error| match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            TlsError::Mismatch { cert: cert.to_owned(), key: key.to_owned() }
        }
        other => TlsError::Unusable { cert: cert.to_owned(), reason: other.to_string() },
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let mut config = builder
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path)
        .map_err(|error| TlsError::Unreadable { path: path.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A certificate and its key, as PEM.
    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (cert, key) = pair();
        fs::write(path("cert.pem"), &cert).unwrap();
        fs::write(path("key.pem"), &key).unwrap();
        fs::write(path("other.pem"), pair().1).unwrap();
        fs::write(path("empty.pem"), "").unwrap();
        fs::write(path("broken.pem"), cert.replace("-----END CERTIFICATE-----", "")).unwrap();
        let read = |cert: &str, key: &str| Tls::read(Some(&path(cert)), Some(&path(key)));
        let refused = |cert: &str, key: &str| read(cert, key).unwrap_err().to_string();

        assert!(read("cert.pem", "key.pem").unwrap().is_some());
        assert!(refused("missing.pem", "key.pem").contains("missing.pem`: No such file"));
        assert!(refused("cert.pem", "missing.pem").starts_with("cannot read `"));
        assert!(refused("empty.pem", "key.pem").contains("empty.pem` contains no certificate"));
        assert!(refused("key.pem", "key.pem").contains("key.pem` contains no certificate"));
        assert!(refused("cert.pem", "cert.pem").contains("cert.pem` contains no private key"));
        assert!(refused("broken.pem", "key.pem").contains("broken.pem` is not a PEM file"));
        assert!(refused("cert.pem", "other.pem").contains("does not match the certificate"));
        assert_eq!(Tls::read(Some(&path("cert.pem")), None).unwrap_err(), TlsError::Half("tls_cert"));
        assert!(Tls::read(None, None).unwrap().is_none());
    }

    #[test]
    fn a_reload_that_is_refused_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (cert_path, key_path) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        let write = |(cert, key): (String, String)| {
            fs::write(&cert_path, cert).unwrap();
            fs::write(&key_path, key).unwrap();
        };
        write(pair());
        let tls = Tls::read(Some(&cert_path), Some(&key_path)).unwrap().unwrap();
        let first = Arc::clone(&tls.current.read());
        fs::write(&cert_path, pair().0).unwrap();
        assert!(matches!(tls.reload(), Err(TlsError::Mismatch { .. })));
        assert!(Arc::ptr_eq(&first, &tls.current.read()));
        write(pair());
        tls.reload().unwrap();
        assert!(!Arc::ptr_eq(&first, &tls.current.read()));
    }
}
