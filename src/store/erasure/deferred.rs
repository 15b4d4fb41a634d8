//! The deferred erasures in the database (table `erasures_asked`). `domain::erasure::deferred` contains the rule for
//! them.

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::CandidateRef;
use crate::domain::id::{ApplicationId, CandidateId, Id, OrganizationId};
use crate::domain::progress::ApplicationHistory;
use crate::domain::timestamp::Timestamp;
use crate::store::{application, candidate_step};

/// The maximum number of deferred erasures on one page of a scan, so that a step of the job stays short.
pub(super) const PAGE_ROWS: usize = 1_000;

/// A candidate who asked to be erased and whose erasure is deferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeferredErasure {
    pub(super) candidate: CandidateRef,
    asked_at: Timestamp,
    /// The application on whose status page the candidate asked for the erasure; `None` if the candidate asked on the
    /// status page of a later signup.
    pub(super) application: Option<ApplicationId>,
    pub(super) visible_after_hours: Option<u32>,
}

/// The position of a deferred erasure in the order of the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    asked_at: Timestamp,
    number: i64,
}

impl DeferredErasure {
    pub(super) fn cursor(&self) -> Cursor {
        Cursor { asked_at: self.asked_at, number: self.candidate.number }
    }

    fn read(row: &Row<'_>) -> Result<Self, Error> {
        let mut columns = Columns::of(row);
        Ok(Self {
            candidate: CandidateRef {
                number: columns.read()?,
                id: columns.parse(CandidateId::parse)?,
                organization_id: columns.parse(OrganizationId::parse)?,
            },
            asked_at: columns.time()?,
            application: columns.parse_or_none(ApplicationId::parse)?,
            visible_after_hours: columns.read()?,
        })
    }
}

/// The query for the deferred erasures, except those of candidates under a legal hold.
const SELECT: &str = "SELECT c.number, c.id, c.organization_id, e.asked_at, e.candidate_role_id,
                        o.decision_visible_after_hours
                      FROM erasures_asked e
                      JOIN candidates c ON c.number = e.candidate_number
                      JOIN organizations o ON o.id = c.organization_id
                      WHERE c.erased_at IS NULL AND c.hold_reason IS NULL";

/// Reads the page of deferred erasures that follows `after`, oldest first.
pub(super) fn page(tx: &Tx<'_>, after: Option<Cursor>) -> Result<Vec<DeferredErasure>, Error> {
    let sql = format!(
        "{SELECT}
           AND (e.asked_at, c.number) > ($1, $2)
         ORDER BY e.asked_at, c.number
         LIMIT {PAGE_ROWS}"
    );
    let (asked_at, number) = after.map_or((i64::MIN, i64::MIN), |after| (after.asked_at.micros(), after.number));
    tx.all(&sql, (asked_at, number), DeferredErasure::read)
}

/// Reads the deferred erasure of a candidate. Returns `None` if there is none, or if the candidate is under a legal
/// hold.
pub(super) fn find(tx: &Tx<'_>, candidate: &CandidateRef) -> Result<Option<DeferredErasure>, Error> {
    let sql = format!(
        "{SELECT}
           AND e.candidate_number = $1"
    );
    tx.one(&sql, [candidate.number], DeferredErasure::read)
}

/// Reads the histories that the rule for deferred erasures needs: those of the candidate's applications that are
/// `Hired`.
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
