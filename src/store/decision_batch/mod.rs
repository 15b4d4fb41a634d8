//! Decision batches: the same decision on several applications to a role, in one transaction. The service decides on
//! each application separately. It applies the same rule, appends the same activity row and changes the same counts as
//! for a single decision. A refusal for one application does not stop the decisions on the others.
//!
//! `record` stores the batches, and `undo` undoes them.

pub(super) mod record;

use std::collections::HashSet;

use self::record::NewBatch;
use super::candidate_step::LastDecision;
use super::{activity, application, candidate_step, later, organization};
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::Stamp;
use crate::domain::candidate_step::StepFacts;
use crate::domain::decision_batch::{self, BatchAction, BatchDecision, NAMED_TWICE, NamedBy, Plan, PlannedChange};
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, DecisionBatchId, Id, RoleStepId};
use crate::domain::later::due_day;
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::world::World;
pub use record::{Batch, BatchRole, find, size};

/// The item names no application or step of the role. An item of another organization or of an erased candidate gets
/// the same refusal.
const NO_ITEM: Refusal = Refusal::NotFound("the role has no such application or step");

/// The step to which a batch would move candidates does not exist, or is not a step of the role.
pub const NO_ROLE_STEP: Refusal = Refusal::NotFound("the role has no such step");

/// An item of a batch, as the caller names it. A text that cannot be an id names no application or step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchItem {
    Application(String),
    /// A candidate step, which must be the candidate's current step.
    Step(String),
}

/// An item and its outcome.
#[derive(Debug)]
pub struct DecidedItem {
    pub application_id: Option<ApplicationId>,
    /// The step that was decided on. After a refusal or a failure of a decision, the step that the caller named: `None`
    /// if the caller named an application, or if the role has no such application or step. After a refusal or a failure
    /// of an undo, the step of the original decision.
    pub step_id: Option<CandidateStepId>,
    pub candidate_id: Option<CandidateId>,
    pub outcome: ItemOutcome,
}

/// The outcome of an item.
#[derive(Debug)]
pub enum ItemOutcome {
    Done,
    /// A rule refuses the decision, the role has no such item, or the request names the application twice. The last
    /// decision on the application is often the reason why a rule refuses.
    Refused(Refusal, Option<LastDecision>),
    /// The decision could not be saved, because the database contradicts itself or the program has a defect. The other
    /// items are not affected. The text is for the log.
    Failed(String),
}

/// A batch that was carried out, undone or previewed.
#[derive(Debug)]
pub struct DecidedBatch {
    /// The id of the stored batch. `None` if no batch was stored.
    pub id: Option<DecisionBatchId>,
    /// The items, in the order of the request.
    pub items: Vec<DecidedItem>,
}

/// Decides on each item, and stores the batch if a decision was made. Check that the caller may manage the role before
/// calling this function. If an item is refused or cannot be saved, its outcome says so, and the other items are not
/// affected.
///
/// # Errors
/// `not_found` if the decision is a move to a step that the role does not have; `validation_error` if the decision puts
/// applications aside until a day that is not after today, or that is more than 365 days away.
pub fn decide(
    tx: &Tx<'_>,
    world: &dyn World,
    who: &Principal,
    role: BatchRole<'_>,
    decision: &BatchDecision,
    items: &[BatchItem],
) -> Result<DecidedBatch, Error> {
    let mut activity_numbers = Vec::new();
    let items = run(tx, world, who, role, decision, items, |plan| {
        if save(tx, who, plan, &activity::stamp(world))? {
            activity_numbers.push(activity::head(tx)?.number);
        }
        Ok(())
    })?;
    if activity_numbers.is_empty() {
        return Ok(DecidedBatch { id: None, items });
    }
    let new = NewBatch { id: world.id(), action: decision.action(), activity_numbers };
    record::insert(tx, who, role, &new)?;
    Ok(DecidedBatch { id: Some(new.id), items })
}

/// Undoes each decision of the batch that is still the last decision on its application. For a batch that put
/// applications aside, changes to later marks count as decisions. Check that the caller may manage the role before
/// calling this function.
///
/// # Errors
/// `conflict` if the batch was already undone, or is at least 10 minutes old; `forbidden` for any user except the one
/// who decided.
pub fn undo(
    tx: &Tx<'_>,
    world: &dyn World,
    who: &Principal,
    role: BatchRole<'_>,
    batch: &Batch,
) -> Result<DecidedBatch, Error> {
    let items =
        run_undo(tx, who, role, batch, |plan| save(tx, who, plan, &activity::stamp(world)).map(|_is_changed| ()))?;
    record::set_undone(tx, batch)?;
    Ok(DecidedBatch { id: Some(batch.id.clone()), items })
}

