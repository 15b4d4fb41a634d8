//! The server: accepts connections, reads and writes HTTP, finds the route, authenticates the caller, applies
//! limits, runs the handler in its transaction, and caches responses. The server does not depend on any endpoint: the
//! modules of the endpoints pass them to the server as [`route::Route`] values.

pub(in crate::http) mod accept;
pub mod access_rule;
pub(in crate::http) mod acme;
pub(in crate::http) mod authentication;
mod body;
pub(in crate::http) mod body_fields;
mod bounded_map;
pub(in crate::http) mod cache_variant;
mod cached_response;
mod client_stream;
mod connection_limit;
pub mod ctx;
mod database_read;
pub(in crate::http) mod form;
pub(in crate::http) mod form_rules;
mod gate;
mod gzip;
mod handshake_filter;
pub(in crate::http) mod html;
mod http_socket;
mod implied_answers;
pub(in crate::http) mod language;
mod limit_counts;
mod metrics;
mod network_buckets;
mod network_counts;
mod network_limit;
pub(in crate::http) mod pagination;
mod permits;
mod problem;
mod rate_limiter;
mod refusal_writer;
mod rendered_response;
pub(in crate::http) mod reply;
pub(in crate::http) mod request;
pub mod resource;
pub mod response_cache;
pub mod route;
mod service;
pub(in crate::http) mod side_listener;
pub(in crate::http) mod sign_in_throttle;
mod staff_route;
pub mod table;
pub mod tls;
mod unknown_members;
