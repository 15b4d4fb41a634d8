//! What the tests stand on: a real server on a file of its own, clients by identity, an organization that hires.

pub(crate) mod app;
pub(crate) mod client;
pub(crate) mod crowd;
pub(crate) mod description;
pub(crate) mod hiring;
pub(crate) mod race;
pub(crate) mod receiver;
pub(crate) mod recorder;
pub(crate) mod roles;
pub(crate) mod sent;
pub(crate) mod signup;

pub(crate) use app::App;
pub(crate) use client::{Answer, Client};
pub(crate) use hiring::Hiring;
pub(crate) use receiver::{Behaviour, Receiver};

/// A path of this template: some id in the place of each parameter.
pub(crate) fn filled(template: &str) -> String {
    let segments = template.split('/').map(|segment| if segment.starts_with('{') { "some_id" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}
