//! Puts the chosen candidates of a board aside until a day, and undoes this. Each application is checked by the rule of
//! the single act. A refusal does not stop the others.

use super::scene::Scene;
use crate::domain::candidate_step::{self, ApplicationStatus, StepFacts};
use crate::domain::due_day::DueDay;
use crate::domain::later::{self, LaterInput};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::visit::ABSENT;
use crate::http::pages::console::when;
use crate::http::server::ctx::Ctx;
use crate::store::decision_batch::{DecidedBatch, DecidedItem, ItemOutcome};
use crate::store::{self, Error, Tx};

/// Returns the day that a form names.
///
/// # Errors
/// `validation_error` for a missing or invalid day.
pub(super) fn due_day(tx: &Tx<'_>, scene: &Scene, input: Option<LaterInput>) -> Result<DueDay, Refusal> {
    let today = when::today(&scene.organization.time_zone, tx.now);
    let input = input.ok_or_else(|| Refusal::invalid("dueOn", "must be given, unless days is given"))?;
    later::put_aside(ApplicationStatus::InProgress, input, today)
}

/// Puts each chosen candidate aside until a day or, without a day, undoes the caller's last change to each mark. The
/// outcome has the form of a decision batch, but is not stored as one.
pub(super) fn decide(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    scene: &Scene,
    cards: &[String],
    day: Option<DueDay>,
) -> Result<DecidedBatch, Error> {
    let mut items = Vec::with_capacity(cards.len());
    for card in cards {
        let facts = scene.facts(tx, who, card)?;
        let outcome = match &facts {
            None => ItemOutcome::Refused(ABSENT, None),
            Some(facts) => match change(ctx, tx, who, facts, day) {
                Ok(()) => ItemOutcome::Done,
                Err(Error::Refused(refusal)) => ItemOutcome::Refused(refusal, None),
                Err(error) => return Err(error),
            },
        };
        items.push(DecidedItem {
            application_id: facts.as_ref().map(|facts| facts.application_id.clone()),
            step_id: facts.as_ref().map(|facts| facts.addressed_step().id.clone()),
            candidate_id: facts.map(|facts| facts.candidate_id),
            outcome,
        });
    }
    Ok(DecidedBatch { id: None, items })
}

fn change(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, facts: &StepFacts, day: Option<DueDay>) -> Result<(), Error> {
    let organization = &facts.organization_id;
    let application = store::application::find(tx, organization, &facts.application_id)?.ok_or(ABSENT)?;
    let due_on = if day.is_some() {
        let seen = Some(facts.addressed_step().id.as_str());
        candidate_step::require_as_seen(facts.application_status, &facts.steps, seen)?;
        day
    } else {
        let last = store::later::last_change(tx, organization, &application)?;
        later::undo(facts.application_status, last.as_ref(), &who.user_id, tx.now)?
    };
    store::later::save(tx, who, organization, &application, due_on, &store::activity::stamp(&*ctx.world))
}