/// Does the same as [`undo`], but saves nothing.
///
/// # Errors
/// The errors of [`undo`].
pub fn preview_undo(tx: &Tx<'_>, who: &Principal, role: BatchRole<'_>, batch: &Batch) -> Result<DecidedBatch, Error> {
    Ok(DecidedBatch { id: Some(batch.id.clone()), items: run_undo(tx, who, role, batch, |_| Ok(()))? })
}

/// Plans how to undo each decision of a batch, and carries out each plan with `act`.
fn run_undo(
    tx: &Tx<'_>,
    who: &Principal,
    role: BatchRole<'_>,
    batch: &Batch,
    mut act: impl FnMut(&Plan) -> Result<(), Error>,
) -> Result<Vec<DecidedItem>, Error> {
    batch.facts.require_undoable(&who.user_id, tx.now)?;
    let mut items = Vec::new();
    for (activity_number, step) in record::decisions(tx, role, batch)? {
        let gone = || Error::Defect(format!("step {step} of decision batch {} is gone", batch.id));
        let facts = candidate_step::load(tx, who, &step)?.ok_or_else(gone)?;
        let (last, plan) = plan_undo(tx, who, batch.action, activity_number, &facts)?;
        items.push(match plan {
            Ok(plan) => match save_alone(tx, || act(&plan))? {
                None => DecidedItem::done(&plan.facts),
                Some(why) => DecidedItem::undecided(&facts, NamedBy::Step, ItemOutcome::Failed(why)),
            },
            Err(refusal) => DecidedItem::undecided(&facts, NamedBy::Step, ItemOutcome::Refused(refusal, last)),
        });
    }
    Ok(items)
}

/// Returns the last act on an application, and either the plan that undoes the act with this number or a refusal to
/// undo it.
fn plan_undo(
    tx: &Tx<'_>,
    who: &Principal,
    action: BatchAction,
    activity_number: i64,
    facts: &StepFacts,
) -> Result<(Option<LastDecision>, Result<Plan, Refusal>), Error> {
    let is_last = |last: &Option<LastDecision>| last.as_ref().is_some_and(|last| last.number == activity_number);
    if action == BatchAction::Later {
        let last = candidate_step::last_decision_or_mark(tx, facts)?;
        let change = match application::find(tx, &facts.organization_id, &facts.application_id)? {
            Some(application) if is_last(&last) => later::last_change(tx, &facts.organization_id, &application)?,
            _ => None,
        };
        let plan = decision_batch::plan_mark_undo(facts.clone(), change.as_ref(), &who.user_id, tx.now);
        return Ok((last, plan));
    }
    let last = candidate_step::last_decision(tx, facts)?;
    let acts = if is_last(&last) { candidate_step::recent_acts(tx, facts)? } else { Vec::new() };
    let plan = decision_batch::plan_undo(facts.clone(), is_last(&last), &acts, &who.user_id, tx.now);
    Ok((last, plan))
}

/// Saves the change to an application. Returns whether the application changed. It does not change if its later mark
/// already has the planned day.
fn save(tx: &Tx<'_>, who: &Principal, plan: &Plan, stamp: &Stamp) -> Result<bool, Error> {
    let facts = &plan.facts;
    match &plan.change {
        PlannedChange::Decision(action, decision) => {
            candidate_step::save(tx, who, *action, facts, decision, stamp)?;
            Ok(true)
        }
        PlannedChange::Mark(due_on) => {
            let organization = &facts.organization_id;
            let gone = || Error::Defect(format!("application {} is gone", facts.application_id));
            let before = application::find(tx, organization, &facts.application_id)?.ok_or_else(gone)?;
            later::save(tx, who, organization, &before, *due_on, stamp)
        }
    }
}

/// Does the same as [`decide`], but saves nothing.
///
/// # Errors
/// The errors of [`decide`].
pub fn preview(
    tx: &Tx<'_>,
    world: &dyn World,
    who: &Principal,
    role: BatchRole<'_>,
    decision: &BatchDecision,
    items: &[BatchItem],
) -> Result<DecidedBatch, Error> {
    Ok(DecidedBatch { id: None, items: run(tx, world, who, role, decision, items, |_| Ok(()))? })
}

