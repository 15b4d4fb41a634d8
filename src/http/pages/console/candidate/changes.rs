//! `GET /app/{orgSlug}/candidates/{id}/changes`: the parts of a candidate's page that have changed since a cursor.

use askama::Template;

use super::application::ApplicationView;
use super::page::{self, PageInput, Person, activity, applications, changes_path};
use crate::domain::user::Principal;
use crate::http::pages::console::activity::{ActivityRow, Reader};
use crate::http::pages::console::decision::scene::candidate_path;
use crate::http::pages::console::live::{self, Live, NextCursor, Reporter};
use crate::http::pages::console::signup::Place;
use crate::http::pages::console::visit::ABSENT;
use crate::http::pages::texts::console::activity::{ACTIVITY, ActivityTexts};
use crate::http::pages::texts::console::candidate::{CANDIDATE, CandidateTexts};
use crate::http::pages::texts::console::live::{LIVE, LiveTexts};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::activity::organization_changes::OrganizationChange;
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/candidate/changes.html", config = "src/http/pages/templates/askama.toml")]
struct CandidateChanges {
    words: &'static CandidateTexts,
    activity_words: &'static ActivityTexts,
    live_words: &'static LiveTexts,
    person: Person,
    /// The applications that changed; all applications if the candidate was erased.
    applications: Vec<ApplicationView>,
    /// Whether the page shows the newest activity.
    is_newest: bool,
    activity: Vec<ActivityRow>,
    newest_url: Option<String>,
    older_url: Option<String>,
    news: Option<String>,
    live: Live,
}

/// A request for the changes to the page.
pub(super) struct ChangesInput {
    page: PageInput,
    /// Whether the page shows older activity, which the answer does not replace.
    is_older: bool,
    after: Option<String>,
}

/// # Errors
/// The errors of [`page::decode`].
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<ChangesInput, Error> {
    let is_older = request.query("older")?.is_some();
    Ok(ChangesInput { page: page::decode(ctx, request)?, is_older, after: request.query("after")? })
}

/// `GET …/changes`: returns the facts about the candidate, the applications that have changed and, unless the page
/// shows older activity, the newest activity. Returns 204 if nothing has happened in the organization since the cursor.
/// If no change concerns the candidate, the answer contains only the next cursor.
///
/// # Errors
/// `not_found` if the candidate does not exist or the caller may not see them; `gone` for an unknown cursor.
pub(super) fn changes(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ChangesInput) -> Result<Reply, Error> {
    let organization = input.page.visit.organization(tx, who)?;
    let candidate = store::candidate::find(tx, &organization.id, &input.page.id)?.ok_or(ABSENT)?;
    let Some(found) = live::changes(tx, &organization, input.after.as_deref())? else {
        return Ok(Reply::no_content());
    };
    let own_path = candidate_path(&organization.slug, candidate.id.as_str());
    let next = Live::following(&changes_path(&own_path, input.is_older), &found);
    let own = found.changes.iter().filter(|change| change.candidate_id.as_ref() == Some(&candidate.id));
    let own: Vec<&OrganizationChange> = own.collect();
    if own.is_empty() {
        return Reply::console(&NextCursor { news: None, live: next });
    }
    let texts = input.page.visit.texts_for(tx, who)?;
    let place = Place { texts, slug: &organization.slug, zone: &organization.time_zone, now: tx.now };
    let reader = Reader { texts, zone: &organization.time_zone, now: tx.now };
    let has_changed = |view: &ApplicationView| {
        let is_of =
            |change: &&OrganizationChange| change.application_id.as_ref().is_some_and(|id| id.as_str() == view.id);
        candidate.is_erased || own.iter().any(is_of)
    };
    let views = applications(tx, place, &organization, &candidate, &own_path)?;
    let (activity, older) = activity(tx, reader, &candidate, None)?;
    Reply::console(&CandidateChanges {
        words: CANDIDATE.of(texts),
        activity_words: ACTIVITY.of(texts),
        live_words: LIVE.of(texts),
        person: Person::new(place, &candidate),
        applications: views.into_iter().filter(has_changed).collect(),
        is_newest: !input.is_older,
        activity,
        newest_url: None,
        older_url: older.map(|id| format!("{own_path}?before={id}#activity")),
        news: Reporter { tx, who, organization: &organization, texts }.news(own)?,
        live: next,
    })
}
