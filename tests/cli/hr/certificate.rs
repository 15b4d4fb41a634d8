//! Valid and invalid certificates of HR systems.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, SupportedProtocolVersion};

use super::receiver::Layer;

/// The supported versions of TLS.
const VERSIONS: &[&SupportedProtocolVersion] =
    &[&tokio_rustls::rustls::version::TLS13, &tokio_rustls::rustls::version::TLS12];

/// A certificate authority.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Returns the certificate of the authority, for a file of trusted authorities.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Returns a TLS layer with a certificate for this name.
    pub(crate) fn certify(&self, name: &str) -> Layer {
        self.certify_with(name, |_| {})
    }

    /// Returns a TLS layer with a certificate for this name. `change` modifies the parameters of the certificate.
    pub(crate) fn certify_with(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Layer {
        self.server(name, VERSIONS, change)
    }

    /// Returns a TLS layer that supports only the older version of TLS and has a certificate for this name.
    pub(crate) fn certify_older(&self, name: &str) -> Layer {
        self.server(name, &VERSIONS[1..], |_| {})
    }

    fn server(
        &self,
        name: &str,
        versions: &[&'static SupportedProtocolVersion],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Layer {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        layer(certificate, &key, versions)
    }
}

/// Returns a TLS layer with a self-signed certificate for this name.
pub(crate) fn self_signed(name: &str) -> Layer {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap();
    layer(certificate, &key, VERSIONS)
}

fn layer(certificate: rcgen::Certificate, key: &KeyPair, versions: &[&'static SupportedProtocolVersion]) -> Layer {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(versions).unwrap().with_no_client_auth();
    Layer::Tls(Arc::new(builder.with_single_cert(vec![certificate.into()], key).unwrap()))
}
