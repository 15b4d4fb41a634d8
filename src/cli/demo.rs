//! The sample company of `serve --demo`: made at the first start, with an admin's key.

use std::path::Path;

use serde_json::json;

use super::{Failure, act_and_print, bootstrap_admin, print, say};
use crate::domain::api_key::EXPIRES_IN_DAYS_DEFAULT;
use crate::domain::text::{Email, Slug};
use crate::interchange;
use crate::store::{self, Error, Store, Tx};
use crate::world::World;

/// The file of the demo when no other is named.
pub(super) const FILE: &str = "demo.db";

/// The sample company, as anybody could import it.
const DOCUMENT: &str = include_str!("../../examples/demo.json");

/// The slug of the company, by which its file is known.
const SLUG: &str = "halmwind";

const ADMIN: &str = "demo@example.com";

/// At the first start makes the company and prints its portal, a key and a line to try; later says how to get a key.
///
/// # Errors
/// Where the file is not the demo's, or cannot be written.
pub(super) fn prepare(store: &Store, path: &Path, world: &dyn World, base_url: &str) -> Result<(), Failure> {
    let portal = format!("{base_url}/api/public/portal/{SLUG}");
    if store.read(has_company)? {
        print(&format!("portal: {portal}"))?;
        return print(&format!("new key: appliance bootstrap-admin --db {} --email {ADMIN}", path.display()));
    }
    if store.read(store::organization::any)? {
        return Err(Failure::new(format!(
            "{} has data in it and is not a demo; name another file with --db, or leave out --demo",
            path.display()
        )));
    }
    let parsed = interchange::parse(DOCUMENT.as_bytes(), world);
    let company = parsed.map_err(|findings| Failure::new(format!("the sample company cannot be read: {findings}")))?;
    let admin = Email::parse(ADMIN).ok_or_else(|| Failure::new("the sample admin has no address"))?;
    say("making the sample company");
    act_and_print(path, world, |tx| {
        interchange::import(tx, &company)?;
        let key = bootstrap_admin::make(tx, world, &admin, Some("Demo admin"), "demo", EXPIRES_IN_DAYS_DEFAULT)?;
        let facts = json!({ "userId": key.user_id.as_str(), "apiKeyId": key.id.as_str() });
        store::activity::platform::record_command(tx, world, "serve --demo", &facts)?;
        let key = key.secret.reveal();
        Ok(format!("portal: {portal}\nkey: {key}\ntry: curl -H 'Authorization: Bearer {key}' {base_url}/api/v1/me"))
    })
}

/// Whether the sample company is there, also with its portal switched off.
fn has_company(tx: &Tx<'_>) -> Result<bool, Error> {
    match Slug::parse(SLUG) {
        Some(slug) => store::organization::slug_exists(tx, &slug),
        None => Ok(false),
    }
}
