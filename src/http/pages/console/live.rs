//! Pages that, while open, show what others change. While one of these pages is visible, the module `live.js` asks
//! every few seconds for the changes since a cursor, and replaces the parts of the page that have changed. Each page
//! has its own handler for these requests. This file has the code that the handlers share.
//!
//! A request for changes does not prolong the session. A response without changes has no body (204).

use std::collections::BTreeSet;

use askama::Template;
use hyper::Method;

use super::activity::is_by_candidate;
use super::visit::Visit;
use super::when;
use crate::domain::activity::{Action, is_reading};
use crate::domain::refusal::Refusal;
use crate::domain::role_version::ChangeAuthor;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::pages::texts::console::activity::{ACTIVITY, label};
use crate::http::pages::texts::console::live::LIVE;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::activity::organization_changes::{self, OrganizationChange, OrganizationChanges};
use crate::store::{self, Error, Tx};

/// The refusal of an unknown cursor. The usual cause is that the database was restored from a backup that is older than
/// the page.
const UNKNOWN_CURSOR: Refusal = Refusal::Gone("the service does not know this state of the page; load the page again");

/// Creates the route by which a page asks for changes.
pub(super) fn route<W: Send + 'static>(
    path: &'static str,
    decode: fn(&Ctx, &Request) -> Result<W, Error>,
    act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
) -> Route {
    Route::staff(Method::GET, path, decode, act).without_use_of_session()
}

/// The URL at which a page asks for changes. `templates/console/live.html` renders it from a variable `live`.
pub(super) struct Live {
    pub(super) url: String,
    /// Whether more changes are ready, so that the page asks again at once.
    pub(super) has_more: bool,
}

impl Live {
    /// Returns the URL for a page that shows the current state. `path` may have a query.
    pub(super) fn new(tx: &Tx<'_>, organization: &VisibleOrganization, path: &str) -> Result<Self, Error> {
        Ok(Self::after(path, &organization_changes::newest(tx, &organization.id)?))
    }

    /// Returns the URL for the changes after this cursor.
    pub(super) fn after(path: &str, cursor: &str) -> Self {
        let join = if path.contains('?') { '&' } else { '?' };
        Self { url: format!("{path}{join}after={cursor}"), has_more: false }
    }

    /// Returns the URL for the changes that follow `found`.
    pub(super) fn following(path: &str, found: &OrganizationChanges) -> Self {
        Self { has_more: found.has_more, ..Self::after(path, &found.cursor) }
    }
}

/// Returns the changes in an organization after a cursor, or `None` if nothing has changed since the cursor. Without
/// a cursor, returns an empty list with the newest cursor.
///
/// # Errors
/// `gone` for an unknown cursor.
pub(super) fn changes(
    tx: &Tx<'_>,
    organization: &VisibleOrganization,
    after: Option<&str>,
) -> Result<Option<OrganizationChanges>, Error> {
    let Some(after) = after else {
        let cursor = organization_changes::newest(tx, &organization.id)?;
        return Ok(Some(OrganizationChanges { changes: Vec::new(), cursor, has_more: false }));
    };
    let found = organization_changes::since(tx, &organization.id, after)?.ok_or(UNKNOWN_CURSOR)?;
    Ok((!found.changes.is_empty()).then_some(found))
}

/// The response if no change concerns the page: only the next cursor.
#[derive(Template)]
#[template(path = "console/news.html", config = "src/http/pages/templates/askama.toml")]
pub(super) struct NextCursor {
    pub(super) news: Option<String>,
    pub(super) live: Live,
}

/// Describes the acts of others in one sentence.
pub(super) struct Reporter<'a> {
    pub(super) tx: &'a Tx<'a>,
    pub(super) who: &'a Principal,
    pub(super) organization: &'a VisibleOrganization,
    pub(super) texts: &'static Texts,
}

