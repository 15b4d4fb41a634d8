//! The record of what was done: appended in the transaction of the act itself, each row chained to the one before.

pub(super) mod page;
pub mod platform;

use crate::db::row::Row;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{self, Action, CHAIN_START, ChainHead, ChainLink, SALT_BYTES, Stamp, Subject};
use crate::domain::hr_delivery::DeliveryEvent;
use crate::domain::id::{
    ActivityId, ApiKeyId, ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, UserId,
};
use crate::domain::user::Principal;
use crate::world::World;
pub use page::{Activity, Actor, number, page};

/// What is new about the next row.
pub fn stamp(world: &dyn World) -> Stamp {
    let mut salt = [0; SALT_BYTES];
    world.fill(&mut salt);
    Stamp { id: world.id(), salt }
}

/// What an HR system is told of something that was done, if anything.
pub(super) fn event(action: Action) -> Option<DeliveryEvent> {
    match action {
        Action::Hired => Some(DeliveryEvent::Hired),
        Action::HireReversed => Some(DeliveryEvent::HireReversed),
        _ => None,
    }
}

/// A detail that tells what something was and what it is: JSON text. Nothing for what was not there before, or is not
/// any more.
///
/// # Errors
/// [`Error::Defect`] where that cannot be written as JSON.
pub fn detail(before: &impl Serialize, after: &impl Serialize) -> Result<String, Error> {
    #[derive(Serialize)]
    struct Detail<'a, B, A> {
        before: &'a B,
        after: &'a A,
    }
    serde_json::to_string(&Detail { before, after })
        .map_err(|error| Error::Defect(format!("what was done cannot be written: {error}")))
}

/// The same of what has many members: only those that differ are told. `None` where none does.
///
/// # Errors
/// [`Error::Defect`] where either is no JSON object.
pub fn detail_of_changes(before: &impl Serialize, after: &impl Serialize) -> Result<Option<String>, Error> {
    let (mut before, mut after) = (members(before)?, members(after)?);
    let same: Vec<String> = before.keys().filter(|name| before.get(*name) == after.get(*name)).cloned().collect();
    for name in same {
        before.shift_remove(&name);
        after.shift_remove(&name);
    }
    if before.is_empty() && after.is_empty() { Ok(None) } else { detail(&before, &after).map(Some) }
}

fn members(value: &impl Serialize) -> Result<Map<String, Value>, Error> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(Error::Defect("what was done is no JSON object".to_owned())),
    }
}

/// Appends what was done, by the caller or, without one, by the service itself. `detail` is JSON text.
///
/// # Errors
/// When SQLite fails.
pub fn append(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    action: Action,
    subject: &Subject,
    detail: &str,
) -> Result<(), Error> {
    let ChainHead { number: last, hash: previous } = head(tx)?;
    let user_id = who.map(|who| &who.user_id);
    let api_key_id = who.and_then(Principal::api_key_id);
    let detail_hash = activity::detail_hash(&stamp.salt, detail);
    let link = ChainLink {
        number: last + 1,
        id: &stamp.id,
        at: tx.now,
        action: action.as_str(),
        user_id,
        api_key_id,
        subject,
        detail_hash: &detail_hash,
    };
    let sql =
        "INSERT INTO activities (number, id, organization_id, at, action, user_id, api_key_id, role_id, candidate_id,
                 candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    tx.run(
        sql,
        (
            link.number,
            stamp.id.as_str(),
            subject.organization_id.as_ref().map(OrganizationId::as_str),
            tx.now.micros(),
            action.as_str(),
            user_id.map(UserId::as_str),
            api_key_id.map(ApiKeyId::as_str),
            subject.role_id.as_ref().map(RoleId::as_str),
            subject.candidate_id.as_ref().map(CandidateId::as_str),
            subject.candidate_role_id.as_ref().map(ApplicationId::as_str),
            subject.candidate_role_step_id.as_ref().map(CandidateStepId::as_str),
            detail,
            &stamp.salt,
            detail_hash,
            link.hash(&previous),
        ),
    )?;
    Ok(())
}

/// The head of the chain.
///
/// # Errors
/// When SQLite fails.
pub fn head(tx: &Tx<'_>) -> Result<ChainHead, Error> {
    let sql = "SELECT number, hash
               FROM activities
               ORDER BY number DESC
               LIMIT 1";
    let head = tx.one(sql, [], |row| Ok(ChainHead { number: row.get(0)?, hash: row.get(1)? }))?;
    Ok(head.unwrap_or(ChainHead { number: 0, hash: CHAIN_START }))
}

