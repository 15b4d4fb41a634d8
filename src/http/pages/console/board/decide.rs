//! `POST /app/{orgSlug}/roles/{id}/decide`: makes one decision on the chosen candidates of a board, or undoes it. The
//! decision is a batch, as in the API (`store::decision_batch`). If the service refuses the decision on one candidate,
//! the decisions on the others still take effect.

use super::input::{DecideInput, Wanted};
use super::outcome::{Outcome, Verb};
use super::scene::Scene;
use super::{ask, page};
use crate::domain::decision_batch::{BatchAction, BatchDecision};
use crate::domain::id::DecisionBatchId;
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::decision_batch::log_failures;
use crate::http::pages::console::visit::ABSENT;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::decision_batch::{self, BatchItem, DecidedBatch};
use crate::store::{Error, Tx};

/// `POST …/decide`: decides on each chosen candidate, undoes a batch, or asks for the details of a decision.
///
/// The function returns some refusals as replies that the browser shows: `conflict` if the service decided on no
/// candidate; `validation_error` if the form chose no candidate, or if its due day is missing or invalid.
///
/// # Errors
/// `not_found` if the role does not exist in the organization, or the caller may not see it; `forbidden` for a plain
/// member; `validation_error` for an unknown act or an invalid field.
pub(super) fn decide(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &DecideInput) -> Result<Reply, Error> {
    let scene = input.board.load(tx, who)?;
    scene.organization.caller.require_manager()?;
    if let Some(fault) = &input.fault {
        return Err(fault.clone().into());
    }
    let (verb, decided) = match &input.wanted {
        Some(Wanted::Undo(id)) => undo(ctx, tx, who, &scene, id)?,
        _ if input.cards.is_empty() => return page::choose_first(ctx, tx, who, &input.board),
        Some(Wanted::LaterWithoutDay) => {
            let refusal = Refusal::invalid("dueOn", "must be given, unless days is given");
            return ask::refused_day(tx, who, &scene, input, &refusal);
        }
        Some(Wanted::Decision(decision)) => {
            (Verb::of(decision), decide_on(ctx, tx, who, &scene, decision, &input.cards))
        }
        Some(Wanted::Question(question)) => return ask::reply(tx, who, &scene, input, *question),
        None => return Err(ABSENT.into()),
    };
    match decided {
        Ok(batch) => {
            log_failures(ctx, &batch);
            Outcome::new(tx, who, &scene, input, verb, batch).reply()
        }
        Err(Error::Refused(refusal)) if verb == Verb::PutAside => ask::refused_day(tx, who, &scene, input, &refusal),
        // The whole batch was refused, so nothing was changed.
        Err(Error::Refused(_)) => {
            Outcome::new(tx, who, &scene, input, verb, DecidedBatch { id: None, items: Vec::new() }).reply()
        }
        Err(error) => Err(error),
    }
}

fn decide_on(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    scene: &Scene,
    decision: &BatchDecision,
    cards: &[String],
) -> Result<DecidedBatch, Error> {
    let items: Vec<BatchItem> = cards.iter().cloned().map(BatchItem::Step).collect();
    decision_batch::decide(tx, &*ctx.world, who, scene.batch_role(), decision, &items)
}

/// Undoes a batch. Returns the verb for the message and the result of the undo.
fn undo(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    scene: &Scene,
    id: &DecisionBatchId,
) -> Result<(Verb, Result<DecidedBatch, Error>), Error> {
    let Some(batch) = decision_batch::find(tx, scene.batch_role(), id)? else {
        return Ok((Verb::Undone, Err(ABSENT.into())));
    };
    let verb = if batch.action == BatchAction::Later { Verb::UndoneLater } else { Verb::Undone };
    Ok((verb, decision_batch::undo(tx, &*ctx.world, who, scene.batch_role(), &batch)))
}
