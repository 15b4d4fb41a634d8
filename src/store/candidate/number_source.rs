//! The sources of a search. A source yields the numbers of the candidates who meet one condition, newest first. It has
//! read all of its rows in advance, or reads one block or a few rows at a time. Each query reads a range of an index.

use std::ops::RangeInclusive;

use super::word_index::block;
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::search;

/// Selects a row if a prefix has more rows than a bound. Skipping rows costs half as much as counting them.
pub(super) const MORE_OF_PREFIX: &str = "SELECT 1
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND word >= $3 AND word < $4
  LIMIT 1 OFFSET $5";

/// Selects the candidates who have a word with this prefix, in the order of the words.
pub(super) const OF_PREFIX: &str = "SELECT candidate_number
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND word >= $3 AND word < $4";

/// Selects the candidates in one block who have a word with this prefix.
pub(super) const OF_PREFIX_IN_BLOCK: &str = "SELECT candidate_number
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND block = $3 AND word >= $4 AND word < $5";

/// Selects the newest block, up to a given block, that has a candidate of the organization.
pub(super) const NEXT_BLOCK: &str = "SELECT block
  FROM candidate_words
  WHERE organization_id = $1 AND in_name = $2 AND block <= $3
  ORDER BY block DESC
  LIMIT 1";

/// Counts the applications to a role, up to a bound.
pub(super) const COUNT_OF_ROLE: &str = "SELECT count(*)
  FROM (
    SELECT 1
    FROM roles r
    JOIN candidate_roles a ON a.role_id = r.id
    WHERE r.id = $1 AND r.organization_id = $2
    LIMIT $3
  ) AS counted";

/// Selects the candidates whose application to a role of the organization has this status.
pub(super) const OF_ROLE: &str = "SELECT a.candidate_number
  FROM roles r
  JOIN candidate_roles a ON a.role_id = r.id
  WHERE r.id = $1 AND r.organization_id = $2 AND a.status = $3 AND a.candidate_number <= $4
  ORDER BY a.candidate_number DESC
  LIMIT $5";

/// Selects the candidates with an application in this status, once for each application.
pub(super) const OF_STATUS: &str = "SELECT candidate_number
  FROM candidate_roles
  WHERE organization_id = $1 AND status = $2 AND candidate_number <= $3
  ORDER BY candidate_number DESC
  LIMIT $4";

/// A range of the word index: the words with a prefix that candidates must have.
#[derive(Debug, Clone)]
pub(super) struct PrefixRange {
    from: String,
    /// The smallest string that sorts after all words with the prefix.
    end: String,
    /// The values of `in_name` to read: `true` for words of names and, unless only names are searched, `false` for
    /// words of addresses.
    in_name_values: &'static [bool],
}

impl PrefixRange {
    pub(super) fn of(prefix: &search::WordPrefix) -> Self {
        let in_name_values: &[bool] = if prefix.in_name_only { &[true] } else { &[true, false] };
        Self { from: prefix.text.clone(), end: search::prefix_end(&prefix.text), in_name_values }
    }

