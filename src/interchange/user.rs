//! The user object in the interchange document.

use serde::Serialize;

use super::export_source::ExportSource;
use super::fields::Fields;
use super::reader::Object;
use crate::domain::text::{EMAIL_MUST_BE, Email};
use crate::domain::user::{PlatformRole, UserProfile};
use crate::store::Error;
use crate::store::user::User;

impl Object for UserProfile {
    const MEMBERS: &'static [&'static str] = &["id", "email", "name", "platformRole", "enabled"];
    type Arrays = ();

    fn read(mut fields: Fields<'_, '_>, (): ()) -> Option<Self> {
        let id = fields.own_id();
        let email = email(&mut fields);
        let name = fields.name();
        let platform_role = fields.word("platformRole", PlatformRole::WORDS, PlatformRole::parse);
        let enabled = fields.boolean("enabled");
        let email = email?;
        if !fields.context.claim("users' email", email.key()) {
            fields.object_finding(format!("two users have the email {}", email.as_str()));
            return None;
        }
        let platform_role = platform_role?.unwrap_or(PlatformRole::User);
        Some(Self { id: id?, email, name: name?, platform_role, enabled: enabled?.unwrap_or(true) })
    }
}

/// Reads the email address of a user or a candidate.
pub(super) fn email(fields: &mut Fields<'_, '_>) -> Option<Email> {
    fields.required("email", EMAIL_MUST_BE, |value| Email::parse(value.as_str()?))
}

/// A user object as an export writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportedUser {
    id: String,
    email: String,
    name: String,
    platform_role: &'static str,
    enabled: bool,
}

impl ExportedUser {
    pub(super) fn new(_: &ExportSource<'_>, user: User) -> Result<Self, Error> {
        let user = user.profile;
        Ok(Self {
            id: user.id.to_string(),
            email: user.email.as_str().to_owned(),
            name: user.name,
            platform_role: user.platform_role.as_str(),
            enabled: user.enabled,
        })
    }
}