/// Plans the decision on each item, and carries out each plan with `act`.
fn run(
    tx: &Tx<'_>,
    world: &dyn World,
    who: &Principal,
    role: BatchRole<'_>,
    decision: &BatchDecision,
    items: &[BatchItem],
    mut act: impl FnMut(&Plan) -> Result<(), Error>,
) -> Result<Vec<DecidedItem>, Error> {
    let today = organization::today(tx, world, role.organization_id, tx.now)?;
    match decision {
        BatchDecision::Move(step, _) => require_step(tx, role, step)?,
        BatchDecision::Later(input) => {
            due_day(*input, today)?;
        }
        BatchDecision::Reject(_) | BatchDecision::Validate(_) => {}
    }
    let mut named = HashSet::new();
    let mut decided = Vec::with_capacity(items.len());
    for item in items {
        let Some((named_by, facts)) = load(tx, who, role, item)? else {
            decided.push(DecidedItem::unknown());
            continue;
        };
        if !named.insert(facts.application_id.clone()) {
            decided.push(DecidedItem::undecided(&facts, named_by, ItemOutcome::Refused(NAMED_TWICE, None)));
            continue;
        }
        decided.push(match decision_batch::plan(facts.clone(), named_by, decision, tx.now, today) {
            Ok(plan) => match save_alone(tx, || act(&plan))? {
                None => DecidedItem::done(&plan.facts),
                Some(why) => DecidedItem::undecided(&facts, named_by, ItemOutcome::Failed(why)),
            },
            Err(refusal) => {
                let last_decision = candidate_step::last_decision(tx, &facts)?;
                DecidedItem::undecided(&facts, named_by, ItemOutcome::Refused(refusal, last_decision))
            }
        });
    }
    Ok(decided)
}

/// Runs `act` in its own savepoint. If a defect prevents the act, returns the reason for the log instead of an error,
/// so that one damaged application does not prevent the decisions on the others.
///
/// # Errors
/// The other errors of `act`, which concern the whole database.
fn save_alone(tx: &Tx<'_>, act: impl FnOnce() -> Result<(), Error>) -> Result<Option<String>, Error> {
    match tx.savepoint(act) {
        Ok(()) => Ok(None),
        Err(Error::Defect(why)) => Ok(Some(why)),
        Err(error) => Err(error),
    }
}

/// Checks that the role has this step. Accepts a step that was removed from the pipeline, because applications can
/// still have it.
///
/// # Errors
/// `not_found` if the role has no such step.
fn require_step(tx: &Tx<'_>, role: BatchRole<'_>, step: &RoleStepId) -> Result<(), Error> {
    let sql = "SELECT 1
               FROM role_steps s
               JOIN roles r ON r.id = s.role_id
               WHERE s.id = $1 AND r.id = $2 AND r.organization_id = $3";
    if tx.exists(sql, (step.as_str(), role.id.as_str(), role.organization_id.as_str()))? {
        return Ok(());
    }
    Err(NO_ROLE_STEP.into())
}

/// Loads the facts about the application of an item. Returns `None` if the role has no such application or step, or if
/// the candidate was erased.
fn load(
    tx: &Tx<'_>,
    who: &Principal,
    role: BatchRole<'_>,
    item: &BatchItem,
) -> Result<Option<(NamedBy, StepFacts)>, Error> {
    let (named_by, step) = match item {
        BatchItem::Application(id) => (NamedBy::Application, first_step(tx, role, id)?),
        BatchItem::Step(id) => (NamedBy::Step, CandidateStepId::parse(id)),
    };
    let Some(step) = step else { return Ok(None) };
    let facts = candidate_step::load(tx, who, &step)?;
    let is_named = |facts: &StepFacts| {
        facts.role_id == *role.id && facts.organization_id == *role.organization_id && !facts.is_erased
    };
    Ok(facts.filter(is_named).map(|facts| (named_by, facts)))
}

/// Finds the first step of an application to the role.
fn first_step(tx: &Tx<'_>, role: BatchRole<'_>, application: &str) -> Result<Option<CandidateStepId>, Error> {
    let Some(id) = ApplicationId::parse(application) else { return Ok(None) };
    let sql = "SELECT s.id
               FROM candidate_roles a
               JOIN candidate_role_steps s ON s.candidate_role_id = a.id
               WHERE a.id = $1 AND a.role_id = $2 AND a.organization_id = $3
               ORDER BY s.step_order
               LIMIT 1";
    tx.one(sql, (id.as_str(), role.id.as_str(), role.organization_id.as_str()), |row| {
        Columns::of(row).parse(CandidateStepId::parse)
    })
}

impl DecidedItem {
    /// Creates an item that was decided on at the addressed step.
    fn done(facts: &StepFacts) -> Self {
        Self {
            application_id: Some(facts.application_id.clone()),
            step_id: Some(facts.addressed_step().id.clone()),
            candidate_id: Some(facts.candidate_id.clone()),
            outcome: ItemOutcome::Done,
        }
    }

    /// Creates an item that was not decided on. It has a step only if the caller named one, or if the item is part of
    /// an undo.
    fn undecided(facts: &StepFacts, named_by: NamedBy, outcome: ItemOutcome) -> Self {
        let done = Self::done(facts);
        Self { step_id: done.step_id.filter(|_| named_by == NamedBy::Step), outcome, ..done }
    }

    /// Creates an item that names no application or step of the role.
    fn unknown() -> Self {
        let outcome = ItemOutcome::Refused(NO_ITEM, None);
        Self { application_id: None, step_id: None, candidate_id: None, outcome }
    }
}