    /// Returns whether the names alone or the addresses alone have more than `rows_max` rows with the prefix.
    pub(super) fn is_common(&self, tx: &Tx<'_>, organization: &OrganizationId, rows_max: i64) -> Result<bool, Error> {
        for in_name in self.in_name_values {
            let params = (organization.as_str(), in_name, &self.from, &self.end, rows_max);
            if tx.exists(MORE_OF_PREFIX, params)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads and sorts all candidates in the range.
    pub(super) fn read_all(&self, tx: &Tx<'_>, organization: &OrganizationId) -> Result<NumberSource, Error> {
        let mut numbers = Vec::new();
        for in_name in self.in_name_values {
            let params = (organization.as_str(), in_name, &self.from, &self.end);
            numbers.extend(tx.values::<i64>(OF_PREFIX, params)?);
        }
        Ok(NumberSource::Sorted(SortedNumbers::of(numbers)))
    }

    /// Returns a source that reads the candidates in the range block by block.
    pub(super) fn in_blocks(self) -> NumberSource {
        NumberSource::Blocks(BlockSource { range: self, block: None, numbers: SortedNumbers::default() })
    }
}

/// Returns the number of applications to a role, or `rows_max + 1` if there are more than `rows_max`.
pub(super) fn count_of_role(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    rows_max: i64,
) -> Result<i64, Error> {
    let params = (role.as_str(), organization.as_str(), rows_max + 1);
    Ok(tx.value(COUNT_OF_ROLE, params)?.unwrap_or_default())
}

/// The candidates who meet one condition, newest first.
pub(super) enum NumberSource {
    /// All candidates, in memory.
    Sorted(SortedNumbers),
    /// One or more ranges, each sorted by candidate number.
    Ranges(Vec<RangeSource>),
    /// A word prefix, read block by block.
    Blocks(BlockSource),
}

impl NumberSource {
    /// Returns a source with one candidate.
    pub(super) fn only(number: i64) -> Self {
        Self::Sorted(SortedNumbers::of(vec![number]))
    }

    /// Returns a source of the candidates whose application to the role has this status, or any status if `status` is
    /// `None`.
    pub(super) fn of_role(role: &RoleId, status: Option<ApplicationStatus>) -> Self {
        let any = ApplicationStatus::WORDS.iter().filter_map(|word| ApplicationStatus::parse(word)).collect();
        let statuses: Vec<ApplicationStatus> = status.map_or(any, |status| vec![status]);
        let queries = statuses.into_iter().map(|status| RangeQuery::Role { role: role.clone(), status });
        Self::Ranges(queries.map(RangeSource::new).collect())
    }

    /// Returns a source of the candidates with an application in this status.
    pub(super) fn of_status(status: ApplicationStatus) -> Self {
        Self::Ranges(vec![RangeSource::new(RangeQuery::Status(status))])
    }

    /// Returns the number of rows if all of them are in memory, and otherwise `i64::MAX`. A candidate may have several
    /// rows.
    pub(super) fn rows(&self) -> i64 {
        match self {
            Self::Sorted(all) => i64::try_from(all.numbers.len()).unwrap_or(i64::MAX),
            Self::Ranges(_) | Self::Blocks(_) => i64::MAX,
        }
    }

    /// Returns a sort key that is cheap to compute. A search reads the sources with the lowest keys first, because they
    /// are likely to have few candidates.
    pub(super) fn rank(
        &mut self,
        tx: &Tx<'_>,
        organization: &OrganizationId,
        wanted: RangeInclusive<i64>,
    ) -> Result<(u8, usize), Error> {
        Ok(match self {
            Self::Sorted(all) => (0, all.numbers.len()),
            Self::Ranges(_) => (1, 0),
            Self::Blocks(blocks) => {
                blocks.newest(tx, organization, wanted)?;
                (2, blocks.numbers.numbers.len())
            }
        })
    }

    /// Returns the newest candidate in a range of non-negative numbers. The end of the range must not increase from
    /// call to call. If the range has no candidate, the result is `None` or an older candidate.
    pub(super) fn newest(
        &mut self,
        tx: &Tx<'_>,
        organization: &OrganizationId,
        wanted: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Error> {
        let at_most = *wanted.end();
        match self {
            Self::Sorted(all) => Ok(all.newest(at_most)),
            Self::Ranges(ranges) => {
                let mut newest = None;
                for range in ranges {
                    newest = newest.max(range.newest(tx, organization, at_most)?);
                }
                Ok(newest)
            }
            Self::Blocks(blocks) => blocks.newest(tx, organization, wanted),
        }
    }
}

/// Numbers in memory, newest first.
#[derive(Default)]
pub(super) struct SortedNumbers {
    numbers: Vec<i64>,
    /// The index in `numbers` of the newest number that the search has not passed.
    next: usize,
}

impl SortedNumbers {
    fn of(mut numbers: Vec<i64>) -> Self {
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Self { numbers, next: 0 }
    }

    fn newest(&mut self, at_most: i64) -> Option<i64> {
        self.next += self.numbers[self.next..].partition_point(|number| *number > at_most);
        self.numbers.get(self.next).copied()
    }
}

/// A word prefix with one block in memory.
pub(super) struct BlockSource {
    range: PrefixRange,
    block: Option<i64>,
    numbers: SortedNumbers,
}

impl BlockSource {
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
                self.numbers = self.read(tx, organization, wanted)?;
                self.block = Some(wanted);
            }
            if let Some(number) = self.numbers.newest(at_most) {
                return Ok(Some(number));
            }
            // In a database with many organizations, many blocks have no candidate of this organization.
            let is_empty = self.numbers.numbers.is_empty();
            let next = if is_empty { self.next_block(tx, organization, wanted - 1)? } else { wanted - 1 };
            if next < last {
                return Ok(None);
            }
            wanted = next;
        }
    }

