//! The deferred erasures in the file (table `erasures_asked`). `domain::erasure::deferred` contains the rule for them.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::CandidateRef;
use crate::domain::id::{ApplicationId, CandidateId, Id, OrganizationId};
use crate::domain::progress::ApplicationHistory;
use crate::store::{application, candidate_step};

/// The maximum number of deferred erasures that one scan reads. Later scans read further erasures when the first ones
/// are complete.
const ROWS_MAX: i64 = 1_000;

/// A candidate who asked to be erased and whose erasure is deferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeferredErasure {
    pub(super) candidate: CandidateRef,
    /// The application on whose status page the candidate asked for the erasure; `None` if the candidate asked on the
    /// status page of a later signup.
    pub(super) application: Option<ApplicationId>,
    pub(super) visible_after_hours: Option<u32>,
}

/// Reads the deferred erasures, oldest first. Leaves out candidates under a legal hold, so that they do not fill the
/// scan.
pub(super) fn load(tx: &Tx<'_>) -> Result<Vec<DeferredErasure>, Error> {
    let sql = "SELECT c.number, c.id, c.organization_id, e.candidate_role_id, o.decision_visible_after_hours
               FROM erasures_asked e
               JOIN candidates c ON c.number = e.candidate_number
               JOIN organizations o ON o.id = c.organization_id
               WHERE c.erased_at IS NULL AND c.hold_reason IS NULL
               ORDER BY e.asked_at, c.number
               LIMIT $1";
    tx.all(sql, [ROWS_MAX], |row| {
        let mut columns = Columns::of(row);
        Ok(DeferredErasure {
            candidate: CandidateRef {
                number: columns.read()?,
                id: columns.parse(CandidateId::parse)?,
                organization_id: columns.parse(OrganizationId::parse)?,
            },
            application: columns.parse_or_none(ApplicationId::parse)?,
            visible_after_hours: columns.read()?,
        })
    })
}

/// Reads the histories of a candidate's applications that are `Hired`, which the rule for deferred erasures needs.
pub(in super::super) fn hires(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
) -> Result<Vec<ApplicationHistory>, Error> {
    let mut hires = Vec::new();
    for application in application::of_candidate(tx, organization, candidate)? {
        if application.record.status == ApplicationStatus::Hired {
            let steps = candidate_step::of_application(tx, &application.record.id)?;
            hires.push(candidate_step::history(tx, &application, &steps)?);
        }
    }
    Ok(hires)
}

/// Defers the erasure of a candidate. Repeated requests change nothing.
pub(in super::super) fn insert(
    tx: &Tx<'_>,
    candidate: &CandidateRef,
    application: Option<&ApplicationId>,
) -> Result<(), Error> {
    let sql = "INSERT INTO erasures_asked (candidate_number, candidate_role_id, asked_at)
               VALUES ($1, $2, $3)
               ON CONFLICT DO NOTHING";
    tx.run(sql, (candidate.number, application.map(ApplicationId::as_str), tx.now.micros()))?;
    Ok(())
}

pub(super) fn remove(tx: &Tx<'_>, candidate: &CandidateRef) -> Result<(), Error> {
    let sql = "DELETE FROM erasures_asked
               WHERE candidate_number = $1";
    tx.run(sql, [candidate.number])?;
    Ok(())
}
