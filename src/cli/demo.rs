//! The sample company for `serve --demo`. The first start creates the company, an admin and an API key.

use std::path::Path;

use serde_json::json;

use super::bootstrap_admin;
use super::failure::Failure;
use super::output::{act_and_print, print_data, print_message};
use crate::domain::api_key::EXPIRES_IN_DAYS_DEFAULT;
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

/// On the first start, creates the sample company and prints the URL of its portal, an API key and a command to try. On
/// later starts, prints the URL and the command that creates another key.
///
/// # Errors
/// Fails if the file cannot be written. Also fails if it has organizations but not the sample company, so that demo
/// data never mixes with real data.
pub(super) fn prepare(store: &Store, path: &Path, world: &dyn World, base_url: &str) -> Result<(), Failure> {
    let portal = format!("{base_url}/careers/{SLUG}");
    if store.read(has_sample_company)? {
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
        let key = key.secret.reveal();
        Ok(format!("portal: {portal}\nkey: {key}\ntry: curl -H 'Authorization: Bearer {key}' {base_url}/api/v1/me"))
    })
}

/// Looks for the organization rather than its portal, which somebody may have switched off.
fn has_sample_company(tx: &Tx<'_>) -> Result<bool, Error> {
    match Slug::parse(SLUG) {
        Some(slug) => store::organization::slug_exists(tx, &slug),
        None => Ok(false),
    }
}
