//! The queue of a review page: its scope and its start time, which the URL contains, its applications, and the index of
//! the application that the page shows.

use jiff::civil::Date;

use crate::domain::id::{ApplicationId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::http::pages::console::decision::done;
use crate::http::pages::console::visit::{ABSENT, Visit};
use crate::http::server::ctx::Ctx;
use crate::http::server::request::Request;
use crate::store::candidate_step::{QueueEntry, QueueScope, queue};
use crate::store::{self, Error, Tx};

/// The maximum number of applications in a queue: more than a morning's work. More entries would only make the list
/// slow.
const QUEUE_ENTRIES_MAX: usize = 200;

/// A request for the page.
pub(super) struct ReviewInput {
    pub(super) visit: Visit,
    role: Option<String>,
    step: Option<String>,
    /// The time at which the queue began; `None` for a new queue.
    pub(super) begun: Option<Timestamp>,
    /// The application to show.
    pub(super) at: Option<ApplicationId>,
    /// The application of the decision that led to the page.
    pub(super) done: Option<ApplicationId>,
}

/// # Errors
/// `validation_error` if a parameter is repeated, or `begun` is not a number of microseconds since 1970.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<ReviewInput, Error> {
    let given = |name| Ok::<_, Refusal>(request.query(name)?.filter(|text| !text.is_empty()));
    let micros = |text: String| text.parse::<i64>().ok().filter(|micros| *micros >= 0);
    let begun = given("begun")?.map(|text| micros(text).ok_or_else(|| Refusal::invalid("begun", "must be a time")));
    Ok(ReviewInput {
        visit: Visit::decode(request)?,
        role: given("role")?,
        step: given("step")?,
        begun: begun.transpose()?.map(Timestamp::from_micros),
        at: given("at")?.as_deref().and_then(ApplicationId::parse),
        done: done::decode(request)?,
    })
}

/// A queue.
pub(super) struct Queue {
    /// The path of the page, without the application to show.
    path: String,
    pub(super) entries: Vec<QueueEntry>,
    /// The number of applications that do not fit in the queue.
    pub(super) left_out: usize,
    /// The index of the application to show: the requested one if the queue contains it, or else the first that has not
    /// been decided on. `None` if there is no such application.
    pub(super) here: Option<usize>,
}

impl Queue {
    /// Loads the queue that began at `begun`.
    ///
    /// # Errors
    /// `not_found` if the organization has no such role, or the role has no such step or no steps at all.
    pub(super) fn load(
        tx: &Tx<'_>,
        organization: &OrganizationId,
        slug: &str,
        input: &ReviewInput,
        begun: Timestamp,
        today: Date,
    ) -> Result<Self, Error> {
        let scope = scope(tx, organization, input)?;
        let mut entries = queue(tx, organization, &scope, begun, today)?;
        let left_out = entries.len().saturating_sub(QUEUE_ENTRIES_MAX);
        entries.truncate(QUEUE_ENTRIES_MAX);
        let at = input.at.as_ref().and_then(|at| entries.iter().position(|entry| entry.application_id == *at));
        let here = at.or_else(|| entries.iter().position(|entry| entry.decision.is_none()));
        Ok(Self { path: path(slug, &scope, begun), entries, left_out, here })
    }

    /// Returns the path of the page for the entry at an index.
    pub(super) fn path_of(&self, index: usize) -> String {
        self.path_at(&self.entries[index].application_id)
    }

    /// Returns the path of the page for an application.
    pub(super) fn path_at(&self, application: &ApplicationId) -> String {
        format!("{}&at={application}", self.path)
    }

    /// Returns the path at which the page asks for changes.
    pub(super) fn changes_path(&self) -> String {
        self.changes_path_at(self.here.map(|here| &self.entries[here].application_id))
    }

    /// Returns the path at which the page that shows this application asks for changes.
    pub(super) fn changes_path_at(&self, at: Option<&ApplicationId>) -> String {
        let path = self.path.replacen("/review?", "/review/changes?", 1);
        at.map_or_else(|| path.clone(), |at| format!("{path}&at={at}"))
    }

    /// Returns the path of the page that shows the application on which the user has just decided. If no decision led
    /// to this request, the path names no application.
    pub(super) fn path_of_done(&self, input: &ReviewInput) -> String {
        input.done.as_ref().map_or_else(|| self.path.clone(), |id| format!("{}&at={id}", self.path))
    }

    /// Returns the path of the page after a decision on the entry: the page of the next entry without a decision. The
    /// search wraps around at the end of the list. If it finds no entry, the path is that of the page that says that
    /// nothing is left.
    pub(super) fn path_after(&self, index: usize) -> String {
        let is_open = |other: &usize| *other != index && self.entries[*other].decision.is_none();
        let next = (index + 1..self.entries.len()).chain(0..index).find(is_open);
        next.map_or_else(|| self.path.clone(), |next| self.path_of(next))
    }
}

/// # Errors
/// `not_found` if the organization has no such role, or the role has no such step or no steps at all.
fn scope(tx: &Tx<'_>, organization: &OrganizationId, input: &ReviewInput) -> Result<QueueScope, Error> {
    let Some(role) = &input.role else { return Ok(QueueScope::NewOfAllRoles) };
    let role = RoleId::parse(role).ok_or(ABSENT)?;
    store::role::seats(tx, organization, &role)?.ok_or(ABSENT)?;
    let steps = store::board::steps(tx, organization, &role)?;
    let step = match &input.step {
        Some(step) => steps.into_iter().find(|known| known.id.as_str() == step),
        None => steps.into_iter().next(),
    };
    let step: RoleStepId = step.ok_or(ABSENT)?.id;
    Ok(QueueScope::Step(role, step))
}

fn path(slug: &str, scope: &QueueScope, begun: Timestamp) -> String {
    let (role, step) = match scope {
        QueueScope::Step(role, step) => (role.as_str(), step.as_str()),
        QueueScope::NewOfAllRoles => ("", ""),
    };
    format!("/app/{slug}/review?role={role}&step={step}&begun={}", begun.micros())
}

/// Returns the path of a new queue with the same scope.
pub(super) fn path_of_new(slug: &str, input: &ReviewInput) -> String {
    let id = |text: &Option<String>| text.clone().filter(|text| RoleId::parse(text).is_some()).unwrap_or_default();
    format!("/app/{slug}/review?role={}&step={}", id(&input.role), id(&input.step))
}

/// Returns the path of the page for a queue that begins now.
pub(super) fn path_that_begins(slug: &str, input: &ReviewInput, now: Timestamp) -> String {
    format!("{}&begun={}", path_of_new(slug, input), now.micros())
}
