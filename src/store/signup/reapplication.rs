//! Submits later signups again when the candidate of the earlier application is erased at the candidate's own request.
//! Each signup is handled as if the erased candidate had never applied.

use super::submission::{Applicant, create_application};
use super::{Signup, find};
use crate::db::row::Columns;
use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, Id, OrganizationId, SignupId};
use crate::domain::signup::{SignupOutcome, reapplication_order};
use crate::domain::text::Email;
use crate::store::{activity, application, status_page};
use crate::world::World;

/// Releases those of a candidate's later signups that still have a status page, so that the candidate's erasure does
/// not delete them. Returns the ids of the released signups, oldest first.
pub(in crate::store) fn release_later_signups(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<SignupId>, Error> {
    let sql = "SELECT s.id
               FROM candidate_roles a
               JOIN signups s ON s.later_of = a.id
               JOIN status_pages p ON p.signup_id = s.id
               WHERE a.candidate_id = $1
               ORDER BY s.number";
    let later = tx.all(sql, [candidate.as_str()], |row| Columns::of(row).parse(SignupId::parse))?;
    let sql = "UPDATE signups
               SET later_of = NULL
               WHERE id = $1";
    tx.run_each(sql, later.iter(), |id| Ok([id.as_str()]))?;
    Ok(later)
}

/// Submits released signups again, in the order that the rule gives. The first signup creates a candidate and an
/// application, unless another candidate now has the same address. The other signups are handled like new signups. All
/// status pages remain.
pub(in crate::store) fn reapply(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    released: &[SignupId],
) -> Result<(), Error> {
    let load = |id| find(tx, id)?.ok_or_else(|| Error::Defect(format!("signup {id} is gone")));
    let signups = released.iter().map(load).collect::<Result<Vec<Signup>, Error>>()?;
    for signup in reapplication_order(signups, |signup| signup.withdrawn_at.is_some()) {
        let email = tx::word(&signup.email, Email::parse_stored)?;
        let (role, name, applied_at) = (&signup.role_id, &signup.name, signup.submitted_at);
        let applicant = Applicant { role, name, email: &email, applied_at };
        let application = create_application(tx, world, organization, &applicant)?;
        match &application.created {
            Some(created) => take_over(tx, world, organization, &signup, created, application.outcome)?,
            None => {
                let sql = "UPDATE signups
                           SET later_of = $1
                           WHERE id = $2";
                let prior = application.prior.as_ref().map(|prior| prior.application.as_str());
                tx.run(sql, (prior, signup.id.as_str()))?;
            }
        }
    }
    Ok(())
}

/// Makes the signup the original signup of the application that it created, and the signup's status page the page of
/// the application. Withdraws the application if the applicant had withdrawn on that page.
fn take_over(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    signup: &Signup,
    created: &ApplicationId,
    outcome: SignupOutcome,
) -> Result<(), Error> {
    let sql = "UPDATE signups
               SET candidate_role_id = $1, later_of = NULL, steps = NULL
               WHERE id = $2";
    tx.run(sql, (created.as_str(), signup.id.as_str()))?;
    status_page::hand_over(tx, &signup.id, created, outcome.proves_identity())?;
    if signup.withdrawn_at.is_some()
        && let Some(created) = application::find(tx, organization, created)?
    {
        application::recorded_act::withdraw(tx, None, organization, &created, None, &activity::stamp(world))?;
    }
    Ok(())
}
