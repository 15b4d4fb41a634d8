//! Candidates ("The candidate object" of the Harvest API's documentation).

use serde_json::Value;

use crate::domain::text::{Email, NAME_CHARACTERS_MAX};
use crate::interchange::ats::Export;
use crate::interchange::ats::item::Item;
use crate::interchange::ats::model::Person;

pub(super) fn person(export: &mut Export, item: &mut Item) {
    let name = item.joined_name(&["first_name", "last_name"], NAME_CHARACTERS_MAX);
    // An invalid address is treated as missing, because the person may have another address.
    let emails = item.array_of("email_addresses", |inner| {
        let email = Email::parse(inner.get("value")?.as_str()?)?;
        Some((email, inner.get("type").and_then(Value::as_str) == Some("personal")))
    });
    // Choose the first valid personal address, or else the first valid address.
    let chosen = emails.iter().position(|(_, is_personal)| *is_personal).unwrap_or(0);
    let email = emails.into_iter().nth(chosen).map(|(email, _)| email);
    if let (Some(id), Some(name), true) = (item.own_id(), name, item.is_valid()) {
        export.people.push(Person { id, location: item.location().to_owned(), name, email });
    }
}
