//! The answer to a decision on a board: the message, and the parts of the board that have changed. Without JavaScript, it
//! leads back to the board, or it is a page that says who was not decided on.

use askama::Template;

use super::input::{BoardDecision, DecideInput};
use super::part::{Part, PartSource, StepCount};
use super::scene::Scene;
use crate::domain::candidate_step::{StepFacts, current_step};
use crate::domain::id::ApplicationId;
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::decision::{done, refused};
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::texts::console::board::{BOARD, BoardTexts};
use crate::http::pages::texts::console::deciding::{DECIDING, DecidingTexts};
use crate::http::pages::texts::console::later::LATER;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::reply::Reply;
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
    lines: Vec<String>,
    deciding: &'static DecidingTexts,
    /// The candidate steps whose decision can be undone, and the card that gets the focus then.
    undo: Vec<String>,
    /// The act that undoes it.
    undo_act: &'static str,
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

/// The candidates of a decision, by outcome.
pub(super) struct Outcome<'a> {
    tx: &'a Tx<'a>,
    who: &'a Principal,
    scene: &'a Scene,
    input: &'a DecideInput,
    decision: &'a BoardDecision,
    pub(super) done: Vec<StepFacts>,
    pub(super) refused: Vec<StepFacts>,
    /// The number of steps that the form named and that the role does not have.
    pub(super) unknown: usize,
}

impl<'a> Outcome<'a> {
    pub(super) fn new(
        tx: &'a Tx<'a>,
        who: &'a Principal,
        scene: &'a Scene,
        input: &'a DecideInput,
        decision: &'a BoardDecision,
    ) -> Self {
        Self { tx, who, scene, input, decision, done: Vec::new(), refused: Vec::new(), unknown: 0 }
    }

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
            [one] if self.is_complete() => {
                return Ok(Reply::see_other(&format!("{back}{join}done={}", one.application_id)));
            }
            [_, ..] if self.is_complete() => {
                return Ok(Reply::see_other(&format!("{back}{join}decided={}", self.done.len())));
            }
            _ => {}
        }
        let words = DECIDING.of(texts);
        let title = if self.done.is_empty() { words.nothing_changed } else { words.partly_done };
        let frame = visit.frame(self.tx, self.who, Some(&self.scene.organization), NavItem::Roles, title.to_owned())?;
        let page = OutcomePage { frame, words, lines: self.lines(texts)?, back };
        if self.done.is_empty() { Reply::console_refusal(&refusal, &page) } else { Reply::console(&page) }
    }

    /// Returns a step of each application whose decision can be undone.
    fn undoable(&self) -> Vec<String> {
        match self.decision {
            BoardDecision::Undo | BoardDecision::UndoLater => Vec::new(),
            _ => self.done.iter().map(|facts| facts.addressed_step().id.to_string()).collect(),
        }
    }

    fn is_complete(&self) -> bool {
        self.refused.is_empty() && self.unknown == 0
    }

    /// Returns the message: what happened and what the candidate sees, and who was not decided on and why.
    fn lines(&self, texts: &'static Texts) -> Result<Vec<String>, Error> {
        let words = DECIDING.of(texts);
        let organization = &self.scene.organization;
        let mut lines = match &self.done[..] {
            [] => Vec::new(),
            [one] => {
                let id = Some(&one.application_id);
                let message = done::message(self.tx, self.who, organization, texts, id, &self.scene.path())?;
                message.map_or_else(Vec::new, |message| message.lines)
            }
            many => {
                let counted = match self.decision {
                    BoardDecision::Advance(_) => &words.advanced,
                    BoardDecision::Move(..) => &words.moved,
                    BoardDecision::Reject(_) => &words.rejected,
                    BoardDecision::Undo => &words.undone,
                    BoardDecision::Later(_) => &LATER.of(texts).done_many,
                    BoardDecision::UndoLater => &LATER.of(texts).undone_many,
                };
                vec![texts.counted(counted, many.len())]
            }
        };
        for facts in self.refused.iter().take(REFUSED_LINES_MAX) {
            lines.push(self.refused_line(texts, facts)?);
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

    fn refused_line(&self, texts: &'static Texts, facts: &StepFacts) -> Result<String, Error> {
        let words = DECIDING.of(texts);
        let here = current_step(facts.application_status, &facts.steps);
        let organization = &self.scene.organization;
        if here.is_none_or(|here| here.id != facts.addressed_step().id) {
            return Ok(refused::what_happened(self.tx, texts, organization, &facts.application_id)?.join(" "));
        }
        // Nobody has changed the application, so the decision is impossible at this step.
        let candidate = store::candidate::find(self.tx, &organization.id, &facts.candidate_id)?;
        let name = candidate.map(|candidate| candidate.name).unwrap_or_default();
        let text = match self.decision {
            BoardDecision::Advance(_) => words.last_step,
            BoardDecision::Undo => words.cannot_undo,
            BoardDecision::UndoLater => LATER.of(texts).cannot_undo,
            _ => words.cannot_move,
        };
        Ok(fill(text, &[("name", &name), ("step", &facts.addressed_step().name)]))
    }

    fn parts(&self, texts: &'static Texts) -> Result<OutcomeParts, Error> {
        let source = PartSource::new(self.tx, texts, self.scene)?;
        let changed = self.done.iter().chain(&self.refused);
        let parts = changed.map(|facts| source.part(&facts.application_id)).collect::<Result<_, _>>()?;
        Ok(OutcomeParts {
            words: BOARD.of(texts),
            path: self.scene.path(),
            candidates: self.scene.candidates(),
            may_decide: true,
            parts,
            counts: source.counts()?,
            lines: self.lines(texts)?,
            deciding: DECIDING.of(texts),
            undo: self.undoable(),
            undo_act: if matches!(self.decision, BoardDecision::Later(_)) { "undo-later" } else { "undo" },
            undone: self.done.first().map(|facts| facts.application_id.clone()),
            next: self.input.next.clone(),
        })
    }
}
