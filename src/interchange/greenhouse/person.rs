//! Candidates ("The candidate object" of the Harvest API's documentation).

use serde_json::Value;

use super::item::Item;
use crate::domain::text::{self, Email, NAME_CHARACTERS_MAX};

/// A candidate in the export.
#[derive(Debug)]
pub(super) struct HarvestPerson {
    pub(super) id: u64,
    pub(super) location: String,
    pub(super) name: String,
    /// The first valid personal address, or else the first valid address. Prospects often have none.
    pub(super) email: Option<Email>,
}

pub(super) fn person(item: &mut Item) -> Option<HarvestPerson> {
    let names = ["first_name", "last_name"].map(|name| item.text(name, NAME_CHARACTERS_MAX));
    let name = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if name.is_empty() || text::characters(&name) > NAME_CHARACTERS_MAX {
        item.fault(format!("first_name and last_name must have 1 to {NAME_CHARACTERS_MAX} characters together"));
    }
    // An invalid address is treated as missing, because the person may have another address.
    let emails = item.array_of("email_addresses", |inner| {
        let email = Email::parse(inner.get("value")?.as_str()?)?;
        Some((email, inner.get("type").and_then(Value::as_str) == Some("personal")))
    });
    let chosen = emails.iter().position(|(_, is_personal)| *is_personal).unwrap_or(0);
    let email = emails.into_iter().nth(chosen).map(|(email, _)| email);
    item.is_valid().then_some(())?;
    Some(HarvestPerson { id: item.own_id()?, location: item.location().to_owned(), name, email })
}
