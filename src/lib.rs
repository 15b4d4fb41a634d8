//! A recruiting service for small organizations: one binary and one SQLite file.
pub mod cli;
pub mod document;
pub mod domain;
pub mod http;
pub mod store;
pub mod telemetry;
pub mod world;
