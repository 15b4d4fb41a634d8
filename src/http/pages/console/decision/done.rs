//! The message after a decision: what happened, what the candidate sees and when, and the form that undoes the
//! decision. The message is made from the newest activity row, so a link cannot forge it.

use std::time::Duration;

use crate::domain::activity::Action;
use crate::domain::candidate_step::{self, ApplicationStatus, CandidateStep, UNDO_PERIOD};
use crate::domain::id::{ApplicationId, Id};
use crate::domain::later;
use crate::domain::refusal::Refusal;
use crate::domain::role::RoleStatus;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::pages::console::close_out::offer::{Offer, offer};
use crate::http::pages::console::due;
use crate::http::pages::console::when::{self, When};
use crate::http::pages::texts::console::done::{DONE, DoneTexts};
use crate::http::pages::texts::console::later::LATER;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::activity::Activity;
use crate::store::application::Application;
use crate::store::candidate::Candidate;
use crate::store::{self, Error, Tx};

/// The age up to which a page shows the message about a decision. A page that is loaded again later does not show the
/// message again.
const MESSAGE_AGE_MAX: Duration = Duration::from_secs(10 * 60);

/// The message about a decision. `templates/console/decision/done.html` renders it.
pub(in crate::http::pages::console) struct Done {
    pub(in crate::http::pages::console) lines: Vec<String>,
    pub(in crate::http::pages::console) undo: Option<UndoForm>,
    /// The notice that candidates are still in progress, after a hire that filled the role.
    pub(in crate::http::pages::console) close_out: Option<Offer>,
}

/// The form that undoes the decision.
pub(in crate::http::pages::console) struct UndoForm {
    pub(in crate::http::pages::console) action: String,
    /// The hidden fields.
    pub(in crate::http::pages::console) fields: Vec<(&'static str, String)>,
    pub(in crate::http::pages::console) label: &'static str,
}

/// Returns the application that the query's `done` names.
///
/// # Errors
/// `validation_error` if `done` is repeated.
pub(in crate::http::pages::console) fn decode(request: &Request) -> Result<Option<ApplicationId>, Refusal> {
    Ok(request.query("done")?.as_deref().and_then(ApplicationId::parse))
}

/// Returns the message about the latest act on an application, if the act is this user's own and at most
/// [`MESSAGE_AGE_MAX`] old. The act is a decision or a change to the later mark. Returns `None` for an application of
/// another organization. After an undo, the browser returns to the page at the path `back`.
pub(in crate::http::pages::console) fn message(
    tx: &Tx<'_>,
    who: &Principal,
    organization: &VisibleOrganization,
    texts: &'static Texts,
    id: Option<&ApplicationId>,
    back: &str,
) -> Result<Option<Done>, Error> {
    let Some(id) = id else { return Ok(None) };
    let Some(application) = store::application::find(tx, &organization.id, id)? else { return Ok(None) };
    let candidate = &application.candidate_id;
    let Some(latest) = store::activity::latest_act(tx, &organization.id, candidate, id)? else { return Ok(None) };
    let is_own = latest.actor.as_ref().is_some_and(|actor| actor.id == who.user_id.as_str());
    if !is_own || tx.now.since(latest.at) > MESSAGE_AGE_MAX {
        return Ok(None);
    }
    let Some(candidate) = store::candidate::find(tx, &organization.id, candidate)? else { return Ok(None) };
    let steps = store::candidate_step::of_application(tx, id)?;
    let act = Act { organization, application: &application, candidate: &candidate, steps: &steps, latest: &latest };
    let is_mark = store::later::change(&latest).is_some();
    let undo_path = if is_mark { "later/undo" } else { "undo" };
    let undo = act.is_undoable(tx, who)?.then(|| UndoForm {
        action: format!("/app/{}/applications/{id}/{undo_path}", organization.slug),
        fields: vec![("back", back.to_owned())],
        label: DONE.of(texts).undo,
    });
    let close_out = act.close_out(tx, texts)?;
    Ok(Some(Done { lines: act.lines(tx, texts)?, undo, close_out }))
}

/// The latest act on an application, and the application.
struct Act<'a> {
    organization: &'a VisibleOrganization,
    application: &'a Application,
    candidate: &'a Candidate,
    steps: &'a [CandidateStep],
    latest: &'a Activity,
}

