//! TLS to the server, with rustls and ring. `tokio-postgres-rustls` does the same, but would add seven crates, most of
//! them for channel binding. Verified certificates make channel binding unnecessary.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as RustlsError, RootCertStore, SignatureScheme,
};

/// The certificate authorities that may have signed the server's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Roots {
    /// Those that the operating system trusts.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

/// The checks of the server's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verification {
    /// None: TLS protects only against eavesdroppers.
    Nothing,
    /// The authority that signed the certificate, but not the host in the certificate.
    Authority(Roots),
    /// The authority and the host.
    Full(Roots),
}

/// Returns the configuration of a client.
///
/// # Errors
/// A sentence for operators if there are no certificate authorities, or their file cannot be read.
pub(super) fn client_config(verification: &Verification) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let verifier = match verification {
        Verification::Full(roots) => {
            return Ok(Arc::new(builder.with_root_certificates(read(roots)?).with_no_client_auth()));
        }
        Verification::Authority(roots) => {
            let roots = Arc::new(read(roots)?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            Some(verifier.map_err(|error| error.to_string())?)
        }
        Verification::Nothing => None,
    };
    let lenient = Arc::new(Lenient { authority: verifier, provider });
    Ok(Arc::new(builder.dangerous().with_custom_certificate_verifier(lenient).with_no_client_auth()))
}

fn read(roots: &Roots) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::System => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if store.is_empty() {
                return Err("the system trusts no certificate authority; install the package ca-certificates, or set \
                            sslrootcert to a file"
                    .to_owned());
            }
        }
        Roots::File(path) => {
            let shown = path.display();
            let pem = std::fs::read(path).map_err(|error| format!("sslrootcert {shown} cannot be read: {error}"))?;
            store.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok));
            if store.is_empty() {
                return Err(format!("sslrootcert {shown} has no certificate of an authority; use a PEM file"));
            }
        }
    }
    Ok(store)
}

/// The checks for an `sslmode` below `verify-full`, which are fewer than those of rustls.
#[derive(Debug)]
struct Lenient {
    /// Checks the authority; `None` for no check.
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, RustlsError> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // rustls checks the name last, so the certificate has passed all other checks.
            Err(RustlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, RustlsError> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, RustlsError> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Starts TLS on connections of the driver.
#[derive(Clone)]
pub(super) struct Connector(pub(super) Arc<ClientConfig>);

impl<S: AsyncRead + AsyncWrite + Unpin> MakeTlsConnect<S> for Connector {
    type Stream = Encrypted<S>;
    type TlsConnect = HostConnector;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<HostConnector, io::Error> {
        let name = ServerName::try_from(domain.to_owned());
        let name = name.map_err(|_| io::Error::other("no certificate can name this host"))?;
        Ok(HostConnector { connector: TlsConnector::from(Arc::clone(&self.0)), name })
    }
}

/// Starts TLS with one host.
pub(super) struct HostConnector {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsConnect<S> for HostConnector {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Handshake<S>;

    fn connect(self, stream: S) -> Handshake<S> {
        Handshake(Box::new(self.connector.connect(self.name, stream)))
    }
}

pub(super) struct Handshake<S>(Box<tokio_rustls::Connect<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Handshake<S> {
    type Output = io::Result<Encrypted<S>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut *self.0).poll(cx).map_ok(|stream| Encrypted(Box::new(stream)))
    }
}

/// A connection with TLS.
pub(super) struct Encrypted<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}
