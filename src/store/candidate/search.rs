//! Lists of candidates, newest first, whatever they are narrowed by: order and cursors are the same for all of them.
//!
//! A page costs what it shows and not what the organization has. Each condition is a source of candidates in that order, and
//! sources that must agree skip to each other's next. What few meet is gathered and sorted; of what many meet, only as much
//! is read as the page takes. Where many meet each of several conditions, the newest are tried first: to find out how many
//! have each would cost more than a page.

use super::source::{self, Range, Source};
use super::{BY_NUMBER, Candidate, NEWEST, candidate, with_email, words};
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::search::{self, WordPrefix};
use crate::domain::text::Email;

/// What a list is narrowed to. Of one with nothing in it everybody is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Beginnings of words of the name or address.
    pub words: Vec<String>,
    /// Beginnings of words of the name.
    pub words_of_name: Vec<String>,
    /// The whole address.
    pub email: Option<Email>,
    /// A role that they have applied to.
    pub role_id: Option<RoleId>,
    /// Where that application is, or without a role any of theirs.
    pub status: Option<ApplicationStatus>,
}

/// Rows of the only condition that are few enough to be read and sorted for every page.
const FEW_ROWS: i64 = 1_000;

/// The same where other conditions are to be met: of whoever has one of so few rows, the others are asked.
const FEW_ROWS_OF_SEVERAL: i64 = 512;

/// Where many may have to be read for one that meets all conditions, to read and sort so many costs less.
const SORTED_ROWS_MAX: i64 = 4_000;

/// To ask a candidate for a word costs as much as to read and sort so many rows of it.
const ROWS_FOR_ONE: i64 = 64;

/// Of a word that so many of a block have, one in a few of those who meet the other conditions has it.
const DENSE_ROWS: usize = 256;

/// Blocks of the newest candidates that are looked at before it is counted who is rare: where many meet all conditions they
/// fill the page, and elsewhere they cost next to nothing.
const BLOCKS_AT_ONCE: i64 = 8;

/// At most `rows` candidates of an organization whose number is below `before`, newest first.
///
/// # Errors
/// When SQLite fails.
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
        return tx.all(NEWEST, (organization.as_str(), at_most, rows), candidate);
    }
    let (sources, asked, found) = (Vec::new(), Vec::new(), Vec::new());
    let mut search = Search { tx, organization, sources, asked, at_most, rows, found };
    search.find(filter)?;
    Ok(search.found)
}

/// One search under way.
struct Search<'a> {
    tx: &'a Tx<'a>,
    organization: &'a OrganizationId,
    /// Who is found is in each of them.
    sources: Vec<Source>,
    /// What is asked of those who are.
    asked: Vec<WordPrefix>,
    /// Whoever is newer was looked at.
    at_most: i64,
    /// As many are wanted.
    rows: usize,
    found: Vec<Candidate>,
}

impl<'a> Search<'a> {
    /// Finds them in the cheapest way.
    fn find(&mut self, filter: &Filter) -> Result<(), Error> {
        let beginnings = beginnings(filter);
        if let Some(email) = &filter.email {
            let Some(candidate) = with_email(self.tx, self.organization, email)? else { return Ok(()) };
            self.sources = vec![Source::only(candidate.number)];
            self.sources.extend(of_applications(filter));
            self.asked = beginnings;
            return self.look_at_all();
        }
        let words: Vec<(WordPrefix, Range)> =
            beginnings.into_iter().map(|beginning| (beginning.clone(), Range::of(&beginning))).collect();
        match (&words[..], of_applications(filter)) {
            ([], applications) => self.sources.extend(applications),
            ([(_, range)], None) => {
                let is_common = range.is_common(self.tx, self.organization, FEW_ROWS)?;
                self.sources.push(match is_common {
                    true => range.clone().in_blocks(),
                    false => range.gather(self.tx, self.organization)?,
                });
            }
            _ => return self.find_by_several(filter, words),
        }
        self.look_at_all()
    }

