//! The interchange document: its users and organizations, and its parser.

use super::context::Context;
use super::fields::Fields;
use super::findings::{Findings, Pointer, escaped};
use super::organization::Organization;
use super::reader::{self, Object, arrays};
use crate::domain::user::UserProfile;
use crate::world::World;

/// A consistent document. Missing ids have been generated, and missing times that a record requires have been set to
/// the time of parsing.
#[derive(Debug, Clone)]
pub struct Document {
    /// The users of the whole service.
    pub users: Vec<UserProfile>,
    /// The organizations, with everything that belongs to them.
    pub organizations: Vec<Organization>,
    /// A sentence about each default value that the person who runs the import should know about.
    added: Vec<String>,
}

/// Parses a document without reading the database. [`check`](super::check) compares the document with the database.
///
/// # Errors
/// The findings. The first `FINDINGS_MAX` are listed with their locations, and the rest are only counted.
pub fn parse(bytes: &[u8], world: &dyn World) -> Result<Document, Findings> {
    let mut context = Context::new(world);
    match reader::read::<Document>(bytes, &mut context) {
        Ok(Some(document)) if context.findings.is_empty() => Ok(Document { added: context.notices, ..document }),
        Ok(_) => Err(context.findings),
        Err(syntax) => Err(Findings::of(Pointer::ROOT, syntax)),
    }
}

impl Document {
    /// Returns the number of applications, which determines how long an import takes.
    pub fn applications(&self) -> usize {
        let roles = self.organizations.iter().flat_map(|organization| &organization.roles);
        roles.map(|role| role.applications.len()).sum()
    }

    /// Returns sentences about facts that are not errors, but that the person who runs the import should know.
    pub fn notices(&self) -> Vec<String> {
        let lacks_secret = |organization: &&Organization| {
            organization.hr_integration.as_ref().is_some_and(|integration| integration.secret.is_none())
        };
        let notice = |organization: &Organization| {
            let slug = organization.record.slug.as_str();
            format!("the HR integration of {slug} has no secret, so it is disabled and its deliveries wait")
        };
        let disabled = self.organizations.iter().filter(lacks_secret).map(notice);
        self.added.iter().map(|notice| escaped(notice)).chain(disabled).collect()
    }
}

arrays!(DocumentArrays { users: UserProfile, organizations: Organization });

impl Object for Document {
    const MEMBERS: &'static [&'static str] = &["users", "organizations"];
    type Arrays = DocumentArrays;

    fn read(_: Fields<'_, '_>, arrays: DocumentArrays) -> Option<Self> {
        Some(Self {
            users: arrays.users.unwrap_or_default().items,
            organizations: arrays.organizations.unwrap_or_default().items,
            added: Vec::new(),
        })
    }
}
