//! Where the candidates of a list come from: each condition of a search as numbers of candidates, newest first, read a few
//! at a time. What each shape of condition costs is in its query: all are ranges of an index.

use std::ops::RangeInclusive;

use super::words::block;
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::search;

/// Whether a beginning has more rows than a bound. To skip rows costs half of counting them.
pub(super) const MORE_OF_BEGINNING: &str = "SELECT 1
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND word >= $3 AND word < $4
  LIMIT 1 OFFSET $5";

/// Those who have a word that begins so, in the order of the words.
pub(super) const OF_BEGINNING: &str = "SELECT candidate_number
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND word >= $3 AND word < $4";

/// Those of them who are in one block.
pub(super) const OF_BEGINNING_IN_BLOCK: &str = "SELECT candidate_number
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND block = $3 AND word >= $4 AND word < $5";

/// The newest block that anybody of the organization is in, from one on.
pub(super) const NEXT_BLOCK: &str = "SELECT block
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND block <= $3
  ORDER BY block DESC
  LIMIT 1";

/// How many applications a role has, counted to a bound.
pub(super) const COUNT_OF_ROLE: &str = "SELECT count(*)
  FROM (
    SELECT 1
    FROM roles r
    JOIN candidate_roles a ON a.role_id = r.id
    WHERE r.id = $1 AND r.organization_id = $2
    LIMIT $3
  ) AS counted";

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

/// A beginning of words that candidates must have, as a range of the index.
#[derive(Debug, Clone)]
pub(super) struct Range {
    from: String,
    /// The least text that is behind all words that begin so.
    behind: String,
    /// The words of names, and where those of addresses count these too.
    places: &'static [bool],
}

impl Range {
    pub(super) fn of(beginning: &search::WordPrefix) -> Self {
        let places: &[bool] = if beginning.in_name_only { &[true] } else { &[true, false] };
        Self { from: beginning.text.clone(), behind: search::prefix_end(&beginning.text), places }
    }

