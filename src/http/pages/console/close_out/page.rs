//! The page that closes out a role: the candidates who are still in progress, the reason, and the effect on their
//! status pages.

use std::time::Duration;

use askama::Template;

use super::offer::path;
use crate::domain::candidate_step::{NOTES_CHARACTERS_MAX, OutcomeReason, UNDO_PERIOD};
use crate::domain::decision_batch::ITEMS_MAX;
use crate::domain::id::{DecisionBatchId, Id, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role::RoleStatus;
use crate::domain::user::Principal;
use crate::http::pages::console::decision::scene::candidate_path;
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::console::visit::{self, ABSENT, Visit};
use crate::http::pages::console::when::When;
use crate::http::pages::texts::console::candidate::CANDIDATE;
use crate::http::pages::texts::console::close_out::{CLOSE_OUT, CloseOutTexts};
use crate::http::pages::texts::console::deciding::DECIDING;
use crate::http::pages::texts::console::decision::{DECISION, DecisionTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::decision_batch::{self, BatchRole};
use crate::store::in_progress::{self, InProgress};
use crate::store::role::RoleRecord;
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/close_out.html", config = "src/http/pages/templates/askama.toml")]
struct CloseOutPage {
    frame: ConsoleFrame,
    words: &'static CloseOutTexts,
    decision_words: &'static DecisionTexts,
    path: String,
    board: String,
    /// The result of the form that led to this page.
    message: Message,
    /// The batch that the user can undo.
    undo: Option<String>,
    has_ended: bool,
    /// The status of the role, in a sentence.
    status: &'static str,
    still_here: Option<String>,
    shows_first: Option<String>,
    people: Vec<Person>,
    reasons: Vec<Reason>,
    sees: Vec<String>,
    note: String,
    notes_max: usize,
}

/// The result of a form.
#[derive(Default)]
pub(super) struct Message {
    pub(super) lines: Vec<String>,
    pub(super) is_bad: bool,
}

struct Person {
    /// The name and the value of the field: the current step or, without one, the application.
    field: &'static str,
    value: String,
    url: String,
    name: String,
    /// The step and the time at which the candidate reached it; without a step, the time of the application.
    place: String,
    is_checked: bool,
}

struct Reason {
    value: &'static str,
    label: &'static str,
    is_checked: bool,
}

/// A request for the page of a role.
pub(super) struct CloseOutInput {
    pub(super) visit: Visit,
    pub(super) role: RoleId,
    batch: Option<DecisionBatchId>,
}

impl CloseOutInput {
    /// # Errors
    /// `not_found` if the path has no valid id; `validation_error` if `lang` or `locale` is repeated.
    pub(super) fn of_form(request: &Request) -> Result<Self, Refusal> {
        Ok(Self { visit: Visit::decode(request)?, role: visit::id(request, "id")?, batch: None })
    }

    /// # Errors
    /// `not_found` if the role does not exist in the organization, or the caller may not see it; `forbidden` for a
    /// plain member.
    pub(super) fn load(&self, tx: &Tx<'_>, who: &Principal) -> Result<(VisibleOrganization, RoleRecord), Error> {
        let organization = self.visit.organization(tx, who)?;
        let role = store::role::find(tx, &organization.id, &self.role)?.ok_or(ABSENT)?.record;
        organization.caller.require_manager()?;
        Ok((organization, role))
    }
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if a parameter is repeated.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<CloseOutInput, Error> {
    let batch = request.query("batch")?.as_deref().and_then(DecisionBatchId::parse);
    Ok(CloseOutInput { batch, ..CloseOutInput::of_form(request)? })
}

/// `GET …/close-out`: shows the first [`ITEMS_MAX`] candidates who are still in progress, all selected. Shows none if
/// the role has not ended.
///
/// # Errors
/// `not_found` if the role does not exist in the organization, or the caller may not see it; `forbidden` for a plain
/// member.
pub(super) fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &CloseOutInput) -> Result<Reply, Error> {
    let (organization, role) = input.load(tx, who)?;
    let view = View { tx, who, input, organization: &organization, role: &role };
    let texts = input.visit.texts_for(tx, who)?;
    let (message, undo) = view.message_of_batch(texts)?;
    view.reply(Sent::default(), message, undo, None)
}

/// The values of a form that is shown again.
#[derive(Default)]
pub(super) struct Sent {
    /// The selected values; `None` selects everybody.
    pub(super) chosen: Option<Vec<String>>,
    pub(super) reason: Option<String>,
    pub(super) note: String,
}

/// The context in which the page is rendered.
pub(super) struct View<'a> {
    pub(super) tx: &'a Tx<'a>,
    pub(super) who: &'a Principal,
    pub(super) input: &'a CloseOutInput,
    pub(super) organization: &'a VisibleOrganization,
    pub(super) role: &'a RoleRecord,
}

impl View<'_> {
    pub(super) fn batch_role(&self) -> BatchRole<'_> {
        BatchRole { organization_id: &self.organization.id, id: &self.role.id }
    }

    /// Returns the message about the batch that led to the page, and the batch if the user can undo it.
    fn message_of_batch(&self, texts: &Texts) -> Result<(Message, Option<String>), Error> {
        let none = || (Message::default(), None);
        let Some(id) = &self.input.batch else { return Ok(none()) };
        let Some(batch) = decision_batch::find(self.tx, self.batch_role(), id)? else { return Ok(none()) };
        let (count, now) = (decision_batch::size(self.tx, &batch)?, self.tx.now);
        let is_own = batch.facts.user_id == self.who.user_id;
        let (counted, undo) = match batch.facts.undone_at {
            Some(at) if is_own && now.since(at) < UNDO_PERIOD => (&DECIDING.of(texts).undone, None),
            None if batch.facts.require_undoable(&self.who.user_id, now).is_ok() => {
                (&DECIDING.of(texts).rejected, Some(id.to_string()))
            }
            _ => return Ok(none()),
        };
        Ok((Message { lines: vec![texts.counted(counted, count)], is_bad: false }, undo))
    }

    /// Shows the page. With `refusal`, the response has the status of the refusal.
    pub(super) fn reply(
        &self,
        sent: Sent,
        message: Message,
        undo: Option<String>,
        refusal: Option<&Refusal>,
    ) -> Result<Reply, Error> {
        let (tx, organization, role) = (self.tx, self.organization, self.role);
        let texts = self.input.visit.texts_for(tx, self.who)?;
        let words = CLOSE_OUT.of(texts);
        let status = role.seats.status;
        let total = store::board::applications(tx, &organization.id, &role.id)?.in_progress;
        let total = usize::try_from(total).unwrap_or_default();
        let found = if status.has_ended() {
            in_progress::page(tx, &organization.id, &role.id, 0, ITEMS_MAX)?
        } else {
            Vec::new()
        };
        let numbers = [("shown", texts.number(found.len() as f64)), ("total", texts.number(total as f64))];
        let numbers = numbers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let title = fill(words.title, &[("role", &role.name)]);
        let page = CloseOutPage {
            frame: self.input.visit.frame(tx, self.who, Some(organization), NavItem::Roles, title)?,
            words,
            decision_words: DECISION.of(texts),
            path: path(organization, &role.id),
            board: format!("/app/{}/roles/{}", organization.slug, role.id),
            message,
            undo,
            status: match status {
                RoleStatus::Filled => words.filled,
                RoleStatus::Closed => words.closed,
                RoleStatus::Draft | RoleStatus::Open => words.not_ended,
            },
            has_ended: status.has_ended(),
            still_here: (!found.is_empty()).then(|| texts.counted(&words.still_here, total)),
            shows_first: (total > ITEMS_MAX && !found.is_empty()).then(|| fill(words.shows_first, &numbers)),
            people: found.into_iter().map(|entry| self.person(texts, entry, sent.chosen.as_deref())).collect(),
            reasons: reasons(texts, status, sent.reason.as_deref()),
            sees: self.sees(texts)?,
            note: sent.note,
            notes_max: NOTES_CHARACTERS_MAX,
        };
        match refusal {
            Some(refusal) => Reply::console_refusal(refusal, &page),
            None => Reply::console(&page),
        }
    }

    fn person(&self, texts: &Texts, entry: InProgress, chosen: Option<&[String]>) -> Person {
        let InProgress { candidate_role_id, candidate_id, candidate_name, step, applied_at } = entry;
        let when = |at| When::new(texts, &self.organization.time_zone, at, self.tx.now).relative;
        let (field, value, place) = match step {
            Some(step) => ("step", step.candidate_step_id.to_string(), format!("{}, {}", step.name, when(step.since))),
            None => {
                let applied = format!("{} {}", CANDIDATE.of(texts).applied, when(applied_at));
                ("application", candidate_role_id.to_string(), applied)
            }
        };
        Person {
            is_checked: chosen.is_none_or(|chosen| chosen.contains(&value)),
            url: candidate_path(&self.organization.slug, candidate_id.as_str()),
            name: candidate_name,
            field,
            value,
            place,
        }
    }

    /// Returns the sentences that say what the candidates will see and when.
    fn sees(&self, texts: &Texts) -> Result<Vec<String>, Error> {
        let words = CLOSE_OUT.of(texts);
        let record = store::organization::find(self.tx, &self.organization.id)?.map(|found| found.record);
        let hours = record.and_then(|record| record.decision_visible_after_hours);
        let hours = hours.map(|hours| u64::try_from(hours).unwrap_or_default());
        let first = match hours {
            None => words.sees_never.to_owned(),
            Some(0) => words.sees_now.to_owned(),
            Some(hours) => {
                let at = self.tx.now.plus(Duration::from_secs(hours * 3_600));
                let when = When::new(texts, &self.organization.time_zone, at, self.tx.now);
                fill(words.sees_from, &[("time", &when.exact)])
            }
        };
        let is_filled = self.role.seats.status == RoleStatus::Filled;
        let left = if is_filled { words.left_filled } else { words.left_closed };
        let left = hours.map(|_| left.to_owned());
        Ok([Some(first), left, Some(words.sees_nothing.to_owned())].into_iter().flatten().collect())
    }
}

/// Returns the reasons that the page offers. Without `chosen`, the reason that follows from the status of the role is
/// selected.
fn reasons(texts: &Texts, status: RoleStatus, chosen: Option<&str>) -> Vec<Reason> {
    let default = if status == RoleStatus::Closed { OutcomeReason::RoleClosed } else { OutcomeReason::RoleFilled };
    let chosen = chosen.unwrap_or(default.as_str());
    let labels = DECISION.of(texts).reasons;
    let offered = OutcomeReason::OF_ROLE_END.map(OutcomeReason::as_str);
    let known = OutcomeReason::WORDS.iter().zip(labels);
    let reason = |value: &'static str| {
        let label = known.clone().find(|(word, _)| **word == value).map_or(value, |(_, label)| label);
        Reason { value, label, is_checked: value == chosen }
    };
    offered.map(reason).into()
}
