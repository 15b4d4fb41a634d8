//! The import and export document: what is refused and where, what both sides of each limit are, and that what is
//! imported comes out again. The command line around it is in `command`, the rest speaks to the library.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod clash;
mod command;
mod csv;
mod decision;
mod elsewhere;
mod file;
mod harvest;
mod limit;
mod round_trip;
#[path = "../rounds/mod.rs"]
mod rounds;
mod support;
mod value;
