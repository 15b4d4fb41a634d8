//! Deliveries to HR systems by the real binary, with real clocks, processes and connections. The tests check that no
//! message is lost or sent under a second id if either side is killed, that only valid certificates are accepted, that
//! the log has no personal data, and that a stop is quick.

#[allow(dead_code, reason = "other tests use the other items")]
#[path = "../../crash/client.rs"]
mod client;
#[allow(dead_code, reason = "other tests use the other items")]
#[path = "../../crash/company.rs"]
mod company;
#[allow(dead_code, reason = "other tests use the other items")]
#[path = "../../crash/service.rs"]
mod service;

mod admin;
mod certificate;
mod chaos;
mod fixture;
mod kill_point;
mod ledger;
mod load;
mod log;
mod message;
mod random;
mod receiver;
mod stop;
mod tls;
