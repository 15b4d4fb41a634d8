//! Imports exports of applicant tracking systems (ATS). This module contains the code that all systems share. Each
//! system has its own sibling module, with a [`System`] and functions that read its items.
//!
//! `reader` splits JSON files into items, and `item` reads the members of one item. `model` contains the items in the
//! form that all systems share, and `export` collects them. `plan` combines the items and compares them with the
//! database.

pub(super) mod export;
pub(super) mod file;
pub(super) mod html;
mod id;
pub(super) mod item;
mod markdown_writer;
pub(super) mod model;
mod pipeline;
mod plan;
mod planned_role;
mod preparation;
mod progress;
mod reader;
pub(super) mod step_type;

pub use export::{Export, System};
pub use plan::plan;
