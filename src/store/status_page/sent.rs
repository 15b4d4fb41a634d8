//! What candidates applied with, as they typed it, and the documents that came with it: for themselves, and for staff.

use std::collections::HashMap;

use crate::db::row::Row;

use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{ApplicationId, Id, RoleId, SignupId};
use crate::domain::timestamp::Timestamp;
use crate::store::document::{self, Document};

/// What somebody applied with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its id.
    pub id: SignupId,
    /// The role.
    pub role_id: RoleId,
    /// The application that it made; none where it made none.
    pub application: Option<ApplicationId>,
    /// The names of the role's steps when it was sent; none where its application has steps of its own.
    pub steps: Vec<String>,
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
    /// The number, `""` for none.
    pub phone: String,
    /// The links, in their order.
    pub links: Vec<String>,
    /// The note, `""` for none.
    pub note: String,
    /// The language of the page that it was sent from.
    pub locale: String,
    /// When they consented to the organization's notice.
    pub consented_at: Timestamp,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// When they took the application back by themselves.
    pub withdrawn_at: Option<Timestamp>,
    /// What was uploaded with it.
    pub documents: Vec<Document>,
}

/// All that was sent to an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signups {
    /// What it was made with; none where its candidate did not make it.
    pub made: Option<Sent>,
    /// What came later under the candidate's address, the newest [`LATER_MAX`], oldest first. Whoever sent it knew the
    /// address, and nothing else is known of them.
    pub later: Vec<Sent>,
}

/// How many later signups of an application are told: nobody is drowned in what a stranger sends.
pub const LATER_MAX: i64 = 20;

/// What [`row`] reads: a row for each document, and one where there is none.
macro_rules! sent {
    ($of:literal) => {
        concat!(
            "SELECT s.id, s.role_id, s.candidate_role_id, s.steps, s.name, s.email, s.phone, s.links, s.note, s.locale,
               s.consented_at, s.created_at, coalesce(p.withdrawn_at, q.withdrawn_at),
               d.id, d.file_name, d.media_type, d.bytes, d.created_at, d.sha256
             FROM signups s
             LEFT JOIN status_pages p ON p.candidate_role_id = s.candidate_role_id
             LEFT JOIN status_pages q ON q.signup_id = s.id
             LEFT JOIN documents d ON d.signup_id = s.id
             WHERE ",
            $of,
            " ORDER BY s.number, d.number"
        )
    };
}

/// Applications that are looked for at once. A page of a list is one or two times as many, and a statement that is always the
/// same is prepared once.
const AT_ONCE: usize = 50;

const OF_APPLICATIONS: &str = sent!(
    "s.candidate_role_id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
       $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40,
       $41, $42, $43, $44, $45, $46, $47, $48, $49, $50)"
);

/// What these applications were made with; those that were not made by their candidates are left out.
///
/// # Errors
/// When SQLite fails.
pub fn of_applications<'a>(
    tx: &Tx<'_>,
    ids: impl Iterator<Item = &'a ApplicationId>,
) -> Result<HashMap<ApplicationId, Sent>, Error> {
    let ids: Vec<&str> = ids.map(ApplicationId::as_str).collect();
    let mut found = HashMap::new();
    for some in ids.chunks(AT_ONCE) {
        // No id is empty.
        let params = some.iter().copied().chain(std::iter::repeat("")).take(AT_ONCE);
        let rows = tx.all(OF_APPLICATIONS, crate::db::row::params_from_iter(params), row)?;
        found.extend(gather(rows).into_iter().filter_map(|sent| Some((sent.application.clone()?, sent))));
    }
    Ok(found)
}

/// What an application was made with; `None` where its candidate did not make it.
///
/// # Errors
/// When SQLite fails.
pub fn of_application(tx: &Tx<'_>, id: &ApplicationId) -> Result<Option<Sent>, Error> {
    let rows = tx.all(sent!("s.candidate_role_id = $1"), [id.as_str()], row)?;
    Ok(gather(rows).pop())
}

/// All that was sent to an application.
///
/// # Errors
/// When SQLite fails.
pub fn all_of(tx: &Tx<'_>, id: &ApplicationId) -> Result<Signups, Error> {
    let sql = sent!("s.number IN (SELECT number FROM signups WHERE later_of = $1 ORDER BY number DESC LIMIT $2)");
    let later = gather(tx.all(sql, (id.as_str(), LATER_MAX), row)?);
    Ok(Signups { made: of_application(tx, id)?, later })
}

/// What was sent, by its own id.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, id: &SignupId) -> Result<Option<Sent>, Error> {
    let rows = tx.all(sent!("s.id = $1"), [id.as_str()], row)?;
    Ok(gather(rows).pop())
}

/// Rows of the same signup as one.
fn gather(rows: Vec<Sent>) -> Vec<Sent> {
    let mut found: Vec<Sent> = Vec::new();
    for mut row in rows {
        match found.last_mut() {
            Some(last) if last.id == row.id => last.documents.append(&mut row.documents),
            _ => found.push(row),
        }
    }
    found
}

fn row(row: &Row<'_>) -> Result<Sent, Error> {
    let text = |column| -> Result<String, Error> { Ok(row.get(column)?) };
    let application = row.get::<_, Option<String>>(2)?;
    let steps = row.get::<_, Option<String>>(3)?;
    Ok(Sent {
        id: tx::word(&text(0)?, SignupId::parse)?,
        role_id: tx::word(&text(1)?, RoleId::parse)?,
        application: application.map(|id| tx::word(&id, ApplicationId::parse)).transpose()?,
        steps: steps.map(|steps| texts(&steps)).transpose()?.unwrap_or_default(),
        name: text(4)?,
        email: text(5)?,
        phone: text(6)?,
        links: texts(&text(7)?)?,
        note: text(8)?,
        locale: text(9)?,
        consented_at: tx::time(row, 10)?,
        sent_at: tx::time(row, 11)?,
        withdrawn_at: tx::time_or_none(row, 12)?,
        documents: document(row)?.into_iter().collect(),
    })
}

fn texts(json: &str) -> Result<Vec<String>, Error> {
    serde_json::from_str(json).map_err(|error| Error::Defect(format!("{json} is no list of texts: {error}")))
}

/// The document of a row, where there is one.
fn document(row: &Row<'_>) -> Result<Option<Document>, Error> {
    let id: Option<String> = row.get(13)?;
    id.map(|_| document::read(row, 13)).transpose()
}
