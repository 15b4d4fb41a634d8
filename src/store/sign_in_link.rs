//! Links by which a user signs in once without a password. The database stores only the digest of each token.

use serde::Serialize;

use super::activity;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Subject};
use crate::domain::id::{Id, OrganizationId, UserId};
use crate::domain::sign_in_link::{self, LinkPurpose, SIGN_IN_TOKEN_BYTES};
use crate::domain::text::Email;
use crate::domain::user::Principal;
use crate::world::World;

/// A link that still works, with its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInLink {
    pub user_id: UserId,
    pub email: Email,
    pub name: String,
    pub purpose: LinkPurpose,
    /// The name of the user who made the link; `None` if a command made it.
    pub invited_by: Option<String>,
}

/// Creates a link for a user and returns its token. Deletes expired links, and earlier links of the user, so that at
/// most one link of a user works.
pub fn create(
    tx: &Tx<'_>,
    world: &dyn World,
    user: &UserId,
    purpose: LinkPurpose,
    invited_by: Option<&UserId>,
) -> Result<String, Error> {
    let mut random = [0; SIGN_IN_TOKEN_BYTES];
    world.fill(&mut random);
    let token = sign_in_link::token(&random);
    let sql = "DELETE FROM sign_in_links
               WHERE user_id = $1 OR expires_at <= $2";
    tx.run(sql, (user.as_str(), tx.now.micros()))?;
    let sql = "INSERT INTO sign_in_links (digest, user_id, purpose, invited_by, created_at, expires_at)
               VALUES ($1, $2, $3, $4, $5, $6)";
    let expires_at = tx.now.plus(purpose.lifetime()).micros();
    let invited_by = invited_by.map(UserId::as_str);
    let digest = sign_in_link::digest(&token);
    tx.run(sql, (digest.as_slice(), user.as_str(), purpose.as_str(), invited_by, tx.now.micros(), expires_at))?;
    Ok(token)
}

/// Creates a link for a member of an organization, and records the act.
pub fn issue(
    tx: &Tx<'_>,
    world: &dyn World,
    who: &Principal,
    organization: &OrganizationId,
    user: &UserId,
    purpose: LinkPurpose,
) -> Result<String, Error> {
    let token = create(tx, world, user, purpose, Some(&who.user_id))?;
    let issued = IssuedDetail { user_id: user.as_str(), purpose: purpose.as_str() };
    let detail = activity::detail(&None::<()>, &issued)?;
    let subject = Subject::of_organization(organization.clone());
    activity::append(tx, &activity::stamp(world), Some(who), Action::SignInLinkIssued, &subject, &detail)?;
    Ok(token)
}

/// The detail of a link in an activity row.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IssuedDetail<'a> {
    user_id: &'a str,
    purpose: &'static str,
}

/// Finds the link with this token. Returns `None` if the link does not exist, was used or has expired, or if its user
/// is disabled.
pub fn find(tx: &Tx<'_>, token: &str) -> Result<Option<SignInLink>, Error> {
    let sql = "SELECT l.user_id, u.email, u.name, l.purpose, i.name
               FROM sign_in_links l
               JOIN users u ON u.id = l.user_id
               LEFT JOIN users i ON i.id = l.invited_by
               WHERE l.digest = $1 AND l.expires_at > $2 AND u.enabled = 1";
    tx.one(sql, (sign_in_link::digest(token).as_slice(), tx.now.micros()), |row| {
        let mut columns = Columns::of(row);
        Ok(SignInLink {
            user_id: columns.parse(UserId::parse)?,
            email: columns.parse(Email::parse_stored)?,
            name: columns.read()?,
            purpose: columns.parse(LinkPurpose::parse)?,
            invited_by: columns.read()?,
        })
    })
}

/// Deletes every link of a user, because the user has just used a link, or because a change to the user ends the user's
/// sessions.
pub fn delete_of_user(tx: &Tx<'_>, user: &UserId) -> Result<(), Error> {
    let sql = "DELETE FROM sign_in_links
               WHERE user_id = $1";
    tx.run(sql, [user.as_str()])?;
    Ok(())
}