    fn read(&self, tx: &Tx<'_>, organization: &OrganizationId, block: i64) -> Result<SortedNumbers, Error> {
        let (mut numbers, range) = (Vec::new(), &self.range);
        for in_name in range.in_name_values {
            let params = (organization.as_str(), in_name, block, &range.from, &range.end);
            numbers.extend(tx.values::<i64>(OF_PREFIX_IN_BLOCK, params)?);
        }
        Ok(SortedNumbers::of(numbers))
    }

    /// Returns the next block with a candidate of the organization, or a negative number if there is none.
    fn next_block(&self, tx: &Tx<'_>, organization: &OrganizationId, at_most: i64) -> Result<i64, Error> {
        let mut next = -1;
        for in_name in self.range.in_name_values {
            let params = (organization.as_str(), in_name, at_most);
            next = next.max(tx.value(NEXT_BLOCK, params)?.unwrap_or(-1));
            if next == at_most {
                break;
            }
        }
        Ok(next)
    }
}

/// A range of an index in the order of candidate numbers.
enum RangeQuery {
    Role { role: RoleId, status: ApplicationStatus },
    Status(ApplicationStatus),
}

impl RangeQuery {
    fn read(&self, tx: &Tx<'_>, organization: &OrganizationId, at_most: i64, rows: usize) -> Result<Vec<i64>, Error> {
        let organization = organization.as_str();
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        match self {
            Self::Role { role, status } => {
                tx.values(OF_ROLE, (role.as_str(), organization, status.as_str(), at_most, rows))
            }
            Self::Status(status) => tx.values(OF_STATUS, (organization, status.as_str(), at_most, rows)),
        }
    }
}

/// The row limit of the first read, and of a read after many skipped numbers. A search that skips many numbers usually
/// needs only one row per read.
const ROWS_MIN: usize = 8;

/// The maximum row limit of a read for a search that skips few numbers.
const ROWS_MAX: usize = 256;

/// A range of an index with some rows in memory.
pub(super) struct RangeSource {
    query: RangeQuery,
    rows: Vec<i64>,
    /// The index in `rows` of the newest number that the search has not passed.
    next: usize,
    /// The row limit of the last read.
    row_limit: usize,
}

impl RangeSource {
    fn new(query: RangeQuery) -> Self {
        Self { query, rows: Vec::new(), next: 0, row_limit: 0 }
    }

    fn newest(&mut self, tx: &Tx<'_>, organization: &OrganizationId, at_most: i64) -> Result<Option<i64>, Error> {
        self.next += self.rows[self.next..].partition_point(|number| *number > at_most);
        if self.next == self.rows.len() && self.rows.len() == self.row_limit {
            // A search that continues near the end of the last read will also need the next rows.
            let ends = self.rows.first().zip(self.rows.last());
            let is_near = ends.is_some_and(|(first, last)| last - at_most <= ((first - last) / 2).max(1));
            self.row_limit = if is_near { (self.row_limit * 4).min(ROWS_MAX) } else { ROWS_MIN };
            self.rows = self.query.read(tx, organization, at_most, self.row_limit)?;
            self.next = 0;
        }
        Ok(self.rows.get(self.next).copied())
    }
}
