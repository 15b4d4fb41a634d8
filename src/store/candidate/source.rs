//! Where the candidates of a list come from: each condition of a search as numbers of candidates, newest first, read a few
//! at a time. What each shape of condition costs is in its query: all are ranges of an index, in its order.

use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::search;
use crate::store::tx::{Error, Tx};

/// Those who have a word.
pub(super) const OF_WORD: &str = "SELECT candidate_number
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND word = $3 AND candidate_number <= $4
  ORDER BY candidate_number DESC
  LIMIT $5";

/// Those who have a word that begins so, in the order of the words: a rare beginning is sorted by the program.
pub(super) const OF_BEGINNING: &str = "SELECT candidate_number
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND word >= $3 AND word < $4
  LIMIT $5";

/// How many those are, counted to a bound.
pub(super) const COUNT_OF_BEGINNING: &str = "SELECT count(*)
  FROM (
    SELECT 1
    FROM candidate_words
    WHERE organization_id = $1 AND in_name = $2 AND word >= $3 AND word < $4
    LIMIT $5
  ) AS counted";

/// The first word of a range: each of them has its candidates in order, and they are found by skipping from word to word.
pub(super) const NEXT_WORD: &str = "SELECT word
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND word >= $3 AND word < $4
  ORDER BY word
  LIMIT 1";

/// Those whose application to a role has a status. The role is one of the organization's.
pub(super) const OF_ROLE: &str = "SELECT a.candidate_number
  FROM roles r
  JOIN candidate_roles a ON a.role_id = r.id
  WHERE r.id = $1 AND r.organization_id = $2 AND a.status = $3 AND a.candidate_number <= $4
  ORDER BY a.candidate_number DESC
  LIMIT $5";

/// Those of whose applications one has a status, once for each.
pub(super) const OF_STATUS: &str = "SELECT candidate_number
  FROM candidate_roles
  WHERE organization_id = $1 AND status = $2 AND candidate_number <= $3
  ORDER BY candidate_number DESC
  LIMIT $4";

/// A beginning of words that a candidate must have.
#[derive(Debug, Clone)]
pub(super) struct Beginning {
    pub(super) text: String,
    /// Whether only words of the name count.
    pub(super) in_name_only: bool,
}

impl Beginning {
    /// In which ranges of the index its words are.
    fn places(&self) -> &'static [bool] {
        if self.in_name_only { &[true] } else { &[true, false] }
    }

    /// The candidates who have it, where its rows are at most so many.
    pub(super) fn gather(
        &self,
        tx: &Tx<'_>,
        organization: &OrganizationId,
        rows_max: usize,
    ) -> Result<Option<Source>, Error> {
        let (mut numbers, behind) = (Vec::new(), search::behind(&self.text));
        for in_name in self.places() {
            let limit = rows_max.saturating_add(1) - numbers.len();
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let params = (organization.as_str(), in_name, &self.text, &behind, limit);
            numbers.extend(tx.all(OF_BEGINNING, params, |row| Ok(row.get::<_, i64>(0)?))?);
            if numbers.len() > rows_max {
                return Ok(None);
            }
        }
        Ok(Some(Source::gathered(numbers)))
    }

    /// How many rows it has, counted to about this many.
    pub(super) fn count(&self, tx: &Tx<'_>, organization: &OrganizationId, rows_max: i64) -> Result<i64, Error> {
        let (mut count, behind) = (0, search::behind(&self.text));
        for in_name in self.places() {
            let params = (organization.as_str(), in_name, &self.text, &behind, rows_max);
            count += tx.one(COUNT_OF_BEGINNING, params, |row| Ok(row.get::<_, i64>(0)?))?.unwrap_or_default();
        }
        Ok(count)
    }

    /// The words that begin so, each with its candidates in order, where they are at most so many.
    pub(super) fn words(
        &self,
        tx: &Tx<'_>,
        organization: &OrganizationId,
        words_max: usize,
    ) -> Result<Option<Source>, Error> {
        let (mut streams, behind) = (Vec::new(), search::behind(&self.text));
        for &in_name in self.places() {
            let mut from = self.text.clone();
            loop {
                let params = (organization.as_str(), in_name, &from, &behind);
                let Some(word) = tx.one(NEXT_WORD, params, |row| Ok(row.get::<_, String>(0)?))? else { break };
                if streams.len() == words_max {
                    return Ok(None);
                }
                // The least text behind a word; none of them holds this character.
                from = format!("{word}\0");
                streams.push(Stream::new(Shape::Word { in_name, word }));
            }
        }
        Ok(Some(Source::Streams(streams)))
    }
}

