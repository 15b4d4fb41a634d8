//! The forms that ask for the details of a decision on chosen candidates: the step to which they move, the reason for a
//! rejection, or the day until which they are put aside. The forms are dialogs over the board. Without JavaScript, they
//! are pages of their own.

use askama::Template;

use super::input::{DecideInput, Question};
use super::scene::{BoardInput, Scene};
use crate::domain::candidate_step::{NOTES_CHARACTERS_MAX, StepFacts};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::decision::panel::{LaterPanel, ReasonOption, reasons};
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::console::visit::{self, ABSENT, Visit};
use crate::http::pages::console::when;
use crate::http::pages::texts::console::deciding::{DECIDING, DecidingTexts};
use crate::http::pages::texts::console::decision::{DECISION, DecisionTexts};
use crate::http::pages::texts::console::frame::FRAME;
use crate::http::pages::texts::console::later::LATER;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::{self, Error, Tx, board};

#[derive(Template)]
#[template(path = "console/board/ask_page.html", config = "src/http/pages/templates/askama.toml")]
struct AskPage {
    frame: ConsoleFrame,
    form: AskForm,
}

#[derive(Template)]
#[template(path = "console/board/ask_part.html", config = "src/http/pages/templates/askama.toml")]
struct AskPart {
    title: String,
    close: &'static str,
    form: AskForm,
}

/// The forms. `templates/console/board/ask_form.html` renders them.
struct AskForm {
    words: &'static DecidingTexts,
    decision_words: &'static DecisionTexts,
    /// The path to which the browser submits the forms.
    action: String,
    cards: Vec<String>,
    view: Option<String>,
    next: Option<String>,
    notes_max: usize,
    may_advance: bool,
    /// The URL of the page on which staff hire the candidate.
    hire_url: Option<String>,
    steps: Vec<StepOption>,
    /// The reasons for a rejection; empty if the form does not ask for one.
    reasons: Vec<ReasonOption>,
    /// The choice of the day until which candidates are put aside; `None` if the form does not ask for a day.
    later: Option<LaterPanel>,
    /// The reason why the day was refused.
    fault: Option<&'static str>,
    /// Whether the digit keys choose a step, a reason or a day.
    has_keys: bool,
}

struct StepOption {
    key: usize,
    id: String,
    name: String,
}

/// A request for the menu of all decisions on one candidate.
pub(super) struct MenuInput {
    board: BoardInput,
    card: String,
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if a parameter is repeated.
pub(super) fn decode_menu(_: &Ctx, request: &Request) -> Result<MenuInput, Error> {
    let board = BoardInput {
        visit: Visit::decode(request)?,
        role: visit::id(request, "id")?,
        step: request.query("view")?,
        done: None,
        decided: None,
    };
    Ok(MenuInput { board, card: request.query("card")?.unwrap_or_default() })
}

/// `GET …/decide`: shows all decisions that are possible for one candidate on the board.
///
/// # Errors
/// `not_found` if the role does not exist in the organization, the caller may not see it, or it has no such candidate;
/// `forbidden` for a plain member.
pub(super) fn menu(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &MenuInput) -> Result<Reply, Error> {
    let scene = input.board.load(tx, who)?;
    let facts = scene.facts(tx, who, &input.card)?.ok_or(ABSENT)?;
    scene.organization.caller.require_manager()?;
    let asked = Asked {
        scene: &scene,
        board: &input.board,
        cards: std::slice::from_ref(&input.card),
        next: None,
        refusal: None,
    };
    asked.reply(tx, who, Question::All, Some(&facts))
}

/// Asks for the details of a decision.
///
/// # Errors
/// [`Error::Defect`] if the page cannot be rendered.
pub(super) fn reply(
    tx: &Tx<'_>,
    who: &Principal,
    scene: &Scene,
    input: &DecideInput,
    question: Question,
) -> Result<Reply, Error> {
    let only = match &input.cards[..] {
        [card] => scene.facts(tx, who, card)?,
        _ => None,
    };
    let asked = Asked { scene, board: &input.board, cards: &input.cards, next: input.next.clone(), refusal: None };
    asked.reply(tx, who, question, only.as_ref())
}

/// Asks for the day again, because it was refused.
///
/// # Errors
/// [`Error::Defect`] if the page cannot be rendered.
pub(super) fn refused_day(
    tx: &Tx<'_>,
    who: &Principal,
    scene: &Scene,
    input: &DecideInput,
    refusal: &Refusal,
) -> Result<Reply, Error> {
    let only = match &input.cards[..] {
        [card] => scene.facts(tx, who, card)?,
        _ => None,
    };
    let refusal = Some(refusal);
    let asked = Asked { scene, board: &input.board, cards: &input.cards, next: input.next.clone(), refusal };
    asked.reply(tx, who, Question::Later, only.as_ref())
}

struct Asked<'a> {
    scene: &'a Scene,
    board: &'a BoardInput,
    cards: &'a [String],
    next: Option<String>,
    /// The reason why the day was refused.
    refusal: Option<&'a Refusal>,
}

