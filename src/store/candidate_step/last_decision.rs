//! The last decision on an application. The undo of a decision batch needs it, and a refusal in a decision batch names
//! it.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::StepFacts;
use crate::domain::id::{Id, UserId};
use crate::domain::timestamp::Timestamp;

/// The actions of the activity that are decisions.
const DECISIONS: &str = "'candidate_step.validated', 'candidate_step.moved', 'candidate_step.rejected', \
                         'candidate_step.reopened', 'candidate_step.hired', 'candidate_step.hire_reversed', \
                         'candidate_step.undone', 'candidate_role.withdrawn'";

/// The actions of the activity that change a later mark.
const MARKS: &str = "'candidate_role.put_aside', 'candidate_role.taken_up'";

/// The last decision on an application, or the last change to its later mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastDecision {
    /// The number of the decision's activity row.
    pub number: i64,
    /// The action, as in the activity row.
    pub action: String,
    pub at: Timestamp,
    /// The id and the name of the user who decided; `None` if the candidate or the service itself acted.
    pub by: Option<(UserId, String)>,
}

/// Finds the last decision on an application. Withdrawals count as decisions.
pub fn last_decision(tx: &Tx<'_>, facts: &StepFacts) -> Result<Option<LastDecision>, Error> {
    last(tx, facts, DECISIONS)
}

/// Finds the last decision on an application or the last change to its later mark, whichever is newer. Withdrawals
/// count as decisions.
pub fn last_decision_or_mark(tx: &Tx<'_>, facts: &StepFacts) -> Result<Option<LastDecision>, Error> {
    last(tx, facts, &format!("{DECISIONS}, {MARKS}"))
}

fn last(tx: &Tx<'_>, facts: &StepFacts, actions: &str) -> Result<Option<LastDecision>, Error> {
    let sql = format!(
        "SELECT v.number, v.action, v.at, u.id, u.name
         FROM activities v
         LEFT JOIN users u ON u.id = v.user_id
         WHERE v.candidate_id = $1 AND v.candidate_role_id = $2 AND v.action IN ({actions})
         ORDER BY v.number DESC
         LIMIT 1"
    );
    tx.one(&sql, (facts.candidate_id.as_str(), facts.application_id.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok(LastDecision {
            number: columns.read()?,
            action: columns.read()?,
            at: columns.time()?,
            by: columns.parse_or_none(UserId::parse)?.zip(columns.read()?),
        })
    })
}
