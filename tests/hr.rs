//! Deliveries to HR systems by the real binary, with the system's clocks, processes and network: nothing is lost or
//! told twice under another id whoever is killed when, TLS trusts whom it should, the log tells nothing that it must
//! not, and a stop is a stop.
//!
//! `APPLIANCE_CRASH_ROUNDS` says how often the service is killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "crash/client.rs"]
mod client;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "crash/company.rs"]
mod company;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "crash/service.rs"]
mod service;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "cli/support.rs"]
mod support;

#[path = "hr/admin.rs"]
mod admin;
#[path = "hr/certificate.rs"]
mod certificate;
#[path = "hr/chaos.rs"]
mod chaos;
#[path = "hr/dice.rs"]
mod dice;
#[path = "hr/ledger.rs"]
mod ledger;
#[path = "hr/load.rs"]
mod load;
#[path = "hr/log.rs"]
mod log;
#[path = "hr/message.rs"]
mod message;
#[path = "hr/moment.rs"]
mod moment;
#[path = "hr/receiver.rs"]
mod receiver;
#[path = "hr/setting.rs"]
mod setting;
#[path = "hr/stop.rs"]
mod stop;
#[path = "hr/tls.rs"]
mod tls;
