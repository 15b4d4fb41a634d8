//! `POST /app/{orgSlug}/roles/{id}/decide`: one decision on the chosen candidates of a board. Each candidate is decided
//! on by the rule and the store function that the API calls. A refusal does not stop the decisions on the others.

use super::input::{BoardDecision, DecideInput, Wanted};
use super::outcome::Outcome;
use super::{aside, ask, page};
use crate::domain::activity::Action;
use crate::domain::candidate_step::{self, Decision, StepFacts};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::visit::ABSENT;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::{self, Error, Tx};

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
        return page::choose_first(ctx, tx, who, &input.board);
    }
    let decision = match &input.wanted {
        Some(Wanted::Decision(decision @ BoardDecision::Later(day))) => {
            return match aside::due_day(tx, &scene, *day) {
                Ok(day) => aside::decide(ctx, tx, who, &scene, input, decision, Some(day)),
                Err(refusal) => ask::refused_day(tx, who, &scene, input, &refusal),
            };
        }
        Some(Wanted::Decision(decision @ BoardDecision::UndoLater)) => {
            return aside::decide(ctx, tx, who, &scene, input, decision, None);
        }
        Some(Wanted::Decision(decision)) => decision,
        Some(Wanted::Question(question)) => return ask::reply(tx, who, &scene, input, *question),
        None => return Err(ABSENT.into()),
    };
    let mut outcome = Outcome::new(tx, who, &scene, input, decision);
    for card in &input.cards {
        let Some(facts) = scene.facts(tx, who, card)? else {
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
        BoardDecision::Later(_) | BoardDecision::UndoLater => {
            Err(Error::Defect("a later mark is not a decision at a step".to_owned()))
        }
    }
}
