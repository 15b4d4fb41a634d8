//! The two files with the certificate and its key: reading them, checking them, and detecting changes.

use std::fmt::Display;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{PemObject, SectionKind};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{Error, ServerConfig};

use crate::domain::certificate::{Invalid, ValidityPeriod};
use crate::domain::timestamp::Timestamp;

/// The maximum size of a file: a hundred times as much as a chain of four certificates needs. The limit catches a path
/// to another kind of file.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;

/// The permissions of users other than the owner and the group.
const OTHERS: u32 = 0o007;

/// The application protocol that clients may choose (RFC 7301). HTTP/2 is absent on purpose.
const PROTOCOL: &[u8] = b"http/1.1";

/// The files in PEM (RFC 7468) with the service's certificate and its private key.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The file with the certificate of the service, followed by the certificates that lead to its authority.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A certificate with its key, ready for connections.
#[derive(Clone)]
pub(in crate::http::server) struct Pair {
    pub(super) config: Arc<ServerConfig>,
    pub(super) certificate: CertificateDer<'static>,
    pub(in crate::http::server) period: ValidityPeriod,
}

impl Pair {
    /// Reads a key and its certificates from one PEM file. Does not compare the validity period with the clock.
    ///
    /// # Errors
    /// The reason, as a part of a sentence.
    pub(in crate::http::server) fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let chain = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| format!("it is damaged: {error}"))?;
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| "it has no private key that can be read")?;
        let certificate = chain.first().ok_or("it has no certificate")?.clone();
        let period = ValidityPeriod::of(&certificate).ok_or("its first certificate cannot be read")?;
        let config = config(chain, key).map_err(|error| error.to_string())?;
        Ok(Self { config: Arc::new(config), certificate, period })
    }

    /// Returns whether the certificate names this host. If it does not, browsers refuse the certificate.
    pub(in crate::http::server) fn is_for(&self, host: &str) -> bool {
        let Ok(certificate) = ParsedCertificate::try_from(&self.certificate) else { return false };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        ServerName::try_from(host).is_ok_and(|name| verify_server_name(&certificate, &name).is_ok())
    }
}

/// The stamps of both files: device, inode, size and modification time. A file that was replaced or written has another
/// stamp. A file whose metadata cannot be read has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamps([Option<[i128; 5]>; 2]);

impl Stamps {
    /// The stamps of files that do not exist.
    pub(super) const NONE: Self = Self([None; 2]);
}

impl TlsFiles {
    /// Returns the stamps of the files.
    pub(super) fn stamps(&self) -> Stamps {
        let stamp = |metadata: Metadata| {
            let size = i128::from(metadata.size());
            let (mtime, nanoseconds) = (i128::from(metadata.mtime()), i128::from(metadata.mtime_nsec()));
            [i128::from(metadata.dev()), i128::from(metadata.ino()), size, mtime, nanoseconds]
        };
        Stamps([&self.certificate, &self.key].map(|path| fs::metadata(path).ok().map(stamp)))
    }

    /// Returns a warning if users other than the key's owner and group have any permission on the file of the key.
    pub fn warning(&self) -> Option<String> {
        let mode = fs::metadata(&self.key).ok()?.mode();
        let key = self.key.display();
        (mode & OTHERS != 0).then(|| {
            format!("the key {key} is open to every user of this machine; correct its permissions with: chmod o= {key}")
        })
    }

    /// Reads and checks both files.
    ///
    /// # Errors
    /// A sentence for operators, with the remedy.
    pub(super) fn read(&self, now: Timestamp) -> Result<Pair, String> {
        let chain = self.read_chain()?;
        let key = self.read_key()?;
        let certificate = chain[0].clone();
        let period = ValidityPeriod::of(&certificate).ok_or_else(|| self.not_a_certificate())?;
        let config = config(chain, key).map_err(|error| self.unusable(&error))?;
        period.check(now).map_err(|invalid| self.invalid(invalid, period))?;
        Ok(Pair { config: Arc::new(config), certificate, period })
    }

