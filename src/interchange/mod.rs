//! The interchange document of `import` and `export`: its members, its rules, and findings that name their location. Also
//! imports from other programs.
//!
//! Knows the store and the rules, but not HTTP or the command line. Opens no transaction: functions that use the file take
//! one.
//!
//! `reader` parses a document object by object, so that a large one is never in memory as JSON. The file of each noun
//! defines its object. `import` writes the typed document to the file, `export` writes the file as a document.

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

pub use addition::{
    AddedRole, Addition, Applicant, ImportPlan, RefusedItem, add, add_without_applications, staged_addition_rows,
};
pub use candidate::Application;
pub use export::{ExportError, Secrets, export};
pub use findings::{FINDINGS_MAX, Finding, Findings};
pub use import::{Counts, check, check_for_new_file, import, insert, insert_without_applications, staged_rows};
pub use organization::Organization;
pub use role::Role;

use self::context::Context;
use self::fields::Fields;
use self::findings::Pointer;
use self::reader::{Array, Object};
use crate::domain::user::UserProfile;
use crate::world::World;

/// A consistent document. Missing ids were generated, and missing times are the time of reading.
#[derive(Debug, Clone)]
pub struct Document {
    /// The users of the whole service.
    pub users: Vec<UserProfile>,
    /// The organizations, with everything that belongs to them.
    pub organizations: Vec<Organization>,
    /// A sentence for each default that a person should know about.
    added: Vec<String>,
}

/// Parses a document without looking at the file. [`check`] compares it with the file.
///
/// # Errors
/// All findings, each with its location.
pub fn parse(bytes: &[u8], world: &dyn World) -> Result<Document, Findings> {
    let mut context = Context::new(world);
    match reader::read::<Document>(bytes, &mut context) {
        Ok(Some(document)) if context.findings.is_empty() => Ok(Document { added: context.notices, ..document }),
        Ok(_) => Err(context.findings),
        Err(syntax) => Err(Findings::of(Pointer::ROOT, syntax)),
    }
}

impl Document {
    /// The number of applications, which decides how long an import takes.
    pub fn applications(&self) -> usize {
        let roles = self.organizations.iter().flat_map(|organization| &organization.roles);
        roles.map(|role| role.applications.len()).sum()
    }

    /// A sentence for each thing that is not an error, but that the person who imports should know.
    pub fn notices(&self) -> Vec<String> {
        let lacks_secret = |organization: &&Organization| {
            organization.hr_integration.as_ref().is_some_and(|integration| integration.secret.is_none())
        };
        let notice = |organization: &Organization| {
            let slug = organization.record.slug.as_str();
            format!("the HR integration of {slug} has no secret, so it is disabled and its deliveries wait")
        };
        let disabled = self.organizations.iter().filter(lacks_secret).map(notice);
        self.added.iter().map(|notice| findings::escaped(notice)).chain(disabled).collect()
    }
}

#[derive(Default)]
struct DocumentArrays {
    users: Option<Array<UserProfile>>,
    organizations: Option<Array<Organization>>,
}

impl Object for Document {
    const MEMBERS: &'static [&'static str] = &["users", "organizations"];
    type Arrays = DocumentArrays;

    fn array<'de, A: serde::de::MapAccess<'de>>(
        arrays: &mut DocumentArrays,
        name: &str,
        at: Pointer<'_>,
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
