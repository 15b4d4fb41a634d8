//! Deletion of data by the holder of a status link. This module loads the facts, and carries out the plan of the rule
//! ([`plan_deletion`]).

use serde::Serialize;

use super::view::{self, PageApplication, PageCandidate, StatusPageView};
use super::{PageSubject, StatusPage};
use crate::db::row::Columns;
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Subject};
use crate::domain::erasure::CandidateRef;
use crate::domain::erasure::deferred::has_hidden_hire;
use crate::domain::id::{ApplicationId, CandidateId, OrganizationId, SignupId};
use crate::domain::status_page::deletion::{
    CandidateFacts, CandidateOutcome, DeletionAnswer, DeletionFacts, DeletionPlan, NameAndEmail, plan_deferred,
    plan_deletion, plan_repetition, rename_after_deletion,
};
use crate::domain::text::Email;
use crate::store::application::recorded_act;
use crate::store::erasure::candidate::erase_own;
use crate::store::erasure::deferred;
use crate::store::erasure::progress::Erasures;
use crate::store::signup::{self, Signup};
use crate::store::{activity, candidate, idempotency_key};
use crate::world::World;

/// Deletes the data that the holder of a page may delete.
///
/// # Errors
/// [`Error::Full`] or [`Error::Unavailable`] if the erasure list cannot be read or written.
pub fn delete(
    tx: &Tx<'_>,
    erasures: &Erasures,
    world: &dyn World,
    page: &StatusPage,
    view: &StatusPageView,
) -> Result<DeletionAnswer, Error> {
    let plan = plan_deletion(load_facts(tx, page, view)?);
    carry_out(tx, Some(erasures), world, view, &page.subject, plan)?;
    Ok(plan.answer)
}

fn load_facts(tx: &Tx<'_>, page: &StatusPage, view: &StatusPageView) -> Result<DeletionFacts, Error> {
    let facts = |candidate: &PageCandidate| -> Result<CandidateFacts, Error> {
        let (organization, hours) = (&view.organization.id, view.organization.visible_after_hours);
        Ok(CandidateFacts {
            is_held: candidate.is_held,
            has_asked: candidate.asked_at.is_some(),
            has_other_records: has_other_records(tx, &candidate.id, Some(&page.subject))?,
            has_hidden_hire: has_hidden_hire(&deferred::hires(tx, organization, &candidate.id)?, hours, tx.now),
        })
    };
    Ok(match &view.application {
        Some(application) => DeletionFacts::Application {
            is_trusted: page.is_trusted,
            is_in_progress: application.is_in_progress(),
            candidate: facts(&application.candidate)?,
        },
        None => DeletionFacts::LaterSignup(view.prior_candidate.as_ref().map(facts).transpose()?),
    })
}

/// Returns whether a candidate has records other than the subject of a page. See [`CandidateFacts::has_other_records`].
/// The later signups of an application belong to the application.
fn has_other_records(tx: &Tx<'_>, candidate: &CandidateId, subject: Option<&PageSubject>) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM candidate_roles a
               WHERE a.candidate_id = $1 AND a.id <> $2 AND (
                 EXISTS (
                   SELECT 1 FROM signups s JOIN status_pages p ON p.signup_id = s.id WHERE s.later_of = a.id AND s.id <> $3
                 )
                 OR EXISTS (SELECT 1 FROM status_pages WHERE candidate_role_id = a.id)
                 OR NOT EXISTS (
                   SELECT 1 FROM activities
                   WHERE candidate_id = $1 AND candidate_role_id = a.id AND action IN ($4, $5)
                 )
               )";
    let (application, signup) = subject.map(PageSubject::columns).unwrap_or_default();
    // No id is empty, so an empty string excludes no id.
    let (application, signup) = (application.unwrap_or_default(), signup.unwrap_or_default());
    let (deleted, asked) = (Action::CandidateRoleSignupDeleted, Action::CandidateRoleDeletionAsked);
    tx.exists(sql, (candidate.as_str(), application, signup, deleted.as_str(), asked.as_str()))
}

/// Carries out a deletion that was deferred because of a hidden hire. `application` is the application of the page, or
/// `None` for the page of a later signup.
///
/// # Errors
/// The errors of [`delete`].
pub(in crate::store) fn carry_out_deferred(
    tx: &Tx<'_>,
    erasures: &Erasures,
    world: &dyn World,
    candidate: &CandidateRef,
    application: Option<&ApplicationId>,
) -> Result<(), Error> {
    let subject = application.cloned().map(PageSubject::Application);
    let view = subject.as_ref().map(|subject| view::load_subject(tx, subject)).transpose()?.flatten();
    let is_in_progress = view.as_ref().and_then(|view| view.application.as_ref()).map(PageApplication::is_in_progress);
    let plan = plan_deferred(is_in_progress, has_other_records(tx, &candidate.id, subject.as_ref())?);
    match (plan.candidate, view, subject) {
        (CandidateOutcome::Erased, ..) => erase_own(tx, erasures, world, candidate),
        (_, Some(view), Some(subject)) => carry_out(tx, Some(erasures), world, &view, &subject, plan),
        _ => Ok(()),
    }
}

/// Repeats the deletion of a signup in an older copy of the file. The erasure list names erased candidates separately.
pub(in crate::store) fn repeat(tx: &Tx<'_>, world: &dyn World, id: &SignupId) -> Result<(), Error> {
    let Some(signup) = signup::find(tx, id)? else { return Ok(()) };
    let subject = signup.application.map_or_else(|| PageSubject::LaterSignup(id.clone()), PageSubject::Application);
    match view::load_subject(tx, &subject)? {
        Some(view) => {
            let application = view.application.as_ref().map(PageApplication::is_in_progress);
            carry_out(tx, None, world, &view, &subject, plan_repetition(application))
        }
        None => signup::deletion::delete(tx, id),
    }
}

