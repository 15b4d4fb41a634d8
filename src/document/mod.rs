//! The import and export document: its shape, what must be true of it, and errors that name the place.
//!
//! Knows the store and the rules; nothing of HTTP or of the command line.

pub mod json;
