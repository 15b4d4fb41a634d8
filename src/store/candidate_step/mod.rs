//! The steps of applications, and the decisions at steps. This module loads the facts for a rule if the caller may see
//! the step, and saves the decision of the rule.

mod activity_detail;
mod history;
mod last_decision;
mod queue;

use super::{activity, application, organization, role};
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep, Decision, StepFacts, StepStatus, StepType};
use crate::domain::due_day::DueDay;
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::role::{RoleStatus, Seats};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{OrgRole, Principal};
pub use activity_detail::action_of;
pub use history::{history, recent_acts, rejections};
pub use last_decision::{LastDecision, last_decision, last_decision_or_mark};
pub use queue::{QueueDecision, QueueEntry, QueueScope, queue};

/// Loads the facts about a step. Returns `None` if the step does not exist, or if the caller may not see it. Admins may
/// see every step. Members may see the steps of their organizations, except in disabled organizations.
pub fn load(tx: &Tx<'_>, who: &Principal, step: &CandidateStepId) -> Result<Option<StepFacts>, Error> {
    let sql = "SELECT a.id, a.organization_id, a.candidate_id, a.role_id, a.status, a.hired_date,
                 a.offer_accepted_date, a.external_position_id, a.hire_notes,
                 r.status, r.positions, r.hired, o.require_external_position_id, m.org_role, c.erased_at,
                 c.hold_reason IS NOT NULL, a.applied_at, a.later_due_on
               FROM candidate_role_steps s
               JOIN candidate_roles a ON a.id = s.candidate_role_id
               JOIN roles r ON r.id = a.role_id
               JOIN organizations o ON o.id = a.organization_id
               JOIN candidates c ON c.number = a.candidate_number
               LEFT JOIN memberships m ON m.organization_id = a.organization_id AND m.user_id = $1
               WHERE s.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    let params = (who.user_id.as_str(), step.as_str(), who.is_admin());
    let Some(mut facts) = tx.one(sql, params, |row| read_facts(row, who))? else { return Ok(None) };
    facts.steps = of_application(tx, &facts.application_id)?;
    let addressed = facts.steps.iter().position(|candidate_step| candidate_step.id == *step);
    let defect = || Error::Defect(format!("step {step} is not among the steps of its application"));
    facts.addressed = addressed.ok_or_else(defect)?;
    Ok(Some(facts))
}

/// Reads the columns of [`load`]'s query. Another query reads the steps.
fn read_facts(row: &Row<'_>, who: &Principal) -> Result<StepFacts, Error> {
    let mut columns = Columns::of(row);
    Ok(StepFacts {
        application_id: columns.parse(ApplicationId::parse)?,
        organization_id: columns.parse(OrganizationId::parse)?,
        candidate_id: columns.parse(CandidateId::parse)?,
        role_id: columns.parse(RoleId::parse)?,
        application_status: columns.parse(ApplicationStatus::parse)?,
        hire: application::read_hire(&mut columns)?,
        seats: Seats { status: columns.parse(RoleStatus::parse)?, positions: columns.read()?, hired: columns.read()? },
        require_external_position_id: columns.read()?,
        caller_org_role: columns.parse_or_none(OrgRole::parse)?,
        is_erased: columns.time_or_none()?.is_some(),
        is_held: columns.read()?,
        applied_at: columns.time()?,
        later_due_on: columns.parse_or_none(DueDay::parse)?,
        caller_platform_role: who.platform_role,
        steps: Vec::new(),
        addressed: 0,
    })
}

