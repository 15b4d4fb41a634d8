//! The answer to a decision on a board: the message, and the parts of the board that have changed. Without JavaScript,
//! the answer redirects to the board or, if a candidate was not decided on, is a page that says why.

use askama::Template;

use super::input::DecideInput;
use super::part::{Part, PartSource, StepCount};
use super::role_facts::Ended;
use super::scene::Scene;
use crate::domain::candidate_step::current_step;
use crate::domain::decision_batch::BatchDecision;
use crate::domain::id::{ApplicationId, CandidateStepId, DecisionBatchId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::decision::{done, refused};
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::console::visit::ABSENT;
use crate::http::pages::texts::console::board::{BOARD, BoardTexts};
use crate::http::pages::texts::console::deciding::{DECIDING, DecidingTexts};
use crate::http::pages::texts::console::later::LATER;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::reply::Reply;
use crate::store::decision_batch::{DecidedBatch, DecidedItem, ItemOutcome};
use crate::store::{self, Error, Tx};

/// The maximum number of refusals that are explained one by one.
const REFUSED_LINES_MAX: usize = 5;

#[derive(Template)]
#[template(path = "console/board/outcome_parts.html", config = "src/http/pages/templates/askama.toml")]
struct OutcomeParts {
    words: &'static BoardTexts,
    path: String,
    candidates: String,
    may_decide: bool,
    parts: Vec<Part>,
    counts: Vec<StepCount>,
    ended: Ended,
    lines: Vec<String>,
    deciding: &'static DecidingTexts,
    /// The fields of the form that undoes the decision; empty if the decision cannot be undone.
    undo: Vec<(&'static str, String)>,
    /// The card that gets the focus after an undo.
    undone: Option<ApplicationId>,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "console/board/outcome_page.html", config = "src/http/pages/templates/askama.toml")]
struct OutcomePage {
    frame: ConsoleFrame,
    words: &'static DecidingTexts,
    lines: Vec<String>,
    back: String,
}

/// The decision that was made or undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Advanced,
    Moved,
    Rejected,
    Undone,
    PutAside,
    /// The later marks of a batch were undone.
    UndoneLater,
}

impl Verb {
    fn is_undo(self) -> bool {
        matches!(self, Self::Undone | Self::UndoneLater)
    }

    pub(super) fn of(decision: &BatchDecision) -> Self {
        match decision {
            BatchDecision::Validate(_) => Self::Advanced,
            BatchDecision::Move(..) => Self::Moved,
            BatchDecision::Reject(_) => Self::Rejected,
            BatchDecision::Later(_) => Self::PutAside,
        }
    }
}

/// The candidates of a decision, by outcome.
pub(super) struct Outcome<'a> {
    tx: &'a Tx<'a>,
    who: &'a Principal,
    scene: &'a Scene,
    input: &'a DecideInput,
    verb: Verb,
    /// The batch; `None` after an undo, or if the decisions changed no application.
    batch: Option<DecisionBatchId>,
    done: Vec<(ApplicationId, Option<CandidateStepId>)>,
    refused: Vec<RefusedItem>,
    /// The number of candidate steps that the form named but that belong to no application to the role.
    unknown: usize,
}

/// An application that was not decided on.
struct RefusedItem {
    application: ApplicationId,
    step: Option<CandidateStepId>,
    /// Whether the decision could not be saved.
    is_unsaved: bool,
}

impl<'a> Outcome<'a> {
    pub(super) fn new(
        tx: &'a Tx<'a>,
        who: &'a Principal,
        scene: &'a Scene,
        input: &'a DecideInput,
        verb: Verb,
        batch: DecidedBatch,
    ) -> Self {
        let id = batch.id.filter(|_| !verb.is_undo());
        let (done, refused) = (Vec::new(), Vec::new());
        let mut outcome = Self { tx, who, scene, input, verb, batch: id, done, refused, unknown: 0 };
        for DecidedItem { application_id, step_id: step, outcome: item, .. } in batch.items {
            match (application_id, item) {
                (None, _) => outcome.unknown += 1,
                (Some(application), ItemOutcome::Done) => outcome.done.push((application, step)),
                (Some(application), item) => {
                    let is_unsaved = matches!(item, ItemOutcome::Failed(_));
                    outcome.refused.push(RefusedItem { application, step, is_unsaved });
                }
            }
        }
        outcome
    }

