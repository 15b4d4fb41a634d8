//! The results of the exchange with the authority, independent of the library.

use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The result of an order: the certificates from the authority, and the private key of the service's certificate.
pub(super) struct Issued {
    /// The certificates in PEM, that of the service first.
    pub(super) chain: String,
    /// The private key in PEM. Each order generates a new key.
    pub(super) key: String,
}

/// The wait in the last `Retry-After` that the authority sent with a refusal.
pub(super) type RetryAfter = Arc<Mutex<Option<Duration>>>;
