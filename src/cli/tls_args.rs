//! The TLS options of `serve`.

use std::path::PathBuf;
use std::sync::Arc;

use super::acme_args::AcmeArgs;
use super::failure::{EXIT_CONFIG, Failure};
use super::finding::Finding;
use super::output::print_message;
use crate::http::{self, Tls, TlsFiles};
use crate::world::World;

#[derive(Debug, clap::Args)]
pub(super) struct TlsArgs {
    /// Speak TLS (1.2 and 1.3) with this certificate: a PEM file such as fullchain.pem. The certificate of the service
    /// comes first, and the certificates that lead to its authority follow. The service reads the files again when they
    /// change and on SIGHUP. Without this option and without --acme-domain, the service speaks plain HTTP.
    #[arg(long, env = "APPLIANCE_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// The private key of the certificate: a PEM file without a passphrase.
    #[arg(long, env = "APPLIANCE_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,

    #[command(flatten)]
    pub(super) acme: AcmeArgs,
}

impl TlsArgs {
    /// Returns whether the service speaks TLS.
    pub(super) fn is_set(&self) -> bool {
        self.tls_cert.is_some() || self.acme.is_set()
    }

    /// Returns a finding for each option that contradicts another option, or that needs an option that is not set.
    pub(super) fn contradictions(&self, base_url: Option<&str>, redirects: bool) -> Vec<Finding> {
        let (has_certificate, has_key) = (self.tls_cert.is_some(), self.tls_key.is_some());
        let certificate = Finding::needs("tls-cert", has_certificate, "tls-key", has_key);
        let key = Finding::needs("tls-key", has_key, "tls-cert", has_certificate);
        let acme = self.acme.contradictions(has_certificate || has_key, base_url, redirects);
        certificate.into_iter().chain(key).chain(acme).collect()
    }

    /// Returns the reason why the service cannot speak TLS with this base URL.
    pub(super) fn flaw_of_base_url(&self, base_url: Option<&str>) -> Option<String> {
        let url = base_url.filter(|url| self.is_set() && !is_https(url))?;
        Some(format!("the service speaks TLS, but --base-url is {url}; use an https URL"))
    }

    /// Returns the reason why the certificate or its key cannot be used.
    pub(super) fn flaw_of_files(&self, world: &dyn World) -> Option<String> {
        Tls::read(self.files()?, world.now()).err()
    }

    /// Returns the files of the certificate and its key; `None` unless both are set.
    pub(super) fn files(&self) -> Option<TlsFiles> {
        Some(TlsFiles { certificate: self.tls_cert.clone()?, key: self.tls_key.clone()? })
    }

    /// Reads the certificate and its key. Warns if other users have access to the key, or if the certificate is not for
    /// the host of the base URL. Returns `None` if there are no files.
    ///
    /// # Errors
    /// Exit status 78 if the files cannot be used.
    pub(super) fn read(&self, base_url: Option<&str>, world: &dyn World) -> Result<Option<Arc<Tls>>, Failure> {
        let Some(files) = self.files() else { return Ok(None) };
        let warning = files.warning();
        let tls = Tls::read(files, world.now()).map_err(|message| Failure { exit: EXIT_CONFIG, message })?;
        if let Some(warning) = warning {
            print_message(&format!("warning: {warning}"));
        }
        if let Some(host) = base_url.and_then(http::host).filter(|host| !tls.is_for(host)) {
            print_message(&format!(
                "warning: the certificate is not for {host}, the host of --base-url, so browsers will refuse it; get a \
                 certificate for this name"
            ));
        }
        Ok(Some(Arc::new(tls)))
    }
}

/// Returns the port of a base URL.
pub(super) fn port(base_url: &str) -> u16 {
    let origin = http::origin(base_url).unwrap_or_default();
    let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
    let host = http::host(base_url).unwrap_or_default();
    let port = authority[host.len().min(authority.len())..].strip_prefix(':').and_then(|port| port.parse().ok());
    port.unwrap_or(if is_https(base_url) { 443 } else { 80 })
}

/// Returns whether the scheme of a base URL is https.
pub(super) fn is_https(base_url: &str) -> bool {
    http::origin(base_url).is_some_and(|origin| origin.starts_with("https:"))
}
