//! Deliveries to HR systems: a worker takes from the outbox whose turn it is, posts the message, signed, and records
//! what came of it.
//!
//! It has a thread and a runtime of its own, so nothing that an HR system does, or a name server, takes a thread from
//! those who answer requests. Which addresses may be reached, when it is tried again and whose turn it is are rules of
//! `domain`; what is owed and what became of it is in `store`. Nothing here knows of routes or decides on a candidate.

mod attempt;
mod budget;
mod connection;
mod network;
mod tls;
mod worker;

use std::time::Duration;

use crate::domain::hr_delivery::RetrySchedule;
pub use network::{Later, Network, System};
pub use worker::Worker;

/// The settings of the deliveries.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The delays between attempts.
    pub schedule: RetrySchedule,
    /// How long an attempt may take, from looking up the host to the end of the answer.
    pub timeout: Duration,
    /// Whether private and other special addresses may be reached.
    pub allow_private_targets: bool,
}