/// A sentence where the chain is not the one that this head was noted of: the row is gone, or has another hash. A chain
/// that somebody rewrote is whole by itself; only a head that was noted elsewhere shows it.
///
/// # Errors
/// When SQLite fails.
pub fn departure(tx: &Tx<'_>, noted: &ChainHead) -> Result<Option<String>, Error> {
    let sql = "SELECT hash
               FROM activities
               WHERE number = $1";
    let number = noted.number;
    Ok(match tx.one(sql, [number], |row| Ok(row.get::<_, [u8; 32]>(0)?))? {
        Some(hash) if hash == noted.hash => None,
        None if number == 0 && noted.hash == CHAIN_START => None,
        Some(_) => {
            Some(format!("activities: row {number} has another hash than was noted, so the chain was rewritten"))
        }
        None => Some(format!(
            "activities: row {number} was noted and is not there; the file is older, or rows were removed"
        )),
    })
}

/// One row with what the chain says of it.
struct Chained {
    number: i64,
    id: ActivityId,
    at: crate::domain::timestamp::Timestamp,
    action: String,
    user_id: Option<UserId>,
    api_key_id: Option<ApiKeyId>,
    subject: Subject,
    detail: String,
    salt: Option<[u8; SALT_BYTES]>,
    detail_hash: [u8; 32],
    hash: [u8; 32],
}

const CHAINED: &str = "SELECT number, id, at, action, user_id, api_key_id, organization_id, role_id, candidate_id,
                         candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash
                       FROM activities
                       WHERE number > $1
                       ORDER BY number
                       LIMIT 10000";

fn chained(row: &Row<'_>) -> Result<Chained, Error> {
    let subject = Subject {
        organization_id: id(row, 6)?,
        role_id: id(row, 7)?,
        candidate_id: id(row, 8)?,
        candidate_role_id: id(row, 9)?,
        candidate_role_step_id: id(row, 10)?,
    };
    Ok(Chained {
        number: row.get(0)?,
        id: tx::word(&row.get::<_, String>(1)?, ActivityId::parse)?,
        at: tx::time(row, 2)?,
        action: row.get(3)?,
        user_id: id(row, 4)?,
        api_key_id: id(row, 5)?,
        subject,
        detail: row.get(11)?,
        salt: row.get(12)?,
        detail_hash: row.get(13)?,
        hash: row.get(14)?,
    })
}

fn id<I: Id>(row: &Row<'_>, column: usize) -> Result<Option<I>, Error> {
    row.get::<_, Option<String>>(column)?.map(|text| tx::word(&text, I::parse)).transpose()
}

impl Chained {
    fn hash(&self, detail_hash: &[u8; 32], previous: &[u8; 32]) -> [u8; 32] {
        let link = ChainLink {
            number: self.number,
            id: &self.id,
            at: self.at,
            action: &self.action,
            user_id: self.user_id.as_ref(),
            api_key_id: self.api_key_id.as_ref(),
            subject: &self.subject,
            detail_hash,
        };
        link.hash(previous)
    }
}

/// Rows without a detail that no erasure and no deletion of a signup accounts for. They were emptied behind the trigger that
/// guards the table, and the chain alone does not show it. At most `findings_max`.
///
/// # Errors
/// When SQLite fails.
pub(super) fn emptied(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
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
    tx.all(sql, [findings_max], |row| {
        let id: String = row.get(0)?;
        Ok(format!("activity {id}: its detail is gone, and nobody it concerns was erased"))
    })
}

/// What is wrong with the chain, in the order of the rows: a detail that its digest denies, a row that its hash denies, a
/// number that is missing. At most `findings_max`.
///
/// # Errors
/// When SQLite fails.
pub(super) fn broken_links(tx: &Tx<'_>, findings_max: usize) -> Result<Vec<String>, Error> {
    let mut findings = Vec::new();
    let (mut number, mut previous) = (0, CHAIN_START);
    loop {
        let rows = tx.all(CHAINED, [number], chained)?;
        let Some(end) = rows.last() else { return Ok(findings) };
        let end = end.number;
        for row in rows {
            if row.number != number + 1 {
                findings.push(format!("activities: between {number} and {} some are missing", row.number));
            }
            let hash = row.salt.as_ref().map(|salt| activity::detail_hash(salt, &row.detail));
            if hash.is_some_and(|hash| hash != row.detail_hash) {
                findings.push(format!("activity {}: its detail is not what was recorded", row.id));
            }
            if row.hash(&row.detail_hash, &previous) != row.hash {
                findings.push(format!("activity {}: it is not what was recorded, or the one before it is not", row.id));
            }
            (number, previous) = (row.number, row.hash);
            if findings.len() >= findings_max {
                return Ok(findings);
            }
        }
        number = end;
    }
}
