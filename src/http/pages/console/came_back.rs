//! `GET /app/{orgSlug}/later`: the applications that staff put aside and that have come back. The inbox shows only
//! those with the earliest due days.

use askama::Template;
use hyper::Method;

use super::decision::scene::candidate_path;
use super::due;
use super::frame::{ConsoleFrame, NavItem};
use super::visit::Visit;
use super::when;
use crate::domain::user::Principal;
use crate::http::api::later::{self, LaterCursor};
use crate::http::pages::texts::Texts;
use crate::http::pages::texts::console::later::{LATER, LaterTexts};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/came_back.html", config = "src/http/pages/templates/askama.toml")]
struct CameBackPage {
    frame: ConsoleFrame,
    words: &'static LaterTexts,
    rows: Vec<CameBackRow>,
    first_url: Option<String>,
    next_url: Option<String>,
}

/// An application that has come back.
pub(super) struct CameBackRow {
    pub(super) url: String,
    pub(super) name: String,
    /// The role and, if there is one, the current step.
    pub(super) place: String,
    pub(super) mark: String,
}

pub(super) fn routes() -> Vec<Route> {
    vec![Route::staff(Method::GET, "/app/{orgSlug}/later", decode, show).answering(&[(200, "")])]
}

struct CameBackInput {
    visit: Visit,
    page: PageRequest,
    after: Option<LaterCursor>,
}

/// # Errors
/// `validation_error` if a parameter is repeated, `limit` is not an integer, or `cursor` is not a cursor of the list.
fn decode(_: &Ctx, request: &Request) -> Result<CameBackInput, Error> {
    let (page, after) = later::decode_page(request)?;
    Ok(CameBackInput { visit: Visit::decode(request)?, page, after })
}

/// `GET /app/{orgSlug}/later`: shows a page of the applications that have come back, earliest due day first.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &CameBackInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    let texts = input.visit.texts_for(tx, who)?;
    let words = LATER.of(texts);
    let path = path(&organization);
    let (rows, next) = page(tx, texts, &organization, &input.page, input.after.as_ref())?;
    Reply::console(&CameBackPage {
        frame: input.visit.frame(tx, who, Some(&organization), NavItem::Inbox, words.came_back.to_owned())?,
        words,
        rows,
        first_url: input.after.as_ref().map(|_| path.clone()),
        next_url: next.map(|cursor| format!("{path}?cursor={cursor}")),
    })
}

/// Returns the path of the page.
pub(super) fn path(organization: &VisibleOrganization) -> String {
    format!("/app/{}/later", organization.slug)
}

/// Returns the rows of a page, and the cursor of the next page.
pub(super) fn page(
    tx: &Tx<'_>,
    texts: &Texts,
    organization: &VisibleOrganization,
    page: &PageRequest,
    after: Option<&LaterCursor>,
) -> Result<(Vec<CameBackRow>, Option<String>), Error> {
    let today = when::today(&organization.time_zone, tx.now);
    let after = after.map(|(day, id)| (*day, id));
    let loaded = store::later::due(tx, &organization.id, today, after, page.rows_to_fetch())?;
    let (due, pagination) = page.take_page(loaded, later::cursor_parts);
    let row = |due: store::later::DueApplication| CameBackRow {
        url: candidate_path(&organization.slug, due.candidate_id.as_str()),
        name: due.candidate_name,
        place: due.step.map_or_else(|| due.role_name.clone(), |(_, step)| format!("{} · {step}", due.role_name)),
        mark: due::mark(texts, today, due.due_on),
    };
    Ok((due.into_iter().map(row).collect(), pagination.next_cursor))
}