impl Asked<'_> {
    /// `only` holds the facts about the candidate, if the form is about one candidate.
    fn reply(self, tx: &Tx<'_>, who: &Principal, question: Question, only: Option<&StepFacts>) -> Result<Reply, Error> {
        let texts = self.board.visit.texts_for(tx, who)?;
        let title = self.title(tx, texts, question, only)?;
        let form = self.form(tx, texts, question, only)?;
        if self.board.visit.wants_parts {
            return self.answer(&AskPart { title, close: FRAME.of(texts).close, form });
        }
        let frame = self.board.visit.frame(tx, who, Some(&self.scene.organization), NavItem::Roles, title)?;
        self.answer(&AskPage { frame, form })
    }

    fn answer(&self, page: &impl Template) -> Result<Reply, Error> {
        match self.refusal {
            Some(refusal) => Reply::console_refusal(refusal, page),
            None => Reply::console(page),
        }
    }

    fn title(
        &self,
        tx: &Tx<'_>,
        texts: &'static Texts,
        question: Question,
        only: Option<&StepFacts>,
    ) -> Result<String, Error> {
        let words = DECIDING.of(texts);
        let (one, many) = match question {
            Question::Move => (words.move_one, &words.move_many),
            Question::Reject => (words.reject_one, &words.reject_many),
            Question::Later => (LATER.of(texts).aside_one, &LATER.of(texts).aside_many),
            Question::All => (words.decide_one, &words.move_many),
        };
        let candidate = match only {
            Some(facts) => store::candidate::find(tx, &facts.organization_id, &facts.candidate_id)?,
            None => None,
        };
        Ok(match candidate {
            Some(candidate) => fill(one, &[("name", &candidate.name)]),
            None => texts.counted(many, self.cards.len()),
        })
    }

    fn form(
        &self,
        tx: &Tx<'_>,
        texts: &'static Texts,
        question: Question,
        only: Option<&StepFacts>,
    ) -> Result<AskForm, Error> {
        let (organization, role) = (&self.scene.organization, &self.scene.role);
        let here = only.map(|facts| &facts.addressed_step().role_step_id);
        let steps = board::steps(tx, &organization.id, &role.id)?.into_iter();
        let asks = |one| question == one || question == Question::All;
        let steps = steps.filter(|step| step.order.is_some() && Some(&step.id) != here && asks(Question::Move));
        let steps = steps.zip(1..).map(|(step, key)| StepOption { key, id: step.id.into(), name: step.name });
        let today = when::today(&organization.time_zone, tx.now);
        let is_menu = question == Question::All;
        let hire_url = only.filter(|_| is_menu).map(|facts| self.scene.hire_url(&facts.application_id));
        Ok(AskForm {
            words: DECIDING.of(texts),
            decision_words: DECISION.of(texts),
            action: format!("{}/decide", self.scene.path()),
            cards: self.cards.to_vec(),
            view: self.board.step.clone(),
            next: self.next.clone(),
            notes_max: NOTES_CHARACTERS_MAX,
            may_advance: is_menu && only.is_some_and(|facts| facts.addressed + 1 < facts.steps.len()),
            hire_url,
            steps: steps.collect(),
            reasons: if asks(Question::Reject) { reasons(DECISION.of(texts)) } else { Vec::new() },
            later: asks(Question::Later).then(|| LaterPanel::new(texts, today, None)),
            fault: self.refusal.map(|_| LATER.of(texts).wrong_day),
            has_keys: !is_menu,
        })
    }
}
