//! Deliveries to HR systems by the real binary, with real clocks, processes and connections. A kill of either side neither
//! loses a message nor sends it under a second id. Only valid certificates are accepted, the log has no personal data, and a
//! stop is quick.

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
#[path = "hr/fixture.rs"]
mod fixture;
#[path = "hr/kill_point.rs"]
mod kill_point;
#[path = "hr/ledger.rs"]
mod ledger;
#[path = "hr/load.rs"]
mod load;
#[path = "hr/log.rs"]
mod log;
#[path = "hr/message.rs"]
mod message;
#[path = "hr/random.rs"]
mod random;
#[path = "hr/receiver.rs"]
mod receiver;
mod rounds;
#[path = "hr/stop.rs"]
mod stop;
#[path = "hr/tls.rs"]
mod tls;
