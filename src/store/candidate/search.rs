//! Lists of candidates, newest first. All filters share the order and the cursors.
//!
//! The cost of a page depends on its rows, not on the size of the organization. Each condition is a source of candidate
//! numbers, newest first ([`NumberSource`]), unless it costs less to check each candidate of the other sources. Each
//! source skips to the next number of the other sources. A source with few candidates is read and sorted completely.
//! From a source with many candidates, the search reads only the rows that the page needs. If there are several
//! conditions and every one of them matches many candidates, the search starts with the newest candidates, because
//! counting the matches of each condition would cost more than a page.

use super::number_source::{self, NumberSource, PrefixRange};
use super::{BY_NUMBER, Candidate, NEWEST, read_candidate, with_email, word_index};
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::search::{self, WordPrefix};
use crate::domain::text::Email;

/// The conditions of a list. The default filter has no conditions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Prefixes of words in the name or address.
    pub words: Vec<String>,
    /// Prefixes of words in the name.
    pub words_of_name: Vec<String>,
    /// The whole address.
    pub email: Option<Email>,
    /// A role to which the candidate has applied.
    pub role_id: Option<RoleId>,
    /// The status of the application to that role or, without a role, of any application.
    pub status: Option<ApplicationStatus>,
}

/// If the only condition of a filter is a word, and at most this many rows match it, all of these rows are read and
/// sorted for every page. The rows of names and the rows of addresses are counted separately, here and below.
const FEW_ROWS: i64 = 1_000;

/// If at most this many rows meet one of several conditions, the search starts with the candidates of these rows, and
/// usually checks the other conditions for each of them.
const FEW_ROWS_OF_SEVERAL: i64 = 512;

/// The maximum number of rows of a common word that the search reads and sorts. Sorting this many rows costs less than
/// a search that reads many rows for each match.
const SORTED_ROWS_MAX: i64 = 4_000;

/// Checking one candidate for a word costs as much as reading and sorting this many rows for the word.
const ROWS_PER_CHECK: i64 = 64;

/// If a block has this many rows for a word, a large share of the candidates who meet the other conditions have the
/// word.
const DENSE_ROWS: usize = 256;

/// If every condition matches many candidates, this many of the newest blocks are searched first. If many candidates
/// meet all conditions, these blocks fill the page; otherwise, searching them costs next to nothing.
const BLOCKS_AT_ONCE: i64 = 8;

/// Returns at most `rows` of the organization's candidates who match the filter and have a number below `before`. The
/// newest come first.
pub fn page(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    filter: &Filter,
    before: i64,
    rows: usize,
) -> Result<Vec<Candidate>, Error> {
    let at_most = before.saturating_sub(1);
    if *filter == Filter::default() {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        return tx.all(NEWEST, (organization.as_str(), at_most, rows), read_candidate);
    }
    let (sources, checked, found) = (Vec::new(), Vec::new(), Vec::new());
    let mut search = Search { tx, organization, sources, checked, at_most, rows, found };
    search.find(filter)?;
    Ok(search.found)
}

/// A running search.
struct Search<'a> {
    tx: &'a Tx<'a>,
    organization: &'a OrganizationId,
    /// Only candidates whose numbers every source yields can match.
    sources: Vec<NumberSource>,
    /// The prefixes for which the search checks each candidate that the sources yield.
    checked: Vec<WordPrefix>,
    /// The highest number that has not been searched yet.
    at_most: i64,
    /// The size of the page.
    rows: usize,
    found: Vec<Candidate>,
}

impl<'a> Search<'a> {
    /// Chooses the cheapest plan for the filter, and runs the search.
    fn find(&mut self, filter: &Filter) -> Result<(), Error> {
        let prefixes = prefixes(filter);
        if let Some(email) = &filter.email {
            let Some(candidate) = with_email(self.tx, self.organization, email)? else { return Ok(()) };
            self.sources = vec![NumberSource::only(candidate.number)];
            self.sources.extend(application_source(filter));
            self.checked = prefixes;
            return self.search_all();
        }
        let words: Vec<(WordPrefix, PrefixRange)> =
            prefixes.into_iter().map(|prefix| (prefix.clone(), PrefixRange::of(&prefix))).collect();
        match (&words[..], application_source(filter)) {
            ([], applications) => self.sources.extend(applications),
            ([(_, range)], None) => {
                let is_common = range.is_common(self.tx, self.organization, FEW_ROWS)?;
                self.sources.push(match is_common {
                    true => range.clone().in_blocks(),
                    false => range.read_all(self.tx, self.organization)?,
                });
            }
            _ => return self.find_by_several(filter, words),
        }
        self.search_all()
    }

