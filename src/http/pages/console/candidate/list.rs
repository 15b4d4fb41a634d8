//! `GET /app/{orgSlug}/candidates`: lists and searches the candidates of an organization, newest first.

use askama::Template;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::id::{CandidateId, Id};
use crate::domain::search;
use crate::domain::text;
use crate::domain::user::Principal;
use crate::http::pages::console::decision::scene::candidate_path;
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::console::labels;
use crate::http::pages::console::visit::Visit;
use crate::http::pages::console::when::When;
use crate::http::pages::texts::console::activity::ACTIVITY;
use crate::http::pages::texts::console::candidate::{CANDIDATE, CandidateTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, invalid_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::application::Application;
use crate::store::candidate::Candidate;
use crate::store::candidate::search::Filter;
use crate::store::{self, Error, Tx};

/// The maximum length of a search, in characters: far more than a name and an address usually have.
const SEARCH_CHARACTERS_MAX: usize = 200;

#[derive(Template)]
#[template(path = "console/candidate/list.html", config = "src/http/pages/templates/askama.toml")]
struct ListPage {
    frame: ConsoleFrame,
    words: &'static CandidateTexts,
    own_path: String,
    review_url: String,
    activity_url: String,
    activity_label: &'static str,
    q: String,
    /// The reason why the search was refused.
    fault: Option<&'static str>,
    rows: Vec<CandidateRow>,
    /// The message if nobody matches.
    no_match: Option<String>,
    /// The path of the portal, if the organization has one and the page has no rows. The page shows it only if there
    /// was no search.
    portal_url: Option<String>,
    first_url: Option<String>,
    next_url: Option<String>,
}

struct CandidateRow {
    url: String,
    name: String,
    email: String,
    /// The time of the newest application or, without one, the time at which the candidate was added.
    since: When,
    applications: Vec<ApplicationLine>,
}

struct ApplicationLine {
    role_name: String,
    status: String,
}

pub(super) struct ListInput {
    visit: Visit,
    q: String,
    page: PageRequest,
}

/// # Errors
/// `validation_error` if a parameter is repeated, `limit` is not an integer, or `cursor` is not a cursor of the list.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<ListInput, Error> {
    let q = request.query("q")?.unwrap_or_default();
    let q = text::cut(q.trim(), SEARCH_CHARACTERS_MAX).to_owned();
    Ok(ListInput { visit: Visit::decode(request)?, q, page: PageRequest::parse(request, 1)? })
}

/// `GET /app/{orgSlug}/candidates`: shows a page of the candidates that match the search.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it; `validation_error` for a cursor that
/// names no candidate.
pub(super) fn list(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ListInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    let texts = input.visit.texts_for(tx, who)?;
    let words = CANDIDATE.of(texts);
    let title = words.title.to_owned();
    let frame = input.visit.frame(tx, who, Some(&organization), NavItem::Candidates, title)?;
    let found = search::search_words(&input.q);
    let fault = found.is_none().then_some(words.too_many_words);
    let (candidates, next) = match found {
        Some(words) => candidates(tx, &organization, input, words)?,
        None => (Vec::new(), None),
    };
    let mut rows = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        rows.push(row(tx, texts, &organization, candidate)?);
    }
    let own_path = format!("/app/{}/candidates", organization.slug);
    let is_empty = rows.is_empty() && fault.is_none();
    let has_portal = organization.has_portal();
    let q = || utf8_percent_encode(&input.q, NON_ALPHANUMERIC);
    Reply::console(&ListPage {
        next_url: next.map(|cursor| format!("{own_path}?q={}&cursor={cursor}", q())),
        first_url: input.page.after.as_ref().map(|_| format!("{own_path}?q={}", q())),
        no_match: (is_empty && !input.q.is_empty()).then(|| fill(words.no_match, &[("q", &input.q)])),
        portal_url: (is_empty && has_portal).then(|| format!("/careers/{}", organization.slug)),
        q: input.q.clone(),
        frame,
        words,
        review_url: format!("/app/{}/review", organization.slug),
        activity_url: format!("/app/{}/activity", organization.slug),
        activity_label: ACTIVITY.of(texts).title,
        own_path,
        fault,
        rows,
    })
}

/// Returns the candidates of the page, and the cursor of the next page.
///
/// # Errors
/// `validation_error` for a cursor that names no candidate.
fn candidates(
    tx: &Tx<'_>,
    organization: &VisibleOrganization,
    input: &ListInput,
    words: Vec<String>,
) -> Result<(Vec<Candidate>, Option<String>), Error> {
    let before = match &input.page.after {
        Some(after) => {
            let id = after.first().and_then(|id| CandidateId::parse(id)).ok_or_else(invalid_cursor)?;
            store::candidate::find(tx, &organization.id, &id)?.ok_or_else(invalid_cursor)?.number
        }
        None => i64::MAX,
    };
    let filter = Filter { words, ..Filter::default() };
    let rows = input.page.rows_to_fetch();
    let loaded = store::candidate::search::page(tx, &organization.id, &filter, before, rows)?;
    let (rows, pagination) = input.page.take_page(loaded, |candidate| vec![candidate.id.to_string()]);
    Ok((rows, pagination.next_cursor))
}

fn row(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: &VisibleOrganization,
    candidate: Candidate,
) -> Result<CandidateRow, Error> {
    let applications = store::application::of_candidate(tx, &organization.id, &candidate.id)?;
    let since = applications.first().map_or(candidate.created_at, |newest| newest.record.applied_at);
    Ok(CandidateRow {
        url: candidate_path(&organization.slug, candidate.id.as_str()),
        since: When::new(texts, &organization.time_zone, since, tx.now),
        email: if candidate.is_erased { String::new() } else { candidate.email },
        name: candidate.name,
        applications: applications.iter().map(|application| line(texts, application)).collect(),
    })
}

/// Returns the name of the role, with the current step or, without one, with the status of the application.
fn line(texts: &'static Texts, application: &Application) -> ApplicationLine {
    let status = match &application.current {
        Some(current) => fill(CANDIDATE.of(texts).at, &[("step", &current.name)]),
        None => labels::status(texts, application.record.status).to_owned(),
    };
    ApplicationLine { role_name: application.role_name.clone(), status }
}
