//! Certificates of the service, and a client that speaks TLS.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

#[cfg(feature = "acme")]
use rcgen::CertificateSigningRequestParams;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion, version,
};

use crate::support::{Answer, WorkDir, connect, read_answer};

/// The versions of TLS that the service speaks.
pub(crate) const VERSIONS: [&SupportedProtocolVersion; 2] = [&version::TLS12, &version::TLS13];

/// The names of the files with the certificate and its key.
pub(crate) const CERT: &str = "fullchain.pem";
pub(crate) const KEY: &str = "privkey.pem";

/// The options that name the files.
pub(crate) const TLS: [&str; 4] = ["--tls-cert", CERT, "--tls-key", KEY];

pub(crate) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// A certificate authority that the client trusts.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "The authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Creates a certificate for `localhost`, and returns its chain and its key as PEM.
    pub(crate) fn certify(&self, change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem() + &self.0.pem(), key.serialize_pem())
    }

    /// Writes a new certificate for `localhost` and its key.
    pub(crate) fn write(&self, dir: &WorkDir) {
        let (certificate, key) = self.certify(|_| {});
        write_pair(dir, &certificate, &key);
    }

    /// Signs a certificate signing request, and returns the chain as PEM.
    #[cfg(feature = "acme")]
    pub(crate) fn sign(&self, request: &CertificateSigningRequestParams) -> String {
        request.signed_by(&self.0).unwrap().pem() + &self.0.pem()
    }

    /// Writes the certificate of the authority.
    pub(crate) fn write_root(&self, dir: &WorkDir, name: &str) {
        dir.write(name, self.0.pem());
    }

    /// Connects and completes the handshake.
    pub(crate) fn connect(&self, address: SocketAddr) -> io::Result<TlsStream> {
        self.connect_with(connect(address), &VERSIONS, b"http/1.1")
    }

    /// Completes the handshake on a connection, with these versions and this application protocol.
    pub(crate) fn connect_with(
        &self,
        stream: TcpStream,
        versions: &[&'static SupportedProtocolVersion],
        protocol: &[u8],
    ) -> io::Result<TlsStream> {
        self.connect_as("localhost", stream, versions, protocol)
    }

    /// Completes the handshake on a connection. The certificate of the service must be for the host `name`.
    pub(crate) fn connect_as(
        &self,
        name: &str,
        stream: TcpStream,
        versions: &[&'static SupportedProtocolVersion],
        protocol: &[u8],
    ) -> io::Result<TlsStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(versions).unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut stream = StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(stream)
    }

    /// Sends one request on a new connection.
    pub(crate) fn send(&self, address: SocketAddr, request: &str) -> Answer {
        let mut stream = self.connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        read_answer(&mut stream)
    }

    pub(crate) fn get(&self, address: SocketAddr, path: &str) -> Answer {
        self.send(address, &format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
    }
}

/// Replaces both files, as programs that renew certificates do.
pub(crate) fn write_pair(dir: &WorkDir, certificate: &str, key: &str) {
    for (name, text) in [(CERT, certificate), (KEY, key)] {
        dir.write("new.pem", text);
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(dir.path("new.pem"), private).unwrap();
        std::fs::rename(dir.path("new.pem"), dir.path(name)).unwrap();
    }
}

/// Returns the certificate that the service presented.
pub(crate) fn presented(stream: &TlsStream) -> CertificateDer<'static> {
    stream.conn.peer_certificates().unwrap()[0].clone().into_owned()
}
