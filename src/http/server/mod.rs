//! The machinery of a request: accepts connections, reads and writes HTTP, finds the route, authenticates, limits, runs the
//! handler's two halves and its transaction, caches responses. It names no noun: nouns come in through [`route::Route`].

pub(in crate::http) mod accept;
mod body;
mod clients;
pub mod ctx;
pub(in crate::http) mod fields;
pub(in crate::http) mod form;
mod gate;
mod gzip;
mod limiter;
mod metrics;
pub(in crate::http) mod pagination;
mod permits;
mod problem;
mod rendered;
pub(in crate::http) mod reply;
pub(in crate::http) mod request;
mod response_cache;
pub mod route;
pub mod table;
pub(in crate::http) mod throttle;
mod unknown;
pub(in crate::http) mod variant;
mod wire;
