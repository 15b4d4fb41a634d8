//! The access that a restored copy must not bring back: revoked keys, ended sessions, old passwords, earlier platform
//! roles and organization roles, disabled users and organizations, removed members, removed second factors, replaced
//! links, and the replaced secrets of HR integrations. In these respects, the copy gets the state of the replaced file,
//! with the exceptions that the functions name. Legal holds of the file also apply in the copy. The copy is the main
//! database, and the file is attached as `replaced`.

use super::comparison::Lineage;
use crate::db::tx::{Error, Tx};

/// The access that a restore withdrew from the copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Withdrawn {
    /// Keys that were revoked in the file but not in the copy.
    pub api_keys: usize,
    /// Users whose password or platform role changed, or who were enabled or disabled.
    pub users: usize,
    pub memberships: usize,
    pub sessions: usize,
}

/// Withdraws from the copy the access that the replaced file records as withdrawn, and applies the file's legal holds.
/// `ends_sessions` is true if the file might not show all sessions that have ended. In that case, all sessions end.
pub(super) fn carry_over(tx: &Tx<'_>, lineage: Lineage, ends_sessions: bool) -> Result<Withdrawn, Error> {
    let withdrawn = Withdrawn {
        api_keys: keys(tx)?,
        users: users(tx, lineage)?,
        memberships: memberships(tx)?,
        sessions: if ends_sessions { end_all_sessions(tx)? } else { sessions(tx)? },
    };
    second_factors(tx)?;
    organizations(tx, lineage)?;
    links(tx, lineage)?;
    holds(tx)?;
    Ok(withdrawn)
}

/// Revokes all keys of the copy. Returns the number of keys that were not revoked before.
pub(super) fn revoke_all_keys(tx: &Tx<'_>) -> Result<usize, Error> {
    let sql = "UPDATE api_keys
               SET enabled = 0, updated_at = $1
               WHERE enabled = 1";
    tx.run(sql, [tx.now.micros()])
}

/// Ends all sessions of the copy, and deletes all sign-in links and passkey challenges. Returns the number of sessions.
pub(super) fn end_all_sessions(tx: &Tx<'_>) -> Result<usize, Error> {
    tx.run("DELETE FROM sign_in_links", [])?;
    tx.run("DELETE FROM passkey_challenges", [])?;
    tx.run("DELETE FROM sessions", [])
}

fn keys(tx: &Tx<'_>) -> Result<usize, Error> {
    let sql = "UPDATE main.api_keys
               SET ended_at = r.ended_at
               FROM replaced.api_keys r
               WHERE r.id = api_keys.id AND r.ended_at IS NOT NULL AND api_keys.ended_at IS NULL";
    tx.run(sql, [])?;
    let sql = "UPDATE main.api_keys
               SET enabled = 0, updated_at = r.updated_at
               FROM replaced.api_keys r
               WHERE r.id = api_keys.id AND r.enabled = 0 AND api_keys.enabled = 1";
    tx.run(sql, [])
}

/// If the copy is an earlier state of the file, each user gets the password, the platform role and the enabled state
/// from the file. Otherwise, the later change to a user applies. In both cases, a user who is disabled in the file
/// becomes disabled in the copy.
fn users(tx: &Tx<'_>, lineage: Lineage) -> Result<usize, Error> {
    let sql = "UPDATE main.users
               SET password_hash = r.password_hash, platform_role = r.platform_role, enabled = r.enabled,
                 updated_at = r.updated_at
               FROM replaced.users r
               WHERE r.id = users.id AND ($1 OR r.updated_at > users.updated_at)
                 AND (r.password_hash IS NOT users.password_hash OR r.platform_role <> users.platform_role
                   OR r.enabled <> users.enabled)";
    let changed = tx.run(sql, [lineage == Lineage::Earlier])?;
    let sql = "UPDATE main.users
               SET enabled = 0
               FROM replaced.users r
               WHERE r.id = users.id AND r.enabled = 0 AND users.enabled = 1";
    Ok(changed + tx.run(sql, [])?)
}

/// The memberships of the file replace those of the copy. A membership in the copy stays if only the copy has its user
/// or its organization.
fn memberships(tx: &Tx<'_>) -> Result<usize, Error> {
    let sql = "DELETE FROM main.memberships
               WHERE user_id IN (SELECT id FROM replaced.users)
                 AND organization_id IN (SELECT id FROM replaced.organizations)
                 AND NOT EXISTS (
                   SELECT 1 FROM replaced.memberships r
                   WHERE r.user_id = memberships.user_id AND r.organization_id = memberships.organization_id
                 )";
    let removed = tx.run(sql, [])?;
    let sql = "INSERT INTO main.memberships (user_id, organization_id, org_role, created_at)
               SELECT user_id, organization_id, org_role, created_at
               FROM replaced.memberships
               WHERE user_id IN (SELECT id FROM main.users)
                 AND organization_id IN (SELECT id FROM main.organizations)
               ON CONFLICT (user_id, organization_id) DO UPDATE SET org_role = excluded.org_role";
    tx.run(sql, [])?;
    Ok(removed)
}

