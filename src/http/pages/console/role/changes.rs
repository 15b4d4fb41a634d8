//! `GET /app/{orgSlug}/roles/{id}/edit/changes`: notifies a person who is editing a role, or its steps, that the
//! role has changed. Typed text is not replaced.

use askama::Template;

use super::role_visit::{RoleVisit, path};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::live::{Changed, Live, Reporter};
use crate::http::pages::texts::console::live::LIVE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/role_changes.html", config = "src/http/pages/templates/askama.toml")]
struct RoleChanges {
    changed: Option<Changed>,
    news: Option<String>,
    live: Live,
}

/// A request for the changes to a role.
pub(super) struct ChangesInput {
    role: RoleVisit,
    /// The version of the role that the page shows.
    after: Option<String>,
    /// The page that asks: `edit` or `steps`.
    page: &'static str,
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if a parameter is repeated.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<ChangesInput, Error> {
    let page = if request.query("page")?.as_deref() == Some("steps") { "steps" } else { "edit" };
    Ok(ChangesInput { role: RoleVisit::decode(request)?, after: request.query("after")?, page })
}

/// Returns the path at which a page of a role asks for changes. `base` is the path of the role's pages.
pub(in crate::http::pages::console) fn changes_path(base: &str, page: &str) -> String {
    format!("{base}/edit/changes?page={page}")
}

/// `GET …/edit/changes`: returns a notice if the role has changed since the version that the page shows, or else 204.
/// Without `after`, returns only the current version.
///
/// # Errors
/// `not_found` if the role does not exist in the organization, or the caller may not see it; `gone` if the role never
/// had the version.
pub(super) fn changes(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ChangesInput) -> Result<Reply, Error> {
    let (organization, role) = input.role.find(tx, who)?;
    let id = &role.record.id;
    let version = store::role::version(tx, &organization.id, id)?;
    if input.after.as_deref() == Some(&version) {
        return Ok(Reply::no_content());
    }
    let base = path(&organization, id);
    let live = Live::after(&changes_path(&base, input.page), &version);
    let Some(after) = &input.after else {
        return Reply::console(&RoleChanges { changed: None, news: None, live });
    };
    let changes = store::role::changes_since(tx, &organization.id, id, after)?
        .ok_or(Refusal::Gone("the role never had this version; load the page again"))?;
    let texts = input.role.visit.texts_for(tx, who)?;
    let reporter = Reporter { tx, who, organization: &organization, texts };
    let newest = changes.first();
    let sentence = newest.map(|newest| reporter.role_change(&newest.action, newest.at, newest.by.as_ref()));
    let is_own = newest.and_then(|newest| newest.by.as_ref()).is_some_and(|by| by.id == who.user_id.as_str());
    let (url, load) = (format!("{base}/{}", input.page), LIVE.of(texts).load);
    Reply::console(&RoleChanges {
        news: sentence.clone().filter(|_| !is_own),
        changed: sentence.map(|sentence| Changed { sentence, url, load }),
        live,
    })
}
