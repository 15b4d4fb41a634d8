//! The pages where candidates see where they stand, by the digest of their link's token. What is on one is in `shown`, what
//! somebody applied with in `sent`, what whoever has the link does in `acts`, and what a candidate is kept for then in `claims`.

pub mod acts;
pub(in crate::store) mod claims;
pub mod sent;
pub mod shown;

use crate::db::row::Row;

use crate::db::tx::{self, Error, Tx};
use crate::domain::form;
use crate::domain::id::{ApplicationId, Id, RoleId, SignupId};
use crate::domain::timestamp::Timestamp;

/// What a page is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// An application.
    Application(ApplicationId),
    /// A signup that has changed nothing, and so has none.
    Signup(SignupId),
}

/// A page, as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusPage {
    /// Its number in the file.
    pub number: i64,
    /// What it is about.
    pub about: About,
    /// Whether who has its link is the candidate, as far as anybody knows: what they sent made the candidate, or staff gave
    /// it to them. Of anybody else nothing is known but that they typed the candidate's address.
    pub is_trusted: bool,
    /// The language that it speaks where its reader wants none.
    pub locale: String,
    /// When its link was made.
    pub issued_at: Timestamp,
    /// When the candidate took back what it is about.
    pub withdrawn_at: Option<Timestamp>,
}

/// Adds the page of an application or of a signup without one.
///
/// # Errors
/// [`Error::Defect`] where it has a page already, or the token was given before: what comes with a form is looked for by
/// [`find`] first.
pub fn insert(tx: &Tx<'_>, digest: &[u8; 32], about: &About, is_trusted: bool, locale: &str) -> Result<(), Error> {
    let sql = "INSERT INTO status_pages (digest, candidate_role_id, signup_id, is_trusted, locale, issued_at)
               VALUES ($1, $2, $3, $4, $5, $6)";
    let (application, signup) = match about {
        About::Application(id) => (Some(id.as_str()), None),
        About::Signup(id) => (None, Some(id.as_str())),
    };
    tx.run(sql, (digest.as_slice(), application, signup, is_trusted, locale, tx.now.micros()))?;
    Ok(())
}

/// The page behind a link; `None` where there is none, or another link has taken its place.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<Option<StatusPage>, Error> {
    let sql = "SELECT number, candidate_role_id, signup_id, is_trusted, locale, issued_at, withdrawn_at
               FROM status_pages
               WHERE digest = $1";
    tx.one(sql, [digest.as_slice()], page)
}

fn page(row: &Row<'_>) -> Result<StatusPage, Error> {
    let id = |column| row.get::<_, Option<String>>(column);
    let about = match (id(1)?, id(2)?) {
        (Some(application), _) => About::Application(tx::word(&application, ApplicationId::parse)?),
        (None, signup) => About::Signup(tx::word(&signup.unwrap_or_default(), SignupId::parse)?),
    };
    Ok(StatusPage {
        number: row.get(0)?,
        about,
        is_trusted: row.get(3)?,
        locale: row.get(4)?,
        issued_at: tx::time(row, 5)?,
        withdrawn_at: tx::time_or_none(row, 6)?,
    })
}

/// The role that was applied for by whoever has a link; `None` where the link leads nowhere.
///
/// # Errors
/// When SQLite fails.
pub fn role(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<Option<RoleId>, Error> {
    let sql = "SELECT coalesce(a.role_id, s.role_id)
               FROM status_pages p
               LEFT JOIN candidate_roles a ON a.id = p.candidate_role_id
               LEFT JOIN signups s ON s.id = p.signup_id
               WHERE p.digest = $1";
    tx.one(sql, [digest.as_slice()], |row| tx::word(&row.get::<_, String>(0)?, RoleId::parse))
}

/// The page of an application; `None` where it never had a link.
///
/// # Errors
/// When SQLite fails.
pub fn of_application(tx: &Tx<'_>, application: &ApplicationId) -> Result<Option<StatusPage>, Error> {
    let sql = "SELECT number, candidate_role_id, signup_id, is_trusted, locale, issued_at, withdrawn_at
               FROM status_pages
               WHERE candidate_role_id = $1";
    tx.one(sql, [application.as_str()], page)
}

/// Gives an application's page a new link, and the page where there is none. The old link leads nowhere any more.
///
/// # Errors
/// When SQLite fails.
pub fn renew(tx: &Tx<'_>, digest: &[u8; 32], application: &ApplicationId, locale: &str) -> Result<(), Error> {
    let sql = "INSERT OR IGNORE INTO spent_links (digest, spent_at)
               SELECT digest, $1
               FROM status_pages
               WHERE candidate_role_id = $2";
    tx.run(sql, (tx.now.micros(), application.as_str()))?;
    let sql = "INSERT INTO status_pages (digest, candidate_role_id, is_trusted, locale, issued_at)
               VALUES ($1, $2, 1, $3, $4)
               ON CONFLICT (candidate_role_id) DO UPDATE
               SET digest = excluded.digest, is_trusted = 1, locale = excluded.locale, issued_at = excluded.issued_at";
    tx.run(sql, (digest.as_slice(), application.as_str(), locale, tx.now.micros()))?;
    Ok(())
}

/// Notes that the candidate took back what a page is about. The first time counts.
///
/// # Errors
/// When SQLite fails.
pub fn withdraw(tx: &Tx<'_>, number: i64) -> Result<(), Error> {
    let sql = "UPDATE status_pages
               SET withdrawn_at = $1
               WHERE number = $2 AND withdrawn_at IS NULL";
    tx.run(sql, (tx.now.micros(), number))?;
    Ok(())
}

/// Makes the page of a signup that of the application which is its own from now on. The link stays.
///
/// # Errors
/// When SQLite fails.
pub fn hand_over(tx: &Tx<'_>, signup: &SignupId, application: &ApplicationId, is_trusted: bool) -> Result<(), Error> {
    let sql = "UPDATE status_pages
               SET candidate_role_id = $1, signup_id = NULL, is_trusted = $2
               WHERE signup_id = $3";
    tx.run(sql, (application.as_str(), is_trusted, signup.as_str()))?;
    Ok(())
}

/// Takes away the pages of an application, or of a signup without one. Their links lead nowhere any more, and a form that
/// made one makes no other.
///
/// # Errors
/// When SQLite fails.
pub fn remove(tx: &Tx<'_>, about: &About) -> Result<(), Error> {
    let (application, signup) = match about {
        About::Application(id) => (Some(id.as_str()), None),
        About::Signup(id) => (None, Some(id.as_str())),
    };
    let sql = "INSERT OR IGNORE INTO spent_links (digest, spent_at)
               SELECT digest, $1
               FROM status_pages
               WHERE candidate_role_id = $2 OR signup_id = $3";
    tx.run(sql, (tx.now.micros(), application, signup))?;
    let sql = "DELETE FROM status_pages
               WHERE candidate_role_id = $1 OR signup_id = $2";
    tx.run(sql, (application, signup))?;
    let sql = "DELETE FROM spent_links
               WHERE spent_at < $1";
    tx.run(sql, [tx.now.minus(form::FORM_AGE_MAX).micros()])?;
    Ok(())
}

/// Whether a link led to a page that is gone, or that has another link by now, so lately that the form that made it can
/// come again.
///
/// # Errors
/// When SQLite fails.
pub fn is_spent(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM spent_links
               WHERE digest = $1";
    tx.exists(sql, [digest.as_slice()])
}
