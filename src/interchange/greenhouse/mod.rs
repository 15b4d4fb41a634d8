//! Imports saved responses from Greenhouse's Harvest API (v1), namely those that its documentation calls "List Jobs",
//! "List Job Stages", "List Candidates", "List Applications", "List Rejection Reasons" and "List Offers". Their items
//! become roles (with their steps) and candidates in an existing organization.
//!
//! `reader` splits the files into items, `item` reads the members of one item, and `job`, `person` and `application`
//! define the members that each resource needs and ignore all others. `export` collects the items, and `plan` combines
//! them and compares them with the database file.

mod application;
mod export;
mod html;
mod id;
mod item;
mod job;
mod person;
mod pipeline;
mod plan;
mod reader;
mod resource;

pub use export::HarvestExport;
pub use plan::plan;
pub use resource::HarvestResource;
