//! Activity: the record of every act. The transaction of an act appends a row, whose hash covers the hash of the
//! previous row.

pub(super) mod chain;
pub mod organization_changes;
pub(super) mod page;
pub mod platform;
pub mod role_changes;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::db::tx::{Error, Tx};
use crate::domain::activity::{self, Action, ChainHead, ChainLink, SALT_BYTES, Stamp, Subject};
use crate::domain::id::{ApiKeyId, ApplicationId, CandidateId, CandidateStepId, OrganizationId, RoleId, UserId};
use crate::domain::user::Principal;
use crate::world::World;
pub use chain::{head, head_mismatch, newest_at};
pub use page::{Activity, Actor, latest_act, latest_decision, number, page};

/// Generates the id and the salt for a new row.
pub fn stamp(world: &dyn World) -> Stamp {
    let mut salt = [0; SALT_BYTES];
    world.fill(&mut salt);
    Stamp { id: world.id(), salt }
}

/// Returns a detail with the values before and after an act, as JSON text. `null` stands for a value that did not exist
/// before, or no longer exists.
///
/// # Errors
/// [`Error::Defect`] if a value cannot be written as JSON.
pub fn detail(before: &impl Serialize, after: &impl Serialize) -> Result<String, Error> {
    #[derive(Serialize)]
    struct Detail<'a, B, A> {
        before: &'a B,
        after: &'a A,
    }
    serde_json::to_string(&Detail { before, after })
        .map_err(|error| Error::Defect(format!("cannot write the detail of an activity row: {error}")))
}

/// Returns a detail with only the members that an act changed, or `None` if the act changed no member.
///
/// # Errors
/// [`Error::Defect`] if a value is not a JSON object.
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
        _ => Err(Error::Defect("the detail of an activity row is not a JSON object".to_owned())),
    }
}

/// Appends a row for an act by `who`; `None` stands for the service itself, a command, a candidate or an unknown actor.
/// `detail` is JSON text.
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
