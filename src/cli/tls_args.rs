//! The options with which `serve` speaks TLS.

use std::path::PathBuf;
use std::sync::Arc;

use super::failure::{EXIT_CONFIG, EXIT_USAGE, Failure};
use super::output::print_message;
use crate::http::{self, Tls, TlsFiles};
use crate::world::World;

#[derive(Debug, clap::Args)]
pub(super) struct TlsArgs {
    /// Speak TLS (1.2 and 1.3) with this certificate: a PEM file such as fullchain.pem. The certificate of the service
    /// comes first, and the certificates that lead to its authority follow. The service reads the files again when they
    /// change and on SIGHUP. Without this option, the service speaks plain HTTP.
    #[arg(long, env = "APPLIANCE_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The private key of the certificate: a PEM file without a passphrase.
    #[arg(long, env = "APPLIANCE_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl TlsArgs {
    /// Reads the certificate and its key. Warns if the certificate is not for the host of the base URL. Returns `None`
    /// if the service speaks plain HTTP.
    ///
    /// # Errors
    /// Exit status 78 if the files cannot be used, and 2 if the base URL is not https.
    pub(super) fn read(&self, base_url: Option<&str>, world: &dyn World) -> Result<Option<Arc<Tls>>, Failure> {
        let (Some(certificate), Some(key)) = (self.tls_cert.clone(), self.tls_key.clone()) else { return Ok(None) };
        if let Some(url) = base_url.filter(|url| !is_https(url)) {
            let message = format!("the service speaks TLS, but --base-url is {url}; use an https URL");
            return Err(Failure { exit: EXIT_USAGE, message });
        }
        let files = TlsFiles { certificate, key };
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

/// Returns whether a base URL is https.
pub(super) fn is_https(base_url: &str) -> bool {
    http::origin(base_url).is_some_and(|origin| origin.starts_with("https:"))
}
