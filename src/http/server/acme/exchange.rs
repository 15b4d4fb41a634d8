//! The results of the exchange with the authority, independent of the library.

use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The result of an order: the certificates from the authority, and the private key that was generated for them here.
pub(super) struct Issued {
    /// The certificates in PEM, that of the service first.
    pub(super) chain: String,
    /// The private key in PEM. Each order generates a new key.
    pub(super) key: String,
}

/// The wait that the authority asked for in its last refusal.
pub(super) type RetryAfter = Arc<Mutex<Option<Duration>>>;
