//! Obtains the service's certificate from an authority by ACME (RFC 8555), and renews it.
//!
//! To prove that it controls its name, the service answers requests on port 80 (the http-01 challenge). The listener
//! for redirects sends the answers. Each attempt has a thread and a runtime of its own, so that a slow name server or
//! disk never blocks a thread that handles requests. `domain/acme` decides when the next attempt is due.
//!
//! A build without the feature `acme` lacks the library and the client. The command line of such a build refuses
//! --acme-domain, so no attempt begins.

#[cfg(feature = "acme")]
mod account;
mod attempt;
#[cfg(feature = "acme")]
mod client;
mod exchange;
pub(in crate::http) mod folder;
pub(in crate::http) mod follow;
#[cfg(feature = "acme")]
mod order;
pub(super) mod orders;
pub(in crate::http) mod settings;
mod state;
