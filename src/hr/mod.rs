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
mod settings;
mod tls;
mod worker;

pub use network::{DeliveryNetwork, NetworkFuture, SystemNetwork};
pub use settings::Settings;
pub use worker::Worker;
