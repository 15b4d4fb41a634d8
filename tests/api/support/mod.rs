//! What the tests stand on: a real server on a file of its own, clients by identity, an organization that hires.

pub(crate) mod app;
pub(crate) mod client;
pub(crate) mod hiring;
pub(crate) mod race;
pub(crate) mod recorder;

pub(crate) use app::App;
pub(crate) use client::{Answer, Client};
pub(crate) use hiring::Hiring;
