//! The import and export document: its shape, what must be true of it, and errors that name the place.
//!
//! Knows the store and the rules; nothing of HTTP or of the command line. Opens no transaction: what touches the file
//! takes one.
//!
//! A document is read by `reader`, object by object, so a large one is never held as JSON whole; each noun's file says
//! what its object holds. `import` and `export` go from the typed document to the file and back.

mod addition;
mod candidate;
mod candidate_step;
mod context;
pub mod csv;
mod export;
mod fields;
mod findings;
pub mod greenhouse;
mod import;
pub mod json;
mod organization;
mod reader;
mod role;
mod user;

pub use addition::{AddedRole, Addition, Applicant, Refused, Sorted, add, add_frame, addition_rows};
pub use candidate::Application;
pub use export::{ExportError, Secrets, export};
pub use findings::{FINDINGS_MAX, Findings, Problem};
pub use import::{Counts, check, check_for_new_file, import, insert, insert_frame, rows};
pub use organization::Organization;
pub use role::Role;

use self::context::Context;
use self::fields::Fields;
use self::findings::At;
use self::reader::{Array, Object};
use crate::store;
use crate::world::World;

/// A document that agrees with itself. Ids that it lacked are made, times that it lacked are those of reading it.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its users.
    pub users: Vec<store::user::Record>,
    /// Its organizations, with everything in them.
    pub organizations: Vec<Organization>,
    /// What was added to it that it did not say: a sentence each.
    added: Vec<String>,
}

/// Reads a document. Nothing of the file is asked; see [`check`] for that.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn parse(bytes: &[u8], world: &dyn World) -> Result<Document, Findings> {
    let mut context = Context::new(world);
    match reader::read::<Document>(bytes, &mut context) {
        Ok(Some(document)) if context.findings.is_empty() => Ok(Document { added: context.notices, ..document }),
        Ok(_) => Err(context.findings),
        Err(syntax) => Err(Findings::of(At::ROOT, syntax)),
    }
}

impl Document {
    /// How many applications it has: what decides how long an import takes.
    pub fn applications(&self) -> usize {
        let roles = self.organizations.iter().flat_map(|organization| &organization.roles);
        roles.map(|role| role.applications.len()).sum()
    }

    /// What a person should know about an import that is not wrong: a sentence each.
    pub fn notices(&self) -> Vec<String> {
        let lacks_secret = |organization: &&Organization| {
            organization.hr_integration.as_ref().is_some_and(|integration| integration.secret.is_none())
        };
        let notice = |organization: &Organization| {
            let slug = organization.record.slug.as_str();
            format!("the HR integration of {slug} has no secret, so it is disabled and its hires wait")
        };
        let disabled = self.organizations.iter().filter(lacks_secret).map(notice);
        self.added.iter().map(|notice| findings::escaped(notice)).chain(disabled).collect()
    }
}

/// The arrays of a document.
#[derive(Default)]
struct DocumentArrays {
    users: Option<Array<store::user::Record>>,
    organizations: Option<Array<Organization>>,
}

impl Object for Document {
    const MEMBERS: &'static [&'static str] = &["users", "organizations"];
    type Arrays = DocumentArrays;

    fn array<'de, A: serde::de::MapAccess<'de>>(
        arrays: &mut DocumentArrays,
        name: &str,
        at: At<'_>,
        context: &mut Context<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error> {
        match name {
            "users" => arrays.users = reader::array(at, context, members)?,
            "organizations" => arrays.organizations = reader::array(at, context, members)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read(_: Fields<'_, '_>, arrays: DocumentArrays) -> Option<Self> {
        Some(Self {
            users: arrays.users.unwrap_or_default().items,
            organizations: arrays.organizations.unwrap_or_default().items,
            added: Vec::new(),
        })
    }
}
