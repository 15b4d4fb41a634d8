//! `POST /app/{orgSlug}/roles/{id}/decide`: one decision on the chosen candidates of a board. Each candidate is decided
//! on by the rule and the store function that the API calls. A refusal does not stop the decisions on the others.

use super::outcome::Outcome;
use super::{BoardInput, ask};
use crate::domain::activity::Action;
use crate::domain::candidate_step::{
    self, Decision, MoveInput, NOTES_CHARACTERS_MAX, OutcomeReason, RejectInput, StepFacts, ValidateInput,
};
use crate::domain::id::{CandidateStepId, Id, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::fields;
use crate::http::pages::console::visit::{ABSENT, Visit};
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::{self, Error, Tx};

/// The maximum number of candidates of one decision: more than fit on a screen. Other writes wait for the decision.
const CARDS_MAX: usize = 500;

/// The maximum length of the id of an element of the page.
const ELEMENT_CHARACTERS_MAX: usize = 70;

/// A sent form.
pub(super) struct DecideInput {
    pub(super) board: BoardInput,
    /// The candidate steps that the board showed as current.
    pub(super) cards: Vec<String>,
    wanted: Option<Wanted>,
    /// The id of the element that gets the focus afterwards.
    pub(super) next: Option<String>,
    /// The refusal of the other fields. It is answered after the caller's access has been checked.
    fault: Option<Refusal>,
}

enum Wanted {
    Decision(BoardDecision),
    /// A page that asks for the details of a decision.
    Question(ask::Question),
}

/// A decision with its input.
pub(super) enum BoardDecision {
    Advance(ValidateInput),
    Move(RoleStepId, MoveInput),
    Reject(RejectInput),
    /// Undoes the caller's last decision.
    Undo,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field other than `card` is repeated;
/// `not_found` if the path has no valid id.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<DecideInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let cards: Vec<String> = form.texts("card").map(str::to_owned).collect();
    let mut fields = fields::read_except(request, "card")?;
    let board = BoardInput::of_form(request, fields.string("view"))?;
    let next = fields.text("next", ELEMENT_CHARACTERS_MAX);
    let wanted = wanted(&mut fields);
    if cards.len() > CARDS_MAX {
        fields.fault::<()>("card", format!("must be given at most {CARDS_MAX} times"));
    }
    Ok(DecideInput { board, cards, wanted, next, fault: fields.valid().err() })
}

fn wanted(fields: &mut BodyFields) -> Option<Wanted> {
    if let Some(step) = fields.string("to") {
        let step = RoleStepId::parse(&step).or_else(|| fields.fault("to", "must be the id of a step"))?;
        let input = MoveInput { reason: fields.lines("reason", NOTES_CHARACTERS_MAX) };
        return Some(Wanted::Decision(BoardDecision::Move(step, input)));
    }
    match fields.string("act").as_deref() {
        Some("advance") => Some(Wanted::Decision(BoardDecision::Advance(ValidateInput::default()))),
        Some("reject") => {
            let reason = fields.word("reason", OutcomeReason::WORDS, OutcomeReason::parse);
            Some(Wanted::Decision(BoardDecision::Reject(RejectInput {
                outcome_notes: fields.lines("notes", NOTES_CHARACTERS_MAX),
                outcome_type: reason.map(|reason| reason.outcome_type().as_str().to_owned()),
                outcome_reason: reason.map(|reason| reason.as_str().to_owned()),
            })))
        }
        Some("undo") => Some(Wanted::Decision(BoardDecision::Undo)),
        Some("ask-move") => Some(Wanted::Question(ask::Question::Move)),
        Some("ask-reject") => Some(Wanted::Question(ask::Question::Reject)),
        _ => fields.fault("act", "must be advance, reject, undo, ask-move or ask-reject"),
    }
}

/// `POST …/decide`: decides on each chosen candidate, or asks for the details of a decision.
///
/// # Errors
/// `not_found` if the role does not exist in the organization, or the caller may not see it; `forbidden` for a plain
/// member; `validation_error` for an unknown act or an invalid field; as a page, `conflict` if a candidate was not
/// decided on, and `validation_error` if no candidate was chosen.
pub(super) fn decide(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &DecideInput) -> Result<Reply, Error> {
    let scene = input.board.load(tx, who)?;
    scene.organization.caller.require_manager()?;
    if let Some(fault) = &input.fault {
        return Err(fault.clone().into());
    }
    if input.cards.is_empty() {
        return super::choose_first(ctx, tx, who, &input.board);
    }
    let decision = match &input.wanted {
        Some(Wanted::Decision(decision)) => decision,
        Some(Wanted::Question(question)) => return ask::reply(tx, who, &scene, input, *question),
        None => return Err(ABSENT.into()),
    };
    let mut outcome = Outcome::new(tx, who, &scene, input, decision);
    for card in &input.cards {
        let Some(facts) = load(tx, who, &scene, card)? else {
            outcome.unknown += 1;
            continue;
        };
        match plan(tx, who, &facts, decision) {
            Ok((action, facts, decision)) => {
                let stamp = store::activity::stamp(&*ctx.world);
                store::candidate_step::save(tx, who, action, &facts, &decision, &stamp)?;
                outcome.done.push(facts);
            }
            Err(Error::Refused(_)) => outcome.refused.push(facts),
            Err(error) => return Err(error),
        }
    }
    outcome.reply()
}

/// Loads the facts about a step of an application to the role.
fn load(tx: &Tx<'_>, who: &Principal, scene: &super::Scene, card: &str) -> Result<Option<StepFacts>, Error> {
    let Some(step) = CandidateStepId::parse(card) else { return Ok(None) };
    let facts = store::candidate_step::load(tx, who, &step)?;
    Ok(facts.filter(|facts| facts.organization_id == scene.organization.id && facts.role_id == scene.role.id))
}

/// Applies the rule of a decision. `facts` address the step that the board showed as current.
///
/// # Errors
/// `conflict` if somebody has changed the application since, or its state does not allow the decision; `forbidden` for
/// the undo of another person's decision.
fn plan(
    tx: &Tx<'_>,
    who: &Principal,
    facts: &StepFacts,
    decision: &BoardDecision,
) -> Result<(Action, StepFacts, Decision), Error> {
    let (now, seen) = (tx.now, Some(facts.addressed_step().id.as_str()));
    if !matches!(decision, BoardDecision::Undo) {
        candidate_step::require_as_seen(facts.application_status, &facts.steps, seen)?;
    }
    match decision {
        BoardDecision::Undo => {
            let acts = store::candidate_step::recent_acts(tx, facts)?;
            Ok((Action::Undone, facts.clone(), candidate_step::undo(facts, &acts, &who.user_id, now)?))
        }
        BoardDecision::Advance(input) => {
            Ok((Action::Validated, facts.clone(), candidate_step::validate(facts, input, now)?))
        }
        BoardDecision::Reject(input) => {
            Ok((Action::Rejected, facts.clone(), candidate_step::reject(facts, input, now)?))
        }
        BoardDecision::Move(to, input) => {
            let addressed = facts.steps.iter().position(|step| step.role_step_id == *to);
            let addressed = addressed.ok_or(Refusal::Conflict("the application does not have this step"))?;
            let facts = StepFacts { addressed, ..facts.clone() };
            let decision = candidate_step::move_to(&facts, input, now)?;
            Ok((Action::Moved, facts, decision))
        }
    }
}

impl BoardInput {
    /// # Errors
    /// `not_found` if the path has no valid id; `validation_error` if `lang` is repeated.
    fn of_form(request: &Request, view: Option<String>) -> Result<Self, Error> {
        let role = crate::http::pages::console::visit::id(request, "id")?;
        Ok(Self { visit: Visit::decode(request)?, role, step: view, done: None, decided: None })
    }
}
