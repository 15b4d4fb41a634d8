//! Deliveries to HR systems. A worker polls the outbox, sends signed messages round-robin per organization, and records
//! each attempt.
//!
//! The worker has its own thread and runtime, so that a slow HR system or name server never takes a thread from requests.
//! `domain` holds the rules: allowed addresses, backoff, and which organization is next. `store` holds the outbox. This
//! module knows no routes and decides nothing about candidates.

mod attempt;
mod budget;
mod connection;
mod network;
mod tls;
mod worker;

use std::time::Duration;

use crate::domain::hr_delivery::RetrySchedule;
pub use network::{Network, NetworkFuture, SystemNetwork};
pub use worker::Worker;

/// Settings of the delivery worker, from the flags of `serve`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The delays between attempts.
    pub schedule: RetrySchedule,
    /// The time limit of an attempt, from the host lookup to the end of the response.
    pub timeout: Duration,
    /// Whether private and other special addresses may be reached.
    pub allow_private_targets: bool,
}
