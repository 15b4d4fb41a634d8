//! The sample company for `serve --demo`. The first start creates the company, an admin and an API key.

use std::path::Path;

use serde_json::json;

use super::base_url_arg::join_url;
use super::bootstrap_admin;
use super::failure::Failure;
use super::output::{act_and_print, print_data, print_message};
use crate::domain::api_key::EXPIRES_IN_DAYS_DEFAULT;
use crate::domain::sign_in_link::LinkPurpose;
use crate::domain::text::{Email, Slug};
use crate::interchange;
use crate::store::{self, Error, Store, Tx};
use crate::world::World;

/// The default value of `--db` if `--demo` is given.
pub(super) const FILE: &str = "demo.db";

/// The sample company as an interchange document.
const DOCUMENT: &str = include_str!("../../examples/demo.json");

/// The slug of the sample company. A file that has an organization with this slug is a demo file.
const SLUG: &str = "halmwind";

const ADMIN: &str = "demo@example.com";

/// Prints a link to the staff console and the URL of the portal. On the first start, creates the sample company, and
/// also prints an API key and a command to try. On later starts, prints the command that creates another key.
///
/// # Errors
/// Fails if the file or standard output cannot be written to. Also fails if the file has organizations but not the
/// sample company, so that demo data never mixes with real data.
pub(super) fn prepare(store: &Store, path: &Path, world: &dyn World, base_url: &str) -> Result<(), Failure> {
    let portal = format!("{base_url}/careers/{SLUG}");
    if store.read(has_sample_company)? {
        print_console_link(path, world, base_url)?;
        print_data(&format!("portal: {portal}"))?;
        return print_data(&format!("new key: appliance bootstrap-admin --db {} --email {ADMIN}", path.display()));
    }
    if store.read(store::organization::any)? {
        return Err(Failure::new(format!(
            "{} holds data and is not a demo file; choose another file with --db, or omit --demo",
            path.display()
        )));
    }
    let parsed = interchange::parse(DOCUMENT.as_bytes(), world);
    let company = parsed.map_err(|findings| Failure::new(format!("the sample company cannot be read: {findings}")))?;
    let admin = Email::parse(ADMIN).ok_or_else(|| Failure::new("the sample admin's email address is not valid"))?;
    print_message("creating the sample company");
    act_and_print(path, world, |tx| {
        interchange::import(tx, &company)?;
        let key = bootstrap_admin::create_admin_with_key(
            tx,
            world,
            &admin,
            Some("Demo admin"),
            "demo",
            EXPIRES_IN_DAYS_DEFAULT,
        )?;
        let facts = json!({ "userId": key.user_id.as_str(), "apiKeyId": key.id.as_str() });
        store::activity::platform::record_command(tx, world, "serve --demo", &facts)?;
        let token = store::sign_in_link::create(tx, world, &key.user_id, LinkPurpose::Demo, None)?;
        let console = join_url(base_url, &token);
        let key = key.secret.reveal();
        Ok(format!(
            "console: {console}\nportal: {portal}\nkey: {key}\ntry: curl -H 'Authorization: Bearer {key}' {base_url}/api/v1/me"
        ))
    })
}

/// Prints a new sign-in link for the demo's admin. If no enabled user has the admin's address, prints the URL of the
/// console.
fn print_console_link(path: &Path, world: &dyn World, base_url: &str) -> Result<(), Failure> {
    let Some(admin) = Email::parse(ADMIN) else { return Ok(()) };
    let found = store::read_alone(path, world, |tx| store::user::find_by_email(tx, &admin))?;
    let Some(admin) = found.filter(|user| user.profile.enabled) else {
        return print_data(&format!("console: {base_url}/app"));
    };
    act_and_print(path, world, |tx| {
        let token = store::sign_in_link::create(tx, world, &admin.profile.id, LinkPurpose::Demo, None)?;
        Ok(format!("console: {}", join_url(base_url, &token)))
    })
}

/// Returns the default base URL of a demo that listens at this URL. Browsers offer passkeys at `localhost`, but not at
/// an IP address.
pub(super) fn base_url(url: &str) -> String {
    url.replace("://127.0.0.1:", "://localhost:")
}

/// Returns whether the file has the sample company. Looks for the organization rather than for its portal, because the
/// portal might have been switched off.
fn has_sample_company(tx: &Tx<'_>) -> Result<bool, Error> {
    match Slug::parse(SLUG) {
        Some(slug) => store::organization::slug_exists(tx, &slug),
        None => Ok(false),
    }
}
