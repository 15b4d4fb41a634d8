//! Undoes a decision batch. A decision that something has followed is left as it is, and its outcome is a refusal.

use super::record::{self, Batch, BatchedDecision};
use super::{BatchOutcome, BatchRole, ItemOutcome, NO_ITEM, save, step_of};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::Action;
use crate::domain::candidate_step::StepFacts;
use crate::domain::decision_batch::{self, CHANGED_SINCE, Plan, RecordedDecision};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::store::{activity, candidate_step};
use crate::world::World;

/// The decision cannot be undone, because its activity row no longer has the state before it.
const NOT_RECORDED: Refusal = Refusal::Conflict("the state before this decision is no longer recorded");

/// Undoes each decision of the batch that nothing has followed: the rejection is reopened, the move is reversed, or the
/// application is no longer withdrawn. Check that the caller may manage the role before calling this function.
///
/// # Errors
/// `forbidden` for another user than the one who decided; `conflict` if the batch was undone, or after ten minutes.
pub fn undo(
    tx: &Tx<'_>,
    world: &dyn World,
    who: &Principal,
    role: BatchRole<'_>,
    batch: &Batch,
) -> Result<BatchOutcome, Error> {
    let outcome = run(tx, who, role, batch, |facts, plan| save(tx, who, role, facts, plan, &activity::stamp(world)))?;
    record::set_undone(tx, batch)?;
    Ok(outcome)
}

/// Does the same as [`undo`], but saves nothing.
///
/// # Errors
/// As [`undo`].
pub fn preview_undo(tx: &Tx<'_>, who: &Principal, role: BatchRole<'_>, batch: &Batch) -> Result<BatchOutcome, Error> {
    run(tx, who, role, batch, |_, _| Ok(()))
}

/// Plans how to undo each decision, and carries out each plan with `act`.
fn run(
    tx: &Tx<'_>,
    who: &Principal,
    role: BatchRole<'_>,
    batch: &Batch,
    mut act: impl FnMut(&StepFacts, &Plan) -> Result<(), Error>,
) -> Result<BatchOutcome, Error> {
    batch.facts.require_undoable(&who.user_id, tx.now)?;
    let mut items = Vec::new();
    for decision in record::decisions(tx, role, batch)? {
        let role = (role.organization_id, role.id);
        let facts = candidate_step::load_application_of_role(tx, who, role, &decision.application_id)?;
        // The role of an application never changes.
        let facts = facts.ok_or(NO_ITEM)?;
        let last = candidate_step::last_decision(tx, &facts)?;
        let is_last = last.as_ref().is_some_and(|last| last.number == decision.activity_number);
        // The rules refuse an erased candidate with a sentence of their own.
        let planned = if is_last || facts.is_erased { plan(tx, &facts, &decision)? } else { Err(CHANGED_SINCE) };
        items.push(match planned {
            Ok(plan) => {
                act(&facts, &plan)?;
                ItemOutcome::done(&facts, step_of(&facts, &plan))
            }
            Err(refusal) => ItemOutcome::refused(&facts, decision.step_id, refusal, last),
        });
    }
    Ok(BatchOutcome { batch: Some((batch.id.clone(), batch.facts.created_at)), items })
}

/// Plans how to undo the last decision on an application.
fn plan(tx: &Tx<'_>, facts: &StepFacts, decision: &BatchedDecision) -> Result<Result<Plan, Refusal>, Error> {
    let facts = match &decision.step_id {
        Some(step) => candidate_step::addressing(facts.clone(), step)?,
        None => facts.clone(),
    };
    let recorded = match decision.action {
        Action::Rejected => RecordedDecision::Rejected(candidate_step::rejections(tx, &facts)?),
        Action::Moved => match candidate_step::steps_before(&decision.detail) {
            Some(before) => RecordedDecision::Moved(before),
            None if facts.is_erased => RecordedDecision::Moved(Vec::new()),
            None => return Ok(Err(NOT_RECORDED)),
        },
        _ => RecordedDecision::Withdrawn,
    };
    Ok(decision_batch::plan_undo(facts, &recorded))
}
