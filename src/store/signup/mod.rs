//! Signups: submitted application forms with their attachments. `submission` stores signups and creates their
//! applications. `reapplication` submits the later signups of an erased candidate again. `deletion` deletes signups.

pub(super) mod deletion;
pub(super) mod reapplication;
mod submission;

use std::collections::HashMap;

use super::attachment::{self, Attachment, attachment_columns};
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, Id, RoleId, SignupId};
use crate::domain::timestamp::Timestamp;
pub use submission::{SignupInput, submit};

/// A submitted form as the applicant filled it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signup {
    pub id: SignupId,
    pub role_id: RoleId,
    /// The application that the signup created; `None` for a later signup.
    pub application: Option<ApplicationId>,
    /// The names of the role's steps at the time of a later signup. Empty if the signup created an application, because
    /// the application has a copy of the steps.
    pub steps: Vec<String>,
    pub name: String,
    pub email: String,
    /// The telephone number; empty if there is none.
    pub phone: String,
    /// Links to profiles and work samples.
    pub links: Vec<String>,
    /// The note to the organization; empty if there is none.
    pub note: String,
    /// The language of the form.
    pub locale: String,
    /// The time of the consent to the organization's privacy notice.
    pub consented_at: Timestamp,
    pub submitted_at: Timestamp,
    /// The time at which the applicant withdrew on the status page.
    pub withdrawn_at: Option<Timestamp>,
    pub attachments: Vec<Attachment>,
}

/// The signups of one application, and its attachments without a signup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationSignups {
    /// The signup that created the application; `None` if staff or an import added the application, or if the signup
    /// was deleted.
    pub original: Option<Signup>,
    /// The newest [`LATER_SIGNUPS_MAX`] later signups, oldest first. The service knows only that the people who sent
    /// them entered the candidate's address.
    pub later: Vec<Signup>,
    /// The attachments that imports added to the application.
    pub imported: Vec<Attachment>,
}

/// The maximum number of later signups that staff see for one application, so that a stranger cannot flood the view.
pub const LATER_SIGNUPS_MAX: i64 = 20;

/// The query for [`read_row`] with a condition. It selects one row for each attachment, or one row for a signup without
/// attachments.
macro_rules! select_signups {
    ($condition:literal) => {
        concat!(
            "SELECT s.id, s.role_id, s.candidate_role_id, s.steps, s.name, s.email, s.phone, s.links, s.note, s.locale,
               s.consented_at, s.created_at, coalesce(p.withdrawn_at, q.withdrawn_at), ",
            attachment_columns!(),
            " FROM signups s
             LEFT JOIN status_pages p ON p.candidate_role_id = s.candidate_role_id
             LEFT JOIN status_pages q ON q.signup_id = s.id
             LEFT JOIN documents d ON d.signup_id = s.id
             WHERE ",
            $condition,
            " ORDER BY s.number, d.number"
        )
    };
}

/// Reads the signup from a row, with the row's attachment.
fn read_row(row: &Row<'_>) -> Result<Signup, Error> {
    let mut columns = Columns::of(row);
    Ok(Signup {
        id: columns.parse(SignupId::parse)?,
        role_id: columns.parse(RoleId::parse)?,
        application: columns.parse_or_none(ApplicationId::parse)?,
        steps: columns.text_or_none()?.map(parse_strings).transpose()?.unwrap_or_default(),
        name: columns.read()?,
        email: columns.read()?,
        phone: columns.read()?,
        links: parse_strings(columns.text()?)?,
        note: columns.read()?,
        locale: columns.read()?,
        consented_at: columns.time()?,
        submitted_at: columns.time()?,
        withdrawn_at: columns.time_or_none()?,
        attachments: attachment::read_attachment(&mut columns)?.into_iter().collect(),
    })
}

fn parse_strings(json: &str) -> Result<Vec<String>, Error> {
    // The service logs the error, so the error contains neither the JSON nor the parser's message, which quotes the
    // JSON.
    serde_json::from_str(json).map_err(|error| {
        Error::Defect(format!("the JSON of a signup is not a list of strings, at column {}", error.column()))
    })
}

