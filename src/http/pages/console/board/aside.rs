//! Puts the chosen candidates of a board aside until a day, and undoes this. Each application is checked by the rule of
//! the single act. A refusal does not stop the others.

use super::input::{BoardDecision, DecideInput};
use super::outcome::Outcome;
use super::scene::Scene;
use crate::domain::candidate_step::{self, ApplicationStatus, StepFacts};
use crate::domain::due_day::DueDay;
use crate::domain::later::{self, LaterInput};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::visit::ABSENT;
use crate::http::pages::console::when;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
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

/// Puts each chosen candidate aside until a day or, without a day, undoes the caller's last change to each mark.
///
/// # Errors
/// As a page, `conflict` if no mark was changed.
pub(super) fn decide(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    scene: &Scene,
    input: &DecideInput,
    decision: &BoardDecision,
    day: Option<DueDay>,
) -> Result<Reply, Error> {
    let mut outcome = Outcome::new(tx, who, scene, input, decision);
    for card in &input.cards {
        let Some(facts) = scene.facts(tx, who, card)? else {
            outcome.unknown += 1;
            continue;
        };
        match change(ctx, tx, who, &facts, day) {
            Ok(()) => outcome.done.push(facts),
            Err(Error::Refused(_)) => outcome.refused.push(facts),
            Err(error) => return Err(error),
        }
    }
    outcome.reply()
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
