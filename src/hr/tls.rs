//! TLS to HR systems: rustls with ring, and the certificate authorities that this machine trusts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How long the authorities are good for. A machine that is kept up to date gets others.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(3_600);

/// Speaks TLS. The authorities are read at the first delivery that needs them, so that the start need not wait.
#[derive(Debug, Default)]
pub(super) struct Tls {
    known: Mutex<Option<(Instant, Arc<ClientConfig>)>>,
}

impl Tls {
    /// A connection with TLS on it, to a server that has a good certificate for this host.
    ///
    /// # Errors
    /// A sentence: no certificate authorities, a host that no certificate can name, or what the handshake failed with.
    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
        let config = self.config()?;
        // A name may end with the dot of the root; in certificates and in the handshake it does not (RFC 6066 §3).
        let host = host.strip_suffix('.').unwrap_or(host).to_owned();
        let name = ServerName::try_from(host).map_err(|_| "no certificate can name this host".to_owned())?;
        let connector = TlsConnector::from(config);
        connector.connect(name, stream).await.map_err(|error| format!("TLS failed: {error}"))
    }

    /// What was read an hour ago at most. That nothing can be read is not remembered.
    fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, config)) = known.as_ref().filter(|(read, _)| read.elapsed() < READ_AGAIN_AFTER) {
            return Ok(Arc::clone(config));
        }
        let config = config()?;
        *known = Some((Instant::now(), Arc::clone(&config)));
        Ok(config)
    }
}

fn config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(
            "this machine trusts no certificate authority; install its ca-certificates, or name a file of them \
                    in SSL_CERT_FILE before the start"
                .to_owned(),
        );
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
