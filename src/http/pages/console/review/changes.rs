//! `GET /app/{orgSlug}/review/changes`: the entries of a review queue that have changed since a cursor. The list is
//! fixed, so the answer updates entries but never removes one. It does not replace the forms of the decision that the
//! reader is making, unless the candidate was erased.

use askama::Template;

use super::page::{EntryView, View};
use super::queue::{self, Queue, ReviewInput};
use crate::domain::activity::is_reading;
use crate::domain::id::{ApplicationId, CandidateId};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::pages::console::live::{self, Live, NextCursor, Reporter};
use crate::http::pages::console::signup::Place;
use crate::http::pages::console::when;
use crate::http::pages::texts::console::live::LIVE;
use crate::http::pages::texts::console::review::REVIEW;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::activity::organization_changes::OrganizationChange;
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/review/changes.html", config = "src/http/pages/templates/askama.toml")]
struct ReviewChanges {
    entries: Vec<EntryView>,
    /// The sentence about the decision of somebody else on the application that is shown: empty if there is no such
    /// decision, for example after an undo; `None` if the application has not changed.
    meanwhile: Option<String>,
    /// The sentence that replaces the candidate who is shown, if the candidate was erased.
    erased: Option<&'static str>,
    news: Option<String>,
    live: Live,
}

/// A request for the changes to a queue.
pub(super) struct ChangesInput {
    review: ReviewInput,
    after: Option<String>,
}

/// # Errors
/// The errors of [`queue::decode`].
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<ChangesInput, Error> {
    Ok(ChangesInput { review: queue::decode(ctx, request)?, after: request.query("after")? })
}

/// `GET …/changes`: returns the entries that have changed, or 204 if nothing has happened in the organization since the
/// cursor. If no change concerns the queue, the answer contains only the next cursor.
///
/// # Errors
/// `not_found` if the organization, the role or the step does not exist, or the caller may not see it; `gone` for an
/// unknown cursor.
pub(super) fn changes(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ChangesInput) -> Result<Reply, Error> {
    let organization = input.review.visit.organization(tx, who)?;
    let Some(found) = live::changes(tx, &organization, input.after.as_deref())? else {
        return Ok(Reply::no_content());
    };
    let begun: Timestamp = input.review.begun.unwrap_or(tx.now);
    let today = when::today(&organization.time_zone, tx.now);
    let queue = Queue::load(tx, &organization.id, &organization.slug, &input.review, begun, today)?;
    let path = queue.changes_path_at(input.review.at.as_ref());
    let next = Live::following(&path, &found);
    let texts = input.review.visit.texts_for(tx, who)?;
    let place = Place { texts, slug: &organization.slug, zone: &organization.time_zone, now: tx.now };
    let view = View { tx, who, organization: &organization, place, words: REVIEW.of(texts), queue: &queue };
    let relevant = Relevant::of(&view, input.review.at.as_ref(), &found.changes)?;
    if relevant.changes.is_empty() {
        return Reply::console(&NextCursor { news: None, live: next });
    }
    Reply::console(&ReviewChanges {
        entries: relevant.entries,
        meanwhile: relevant.meanwhile,
        erased: relevant.is_here_erased.then_some(LIVE.of(texts).erased),
        news: Reporter { tx, who, organization: &organization, texts }.news(relevant.changes)?,
        live: next,
    })
}

/// The changes that concern a queue.
#[derive(Default)]
struct Relevant<'a> {
    changes: Vec<&'a OrganizationChange>,
    entries: Vec<EntryView>,
    meanwhile: Option<String>,
    is_here_erased: bool,
}

impl<'a> Relevant<'a> {
    /// `at` is the application that the page shows.
    fn of(view: &View<'_>, at: Option<&ApplicationId>, changes: &'a [OrganizationChange]) -> Result<Self, Error> {
        let mut relevant = Self::default();
        for change in changes.iter().filter(|change| !is_reading(&change.action)) {
            let Some(candidate) = &change.candidate_id else { continue };
            let is_changed = |index: &usize| view.queue.entries[*index].candidate_id == *candidate;
            let changed: Vec<usize> = (0..view.queue.entries.len()).filter(is_changed).collect();
            for index in &changed {
                relevant.put(view.entry(*index));
                let entry = &view.queue.entries[*index];
                if at == Some(&entry.application_id) {
                    let decision = entry.decision.as_ref().and_then(|decision| view.meanwhile(decision));
                    relevant.meanwhile = Some(decision.unwrap_or_default());
                }
            }
            let erased = if changed.is_empty() { erased_entries(view, candidate)? } else { Vec::new() };
            if !changed.is_empty() || !erased.is_empty() {
                relevant.changes.push(change);
            }
            for entry in erased {
                relevant.is_here_erased |= at.is_some_and(|at| at.as_str() == entry.id);
                relevant.put(entry);
            }
        }
        Ok(relevant)
    }

    fn put(&mut self, entry: EntryView) {
        self.entries.retain(|earlier| earlier.id != entry.id);
        self.entries.push(entry);
    }
}

/// Returns the entries of an erased candidate, who is no longer in the queue. The page may still show them. Returns
/// none for any other candidate.
fn erased_entries(view: &View<'_>, candidate: &CandidateId) -> Result<Vec<EntryView>, Error> {
    let organization = &view.organization.id;
    let found = store::candidate::find(view.tx, organization, candidate)?.filter(|candidate| candidate.is_erased);
    let Some(found) = found else { return Ok(Vec::new()) };
    let applications = store::application::of_candidate(view.tx, organization, candidate)?.into_iter();
    let entry = |application: store::application::Application| EntryView {
        id: application.record.id.to_string(),
        url: view.queue.path_at(&application.record.id),
        name: found.name.clone(),
        note: LIVE.of(view.place.texts).erased.to_owned(),
        is_decided: true,
        is_here: false,
    };
    Ok(applications.map(entry).collect())
}