    /// Returns the certificates of the file, at least one.
    fn read_chain(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let (path, name) = (self.certificate.display(), "certificate");
        let pem = read(&self.certificate, name, "--tls-cert")?;
        let broken = |error: &dyn Display| {
            format!("the certificate {path} is damaged: {error}; get the file again from your certificate authority")
        };
        let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| broken(&error))?;
        if !chain.is_empty() {
            return Ok(chain);
        }
        Err(match first_section(&pem) {
            Some(_) => format!(
                "{path} has no certificate; --tls-cert takes the file with the certificate, such as fullchain.pem, and \
                 --tls-key the file with the key"
            ),
            None => format!(
                "the certificate {path} is not PEM, a text that begins with -----BEGIN CERTIFICATE-----; convert DER \
                 with: openssl x509 -inform der -in {path} -out fullchain.pem"
            ),
        })
    }

    fn read_key(&self) -> Result<PrivateKeyDer<'static>, String> {
        let path = self.key.display();
        let pem = read(&self.key, "key", "--tls-key")?;
        let text = String::from_utf8_lossy(&pem);
        // PKCS #8 names the encryption in the first line, and older formats in the header fields.
        if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED") {
            return Err(format!(
                "the key {path} is encrypted, and the service cannot ask for its passphrase; decrypt the key with: \
                 openssl pkey -in {path} -out privkey.pem"
            ));
        }
        if let Some(key) = PrivateKeyDer::pem_slice_iter(&pem).find_map(Result::ok) {
            return Ok(key);
        }
        Err(if text.contains("-----BEGIN ") {
            format!(
                "{path} has no private key that can be read; --tls-key takes the file with the key, such as privkey.pem"
            )
        } else {
            format!(
                "the key {path} is not PEM, a text that begins with -----BEGIN PRIVATE KEY-----; convert DER with: openssl \
                 pkey -inform der -in {path} -out privkey.pem"
            )
        })
    }

    fn not_a_certificate(&self) -> String {
        let path = self.certificate.display();
        format!("the first certificate in {path} cannot be read; get the file again from your certificate authority")
    }

    /// Returns the error text for a pair that the TLS library refuses.
    fn unusable(&self, error: &Error) -> String {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        match error {
            Error::InconsistentKeys(_) => format!(
                "the key {key} does not belong to the first certificate in {certificate}; use the key with which the \
                 certificate was requested, and put the certificate of the service before those of its authorities"
            ),
            Error::InvalidCertificate(_) => self.not_a_certificate(),
            _ => format!("the key {key} cannot be used ({error}); use an ECDSA (P-256 or P-384), RSA or Ed25519 key"),
        }
    }

    fn invalid(&self, invalid: Invalid, period: ValidityPeriod) -> String {
        let path = self.certificate.display();
        match invalid {
            Invalid::Expired => format!(
                "the certificate {path} expired at {}; renew it, or correct the clock of this machine",
                period.not_after
            ),
            Invalid::NotYet => format!(
                "the certificate {path} is not valid before {}; correct the clock of this machine, or wait",
                period.not_before
            ),
        }
    }
}

/// Reads a file. `name` and `flag` appear in the error texts.
fn read(path: &Path, name: &str, flag: &str) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("the {name} {shown} does not exist; give its path with {flag}"),
        std::io::ErrorKind::PermissionDenied => {
            format!(
                "the {name} {shown} cannot be read: {error}; let the user of the service read the file and its folders"
            )
        }
        _ => format!("the {name} {shown} cannot be read: {error}; give the path of a PEM file with {flag}"),
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("the {name} {shown} is larger than 1 MiB; give the path of a PEM file with {flag}"));
    }
    Ok(bytes)
}

fn first_section(pem: &[u8]) -> Option<SectionKind> {
    <(SectionKind, Vec<u8>)>::pem_slice_iter(pem).find_map(Result::ok).map(|(kind, _)| kind)
}

/// Returns the settings of connections with this certificate: TLS 1.2 and 1.3 with the library's choice of ciphers.
fn config(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<ServerConfig, Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}