    /// By words, and others or an application beside them.
    fn find_by_several(&mut self, filter: &Filter, words: Vec<(WordPrefix, Range)>) -> Result<(), Error> {
        let (tx, organization) = (self.tx, self.organization);
        let few = FEW_ROWS_OF_SEVERAL;
        let mut fewest = match &filter.role_id {
            Some(role) => source::count_of_role(tx, organization, role, few)?,
            None => i64::MAX,
        };
        let (mut gathered, mut common) = (Vec::new(), Vec::new());
        for (beginning, range) in words {
            if range.is_common(tx, organization, few)? {
                common.push((beginning, range));
            } else {
                let source = range.gather(tx, organization)?;
                fewest = fewest.min(source.rows());
                gathered.push(source);
            }
        }
        let are_few = fewest <= few || !gathered.is_empty();
        if !are_few {
            self.sources.extend(of_applications(filter));
            self.sources.extend(common.iter().map(|(_, range)| range.clone().in_blocks()));
            if self.look_at_newest()? {
                return Ok(());
            }
            self.sources.clear();
        }
        let sorted_max = fewest.saturating_mul(ROWS_FOR_ONE).min(SORTED_ROWS_MAX);
        let mut left = Vec::new();
        for (beginning, range) in common {
            if sorted_max <= few || range.is_common(tx, organization, sorted_max)? {
                left.push((beginning, range));
            } else {
                gathered.push(range.gather(tx, organization)?);
            }
        }
        let are_gathered = !gathered.is_empty();
        self.sources.extend(of_applications(filter));
        self.sources.append(&mut gathered);
        for (beginning, range) in left {
            let mut source = range.in_blocks();
            match are_few || are_gathered && self.is_dense(&mut source)? {
                true => self.asked.push(beginning),
                false => self.sources.push(source),
            }
        }
        self.look_at_all()
    }

    /// Whether so many of a block are in it that to ask each candidate of another source costs less than to read the block.
    fn is_dense(&self, source: &mut Source) -> Result<bool, Error> {
        let block = words::block(self.at_most) * words::BLOCK_CANDIDATES;
        let (_, here) = source.rank(self.tx, self.organization, block..=self.at_most)?;
        Ok(here >= DENSE_ROWS)
    }

    /// Looks at the newest, and at the next of them as long as that finds somebody. Whether nobody else is wanted.
    fn look_at_newest(&mut self) -> Result<bool, Error> {
        let newest = self.tx.all(NEWEST, (self.organization.as_str(), self.at_most, 1), candidate)?;
        let Some(newest) = newest.first() else { return Ok(true) };
        self.at_most = newest.number;
        let next = |block: i64| (block - BLOCKS_AT_ONCE).max(0);
        let mut block = next(words::block(newest.number) + 1);
        self.put_in_order(block * words::BLOCK_CANDIDATES)?;
        loop {
            let found = self.found.len();
            self.look(block * words::BLOCK_CANDIDATES)?;
            if self.found.len() == self.rows || block == 0 {
                return Ok(true);
            }
            if self.found.len() == found {
                return Ok(false);
            }
            block = next(block);
        }
    }

    fn look_at_all(&mut self) -> Result<(), Error> {
        self.put_in_order(0)?;
        self.look(0)
    }

    /// Looks at everybody down to this number, until as many are found as are wanted.
    fn look(&mut self, at_least: i64) -> Result<(), Error> {
        while self.found.len() < self.rows {
            let Some(candidate) = self.next(at_least)? else {
                self.at_most = at_least - 1;
                break;
            };
            self.at_most = candidate.number - 1;
            if self.is_met_by(&candidate) {
                self.found.push(candidate);
            }
        }
        Ok(())
    }

    /// Puts sources of few before those of many.
    fn put_in_order(&mut self, at_least: i64) -> Result<(), Error> {
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

    /// The next candidate to be looked at.
    fn next(&mut self, at_least: i64) -> Result<Option<Candidate>, Error> {
        let Some(number) = self.agreed(at_least)? else { return Ok(None) };
        match self.tx.one(BY_NUMBER, (number, self.organization.as_str()), candidate)? {
            None => Err(Error::Defect(format!("candidate {number} is not of the organization that finds them"))),
            found => Ok(found),
        }
    }

    /// The newest that every source has, down to this number. Those of many skip to where those of few are, and are asked no
    /// more than that.
    fn agreed(&mut self, at_least: i64) -> Result<Option<i64>, Error> {
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

    fn is_met_by(&self, candidate: &Candidate) -> bool {
        let Candidate { name, email, is_erased, .. } = candidate;
        // Of whoever was erased there are no words, whatever stands in the place of their name.
        self.asked.is_empty() || !is_erased && search::matches_all(name, email, &self.asked)
    }
}

/// Those whose application to the role has the status, as far as the filter has these.
fn of_applications(filter: &Filter) -> Option<Source> {
    match (&filter.role_id, filter.status) {
        (Some(role), status) => Some(Source::of_role(role, status)),
        (None, Some(status)) => Some(Source::of_status(status)),
        (None, None) => None,
    }
}

fn beginnings(filter: &Filter) -> Vec<WordPrefix> {
    let beginning = |in_name_only| move |text: &String| WordPrefix { text: text.clone(), in_name_only };
    let of_name = filter.words_of_name.iter().map(beginning(true));
    of_name.chain(filter.words.iter().map(beginning(false))).collect()
}