/// Carries out a plan. `erasures` is `None` if the erasure list already contains the deletion.
fn carry_out(
    tx: &Tx<'_>,
    erasures: Option<&Erasures>,
    world: &dyn World,
    view: &StatusPageView,
    subject: &PageSubject,
    plan: DeletionPlan,
) -> Result<(), Error> {
    let application = view.application.as_ref();
    let candidate = application.map(|application| &application.candidate).or(view.prior_candidate.as_ref());
    let erased = candidate.map(|candidate| CandidateRef {
        id: candidate.id.clone(),
        number: candidate.number,
        organization_id: view.organization.id.clone(),
    });
    if let (true, Some(signup), Some(erasures)) = (plan.deletes_signup, &view.signup, erasures) {
        erasures.record_signup(tx, &signup.id)?;
    }
    if let (CandidateOutcome::ErasureDeferred, Some(candidate)) = (plan.candidate, &erased) {
        deferred::insert(tx, candidate, application.map(|application| &application.application.record.id))?;
    }
    if let (true, Some(application)) = (plan.withdraws_application, application) {
        let (organization, stamp) = (&view.organization.id, activity::stamp(world));
        recorded_act::withdraw(tx, None, organization, &application.application, None, &stamp)?;
    }
    if plan.removes_page {
        super::remove(tx, subject)?;
    }
    // The deletion's activity row is written before the renaming removes details, because only rows before that
    // activity row may lose their details.
    if let (Some(action), Some(candidate)) = (plan.recorded, candidate) {
        record(tx, world, view, candidate, action)?;
    }
    if plan.deletes_signup {
        delete_signup(tx, world, view, candidate)?;
    }
    if let (CandidateOutcome::Erased, Some(candidate), Some(erasures)) = (plan.candidate, &erased, erasures) {
        erase_own(tx, erasures, world, candidate)?;
    }
    Ok(())
}

/// Records an act of the holder. The row needs no detail, because the action describes the act.
fn record(
    tx: &Tx<'_>,
    world: &dyn World,
    view: &StatusPageView,
    candidate: &PageCandidate,
    action: Action,
) -> Result<(), Error> {
    let subject = match &view.application {
        Some(application) => view.activity_subject(application),
        None => Subject::of_candidate(view.organization.id.clone(), candidate.id.clone()),
    };
    let detail = activity::detail(&None::<()>, &None::<()>)?;
    activity::append(tx, &activity::stamp(world), None, action, &subject, &detail)
}

fn delete_signup(
    tx: &Tx<'_>,
    world: &dyn World,
    view: &StatusPageView,
    candidate: Option<&PageCandidate>,
) -> Result<(), Error> {
    if let Some(signup) = &view.signup {
        signup::deletion::delete(tx, &signup.id)?;
        if let Some(application) = &view.application {
            rename(tx, world, &view.organization.id, &application.candidate, signup)?;
        }
    }
    // Stored responses can contain data from the deleted signup.
    candidate.map_or(Ok(()), |candidate| idempotency_key::erase_candidate(tx, &candidate.id))
}

/// If the rule requires it, changes the candidate's name and address, and deletes the earlier ones from activity
/// rows.
fn rename(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    candidate: &PageCandidate,
    deleted: &Signup,
) -> Result<(), Error> {
    let sql = "SELECT s.name, s.email
               FROM candidate_roles a
               JOIN candidates c ON c.id = a.candidate_id
               JOIN signups s ON s.candidate_role_id = a.id OR s.later_of = a.id
               WHERE a.candidate_id = $1 AND s.email_key = c.email_key
               ORDER BY s.number
               LIMIT 1";
    let remaining: Option<(String, String)> = tx.one(sql, [candidate.id.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?))
    })?;
    let renamed = rename_after_deletion(
        NameAndEmail { name: &candidate.name, email: &candidate.email },
        NameAndEmail { name: &deleted.name, email: &deleted.email },
        remaining.as_ref().map(|(name, email)| NameAndEmail { name, email }),
    );
    let Some(NameAndEmail { name, email }) = renamed else { return Ok(()) };
    let before = candidate::find(tx, organization, &candidate.id)?;
    let before = before.ok_or_else(|| Error::Defect(format!("candidate {} is gone", candidate.id)))?;
    candidate::update(tx, &before, name, &tx::word(email, Email::parse_stored)?)?;
    let sql = "UPDATE activities
               SET detail = '{}', salt = NULL
               WHERE candidate_id = $1 AND action IN ($2, $3) AND salt IS NOT NULL";
    let (added, changed) = (Action::CandidateAdded.as_str(), Action::CandidateChanged.as_str());
    tx.run(sql, (candidate.id.as_str(), added, changed))?;
    record_renaming(tx, world, organization, &candidate.id, name, email)
}

fn record_renaming(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    candidate: &CandidateId,
    name: &str,
    email: &str,
) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Renamed<'a> {
        name: &'a str,
        email: &'a str,
    }
    let detail = activity::detail(&None::<()>, &Renamed { name, email })?;
    let subject = Subject::of_candidate(organization.clone(), candidate.clone());
    activity::append(tx, &activity::stamp(world), None, Action::CandidateChanged, &subject, &detail)
}
