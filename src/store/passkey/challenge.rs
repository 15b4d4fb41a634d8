//! The challenges of the registrations, sign-ins and step-ups in progress.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{Id, UserId};
use crate::domain::passkey::{Challenge, ChallengeUse, LIFETIME, PasskeyFault, StoredChallenge};

/// The number of unused challenges above which each new challenge of a stranger replaces the oldest challenge of a
/// stranger. A flood from many networks therefore does not fill the database.
pub(super) const CHALLENGES_MAX: i64 = 10_000;

/// The maximum number of unused challenges of one user: more than anybody answers at the same time. The newest
/// challenges are retained.
pub(super) const USER_CHALLENGES_MAX: i64 = 20;

/// Stores the digest of an issued challenge. Deletes expired challenges and challenges above the limits.
pub fn issue(tx: &Tx<'_>, challenge: &Challenge, facts: &StoredChallenge) -> Result<(), Error> {
    let sql = "DELETE FROM passkey_challenges
               WHERE issued_at <= $1";
    tx.run(sql, [tx.now.minus(LIFETIME).micros()])?;
    let sql = "INSERT INTO passkey_challenges (digest, purpose, browser, user_id, issued_at)
               VALUES ($1, $2, $3, $4, $5)";
    let digest = Challenge::digest(challenge.as_str());
    let (purpose, user) = (facts.purpose.as_str(), facts.user_id.as_ref().map(UserId::as_str));
    tx.run(sql, (digest.as_slice(), purpose, facts.browser.as_slice(), user, facts.issued_at.micros()))?;
    let Some(user) = user else {
        let sql = "DELETE FROM passkey_challenges
                   WHERE (SELECT count(*) FROM passkey_challenges) > $1
                     AND digest = (
                       SELECT digest FROM passkey_challenges
                       WHERE user_id IS NULL
                       ORDER BY issued_at, digest
                       LIMIT 1
                     )";
        tx.run(sql, [CHALLENGES_MAX])?;
        return Ok(());
    };
    let sql = "DELETE FROM passkey_challenges
               WHERE user_id = $1
                 AND digest NOT IN (
                   SELECT digest FROM passkey_challenges
                   WHERE user_id = $1
                   ORDER BY issued_at DESC, digest
                   LIMIT $2
                 )";
    tx.run(sql, (user, USER_CHALLENGES_MAX))?;
    Ok(())
}

/// Deletes a challenge that a browser answers, so that it cannot be answered again. Returns a fault if the challenge is
/// unknown or expired, or was issued for another purpose, browser or user.
pub fn spend(
    tx: &Tx<'_>,
    challenge: &str,
    purpose: ChallengeUse,
    browser: &[u8; 32],
    user: Option<&UserId>,
) -> Result<Result<(), PasskeyFault>, Error> {
    let sql = "DELETE FROM passkey_challenges
               WHERE digest = $1
               RETURNING purpose, browser, user_id, issued_at";
    let found = tx.one(sql, [Challenge::digest(challenge).as_slice()], |row| {
        let mut columns = Columns::of(row);
        Ok(StoredChallenge {
            purpose: columns.parse(ChallengeUse::parse)?,
            browser: columns.read()?,
            user_id: columns.parse_or_none(UserId::parse)?,
            issued_at: columns.time()?,
        })
    })?;
    Ok(found.map_or(Err(PasskeyFault::UnknownChallenge), |stored| stored.check(purpose, browser, user, tx.now)))
}