    /// Finds candidates by several words, or by one or more words and the conditions on applications.
    fn find_by_several(&mut self, filter: &Filter, words: Vec<(WordPrefix, PrefixRange)>) -> Result<(), Error> {
        let (tx, organization) = (self.tx, self.organization);
        let few = FEW_ROWS_OF_SEVERAL;
        let mut fewest = match &filter.role_id {
            Some(role) => number_source::count_of_role(tx, organization, role, few)?,
            None => i64::MAX,
        };
        let (mut sorted, mut common) = (Vec::new(), Vec::new());
        for (prefix, range) in words {
            if range.is_common(tx, organization, few)? {
                common.push((prefix, range));
            } else {
                let source = range.read_all(tx, organization)?;
                fewest = fewest.min(source.rows());
                sorted.push(source);
            }
        }
        let are_few = fewest <= few || !sorted.is_empty();
        if !are_few {
            self.sources.extend(application_source(filter));
            self.sources.extend(common.iter().map(|(_, range)| range.clone().in_blocks()));
            if self.search_newest()? {
                return Ok(());
            }
            self.sources.clear();
        }
        let sorted_max = fewest.saturating_mul(ROWS_PER_CHECK).min(SORTED_ROWS_MAX);
        let mut blockwise = Vec::new();
        for (prefix, range) in common {
            if sorted_max <= few || range.is_common(tx, organization, sorted_max)? {
                blockwise.push((prefix, range));
            } else {
                sorted.push(range.read_all(tx, organization)?);
            }
        }
        let has_sorted = !sorted.is_empty();
        self.sources.extend(application_source(filter));
        self.sources.append(&mut sorted);
        for (prefix, range) in blockwise {
            let mut source = range.in_blocks();
            match are_few || has_sorted && self.is_dense(&mut source)? {
                true => self.checked.push(prefix),
                false => self.sources.push(source),
            }
        }
        self.search_all()
    }

    /// Returns whether the newest block that has not been searched has many rows of the source. If so, checking each
    /// candidate of another source costs less than reading the block.
    fn is_dense(&self, source: &mut NumberSource) -> Result<bool, Error> {
        let block = word_index::block(self.at_most) * word_index::BLOCK_CANDIDATES;
        let (_, here) = source.rank(self.tx, self.organization, block..=self.at_most)?;
        Ok(here >= DENSE_ROWS)
    }

    /// Searches the newest blocks, then older blocks as long as each search finds candidates. Returns whether the
    /// search is complete: the page is full, or no older blocks are left.
    fn search_newest(&mut self) -> Result<bool, Error> {
        let newest = self.tx.all(NEWEST, (self.organization.as_str(), self.at_most, 1), read_candidate)?;
        let Some(newest) = newest.first() else { return Ok(true) };
        self.at_most = newest.number;
        let next = |block: i64| (block - BLOCKS_AT_ONCE).max(0);
        let mut block = next(word_index::block(newest.number) + 1);
        self.sort_sources(block * word_index::BLOCK_CANDIDATES)?;
        loop {
            let found = self.found.len();
            self.search_down_to(block * word_index::BLOCK_CANDIDATES)?;
            if self.found.len() == self.rows || block == 0 {
                return Ok(true);
            }
            if self.found.len() == found {
                return Ok(false);
            }
            block = next(block);
        }
    }

    fn search_all(&mut self) -> Result<(), Error> {
        self.sort_sources(0)?;
        self.search_down_to(0)
    }

    /// Searches down to this number, or until the page is full.
    fn search_down_to(&mut self, at_least: i64) -> Result<(), Error> {
        while self.found.len() < self.rows {
            let Some(candidate) = self.next(at_least)? else {
                self.at_most = at_least - 1;
                break;
            };
            self.at_most = candidate.number - 1;
            if self.meets_checks(&candidate) {
                self.found.push(candidate);
            }
        }
        Ok(())
    }

    /// Sorts the sources so that sources that are likely to have few candidates come first.
    fn sort_sources(&mut self, at_least: i64) -> Result<(), Error> {
        if self.sources.len() < 2 {
            return Ok(());
        }
        let mut ranked = Vec::with_capacity(self.sources.len());
        for mut source in self.sources.drain(..) {
            ranked.push((source.rank(self.tx, self.organization, at_least..=self.at_most)?, source));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        self.sources.extend(ranked.into_iter().map(|(_, source)| source));
        Ok(())
    }

    /// Returns the next candidate that is in every source.
    fn next(&mut self, at_least: i64) -> Result<Option<Candidate>, Error> {
        let Some(number) = self.newest_common_number(at_least)? else { return Ok(None) };
        match self.tx.one(BY_NUMBER, (number, self.organization.as_str()), read_candidate)? {
            None => Err(Error::Defect(format!("candidate {number} does not belong to the organization of the search"))),
            found => Ok(found),
        }
    }

    /// Returns the newest number that is in every source and is at least `at_least`. Sources with many candidates skip
    /// to the numbers that sources with few candidates yield.
    fn newest_common_number(&mut self, at_least: i64) -> Result<Option<i64>, Error> {
        let mut number = self.at_most;
        'again: loop {
            let mut is_first = true;
            for source in &mut self.sources {
                let newest = source.newest(self.tx, self.organization, at_least..=number)?;
                let Some(newest) = newest.filter(|newest| *newest >= at_least) else { return Ok(None) };
                let is_behind = newest < number;
                number = newest;
                if is_behind && !is_first {
                    continue 'again;
                }
                is_first = false;
            }
            return Ok(Some(number));
        }
    }

    fn meets_checks(&self, candidate: &Candidate) -> bool {
        let Candidate { name, email, is_erased, .. } = candidate;
        // A tombstone has no words, although it has a placeholder instead of a name.
        self.checked.is_empty() || !is_erased && search::matches_all(name, email, &self.checked)
    }
}

/// Returns the source of the conditions on applications.
fn application_source(filter: &Filter) -> Option<NumberSource> {
    match (&filter.role_id, filter.status) {
        (Some(role), status) => Some(NumberSource::of_role(role, status)),
        (None, Some(status)) => Some(NumberSource::of_status(status)),
        (None, None) => None,
    }
}

fn prefixes(filter: &Filter) -> Vec<WordPrefix> {
    let prefix = |in_name_only| move |text: &String| WordPrefix { text: text.clone(), in_name_only };
    let of_name = filter.words_of_name.iter().map(prefix(true));
    of_name.chain(filter.words.iter().map(prefix(false))).collect()
}