/// Those who meet one condition, newest first.
pub(super) enum Source {
    /// All of them, once each.
    Gathered { numbers: Vec<i64>, at: usize },
    /// Those of several ranges, of which each is in order.
    Streams(Vec<Stream>),
}

impl Source {
    pub(super) fn gathered(mut numbers: Vec<i64>) -> Self {
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        numbers.dedup();
        Self::Gathered { numbers, at: 0 }
    }

    /// Those whose application to a role has this status, or any.
    pub(super) fn of_role(role: &RoleId, status: Option<ApplicationStatus>) -> Self {
        let any = ApplicationStatus::WORDS.iter().filter_map(|word| ApplicationStatus::parse(word)).collect();
        let statuses: Vec<ApplicationStatus> = status.map_or(any, |status| vec![status]);
        let shapes = statuses.into_iter().map(|status| Shape::Role { role: role.clone(), status });
        Self::Streams(shapes.map(Stream::new).collect())
    }

    /// Those who have an application of this status.
    pub(super) fn of_status(status: ApplicationStatus) -> Self {
        Self::Streams(vec![Stream::new(Shape::Status(status))])
    }

    /// How many are known to be in it; `None` where that was not looked at.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::Gathered { numbers, .. } => Some(numbers.len()),
            Self::Streams(_) => None,
        }
    }

    /// The newest that is not behind `at_most`, which only ever falls from call to call.
    pub(super) fn newest(
        &mut self,
        tx: &Tx<'_>,
        organization: &OrganizationId,
        at_most: i64,
    ) -> Result<Option<i64>, Error> {
        match self {
            Self::Gathered { numbers, at } => {
                *at += numbers[*at..].partition_point(|number| *number > at_most);
                Ok(numbers.get(*at).copied())
            }
            Self::Streams(streams) => {
                let mut newest = None;
                for stream in streams {
                    newest = newest.max(stream.newest(tx, organization, at_most)?);
                }
                Ok(newest)
            }
        }
    }
}

/// A range of an index that is in the order of candidates.
enum Shape {
    Word { in_name: bool, word: String },
    Role { role: RoleId, status: ApplicationStatus },
    Status(ApplicationStatus),
}

impl Shape {
    fn read(&self, tx: &Tx<'_>, organization: &OrganizationId, at_most: i64, rows: usize) -> Result<Vec<i64>, Error> {
        let organization = organization.as_str();
        let number = |row: &rusqlite::Row<'_>| Ok(row.get::<_, i64>(0)?);
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        match self {
            Self::Word { in_name, word } => tx.all(OF_WORD, (organization, in_name, word, at_most, rows), number),
            Self::Role { role, status } => {
                tx.all(OF_ROLE, (role.as_str(), organization, status.as_str(), at_most, rows), number)
            }
            Self::Status(status) => tx.all(OF_STATUS, (organization, status.as_str(), at_most, rows), number),
        }
    }
}

/// Rows of a range that are read at first, and wherever some of it were skipped: whoever skips takes one of them.
const ROWS_MIN: usize = 8;

/// Rows that are read at once by whoever takes one after the other.
const ROWS_MAX: usize = 256;

/// A range as far as it was read.
pub(super) struct Stream {
    shape: Shape,
    rows: Vec<i64>,
    at: usize,
    /// Rows that were asked for the last time.
    asked: usize,
}

impl Stream {
    fn new(shape: Shape) -> Self {
        Self { shape, rows: Vec::new(), at: 0, asked: 0 }
    }

    fn newest(&mut self, tx: &Tx<'_>, organization: &OrganizationId, at_most: i64) -> Result<Option<i64>, Error> {
        self.at += self.rows[self.at..].partition_point(|number| *number > at_most);
        if self.at == self.rows.len() && self.rows.len() == self.asked {
            let is_next = self.rows.last().is_some_and(|last| *last == at_most + 1);
            self.asked = if is_next { (self.asked * 4).min(ROWS_MAX) } else { ROWS_MIN };
            self.rows = self.shape.read(tx, organization, at_most, self.asked)?;
            self.at = 0;
        }
        Ok(self.rows.get(self.at).copied())
    }
}
