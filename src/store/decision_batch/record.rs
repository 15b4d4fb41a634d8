//! The stored decision batches: the tables `decision_batches` and `decision_batch_items`. They contain no personal data
//! of candidates: an item refers to an activity row.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::decision_batch::{self, BatchAction, BatchFacts};
use crate::domain::id::{CandidateStepId, DecisionBatchId, Id, OrganizationId, RoleId, UserId};
use crate::domain::user::Principal;

/// The maximum number of expired batches that are deleted when a batch is stored. The number exceeds one, so that a
/// backlog of expired batches shrinks. The deletion takes less time than the decisions of a batch of the maximum size.
const DELETED_MAX: i64 = 4;

/// A role that the caller may manage.
#[derive(Debug, Clone, Copy)]
pub struct BatchRole<'a> {
    pub organization_id: &'a OrganizationId,
    pub id: &'a RoleId,
}

/// A batch that was just carried out.
pub(super) struct NewBatch {
    pub(super) id: DecisionBatchId,
    pub(super) action: BatchAction,
    /// The number of the activity row of each decision.
    pub(super) activity_numbers: Vec<i64>,
}

/// A stored batch.
#[derive(Debug, Clone)]
pub struct Batch {
    number: i64,
    pub id: DecisionBatchId,
    pub action: BatchAction,
    pub facts: BatchFacts,
}

/// Finds a batch of decisions on applications to a role.
pub fn find(tx: &Tx<'_>, role: BatchRole<'_>, id: &DecisionBatchId) -> Result<Option<Batch>, Error> {
    let sql = "SELECT number, id, action, user_id, created_at, undone_at
               FROM decision_batches
               WHERE id = $1 AND role_id = $2 AND organization_id = $3";
    tx.one(sql, (id.as_str(), role.id.as_str(), role.organization_id.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok(Batch {
            number: columns.read()?,
            id: columns.parse(DecisionBatchId::parse)?,
            action: columns.parse(BatchAction::parse)?,
            facts: BatchFacts {
                user_id: columns.parse(UserId::parse)?,
                created_at: columns.time()?,
                undone_at: columns.time_or_none()?,
            },
        })
    })
}

/// Returns the number of decisions of a batch.
pub fn size(tx: &Tx<'_>, batch: &Batch) -> Result<usize, Error> {
    let sql = "SELECT count(*)
               FROM decision_batch_items
               WHERE batch_number = $1";
    let count: Option<i64> = tx.value(sql, [batch.number])?;
    Ok(usize::try_from(count.unwrap_or_default()).unwrap_or_default())
}

/// Returns the decisions of a batch, in order: the number of each activity row, and the step that was decided on. The
/// activity row of a later mark names no step if the application has no open step. For such a row, the result has the
/// first step of the application.
pub(super) fn decisions(tx: &Tx<'_>, role: BatchRole<'_>, batch: &Batch) -> Result<Vec<(i64, CandidateStepId)>, Error> {
    let sql = "SELECT v.number, coalesce(v.candidate_role_step_id, (
                 SELECT s.id
                 FROM candidate_role_steps s
                 WHERE s.candidate_role_id = v.candidate_role_id
                 ORDER BY s.step_order
                 LIMIT 1
               ))
               FROM decision_batch_items i
               JOIN activities v ON v.number = i.activity_number
               WHERE i.batch_number = $1 AND v.organization_id = $2
               ORDER BY i.position";
    tx.all(sql, (batch.number, role.organization_id.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.parse(CandidateStepId::parse)?))
    })
}

/// Records that a batch was undone.
///
/// # Errors
/// [`Error::Defect`] if the batch has already been undone. Check this before calling this function.
pub(super) fn set_undone(tx: &Tx<'_>, batch: &Batch) -> Result<(), Error> {
    let sql = "UPDATE decision_batches
               SET undone_at = $1
               WHERE number = $2 AND undone_at IS NULL";
    match tx.run(sql, (tx.now.micros(), batch.number))? {
        1 => Ok(()),
        _ => Err(Error::Defect(format!("decision batch {} was undone twice", batch.id))),
    }
}

/// Stores a batch, and deletes some of the batches that have expired.
pub(super) fn insert(tx: &Tx<'_>, who: &Principal, role: BatchRole<'_>, batch: &NewBatch) -> Result<(), Error> {
    delete_expired(tx)?;
    let sql = "INSERT INTO decision_batches (id, organization_id, role_id, user_id, action, created_at)
               VALUES ($1, $2, $3, $4, $5, $6)
               RETURNING number";
    let (organization, role) = (role.organization_id.as_str(), role.id.as_str());
    let (user, action) = (who.user_id.as_str(), batch.action.as_str());
    let number: Option<i64> = tx.value(sql, (batch.id.as_str(), organization, role, user, action, tx.now.micros()))?;
    let number = number.ok_or_else(|| Error::Defect(format!("decision batch {} was not added", batch.id)))?;
    let sql = "INSERT INTO decision_batch_items (batch_number, position, activity_number)
               VALUES ($1, $2, $3)";
    tx.run_each(sql, (1_i64..).zip(&batch.activity_numbers), |(position, activity)| Ok((number, position, *activity)))
}

/// Deletes some of the batches that have expired.
fn delete_expired(tx: &Tx<'_>) -> Result<(), Error> {
    let sql = "SELECT number
               FROM decision_batches
               WHERE created_at < $1
               ORDER BY created_at
               LIMIT $2";
    let numbers: Vec<i64> = tx.values(sql, (decision_batch::stored_since(tx.now).micros(), DELETED_MAX))?;
    for table in
        ["DELETE FROM decision_batch_items WHERE batch_number = $1", "DELETE FROM decision_batches WHERE number = $1"]
    {
        tx.run_each(table, numbers.iter(), |number| Ok([*number]))?;
    }
    Ok(())
}

/// Describes at most `findings_max` stored batches that contradict the activity: batches without decisions, and batches
/// with a decision whose activity row names another organization, role, user or action, or lacks the application or the
/// step.
pub(in crate::store) fn inconsistencies(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let sql = format!(
        "SELECT b.id
         FROM decision_batches b
         WHERE NOT EXISTS (SELECT 1 FROM decision_batch_items i WHERE i.batch_number = b.number)
           OR EXISTS (
             SELECT 1
             FROM decision_batch_items i
             JOIN activities v ON v.number = i.activity_number
             WHERE i.batch_number = b.number
               AND (v.organization_id IS DISTINCT FROM b.organization_id OR v.role_id IS DISTINCT FROM b.role_id
                 OR v.user_id IS DISTINCT FROM b.user_id OR v.candidate_role_id IS NULL
                 OR (v.candidate_role_step_id IS NULL AND b.action <> 'later')
                 OR v.action <> CASE b.action
                   WHEN 'reject' THEN 'candidate_step.rejected'
                   WHEN 'move' THEN 'candidate_step.moved'
                   WHEN 'later' THEN 'candidate_role.put_aside'
                   ELSE 'candidate_step.validated'
                 END)
           )
         LIMIT {findings_max}"
    );
    tx.all(&sql, [], |row| Ok(format!("decision batch {} does not agree with the activity", Columns::of(row).text()?)))
}
