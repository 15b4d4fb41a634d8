//! Tests of imports and exports: findings and their locations, limits, and round trips. The tests in `command`, `csv`,
//! `harvest` and `systems` run the `import` command; the other tests only call the library.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue must fail")]

mod clash;
mod command;
mod company;
mod csv;
mod decision;
mod file;
mod harvest;
mod limit;
mod round_trip;
#[path = "../rounds/mod.rs"]
mod rounds;
mod support;
mod systems;
mod value;