/// Saves a decision: steps, application, role, status cache, and activity row. The outbox later creates a delivery from
/// the activity row of a hire or of the reversal of a hire.
///
/// # Errors
/// [`Error::Defect`] if the status of the application or the seats of the role have changed since the facts were
/// loaded, or if a step is gone.
pub fn save(
    tx: &Tx<'_>,
    who: &Principal,
    action: Action,
    facts: &StepFacts,
    decision: &Decision,
    stamp: &Stamp,
) -> Result<(), Error> {
    for step in &decision.steps {
        save_step(tx, facts, step)?;
    }
    application::save(tx, facts, decision)?;
    role::save_seats(tx, &facts.role_id, facts.seats, decision.seats)?;
    organization::add_to_status(tx, &facts.organization_id, decision.status_change)?;
    // The path of an undo request may name any step, so the activity row names the step in the response instead.
    let about = if action == Action::Undone { &decision.answer_step } else { facts.addressed_step() };
    let subject = Subject {
        organization_id: Some(facts.organization_id.clone()),
        role_id: Some(facts.role_id.clone()),
        candidate_id: Some(facts.candidate_id.clone()),
        candidate_role_id: Some(facts.application_id.clone()),
        candidate_role_step_id: Some(about.id.clone()),
    };
    let detail = activity_detail::detail_of(facts, decision)?;
    activity::append(tx, stamp, Some(who), recorded_action(action, facts), &subject, &detail)
}

/// Returns the action to record. A rejection that reverses a hire is recorded as a separate action, because HR systems
/// receive reversals.
fn recorded_action(action: Action, facts: &StepFacts) -> Action {
    match (action, facts.application_status) {
        (Action::Rejected, ApplicationStatus::Hired) => Action::HireReversed,
        _ => action,
    }
}

/// Returns the steps of an application in order.
pub fn of_application(tx: &Tx<'_>, application: &ApplicationId) -> Result<Vec<CandidateStep>, Error> {
    let sql = "SELECT id, role_step_id, name, step_order, step_type, status, rejected_at, rejection_reason,
                 outcome_type, outcome_reason, validated_at
               FROM candidate_role_steps
               WHERE candidate_role_id = $1
               ORDER BY step_order";
    tx.all(sql, [application.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(CandidateStep {
            id: columns.parse(CandidateStepId::parse)?,
            role_step_id: columns.parse(RoleStepId::parse)?,
            name: columns.read()?,
            order: columns.read()?,
            step_type: columns.parse(StepType::parse)?,
            status: columns.parse(StepStatus::parse)?,
            rejected_at: columns.time_or_none()?,
            rejection_reason: columns.read()?,
            outcome_type: columns.read()?,
            outcome_reason: columns.read()?,
            validated_at: columns.time_or_none()?,
        })
    })
}

/// Inserts a step of an application. Returns `false` if the id is taken.
pub fn insert(tx: &Tx<'_>, application: &ApplicationId, step: &CandidateStep) -> Result<bool, Error> {
    let sql = "INSERT INTO candidate_role_steps (id, candidate_role_id, role_step_id, name, step_order, step_type,
                 status, rejected_at, rejection_reason, outcome_type, outcome_reason, validated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
               ON CONFLICT DO NOTHING";
    let touched = tx.run(
        sql,
        (
            step.id.as_str(),
            application.as_str(),
            step.role_step_id.as_str(),
            &step.name,
            step.order,
            step.step_type.as_str(),
            step.status.as_str(),
            step.rejected_at.map(Timestamp::micros),
            &step.rejection_reason,
            &step.outcome_type,
            &step.outcome_reason,
            step.validated_at.map(Timestamp::micros),
        ),
    )?;
    Ok(touched == 1)
}

/// Returns whether the database has a step with this id, in any application.
pub fn exists(tx: &Tx<'_>, step: &CandidateStepId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM candidate_role_steps
               WHERE id = $1";
    tx.exists(sql, [step.as_str()])
}

fn save_step(tx: &Tx<'_>, facts: &StepFacts, step: &CandidateStep) -> Result<(), Error> {
    let sql = "UPDATE candidate_role_steps
               SET status = $1, rejected_at = $2, rejection_reason = $3, outcome_type = $4, outcome_reason = $5,
                 validated_at = $6
               WHERE id = $7 AND candidate_role_id = $8";
    let touched = tx.run(
        sql,
        (
            step.status.as_str(),
            step.rejected_at.map(Timestamp::micros),
            &step.rejection_reason,
            &step.outcome_type,
            &step.outcome_reason,
            step.validated_at.map(Timestamp::micros),
            step.id.as_str(),
            facts.application_id.as_str(),
        ),
    )?;
    if touched == 1 { Ok(()) } else { Err(Error::Defect(format!("step {} is gone", step.id))) }
}