impl Act<'_> {
    fn lines(&self, tx: &Tx<'_>, texts: &'static Texts) -> Result<Vec<String>, Error> {
        let words = DONE.of(texts);
        let Some(action) = Action::parse(&self.latest.action) else { return Ok(Vec::new()) };
        if matches!(action, Action::PutAside | Action::TakenUp) {
            return Ok(self.mark_lines(tx, texts));
        }
        let here = self.application.current.as_ref().map(|current| current.name.as_str());
        let acted_on = self.latest.candidate_role_step_id.as_ref();
        let acted_on = self.steps.iter().find(|step| Some(&step.id) == acted_on).map(|step| step.name.as_str());
        let (text, step) = match action {
            Action::Validated | Action::Moved => (words.at_step, here),
            Action::Rejected => (words.rejected, acted_on),
            Action::HireReversed => (words.reversed, None),
            Action::Reopened => (words.reopened, here.or(acted_on)),
            Action::CandidateRoleWithdrawn => (words.withdrawn, None),
            Action::Hired => (words.hired, None),
            _ => (words.undone, None),
        };
        let mut lines = vec![fill(text, &[("name", &self.candidate.name), ("step", step.unwrap_or_default())])];
        if action == Action::Hired && self.is_role_filled(tx)? {
            let role = store::role::find(tx, &self.organization.id, &self.application.role_id)?;
            let is_public = role.is_some_and(|role| role.record.public) && self.organization.has_portal();
            lines.push(if is_public { words.filled_public } else { words.filled }.to_owned());
        }
        lines.extend(self.what_the_candidate_sees(tx, texts, words, action)?);
        Ok(lines)
    }

    /// Returns the notice about the candidates who are still in progress, if the act is a hire and the role is filled.
    fn close_out(&self, tx: &Tx<'_>, texts: &'static Texts) -> Result<Option<Offer>, Error> {
        if Action::parse(&self.latest.action) != Some(Action::Hired) || !self.is_role_filled(tx)? {
            return Ok(None);
        }
        offer(tx, texts, self.organization, &self.application.role_id, RoleStatus::Filled)
    }

    /// Returns the message about a change to the later mark.
    fn mark_lines(&self, tx: &Tx<'_>, texts: &'static Texts) -> Vec<String> {
        let (words, name) = (LATER.of(texts), self.candidate.name.as_str());
        let today = when::today(&self.organization.time_zone, tx.now);
        match self.application.record.later_due_on {
            Some(due_on) if due_on.0 > today => {
                let day = due::until(texts, today, due_on);
                vec![fill(words.done, &[("name", name), ("day", &day)]), words.unseen.to_owned()]
            }
            _ => vec![fill(words.taken_up, &[("name", name)])],
        }
    }

    /// Returns whether the rule accepts an undo now.
    fn is_undoable(&self, tx: &Tx<'_>, who: &Principal) -> Result<bool, Error> {
        if let Some(change) = store::later::change(self.latest) {
            let status = self.application.record.status;
            return Ok(later::undo(status, Some(&change), &who.user_id, tx.now).is_ok());
        }
        let Some(step) = self.steps.first() else { return Ok(false) };
        let Some(facts) = store::candidate_step::load(tx, who, &step.id)? else { return Ok(false) };
        let acts = store::candidate_step::recent_acts(tx, &facts)?;
        Ok(candidate_step::undo(&facts, &acts, &who.user_id, tx.now).is_ok())
    }

    fn is_role_filled(&self, tx: &Tx<'_>) -> Result<bool, Error> {
        let seats = store::role::seats(tx, &self.organization.id, &self.application.role_id)?;
        Ok(seats.is_some_and(|seats| seats.status == RoleStatus::Filled))
    }

    fn what_the_candidate_sees(
        &self,
        tx: &Tx<'_>,
        texts: &'static Texts,
        words: &'static DoneTexts,
        action: Action,
    ) -> Result<Option<String>, Error> {
        let id = &self.application.record.id;
        Ok(match action {
            // The status page shows the state before the decision.
            Action::Undone => None,
            Action::Rejected | Action::HireReversed | Action::Hired => {
                Some(decision_shown(tx, texts, self.organization, id, self.latest.at)?)
            }
            _ if store::status_page::of_application(tx, id)?.is_none() => Some(words.sees_nothing.to_owned()),
            Action::Validated | Action::Moved => {
                Some(self.seen_from(texts, words, self.latest.at.plus(UNDO_PERIOD), tx.now))
            }
            Action::CandidateRoleWithdrawn => Some(words.sees_now.to_owned()),
            Action::Reopened if self.application.record.status == ApplicationStatus::InProgress => {
                Some(words.sees_reopened.to_owned())
            }
            _ => None,
        })
    }

    fn seen_from(&self, texts: &'static Texts, words: &DoneTexts, from: Timestamp, now: Timestamp) -> String {
        let when = When::new(texts, &self.organization.time_zone, from, now);
        fill(words.sees_from, &[("time", &when.exact)])
    }
}

/// Returns the sentence that says when the status page of an application shows a rejection, a hire or the reversal of a
/// hire. `at` is the time of the act.
pub(super) fn decision_shown(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: &VisibleOrganization,
    application: &ApplicationId,
    at: Timestamp,
) -> Result<String, Error> {
    let words = DONE.of(texts);
    if store::status_page::of_application(tx, application)?.is_none() {
        return Ok(words.sees_nothing.to_owned());
    }
    let record = store::organization::find(tx, &organization.id)?.map(|organization| organization.record);
    let Some(hours) = record.and_then(|record| record.decision_visible_after_hours) else {
        return Ok(words.sees_never.to_owned());
    };
    let hours = u64::try_from(hours).unwrap_or_default();
    let when = When::new(texts, &organization.time_zone, at.plus(Duration::from_secs(hours * 3_600)), tx.now);
    Ok(if hours == 0 { words.sees_now.to_owned() } else { fill(words.sees_from, &[("time", &when.exact)]) })
}
