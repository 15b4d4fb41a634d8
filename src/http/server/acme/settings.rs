//! The settings for ordering certificates by ACME.

use std::sync::Arc;

use tokio_rustls::rustls::ClientConfig;

use crate::domain::acme::Domain;

/// A function that reads the certificate authorities that are trusted for the TLS connections to the directory. It runs
/// before each attempt, because system updates can change the authorities.
type ReadTrust = Box<dyn Fn() -> Result<Arc<ClientConfig>, String> + Send + Sync>;

pub struct AcmeSettings {
    pub domain: Domain,
    /// An email address for the authority.
    pub contact: Option<String>,
    /// The https URL of the authority's directory.
    pub directory: String,
    pub trust: ReadTrust,
}
