//! The resource "Postings" in Lever's documentation. A posting is a role.

use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::interchange::ats::Export;
use crate::interchange::ats::html;
use crate::interchange::ats::item::{Item, TEXT_CHARACTERS_MAX};
use crate::interchange::ats::model::{Job, JobStatus};
use crate::store::description::Description;

pub(super) fn posting(export: &mut Export, item: &mut Item) {
    export.jobs.extend(read(item));
}

fn read(item: &mut Item) -> Option<Job> {
    let name = item.name("text", NAME_CHARACTERS_MAX);
    let must_be = "one of published, internal, closed, draft, pending, rejected";
    let status = item.required("state", must_be, "is missing", |state| match state.as_str()? {
        // An internal posting is open, but listed nowhere.
        "published" | "internal" => Some(JobStatus::Open),
        "closed" => Some(JobStatus::Closed),
        // A pending posting waits for an approval, and a rejected posting was not approved.
        "draft" | "pending" | "rejected" => Some(JobStatus::Draft),
        _ => None,
    });
    let parts = ["categories.department", "categories.team"].map(|path| item.text(path, TEXT_CHARACTERS_MAX));
    let department = parts.into_iter().flatten().next().unwrap_or_default();
    let location = item.text("categories.location", TEXT_CHARACTERS_MAX).unwrap_or_default();
    let description = description(item);
    let created_at = item.millis("createdAt");
    item.is_valid().then_some(())?;
    Some(Job {
        id: item.own_id()?,
        item_location: item.location().to_owned(),
        name: name?,
        status: status?,
        description,
        department,
        location,
        created_at,
        ..Job::default()
    })
}

/// Joins the parts of a posting's content: the description, the lists with their titles, and the closing statement.
fn description(item: &mut Item) -> Description {
    let part = |item: &mut Item, styled: &str, plain: &str| {
        item.free_text(styled).or_else(|| item.free_text(plain)).unwrap_or_default()
    };
    let mut parts = vec![part(item, "content.descriptionHtml", "content.description")];
    let lists = item.array_of("content.lists", |list| {
        let title = list.free_text("text").unwrap_or_default();
        Some(format!("<h3>{title}</h3><ul>{}</ul>", list.free_text("content").unwrap_or_default()))
    });
    parts.extend(lists);
    parts.push(part(item, "content.closingHtml", "content.closing"));
    let parts: Vec<String> = parts.iter().map(|part| html::to_markdown(part)).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { Description::default() } else { Description::of_markdown(parts.join("\n\n")) }
}
