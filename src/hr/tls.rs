//! TLS connections to HR systems, with rustls, ring and the certificate authorities that the operating system trusts.
//! The ACME client and some commands also use the client configurations that this module builds.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The time for which the certificate authorities are cached. System updates can change them while the service runs.
const CACHE_TIME: Duration = Duration::from_secs(3_600);

/// A TLS connector with cached certificate authorities. The authorities are read at the first delivery over TLS, so
/// that reading them does not delay the start of the service.
#[derive(Debug, Default)]
pub(super) struct Tls {
    cached: Mutex<Option<(Instant, Arc<ClientConfig>)>>,
}

impl Tls {
    /// Starts TLS on a connection. The server must have a valid certificate for `host`.
    ///
    /// # Errors
    /// Returns a sentence for admins if the system trusts no authority, if no certificate can name the host, or if the
    /// handshake fails.
    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
        let config = self.config()?;
        // The host in a URL may end with a dot, but a name in a certificate or in the handshake must not (RFC 6066
        // section 3).
        let host = host.strip_suffix('.').unwrap_or(host).to_owned();
        let name = ServerName::try_from(host).map_err(|_| "no certificate can name this host".to_owned())?;
        let connector = TlsConnector::from(config);
        connector.connect(name, stream).await.map_err(|error| format!("TLS failed: {error}"))
    }

    /// Returns the cached configuration, or a new one if the cache is empty or too old. A failure to read the
    /// authorities is not cached.
    fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, config)) = cached.as_ref().filter(|(read_at, _)| read_at.elapsed() < CACHE_TIME) {
            return Ok(Arc::clone(config));
        }
        let config = read_config()?;
        *cached = Some((Instant::now(), Arc::clone(&config)));
        Ok(config)
    }
}

/// Reads the certificate authorities of the system, and returns the configuration of clients that trust them.
///
/// # Errors
/// Returns a sentence for operators if the system trusts no authority.
pub fn read_config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(
            "the system trusts no certificate authority; install the package ca-certificates, or set SSL_CERT_FILE and \
             restart"
                .to_owned(),
        );
    }
    config_trusting(roots)
}

/// Reads the certificate authorities in a PEM file, and returns the configuration of clients that trust only them.
///
/// # Errors
/// Returns a sentence for operators if the file cannot be read or has no certificate.
pub fn read_config_of(path: &Path) -> Result<Arc<ClientConfig>, String> {
    let shown = path.display();
    let pem = std::fs::read(path)
        .map_err(|error| format!("the certificate authorities in {shown} cannot be read: {error}"))?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok));
    if roots.is_empty() {
        return Err(format!("{shown} has no certificate of an authority; use a PEM file"));
    }
    config_trusting(roots)
}

fn config_trusting(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
