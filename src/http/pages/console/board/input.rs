//! The form of a decision on the chosen candidates of a board.

use super::scene::BoardInput;
use crate::domain::candidate_step::{MoveInput, NOTES_CHARACTERS_MAX, OutcomeReason, RejectInput, ValidateInput};
use crate::domain::decision_batch::{BatchDecision, ITEMS_MAX};
use crate::domain::id::{DecisionBatchId, Id, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::http::pages::console::decision::later;
use crate::http::pages::console::fields;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::request::Request;
use crate::store::Error;

/// The details that a form asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Move,
    Reject,
    Later,
    /// All decisions on one candidate.
    All,
}

/// The maximum length of the id of an element of the page.
const ELEMENT_CHARACTERS_MAX: usize = 70;

/// A submitted form.
pub(super) struct DecideInput {
    pub(super) board: BoardInput,
    /// The candidate steps that the board showed as current.
    pub(super) cards: Vec<String>,
    pub(super) wanted: Option<Wanted>,
    /// The id of the element that gets the focus afterwards.
    pub(super) next: Option<String>,
    /// The refusal of an invalid field. The handler checks the access of the caller before it returns this refusal.
    pub(super) fault: Option<Refusal>,
}

pub(super) enum Wanted {
    Decision(BatchDecision),
    /// Undoes the decisions of this batch.
    Undo(DecisionBatchId),
    /// Asks for the day again, because a form that puts the candidates aside has no valid day.
    LaterWithoutDay,
    /// Asks for the details of a decision.
    Question(Question),
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
    if cards.len() > ITEMS_MAX {
        fields.fault::<()>("card", format!("must be given at most {ITEMS_MAX} times"));
    }
    Ok(DecideInput { board, cards, wanted, next, fault: fields.valid().err() })
}

fn wanted(fields: &mut BodyFields) -> Option<Wanted> {
    if let Some(step) = fields.string("to") {
        let step = RoleStepId::parse(&step).or_else(|| fields.fault("to", "must be the id of a step"))?;
        let input = MoveInput { reason: fields.lines("reason", NOTES_CHARACTERS_MAX) };
        return Some(Wanted::Decision(BatchDecision::Move(step, input)));
    }
    match fields.string("act").as_deref() {
        Some("advance") => Some(Wanted::Decision(BatchDecision::Validate(ValidateInput::default()))),
        Some("reject") => {
            let reason = fields.word("reason", OutcomeReason::WORDS, OutcomeReason::parse);
            Some(Wanted::Decision(BatchDecision::Reject(RejectInput {
                outcome_notes: fields.lines("notes", NOTES_CHARACTERS_MAX),
                outcome_type: reason.map(|reason| reason.outcome_type().as_str().to_owned()),
                outcome_reason: reason.map(|reason| reason.as_str().to_owned()),
            })))
        }
        Some("undo") => {
            let batch = fields.string("batch").as_deref().and_then(DecisionBatchId::parse);
            batch.or_else(|| fields.fault("batch", "must be the id of a decision batch")).map(Wanted::Undo)
        }
        Some("ask-move") => Some(Wanted::Question(Question::Move)),
        Some("later") => Some(match later::day_field(fields) {
            Some(day) => Wanted::Decision(BatchDecision::Later(day)),
            None => Wanted::LaterWithoutDay,
        }),
        Some("ask-reject") => Some(Wanted::Question(Question::Reject)),
        Some("ask-later") => Some(Wanted::Question(Question::Later)),
        _ => fields.fault("act", "must be advance, reject, later, undo, ask-move, ask-reject or ask-later"),
    }
}
