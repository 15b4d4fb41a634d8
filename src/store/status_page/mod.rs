//! Status pages. On a status page, a candidate sees and manages one application. The service finds the page by the
//! digest of the token in its link.
//!
//! `view` loads the content of a page, `link` issues links, and `withdrawal` and `deletion` carry out the acts of the
//! page's holder.

pub mod deletion;
pub mod link;
pub mod view;
pub mod withdrawal;

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::form;
use crate::domain::id::{ApplicationId, Id, RoleId, SignupId};
use crate::domain::timestamp::Timestamp;

/// The subject of a status page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageSubject {
    Application(ApplicationId),
    /// A later signup, which did not create an application.
    LaterSignup(SignupId),
}

impl PageSubject {
    /// Returns the values of `candidate_role_id` and `signup_id`.
    fn columns(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Application(id) => (Some(id.as_str()), None),
            Self::LaterSignup(id) => (None, Some(id.as_str())),
        }
    }
}

/// A stored status page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusPage {
    /// The page's number in the database.
    pub number: i64,
    pub subject: PageSubject,
    /// Whether the service treats the holder of the link as the candidate, because the holder's signup created the
    /// candidate or staff gave the holder the link. Any other holder is only known to have entered the candidate's
    /// address.
    pub is_trusted: bool,
    /// The language of the page, unless the reader asks for another language.
    pub locale: String,
    /// The time at which the link was issued.
    pub issued_at: Timestamp,
    /// The time at which the holder withdrew.
    pub withdrawn_at: Option<Timestamp>,
}

/// Inserts the page of an application or of a later signup.
///
/// # Errors
/// [`Error::Defect`] if the subject already has a page or the token is in use. Check the token with [`find`] before
/// calling this function.
pub fn insert(
    tx: &Tx<'_>,
    digest: &[u8; 32],
    subject: &PageSubject,
    is_trusted: bool,
    locale: &str,
) -> Result<(), Error> {
    let sql = "INSERT INTO status_pages (digest, candidate_role_id, signup_id, is_trusted, locale, issued_at)
               VALUES ($1, $2, $3, $4, $5, $6)";
    let (application, signup) = subject.columns();
    tx.run(sql, (digest.as_slice(), application, signup, is_trusted, locale, tx.now.micros()))?;
    Ok(())
}

/// The query for [`read_page`] with a condition.
macro_rules! select_pages {
    ($condition:literal) => {
        concat!(
            "SELECT number, candidate_role_id, signup_id, is_trusted, locale, issued_at, withdrawn_at
             FROM status_pages
             WHERE ",
            $condition
        )
    };
}

fn read_page(row: &Row<'_>) -> Result<StatusPage, Error> {
    let mut columns = Columns::of(row);
    let number = columns.read()?;
    let (application, signup) = (columns.parse_or_none(ApplicationId::parse)?, columns.parse_or_none(SignupId::parse)?);
    let subject = application.map(PageSubject::Application).or(signup.map(PageSubject::LaterSignup));
    Ok(StatusPage {
        number,
        subject: subject.ok_or_else(|| Error::Defect(format!("status page {number} has no subject")))?,
        is_trusted: columns.read()?,
        locale: columns.read()?,
        issued_at: columns.time()?,
        withdrawn_at: columns.time_or_none()?,
    })
}

/// Finds the page of a link. Returns `None` if the page does not exist or the link is spent.
pub fn find(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<Option<StatusPage>, Error> {
    tx.one(select_pages!("digest = $1"), [digest.as_slice()], read_page)
}

/// Finds the page of an application. Returns `None` if the application has no page.
pub fn of_application(tx: &Tx<'_>, application: &ApplicationId) -> Result<Option<StatusPage>, Error> {
    tx.one(select_pages!("candidate_role_id = $1"), [application.as_str()], read_page)
}

/// Finds the role of a link's page. Returns `None` if the page does not exist.
pub fn role(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<Option<RoleId>, Error> {
    let sql = "SELECT coalesce(a.role_id, s.role_id)
               FROM status_pages p
               LEFT JOIN candidate_roles a ON a.id = p.candidate_role_id
               LEFT JOIN signups s ON s.id = p.signup_id
               WHERE p.digest = $1";
    tx.one(sql, [digest.as_slice()], |row| Columns::of(row).parse(RoleId::parse))
}

/// Records that the holder of a page withdrew. A repeat does not change the time.
fn set_withdrawn(tx: &Tx<'_>, page_number: i64) -> Result<(), Error> {
    let sql = "UPDATE status_pages
               SET withdrawn_at = $1
               WHERE number = $2 AND withdrawn_at IS NULL";
    tx.run(sql, (tx.now.micros(), page_number))?;
    Ok(())
}

/// Makes the page of a later signup the page of the application that the signup has since created. The link stays
/// valid.
pub fn hand_over(tx: &Tx<'_>, signup: &SignupId, application: &ApplicationId, is_trusted: bool) -> Result<(), Error> {
    let sql = "UPDATE status_pages
               SET candidate_role_id = $1, signup_id = NULL, is_trusted = $2
               WHERE signup_id = $3";
    tx.run(sql, (application.as_str(), is_trusted, signup.as_str()))?;
    Ok(())
}

/// Removes the page of an application or of a later signup. The page's link becomes spent, and the form that created
/// the link cannot create another page.
pub fn remove(tx: &Tx<'_>, subject: &PageSubject) -> Result<(), Error> {
    let (application, signup) = subject.columns();
    let sql = "INSERT INTO spent_links (digest, spent_at)
               SELECT digest, $1
               FROM status_pages
               WHERE candidate_role_id = $2 OR signup_id = $3
               ON CONFLICT DO NOTHING";
    tx.run(sql, (tx.now.micros(), application, signup))?;
    let sql = "DELETE FROM status_pages
               WHERE candidate_role_id = $1 OR signup_id = $2";
    tx.run(sql, (application, signup))?;
    let sql = "DELETE FROM spent_links
               WHERE spent_at < $1";
    tx.run(sql, [tx.now.minus(form::FORM_AGE_MAX).micros()])?;
    Ok(())
}

/// Returns whether a link is spent. Spent links are stored for at least as long as their forms can be submitted again.
pub fn is_spent(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM spent_links
               WHERE digest = $1";
    tx.exists(sql, [digest.as_slice()])
}
