//! Deliveries to HR systems by the real binary, with real clocks, processes and connections. The tests check that no
//! message is lost or sent under a second id if either side is killed, that only valid certificates are accepted, that
//! the log has no personal data, and that a stop is quick.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue must fail")]

#[allow(dead_code, reason = "other tests use the other items")]
#[path = "crash/client.rs"]
mod client;
#[allow(dead_code, reason = "other tests use the other items")]
#[path = "crash/company.rs"]
mod company;
#[allow(dead_code, reason = "other tests use the other items")]
#[path = "crash/service.rs"]
mod service;
#[allow(dead_code, reason = "other tests use the other items")]
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
