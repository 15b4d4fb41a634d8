//! Imports saved responses from Greenhouse's Harvest API (v1), namely those that its documentation calls "List Jobs",
//! "List Job Stages", "List Candidates", "List Applications", "List Rejection Reasons" and "List Offers". Their items
//! become roles with steps, candidates and applications in an existing organization.
//!
//! `reader` splits the files into items, and `item` reads the members of one item. `job`, `person` and `application`
//! read the members that each resource needs, and ignore all others. `export` collects the items. `plan` combines the
//! items and compares them with the database file.

mod application;
mod export;
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