impl Reporter<'_> {
    /// Returns the sentence about the acts of others, or `None` if others did nothing.
    pub(super) fn news<'c>(
        &self,
        changes: impl IntoIterator<Item = &'c OrganizationChange>,
    ) -> Result<Option<String>, Error> {
        let is_own =
            |change: &OrganizationChange| change.by.as_ref().is_some_and(|by| by.id == self.who.user_id.as_str());
        let mut others: Vec<&OrganizationChange> = Vec::new();
        for change in changes.into_iter().filter(|change| !is_own(change) && !is_reading(&change.action)) {
            // Count only the newest act on each candidate and the newest act on the role. An erasure, for example, also
            // withdraws applications.
            others.retain(|earlier| earlier.candidate_id != change.candidate_id);
            others.push(change);
        }
        match &others[..] {
            [] => Ok(None),
            [one] => self.sentence(one).map(Some),
            many => Ok(Some(self.summary(many))),
        }
    }

    fn summary(&self, changes: &[&OrganizationChange]) -> String {
        let names: BTreeSet<&str> = changes.iter().map(|change| self.name_of(change)).collect();
        let who = names.into_iter().collect::<Vec<_>>().join(", ");
        fill(LIVE.of(self.texts).many, &[("count", &self.texts.number(changes.len() as f64)), ("who", &who)])
    }

    /// Returns the name of the user who acted, or the word for the candidate or for the service.
    fn name_of<'c>(&self, change: &'c OrganizationChange) -> &'c str {
        let words = ACTIVITY.of(self.texts);
        let nobody = if is_by_candidate(&change.action) { words.candidate } else { words.service };
        change.by.as_ref().map_or(nobody, |by| &by.name)
    }

    fn sentence(&self, change: &OrganizationChange) -> Result<String, Error> {
        let (tx, organization, words) = (self.tx, &self.organization.id, LIVE.of(self.texts));
        let Some(candidate) = &change.candidate_id else {
            return Ok(self.role_change(&change.action, change.at, change.by.as_ref()));
        };
        let candidate = store::candidate::find(tx, organization, candidate)?.filter(|candidate| !candidate.is_erased);
        let Some(candidate) = candidate else { return Ok(words.erased.to_owned()) };
        let step = match &change.application_id {
            Some(id) => store::application::find(tx, organization, id)?.and_then(|application| application.current),
            None => None,
        };
        let text = match (Action::parse(&change.action), &change.by, &step) {
            (Some(Action::Validated | Action::Moved), Some(_), Some(_)) => words.moved,
            (Some(Action::Rejected), Some(_), _) => words.rejected,
            (Some(Action::Hired), Some(_), _) => words.hired,
            (Some(Action::CandidateRoleSignedUp), None, _) => words.applied,
            (Some(Action::CandidateRoleWithdrawn), None, _) => words.withdrew,
            _ => words.other,
        };
        let step = step.map(|step| step.name).unwrap_or_default();
        let here = if step.is_empty() { ACTIVITY.of(self.texts).a_step } else { &step };
        let what = fill(label(self.texts.tag, &change.action), &[("step", here)]);
        let who = self.name_of(change);
        Ok(fill(text, &[("who", who), ("name", &candidate.name), ("step", &step), ("what", &what)]))
    }

    /// Returns the sentence about a change to a role or to its steps.
    pub(super) fn role_change(&self, action: &str, at: Timestamp, by: Option<&ChangeAuthor>) -> String {
        let words = LIVE.of(self.texts);
        let text = match by {
            None => words.role_changed_itself,
            Some(_) if action.starts_with("role_step.") => words.steps_changed,
            Some(_) => words.role_changed,
        };
        let time = when::clock(self.texts, &self.organization.time_zone, at, self.tx.now);
        fill(text, &[("who", by.map_or("", |by| &by.name)), ("time", &time)])
    }
}

/// A request for changes to a page of an organization.
pub(super) struct LiveInput {
    pub(super) visit: Visit,
    pub(super) after: Option<String>,
}

impl LiveInput {
    /// # Errors
    /// `validation_error` if a parameter is repeated.
    pub(super) fn decode(request: &Request) -> Result<Self, Refusal> {
        Ok(Self { visit: Visit::decode(request)?, after: request.query("after")? })
    }
}

/// The notice that the content of a page has changed, and the link that loads the new content.
/// `templates/console/changed.html` renders the notice from a variable `changed`.
pub(super) struct Changed {
    pub(super) sentence: String,
    pub(super) url: String,
    pub(super) load: &'static str,
}
