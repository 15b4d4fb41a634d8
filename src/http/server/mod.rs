//! The machinery of a request: accepts connections, reads and writes HTTP, finds the route, authenticates, limits, runs the
//! handler's two halves and its transaction, caches responses. It names no noun: nouns come in through [`route::Route`].

pub(in crate::http) mod accept;
pub(in crate::http) mod authentication;
mod body;
mod cached_response;
mod clients;
pub mod ctx;
pub mod entry;
pub(in crate::http) mod fields;
pub(in crate::http) mod form;
pub(in crate::http) mod form_rules;
mod gate;
mod gzip;
pub(in crate::http) mod html;
pub(in crate::http) mod language;
mod limiter;
mod metrics;
mod network_limit;
pub(in crate::http) mod pagination;
mod permits;
mod problem;
mod rendered;
pub(in crate::http) mod reply;
pub(in crate::http) mod request;
pub mod resource;
pub mod response_cache;
pub mod route;
mod service;
pub mod table;
pub(in crate::http) mod throttle;
mod unknown;
pub(in crate::http) mod variant;
mod wire;
