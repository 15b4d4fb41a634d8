//! The foundation of the tests: a real server on its own database, clients with each kind of credential, and an
//! organization that hires.

pub(crate) mod app;
pub(crate) mod authenticator;
pub(crate) mod client;
pub(crate) mod console;
pub(crate) mod crowd;
pub(crate) mod database;
pub(crate) mod description;
pub(crate) mod hiring;
pub(crate) mod one_engine;
pub(crate) mod race;
pub(crate) mod receiver;
pub(crate) mod recorder;
pub(crate) mod roles;
pub(crate) mod signup;
pub(crate) mod stored_signup;
mod template;

pub(crate) use app::App;
pub(crate) use client::{Answer, Client};
pub(crate) use hiring::Hiring;
pub(crate) use receiver::{Behaviour, Receiver};

/// Fills a path template with a placeholder for each parameter.
pub(crate) fn fill_path(template: &str) -> String {
    let segments = template.split('/').map(|segment| if segment.starts_with('{') { "some_id" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}