fn sessions(tx: &Tx<'_>) -> Result<usize, Error> {
    tx.run("DELETE FROM passkey_challenges", [])?;
    let sql = "DELETE FROM main.sign_in_links
               WHERE digest NOT IN (SELECT digest FROM replaced.sign_in_links)";
    tx.run(sql, [])?;
    let sql = "DELETE FROM main.sessions
               WHERE digest NOT IN (SELECT digest FROM replaced.sessions)";
    tx.run(sql, [])
}

/// For each user in the file, the second factors of the file replace those of the copy, because a stolen passkey that
/// was removed, and a recovery code that was used, must not come back.
fn second_factors(tx: &Tx<'_>) -> Result<(), Error> {
    for table in ["totp_secrets", "recovery_codes", "passkeys"] {
        let sql = format!(
            "DELETE FROM main.{table}
             WHERE user_id IN (SELECT id FROM replaced.users)"
        );
        tx.run(&sql, [])?;
    }
    for (table, columns) in [
        ("totp_secrets", "user_id, secret, confirmed_at, last_step"),
        ("recovery_codes", "user_id, digest"),
        ("passkeys", "id, user_id, credential_id, algorithm, spki, counter, name, created_at, last_used_at"),
    ] {
        let sql = format!(
            "INSERT INTO main.{table} ({columns})
             SELECT {columns}
             FROM replaced.{table}
             WHERE user_id IN (SELECT id FROM main.users)
             ON CONFLICT DO NOTHING"
        );
        tx.run(&sql, [])?;
    }
    Ok(())
}

/// An organization that is disabled in the file or in the copy becomes disabled. An organization that requires second
/// factors in the file or in the copy requires them afterwards. If the copy is an earlier state of the file, the HR
/// integrations of the copy get the settings of the file, because a replaced secret must not sign messages again. In
/// this case, an HR integration that was deleted from the file is disabled.
fn organizations(tx: &Tx<'_>, lineage: Lineage) -> Result<(), Error> {
    let sql = "UPDATE main.organizations
               SET enabled = min(organizations.enabled, r.enabled),
                 require_second_factor = max(organizations.require_second_factor, r.require_second_factor)
               FROM replaced.organizations r
               WHERE r.id = organizations.id";
    tx.run(sql, [])?;
    if lineage != Lineage::Earlier {
        return Ok(());
    }
    let sql = "UPDATE main.hr_integrations
               SET url = r.url, secret = r.secret, previous_secret = r.previous_secret,
                 previous_secret_until = r.previous_secret_until, enabled = r.enabled,
                 disabled_reason = r.disabled_reason, updated_at = r.updated_at
               FROM replaced.hr_integrations r
               WHERE r.organization_id = hr_integrations.organization_id";
    tx.run(sql, [])?;
    let sql = "UPDATE main.hr_integrations
               SET enabled = 0
               WHERE organization_id IN (SELECT id FROM replaced.organizations)
                 AND organization_id NOT IN (SELECT organization_id FROM replaced.hr_integrations)";
    tx.run(sql, [])?;
    Ok(())
}

/// Signup links that have ended stay ended. Only the newest link to a status page opens the page, and a spent link
/// opens none.
fn links(tx: &Tx<'_>, lineage: Lineage) -> Result<(), Error> {
    let sql = "UPDATE main.invitations
               SET ended_at = r.ended_at
               FROM replaced.invitations r
               WHERE r.token = invitations.token AND r.ended_at IS NOT NULL AND invitations.ended_at IS NULL";
    tx.run(sql, [])?;
    if lineage == Lineage::Earlier {
        // If only the copy has a link, the role of the link was deleted after the copy was made. If the copy were not
        // an earlier state of the file, the link could also be newer than the file.
        let sql = "UPDATE main.invitations
                   SET ended_at = $1
                   WHERE ended_at IS NULL AND token NOT IN (SELECT token FROM replaced.invitations)";
        tx.run(sql, [tx.now.micros()])?;
    }
    let sql = "UPDATE main.status_pages
               SET digest = r.digest, issued_at = r.issued_at
               FROM replaced.status_pages r
               WHERE r.candidate_role_id = status_pages.candidate_role_id AND r.issued_at > status_pages.issued_at";
    tx.run(sql, [])?;
    let sql = "DELETE FROM main.status_pages
               WHERE digest IN (SELECT digest FROM replaced.spent_links)";
    tx.run(sql, [])?;
    // The form that created a spent link must not create the link again.
    let sql = "INSERT INTO main.spent_links (digest, spent_at)
               SELECT digest, spent_at
               FROM replaced.spent_links
               WHERE TRUE
               ON CONFLICT DO NOTHING";
    tx.run(sql, [])?;
    Ok(())
}

/// A legal hold that was placed after the copy was made still protects the candidate.
fn holds(tx: &Tx<'_>) -> Result<(), Error> {
    let sql = "UPDATE main.candidates
               SET hold_reason = r.hold_reason
               FROM replaced.candidates r
               WHERE r.id = candidates.id AND r.hold_reason IS NOT NULL AND candidates.hold_reason IS NULL
                 AND candidates.erased_at IS NULL";
    tx.run(sql, [])?;
    Ok(())
}