/// Joins the rows of each signup.
fn join_rows(rows: Vec<Signup>) -> Vec<Signup> {
    let mut signups: Vec<Signup> = Vec::new();
    for mut row in rows {
        match signups.last_mut() {
            Some(last) if last.id == row.id => last.attachments.append(&mut row.attachments),
            _ => signups.push(row),
        }
    }
    signups
}

/// The number of applications that one query reads. A page of a list needs one or two of these queries. The number is
/// constant, so that the statement is prepared only once.
const APPLICATIONS_PER_QUERY: usize = 50;

const OF_APPLICATIONS: &str = select_signups!(
    "s.candidate_role_id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
       $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40,
       $41, $42, $43, $44, $45, $46, $47, $48, $49, $50)"
);

/// Returns the signups that created these applications. Leaves out applications that staff or imports added, and
/// signups that were deleted.
pub fn of_applications<'a>(
    tx: &Tx<'_>,
    ids: impl Iterator<Item = &'a ApplicationId>,
) -> Result<HashMap<ApplicationId, Signup>, Error> {
    let ids: Vec<&str> = ids.map(ApplicationId::as_str).collect();
    let mut signups = HashMap::new();
    for slice in ids.chunks(APPLICATIONS_PER_QUERY) {
        // Empty strings fill the list, because no id is empty.
        let params = slice.iter().copied().chain(std::iter::repeat("")).take(APPLICATIONS_PER_QUERY);
        let rows = tx.all(OF_APPLICATIONS, params.collect::<Vec<&str>>(), read_row)?;
        signups.extend(join_rows(rows).into_iter().filter_map(|signup| Some((signup.application.clone()?, signup))));
    }
    Ok(signups)
}

/// Finds the signup that created an application. Returns `None` if staff or an import added the application, or if the
/// signup was deleted.
pub fn of_application(tx: &Tx<'_>, id: &ApplicationId) -> Result<Option<Signup>, Error> {
    let rows = tx.all(select_signups!("s.candidate_role_id = $1"), [id.as_str()], read_row)?;
    Ok(join_rows(rows).pop())
}

/// Reads the signup that created an application, the newest later signups, and the imported attachments.
pub fn all_of_application(tx: &Tx<'_>, id: &ApplicationId) -> Result<ApplicationSignups, Error> {
    let sql =
        select_signups!("s.number IN (SELECT number FROM signups WHERE later_of = $1 ORDER BY number DESC LIMIT $2)");
    let later = join_rows(tx.all(sql, (id.as_str(), LATER_SIGNUPS_MAX), read_row)?);
    let imported = attachment::imported::of_application(tx, id)?;
    Ok(ApplicationSignups { original: of_application(tx, id)?, later, imported })
}

/// Finds a signup by its id.
pub fn find(tx: &Tx<'_>, id: &SignupId) -> Result<Option<Signup>, Error> {
    let rows = tx.all(select_signups!("s.id = $1"), [id.as_str()], read_row)?;
    Ok(join_rows(rows).pop())
}

/// Returns the ids of a candidate's signups: first the signups that created applications, then the later signups.
pub(super) fn ids_of_candidate(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<SignupId>, Error> {
    let sql = "SELECT s.id
               FROM candidate_roles a
               JOIN signups s ON s.candidate_role_id = a.id
               WHERE a.candidate_id = $1
               ORDER BY s.number";
    let id = |row: &Row<'_>| Columns::of(row).parse(SignupId::parse);
    let mut signups = tx.all(sql, [candidate.as_str()], id)?;
    let sql = "SELECT s.id
               FROM candidate_roles a
               JOIN signups s ON s.later_of = a.id
               WHERE a.candidate_id = $1
               ORDER BY s.number";
    signups.extend(tx.all(sql, [candidate.as_str()], id)?);
    Ok(signups)
}
