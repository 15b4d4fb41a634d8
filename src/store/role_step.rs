//! The steps of roles' pipelines.

use super::tx::{self, Error, Tx};
use crate::domain::candidate_step::StepType;
use crate::domain::id::{Id, RoleId, RoleStepId};

/// One step of a role's pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: RoleStepId,
    /// Its name.
    pub name: String,
    /// Its position in the pipeline, from 1.
    pub order: i64,
    /// What it is for.
    pub step_type: StepType,
}

/// Adds a step to a role. Whether there was none with this id before.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, role: &RoleId, step: &Record) -> Result<bool, Error> {
    let sql = "INSERT INTO role_steps (id, role_id, name, step_order, step_type)
               VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT DO NOTHING";
    let Record { id, name, order, step_type } = step;
    Ok(tx.run(sql, (id.as_str(), role.as_str(), name, order, step_type.as_str()))? == 1)
}

/// Every step of a role's pipeline, first to last; not those that were taken out of it.
///
/// # Errors
/// When SQLite fails.
pub fn of_role(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<Record>, Error> {
    let sql = "SELECT id, name, step_order, step_type
               FROM role_steps
               WHERE role_id = $1 AND step_order IS NOT NULL
               ORDER BY step_order";
    tx.all(sql, [role.as_str()], |row| {
        Ok(Record {
            id: tx::word(&row.get::<_, String>(0)?, RoleStepId::parse)?,
            name: row.get(1)?,
            order: row.get(2)?,
            step_type: tx::word(&row.get::<_, String>(3)?, StepType::parse)?,
        })
    })
}

/// Whether there is such a step.
///
/// # Errors
/// When SQLite fails.
pub fn exists(tx: &Tx<'_>, step: &RoleStepId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM role_steps
               WHERE id = $1";
    tx.exists(sql, [step.as_str()])
}
