//! Lists of candidates, newest first, whatever they are narrowed by: order and cursors are the same for all of them.
//!
//! A page costs what it shows and not what the organization has. Each condition is a source of candidates in that order, and
//! sources that must agree skip to each other's next. What few meet is gathered and sorted; of what many meet, only as much
//! is read as the page takes.

use super::source::{self, Range, Source};
use super::{BY_NUMBER, Candidate, NEWEST, candidate, with_email};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::search::{self, Beginning};
use crate::domain::text::Email;
use crate::store::tx::{Error, Tx};

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

/// Rows that are few enough to be read and sorted for every page.
const FEW_ROWS: i64 = 1_000;

/// The same where other conditions are to be met: many may have to be read for one that meets them.
const FEW_ROWS_OF_SEVERAL: i64 = 4_000;

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
    let Some(mut search) = Search::of(tx, organization, filter)? else { return Ok(Vec::new()) };
    search.put_in_order(at_most)?;
    let (mut found, mut at_most) = (Vec::new(), at_most);
    while found.len() < rows {
        let Some(candidate) = search.next(at_most)? else { break };
        at_most = candidate.number - 1;
        if search.is_met_by(&candidate) {
            found.push(candidate);
        }
    }
    Ok(found)
}

/// One search under way.
struct Search<'a> {
    tx: &'a Tx<'a>,
    organization: &'a OrganizationId,
    /// Who is found is in each of them.
    sources: Vec<Source>,
    /// What is asked of those who are.
    asked: Vec<Beginning>,
}

impl<'a> Search<'a> {
    /// The cheapest way; `None` where nobody can be found.
    fn of(tx: &'a Tx<'a>, organization: &'a OrganizationId, filter: &Filter) -> Result<Option<Self>, Error> {
        let mut search = Self { tx, organization, sources: Vec::new(), asked: Vec::new() };
        let mut beginnings = beginnings(filter);
        let mut are_few = false;
        if let Some(email) = &filter.email {
            let Some(candidate) = with_email(tx, organization, email)? else { return Ok(None) };
            search.sources.push(Source::only(candidate.number));
            search.asked.append(&mut beginnings);
        }
        match (&filter.role_id, filter.status) {
            (Some(role), status) => {
                are_few = !source::is_common(tx, organization, role, FEW_ROWS)?;
                search.sources.push(Source::of_role(role, status));
            }
            (None, Some(status)) => search.sources.push(Source::of_status(status)),
            (None, None) => {}
        }
        let is_alone = search.sources.is_empty() && beginnings.len() == 1;
        let few_rows = if is_alone { FEW_ROWS } else { FEW_ROWS_OF_SEVERAL };
        let mut common = Vec::new();
        for beginning in beginnings {
            let range = Range::of(&beginning);
            if range.is_common(tx, organization, few_rows)? {
                common.push((beginning, range));
            } else {
                search.sources.push(range.gather(tx, organization)?);
                are_few = true;
            }
        }
        // To ask each of a few costs less than to look for them in as many blocks.
        for (beginning, range) in common {
            match are_few {
                true => search.asked.push(beginning),
                false => search.sources.push(range.in_blocks()),
            }
        }
        Ok(Some(search))
    }

    /// Puts sources of few before those of many.
    fn put_in_order(&mut self, at_most: i64) -> Result<(), Error> {
        if self.sources.len() < 2 {
            return Ok(());
        }
        let mut ranked = Vec::with_capacity(self.sources.len());
        for mut source in self.sources.drain(..) {
            ranked.push((source.rank(self.tx, self.organization, at_most)?, source));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        self.sources.extend(ranked.into_iter().map(|(_, source)| source));
        Ok(())
    }

    /// The next candidate to be looked at.
    fn next(&mut self, at_most: i64) -> Result<Option<Candidate>, Error> {
        let Some(number) = self.agreed(at_most)? else { return Ok(None) };
        match self.tx.one(BY_NUMBER, (number, self.organization.as_str()), candidate)? {
            None => Err(Error::Defect(format!("candidate {number} is not of the organization that finds them"))),
            found => Ok(found),
        }
    }

    /// The newest that every source has. Those of many skip to where those of few are, and are asked no more than that.
    fn agreed(&mut self, at_most: i64) -> Result<Option<i64>, Error> {
        let mut number = at_most;
        'again: loop {
            let mut is_first = true;
            for source in &mut self.sources {
                let Some(newest) = source.newest(self.tx, self.organization, number)? else { return Ok(None) };
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
        self.asked.is_empty() || !is_erased && search::is_found_by(name, email, &self.asked)
    }
}

fn beginnings(filter: &Filter) -> Vec<Beginning> {
    let beginning = |in_name_only| move |text: &String| Beginning { text: text.clone(), in_name_only };
    let of_name = filter.words_of_name.iter().map(beginning(true));
    of_name.chain(filter.words.iter().map(beginning(false))).collect()
}
