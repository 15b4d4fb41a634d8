//! The stored decision batches: the table `decision_batches` and its items. They contain no personal data of
//! candidates, only references to activity rows.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::decision_batch::{self, BatchAction};
use crate::domain::id::{DecisionBatchId, OrganizationId, RoleId};
use crate::domain::user::Principal;

/// The maximum number of expired batches that a new batch deletes. It exceeds 1, so that their number shrinks. Deleting
/// them takes less time than a batch of the maximum size.
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

/// Returns the stored batches that contradict the activity: a batch without decisions, or with a decision that its user
/// did not make on an application to its role.
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
               AND (v.organization_id IS NOT b.organization_id OR v.role_id IS NOT b.role_id
                 OR v.user_id IS NOT b.user_id OR v.candidate_role_id IS NULL
                 OR v.action <> CASE b.action
                   WHEN 'reject' THEN 'candidate_step.rejected'
                   WHEN 'move' THEN 'candidate_step.moved'
                   ELSE 'candidate_step.validated'
                 END)
           )
         LIMIT {findings_max}"
    );
    tx.all(&sql, [], |row| Ok(format!("decision batch {} does not agree with the activity", Columns::of(row).text()?)))
}