    /// Whether names alone, or addresses alone, have more rows of it than this.
    pub(super) fn is_common(&self, tx: &Tx<'_>, organization: &OrganizationId, rows_max: i64) -> Result<bool, Error> {
        for in_name in self.places {
            let params = (organization.as_str(), in_name, &self.from, &self.behind, rows_max);
            if tx.exists(MORE_OF_BEGINNING, params)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Everybody in it.
    pub(super) fn gather(&self, tx: &Tx<'_>, organization: &OrganizationId) -> Result<Source, Error> {
        let mut numbers = Vec::new();
        for in_name in self.places {
            let params = (organization.as_str(), in_name, &self.from, &self.behind);
            numbers.extend(tx.all(OF_BEGINNING, params, |row| Ok(row.get::<_, i64>(0)?))?);
        }
        Ok(Source::Gathered(Newest::of(numbers)))
    }

    /// Whoever is in it, block by block.
    pub(super) fn in_blocks(self) -> Source {
        Source::Blocks(Blocks { range: self, block: None, here: Newest::default() })
    }
}

/// How many applications a role has; one more than the most where there are more.
pub(super) fn count_of_role(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    rows_max: i64,
) -> Result<i64, Error> {
    let params = (role.as_str(), organization.as_str(), rows_max + 1);
    Ok(tx.one(COUNT_OF_ROLE, params, |row| Ok(row.get(0)?))?.unwrap_or_default())
}

/// Those who meet one condition, newest first.
pub(super) enum Source {
    /// All of them.
    Gathered(Newest),
    /// Those of several ranges, of which each is in order.
    Streams(Vec<Stream>),
    /// Those of a beginning of words, a block at a time.
    Blocks(Blocks),
}

impl Source {
    /// Nobody but this one.
    pub(super) fn only(number: i64) -> Self {
        Self::Gathered(Newest::of(vec![number]))
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

    /// How many there are, where all of them were read.
    pub(super) fn rows(&self) -> i64 {
        match self {
            Self::Gathered(all) => i64::try_from(all.numbers.len()).unwrap_or(i64::MAX),
            Self::Streams(_) | Self::Blocks(_) => i64::MAX,
        }
    }

    /// How many there are, as far as that can be told at a glance: those of few are looked at before those of many.
    pub(super) fn rank(
        &mut self,
        tx: &Tx<'_>,
        organization: &OrganizationId,
        wanted: RangeInclusive<i64>,
    ) -> Result<(u8, usize), Error> {
        Ok(match self {
            Self::Gathered(all) => (0, all.numbers.len()),
            Self::Streams(_) => (1, 0),
            Self::Blocks(blocks) => {
                blocks.newest(tx, organization, wanted)?;
                (2, blocks.here.numbers.len())
            }
        })
    }

    /// The newest of a range from 0 or more on, of which the end only ever falls from call to call. Where there is none in the range it may be
    /// one that is older.
    pub(super) fn newest(
        &mut self,
        tx: &Tx<'_>,
        organization: &OrganizationId,
        wanted: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Error> {
        let at_most = *wanted.end();
        match self {
            Self::Gathered(all) => Ok(all.newest(at_most)),
            Self::Streams(streams) => {
                let mut newest = None;
                for stream in streams {
                    newest = newest.max(stream.newest(tx, organization, at_most)?);
                }
                Ok(newest)
            }
            Self::Blocks(blocks) => blocks.newest(tx, organization, wanted),
        }
    }
}

/// Numbers in order, as far as they are still to come.
#[derive(Default)]
pub(super) struct Newest {
    numbers: Vec<i64>,
    at: usize,
}

impl Newest {
    fn of(mut numbers: Vec<i64>) -> Self {
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Self { numbers, at: 0 }
    }

    fn newest(&mut self, at_most: i64) -> Option<i64> {
        self.at += self.numbers[self.at..].partition_point(|number| *number > at_most);
        self.numbers.get(self.at).copied()
    }
}

/// A range as far as it was read: all of one block.
pub(super) struct Blocks {
    range: Range,
    block: Option<i64>,
    here: Newest,
}

impl Blocks {
    fn newest(
        &mut self,
        tx: &Tx<'_>,
        organization: &OrganizationId,
        numbers: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Error> {
        let at_most = *numbers.end();
        let (last, mut wanted) = (block(*numbers.start()), block(at_most));
        loop {
            if self.block != Some(wanted) {
                self.here = self.read(tx, organization, wanted)?;
                self.block = Some(wanted);
            }
            if let Some(number) = self.here.newest(at_most) {
                return Ok(Some(number));
            }
            // An organization may have nobody in many blocks, where a file has many organizations.
            let next = if self.here.numbers.is_empty() { self.next(tx, organization, wanted - 1)? } else { wanted - 1 };
            if next < last {
                return Ok(None);
            }
            wanted = next;
        }
    }

    fn read(&self, tx: &Tx<'_>, organization: &OrganizationId, block: i64) -> Result<Newest, Error> {
        let (mut numbers, range) = (Vec::new(), &self.range);
        for in_name in range.places {
            let params = (organization.as_str(), in_name, block, &range.from, &range.behind);
            numbers.extend(tx.all(OF_BEGINNING_IN_BLOCK, params, |row| Ok(row.get::<_, i64>(0)?))?);
        }
        Ok(Newest::of(numbers))
    }

    /// The next block where there is anybody; a negative one where there is none.
    fn next(&self, tx: &Tx<'_>, organization: &OrganizationId, at_most: i64) -> Result<i64, Error> {
        let mut next = -1;
        for in_name in self.range.places {
            let params = (organization.as_str(), in_name, at_most);
            next = next.max(tx.one(NEXT_BLOCK, params, |row| Ok(row.get(0)?))?.unwrap_or(-1));
            if next == at_most {
                break;
            }
        }
        Ok(next)
    }
}

/// A range of an index that is in the order of candidates.
enum Shape {
    Role { role: RoleId, status: ApplicationStatus },
    Status(ApplicationStatus),
}

impl Shape {
    fn read(&self, tx: &Tx<'_>, organization: &OrganizationId, at_most: i64, rows: usize) -> Result<Vec<i64>, Error> {
        let organization = organization.as_str();
        let number = |row: &crate::db::row::Row<'_>| Ok(row.get::<_, i64>(0)?);
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        match self {
            Self::Role { role, status } => {
                tx.all(OF_ROLE, (role.as_str(), organization, status.as_str(), at_most, rows), number)
            }
            Self::Status(status) => tx.all(OF_STATUS, (organization, status.as_str(), at_most, rows), number),
        }
    }
}

/// Rows of a range that are read at first, and wherever many were skipped: whoever skips takes one of them.
const ROWS_MIN: usize = 8;

/// Rows that are read at once by whoever leaves few of them out.
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
            // Whoever goes on near the end of what was read will go on.
            let ends = self.rows.first().zip(self.rows.last());
            let is_near = ends.is_some_and(|(first, last)| last - at_most <= ((first - last) / 2).max(1));
            self.asked = if is_near { (self.asked * 4).min(ROWS_MAX) } else { ROWS_MIN };
            self.rows = self.shape.read(tx, organization, at_most, self.asked)?;
            self.at = 0;
        }
        Ok(self.rows.get(self.at).copied())
    }
}
