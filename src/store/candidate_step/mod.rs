//! The steps of applications. Decisions on a candidate at one: the facts are loaded, as the caller may see them, and
//! what the rule made of them is saved, all in one transaction.

mod history;
mod record;

use crate::db::row::Row;

use super::activity;
use super::{candidate_role, organization, role};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep, Decision, StepFacts, StepStatus, StepType};
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId};
use crate::domain::id::{Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::role::{RoleStatus, Seats};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{OrgRole, Principal};
pub use history::history;
pub use record::rejections;

/// The facts about a step, where the caller may see it: a platform admin, or a member of its organization.
///
/// # Errors
/// When SQLite fails.
pub fn load(tx: &Tx<'_>, who: &Principal, step: &CandidateStepId) -> Result<Option<StepFacts>, Error> {
    let sql = "SELECT a.id, a.organization_id, a.candidate_id, a.role_id, a.status, a.hired_date,
                 a.offer_accepted_date, a.external_position_id, a.hire_notes,
                 r.status, r.positions, r.hired, o.require_external_position_id, m.org_role, c.erased_at, a.applied_at
               FROM candidate_role_steps s
               JOIN candidate_roles a ON a.id = s.candidate_role_id
               JOIN roles r ON r.id = a.role_id
               JOIN organizations o ON o.id = a.organization_id
               JOIN candidates c ON c.number = a.candidate_number
               LEFT JOIN memberships m ON m.organization_id = a.organization_id AND m.user_id = $1
               WHERE s.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    let params = (who.user_id.as_str(), step.as_str(), who.is_admin());
    let Some(mut facts) = tx.one(sql, params, |row| facts(row, who))? else { return Ok(None) };
    facts.steps = of_application(tx, &facts.application_id)?;
    let addressed = facts.steps.iter().position(|candidate_step| candidate_step.id == *step);
    facts.addressed = addressed.ok_or_else(|| Error::Defect(format!("step {step} is not among its own steps")))?;
    Ok(Some(facts))
}

/// Saves a decision: steps, application, role, status cache, and the activity, which is also what an HR system learns of
/// it by.
///
/// # Errors
/// When SQLite fails, or a row is not as the rule saw it.
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
    candidate_role::save(tx, facts, decision)?;
    role::save_seats(tx, &facts.role_id, facts.seats, decision.seats)?;
    organization::move_status(tx, &facts.organization_id, decision.status_change)?;
    let subject = Subject {
        organization_id: Some(facts.organization_id.clone()),
        role_id: Some(facts.role_id.clone()),
        candidate_id: Some(facts.candidate_id.clone()),
        candidate_role_id: Some(facts.application_id.clone()),
        candidate_role_step_id: Some(facts.addressed_step().id.clone()),
    };
    activity::append(tx, stamp, Some(who), recorded(action, facts), &subject, &record::detail(facts, decision)?)
}

/// A rejection that undoes a hire is on record as what it is, because an HR system is to learn of it.
fn recorded(action: Action, facts: &StepFacts) -> Action {
    match (action, facts.application_status) {
        (Action::Rejected, ApplicationStatus::Hired) => Action::HireReversed,
        _ => action,
    }
}

fn facts(row: &Row<'_>, who: &Principal) -> Result<StepFacts, Error> {
    let text = |column| -> Result<String, Error> { Ok(row.get(column)?) };
    let org_role: Option<String> = row.get(13)?;
    Ok(StepFacts {
        application_id: tx::word(&text(0)?, ApplicationId::parse)?,
        organization_id: tx::word(&text(1)?, OrganizationId::parse)?,
        candidate_id: tx::word(&text(2)?, CandidateId::parse)?,
        role_id: tx::word(&text(3)?, RoleId::parse)?,
        application_status: tx::word(&text(4)?, ApplicationStatus::parse)?,
        hire: candidate_role::hire(row, 5)?,
        seats: Seats { status: tx::word(&text(9)?, RoleStatus::parse)?, positions: row.get(10)?, hired: row.get(11)? },
        require_external_position_id: row.get(12)?,
        is_erased: tx::time_or_none(row, 14)?.is_some(),
        applied_at: tx::time(row, 15)?,
        caller_org_role: org_role.map(|word| tx::word(&word, OrgRole::parse)).transpose()?,
        caller_platform_role: who.platform_role,
        steps: Vec::new(),
        addressed: 0,
    })
}

/// Every step of an application, first to last.
///
/// # Errors
/// When SQLite fails.
pub fn of_application(tx: &Tx<'_>, application: &ApplicationId) -> Result<Vec<CandidateStep>, Error> {
    let sql = "SELECT id, role_step_id, name, step_order, step_type, status, rejected_at, rejection_reason,
                 outcome_type, outcome_reason, validated_at
               FROM candidate_role_steps
               WHERE candidate_role_id = $1
               ORDER BY step_order";
    tx.all(sql, [application.as_str()], candidate_step)
}

fn candidate_step(row: &Row<'_>) -> Result<CandidateStep, Error> {
    Ok(CandidateStep {
        id: tx::word(&row.get::<_, String>(0)?, CandidateStepId::parse)?,
        role_step_id: tx::word(&row.get::<_, String>(1)?, RoleStepId::parse)?,
        name: row.get(2)?,
        order: row.get(3)?,
        step_type: tx::word(&row.get::<_, String>(4)?, StepType::parse)?,
        status: tx::word(&row.get::<_, String>(5)?, StepStatus::parse)?,
        rejected_at: tx::time_or_none(row, 6)?,
        rejection_reason: row.get(7)?,
        outcome_type: row.get(8)?,
        outcome_reason: row.get(9)?,
        validated_at: tx::time_or_none(row, 10)?,
    })
}

/// Adds a step to an application. Whether there was none with this id before.
///
/// # Errors
/// When SQLite fails.
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

/// Whether there is such a step.
///
/// # Errors
/// When SQLite fails.
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
