//! The interchange document of `import` and `export`: its members, its rules, and findings that name their location.
//! `csv` imports tables. `greenhouse`, `lever`, `ashby`, `workable`, `opencats` and `reqcore` import exports of
//! applicant tracking systems. `ats` contains the code that they share.
//!
//! This module uses the store and the rules, but neither HTTP nor the command line. It opens no transaction: functions
//! that use the database accept a transaction as a parameter.
//!
//! `reader` parses a document object by object, so that the JSON values of a large document are never all in memory at
//! once. The module for each kind of object, such as `role`, defines how the object is parsed and exported. `import`
//! writes the typed document to the database, and `export` writes the content of the database as a document.

mod addition;
pub mod ashby;
pub mod ats;
mod candidate;
mod candidate_step;
mod content;
mod context;
pub mod csv;
mod document;
mod export;
mod export_source;
mod fields;
mod findings;
pub mod greenhouse;
mod import;
pub mod json;
pub mod lever;
pub mod opencats;
mod organization;
mod reader;
pub mod reqcore;
mod role;
mod role_step;
mod user;
pub mod workable;

pub use addition::{
    AddedRole, Addition, Applicant, ImportPlan, PlannedAttachment, RefusedItem, add, add_without_applications,
    staged_addition_rows,
};
pub use candidate::Application;
pub use content::Content;
pub use document::{Document, parse};
pub use export::{ExportError, export};
pub use export_source::Secrets;
pub use findings::{FINDINGS_MAX, Finding, Findings};
pub use import::{Counts, check, check_for_new_file, import, insert, insert_without_applications, staged_rows};
pub use organization::Organization;
pub use role::Role;
