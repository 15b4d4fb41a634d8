//! The hash chain of activity: its head, and the checks that reveal later changes to rows.

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{self, CHAIN_START, ChainHead, ChainLink, SALT_BYTES, Subject};
use crate::domain::id::{
    ActivityId, ApiKeyId, ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, UserId,
};
use crate::domain::timestamp::Timestamp;

/// Returns the head of the chain.
pub fn head(tx: &Tx<'_>) -> Result<ChainHead, Error> {
    let sql = "SELECT number, hash
               FROM activities
               ORDER BY number DESC
               LIMIT 1";
    let head = tx.one(sql, [], |row| {
        let mut columns = Columns::of(row);
        Ok(ChainHead { number: columns.read()?, hash: columns.read()? })
    })?;
    Ok(head.unwrap_or(ChainHead { number: 0, hash: CHAIN_START }))
}

/// Returns the time of the newest row, or `None` if the chain is empty.
pub fn newest_at(tx: &Tx<'_>) -> Result<Option<Timestamp>, Error> {
    let sql = "SELECT at
               FROM activities
               ORDER BY number DESC
               LIMIT 1";
    tx.one(sql, [], |row| Columns::of(row).time())
}

/// Returns a finding if the chain does not contain this head, which was recorded outside the database. If someone
/// tampers with rows and then recomputes the chain, the chain is consistent again, so only a head that was recorded
/// elsewhere reveals the tampering.
pub fn head_mismatch(tx: &Tx<'_>, recorded: &ChainHead) -> Result<Option<String>, Error> {
    let sql = "SELECT hash
               FROM activities
               WHERE number = $1";
    let number = recorded.number;
    Ok(match tx.value::<[u8; 32]>(sql, [number])? {
        Some(hash) if hash == recorded.hash => None,
        None if number == 0 && recorded.hash == CHAIN_START => None,
        Some(_) => {
            Some(format!("activities: row {number} does not have the recorded hash, so the chain was rewritten"))
        }
        None => Some(format!(
            "activities: the recorded row {number} is missing; the database is older than this record, or rows were removed"
        )),
    })
}

/// The columns of a row that its hash or its detail hash covers, and the two hashes.
struct ChainedRow {
    number: i64,
    id: ActivityId,
    at: Timestamp,
    action: String,
    user_id: Option<UserId>,
    api_key_id: Option<ApiKeyId>,
    subject: Subject,
    detail: String,
    /// `None` for a row whose detail was erased.
    salt: Option<[u8; SALT_BYTES]>,
    detail_hash: [u8; 32],
    hash: [u8; 32],
}

/// The query whose rows [`chained_row`] reads: the next 10,000 rows after a number.
const CHAINED_ROWS: &str = "SELECT number, id, at, action, user_id, api_key_id, organization_id, role_id, candidate_id,
                              candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash
                            FROM activities
                            WHERE number > $1
                            ORDER BY number
                            LIMIT 10000";

fn chained_row(row: &Row<'_>) -> Result<ChainedRow, Error> {
    let mut columns = Columns::of(row);
    Ok(ChainedRow {
        number: columns.read()?,
        id: columns.parse(ActivityId::parse)?,
        at: columns.time()?,
        action: columns.read()?,
        user_id: columns.parse_or_none(UserId::parse)?,
        api_key_id: columns.parse_or_none(ApiKeyId::parse)?,
        subject: Subject {
            organization_id: columns.parse_or_none(OrganizationId::parse)?,
            role_id: columns.parse_or_none(RoleId::parse)?,
            candidate_id: columns.parse_or_none(CandidateId::parse)?,
            candidate_role_id: columns.parse_or_none(ApplicationId::parse)?,
            candidate_role_step_id: columns.parse_or_none(CandidateStepId::parse)?,
        },
        detail: columns.read()?,
        salt: columns.read()?,
        detail_hash: columns.read()?,
        hash: columns.read()?,
    })
}

impl ChainedRow {
    fn expected_hash(&self, previous: &[u8; 32]) -> [u8; 32] {
        let link = ChainLink {
            number: self.number,
            id: &self.id,
            at: self.at,
            action: &self.action,
            user_id: self.user_id.as_ref(),
            api_key_id: self.api_key_id.as_ref(),
            subject: &self.subject,
            detail_hash: &self.detail_hash,
        };
        link.hash(previous)
    }

    fn has_changed_detail(&self) -> bool {
        let hash = self.salt.as_ref().map(|salt| activity::detail_hash(salt, &self.detail));
        hash.is_some_and(|hash| hash != self.detail_hash)
    }
}

/// Finds rows whose detail was removed although no erasure and no deletion of a signup accounts for the removal. Such
/// a removal bypassed the trigger that guards the table, and the hashes alone do not reveal it. Returns at most
/// `findings_max` findings.
pub(in crate::store) fn unexplained_erasures(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let sql = "SELECT a.id
               FROM activities a
               WHERE a.salt IS NULL
                 AND NOT EXISTS (SELECT 1 FROM candidates c WHERE c.id = a.candidate_id AND c.erased_at IS NOT NULL)
                 AND NOT (a.action IN ('candidate.added', 'candidate.changed') AND EXISTS (
                   SELECT 1 FROM activities d
                   WHERE d.candidate_id = a.candidate_id AND d.action = 'candidate_role.signup_deleted'
                     AND d.number > a.number
                 ))
               ORDER BY a.number
               LIMIT $1";
    let findings_max = i64::try_from(findings_max).unwrap_or(i64::MAX);
    let ids: Vec<String> = tx.values(sql, [findings_max])?;
    Ok(ids
        .iter()
        .map(|id| format!("activity {id}: the detail was removed, but no erasure or deletion accounts for it"))
        .collect())
}

/// Finds defects in the chain, in the order of the rows: a detail or a row that does not match its hash, or a missing
/// number. Stops after the row at which the number of findings reaches `findings_max`.
pub(in crate::store) fn broken_links(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let mut findings = Vec::new();
    let (mut number, mut previous) = (0, CHAIN_START);
    loop {
        let rows = tx.all(CHAINED_ROWS, [number], chained_row)?;
        let Some(end) = rows.last() else { return Ok(findings) };
        let end = end.number;
        for row in rows {
            if row.number != number + 1 {
                findings.push(format!("activities: rows between {number} and {} are missing", row.number));
            }
            if row.has_changed_detail() {
                findings.push(format!("activity {}: the detail was changed", row.id));
            }
            if row.expected_hash(&previous) != row.hash {
                findings.push(format!("activity {}: the row, or the one before it, was changed", row.id));
            }
            (number, previous) = (row.number, row.hash);
            if findings.len() >= findings_max {
                return Ok(findings);
            }
        }
        number = end;
    }
}