    /// Answers a request for parts with the message and the changed parts, and any other request with a redirect or a
    /// page. The status is 409 if nothing was changed.
    pub(super) fn reply(self) -> Result<Reply, Error> {
        let visit = &self.input.board.visit;
        let texts = visit.texts_for(self.tx, self.who)?;
        let refusal = Refusal::Conflict("nothing was changed; the page says why");
        if visit.wants_parts {
            let parts = self.parts(texts)?;
            return if self.done.is_empty() {
                Reply::console_refusal(&refusal, &parts)
            } else {
                Reply::console(&parts)
            };
        }
        let back = self.scene.url(self.input.board.step.as_deref());
        let join = if back.contains('?') { '&' } else { '?' };
        match &self.done[..] {
            [(one, _)] if self.is_complete() => return Ok(Reply::see_other(&format!("{back}{join}done={one}"))),
            [_, ..] if self.is_complete() => {
                let batch = self.batch.as_ref().map_or_else(String::new, |batch| format!("&batch={batch}"));
                let name = if self.verb.is_undo() { "undone" } else { "decided" };
                return Ok(Reply::see_other(&format!("{back}{join}{name}={}{batch}", self.done.len())));
            }
            _ => {}
        }
        let words = DECIDING.of(texts);
        let title = if self.done.is_empty() { words.nothing_changed } else { words.partly_done };
        let frame = visit.frame(self.tx, self.who, Some(&self.scene.organization), NavItem::Roles, title.to_owned())?;
        let page = OutcomePage { frame, words, lines: self.lines(texts)?, back };
        if self.done.is_empty() { Reply::console_refusal(&refusal, &page) } else { Reply::console(&page) }
    }

    /// Returns the fields of the form that undoes the decision.
    fn undo_fields(&self) -> Vec<(&'static str, String)> {
        self.batch
            .as_ref()
            .map_or_else(Vec::new, |batch| vec![("act", "undo".to_owned()), ("batch", batch.to_string())])
    }

    fn is_complete(&self) -> bool {
        self.refused.is_empty() && self.unknown == 0
    }

    /// Returns the lines of the message: the outcome, and the reasons why candidates were not decided on, at most
    /// [`REFUSED_LINES_MAX`] of them one by one. After a decision on one candidate, a line says what the candidate
    /// sees.
    fn lines(&self, texts: &'static Texts) -> Result<Vec<String>, Error> {
        let words = DECIDING.of(texts);
        let organization = &self.scene.organization;
        let mut lines = match &self.done[..] {
            [] if self.is_complete() && self.verb.is_undo() => vec![words.cannot_undo_all.to_owned()],
            [] if self.is_complete() => vec![words.no_step.to_owned()],
            [] => Vec::new(),
            [(one, _)] => {
                let message = done::message(self.tx, self.who, organization, texts, Some(one), &self.scene.path())?;
                message.map_or_else(Vec::new, |message| message.lines)
            }
            many => {
                let counted = match self.verb {
                    Verb::Advanced => &words.advanced,
                    Verb::Moved => &words.moved,
                    Verb::Rejected => &words.rejected,
                    Verb::Undone => &words.undone,
                    Verb::PutAside => &LATER.of(texts).done_many,
                    Verb::UndoneLater => &LATER.of(texts).undone_many,
                };
                vec![texts.counted(counted, many.len())]
            }
        };
        for item in self.refused.iter().take(REFUSED_LINES_MAX) {
            lines.push(self.refused_line(texts, item)?);
        }
        let more = self.refused.len().saturating_sub(REFUSED_LINES_MAX);
        if more > 0 {
            lines.push(texts.counted(&words.more_refused, more));
        }
        if self.unknown > 0 {
            lines.push(texts.counted(&words.gone, self.unknown));
        }
        Ok(lines)
    }

    fn refused_line(&self, texts: &'static Texts, item: &RefusedItem) -> Result<String, Error> {
        let (words, organization) = (DECIDING.of(texts), &self.scene.organization);
        let application = store::application::find(self.tx, &organization.id, &item.application)?.ok_or(ABSENT)?;
        let steps = store::candidate_step::of_application(self.tx, &item.application)?;
        let here = current_step(application.record.status, &steps);
        let step = steps.iter().find(|step| Some(&step.id) == item.step.as_ref());
        let has_moved = here.map(|here| &here.id) != step.map(|step| &step.id);
        if !item.is_unsaved && (has_moved || self.verb == Verb::Undone) {
            return Ok(refused::what_happened(self.tx, texts, organization, &item.application)?.join(" "));
        }
        // The decision could not be saved, it is impossible at this step, or the later mark can no longer be undone.
        let candidate = store::candidate::find(self.tx, &organization.id, &application.candidate_id)?;
        let name = candidate.map(|candidate| candidate.name).unwrap_or_default();
        let text = match self.verb {
            _ if item.is_unsaved => words.not_saved,
            Verb::Advanced => words.last_step,
            Verb::UndoneLater => LATER.of(texts).cannot_undo,
            _ => words.not_possible,
        };
        Ok(fill(text, &[("name", &name), ("step", step.map_or("", |step| &step.name))]))
    }

    fn parts(&self, texts: &'static Texts) -> Result<OutcomeParts, Error> {
        let source = PartSource::new(self.tx, texts, self.scene)?;
        let done = self.done.iter().map(|(application, _)| application);
        let changed = done.chain(self.refused.iter().map(|item| &item.application));
        let parts = changed.map(|id| source.part(id)).collect::<Result<_, _>>()?;
        Ok(OutcomeParts {
            words: BOARD.of(texts),
            path: self.scene.path(),
            candidates: self.scene.candidates(),
            may_decide: true,
            parts,
            counts: source.counts()?,
            ended: Ended::new(texts, source.applications()),
            lines: self.lines(texts)?,
            deciding: DECIDING.of(texts),
            undo: self.undo_fields(),
            undone: self.done.first().map(|(application, _)| application.clone()),
            next: self.input.next.clone(),
        })
    }
}
