//! Deliveries to HR systems. A worker polls the outbox, sends the signed deliveries of each organization one at a time,
//! and records each attempt.
//!
//! The worker has its own thread and runtime, so that a slow HR system or name server never blocks a thread that
//! handles requests. `domain` contains the rules: allowed addresses, backoff, and the choice of the next organization.
//! `store` contains the outbox. This module has no routes and makes no decisions about candidates.

mod attempt;
mod budget;
mod connection;
mod network;
mod settings;
mod tls;
mod worker;

pub use network::{DeliveryNetwork, NetworkFuture, SystemNetwork};
pub use settings::Settings;
pub use tls::{read_config as trusting_config, read_config_of as trusting_config_of};
pub use worker::Worker;
