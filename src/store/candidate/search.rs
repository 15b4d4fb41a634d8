//! Lists of candidates, newest first, whatever they are narrowed by: order and cursors are the same for all of them.
//!
//! A page costs what it shows and not what the organization has. Each condition is a source of candidates in that order, and
//! sources that must agree skip to each other's next; a beginning of words that is too common to have an order is asked of
//! the candidates that the others bring, and is given one where they bring too many in vain.

use std::collections::VecDeque;

use super::source::{Beginning, Source};
use super::{BY_NUMBER, Candidate, NEWEST, candidate, with_email};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::search;
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

/// Rows of a beginning that are few enough to be read and sorted for every page.
const FEW_ROWS: usize = 500;

/// Words with one beginning that are few enough to be followed each by itself.
const FEW_WORDS: usize = 32;

/// Rows of a beginning of many words that cost less to sort than to look among all candidates for who has one of them: with
/// a million of these, one in a hundred is one of them.
const MANY_ROWS: usize = 10_000;

/// Candidates in vain until beginnings are looked up that were not, and until the rarest of them is sorted whatever it takes.
const VAIN_MAX: usize = 500;
const VAIN_IN_ORDER_MAX: usize = 8_000;

/// How far rows are counted to learn which beginning is the rarest.
const COUNTED_MAX: i64 = 200_000;

/// Candidates read at once by whoever looks at one after the other.
const WALKED_MAX: usize = 1_024;

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
    let mut found = Vec::new();
    let Some(mut search) = Search::of(tx, organization, filter, rows)? else { return Ok(found) };
    let (mut at_most, mut in_vain) = (before.saturating_sub(1), 0);
    while found.len() < rows {
        let Some(candidate) = search.next(at_most)? else { break };
        at_most = candidate.number - 1;
        if search.is_met_by(&candidate) {
            found.push(candidate);
            continue;
        }
        in_vain += 1;
        match in_vain {
            VAIN_MAX => search.put_in_order()?,
            VAIN_IN_ORDER_MAX => search.put_rarest_in_order()?,
            _ => {}
        }
    }
    Ok(found)
}

/// One search under way.
struct Search<'a> {
    tx: &'a Tx<'a>,
    organization: &'a OrganizationId,
    /// Who is found is in each of them; without any, everybody is looked at.
    sources: Vec<Source>,
    /// What is asked of those who come from there.
    asked: Vec<Beginning>,
    walked: VecDeque<Candidate>,
    /// Candidates to read at once.
    walk: usize,
    /// Whether what is asked is so because it is too common to be a source.
    is_in_order: bool,
}

impl<'a> Search<'a> {
    /// The cheapest way to begin; `None` where nobody can be found.
    fn of(
        tx: &'a Tx<'a>,
        organization: &'a OrganizationId,
        filter: &Filter,
        rows: usize,
    ) -> Result<Option<Self>, Error> {
        let mut search = Self {
            tx,
            organization,
            sources: Vec::new(),
            asked: beginnings(filter),
            walked: VecDeque::new(),
            walk: rows,
            is_in_order: false,
        };
        if let Some(email) = &filter.email {
            let Some(candidate) = with_email(tx, organization, email)? else { return Ok(None) };
            search.sources.push(Source::gathered(vec![candidate.number]));
        }
        match (&filter.role_id, filter.status) {
            (Some(role), status) => search.sources.push(Source::of_role(role, status)),
            (None, Some(status)) => search.sources.push(Source::of_status(status)),
            (None, None) => {}
        }
        if filter.email.is_none() {
            search.begin_with_the_rarest_word()?;
        }
        let is_empty = search.sources.iter().any(|source| source.len() == Some(0));
        if search.sources.is_empty() {
            search.put_in_order()?;
        }
        Ok(Some(search).filter(|_| !is_empty))
    }

    /// The word with the fewest rows is a source, where those are few. One that nobody has is seen here.
    fn begin_with_the_rarest_word(&mut self) -> Result<(), Error> {
        let mut rarest: Option<(usize, Source)> = None;
        let mut few = FEW_ROWS;
        for (index, beginning) in self.asked.iter().enumerate() {
            if let Some(source) = beginning.gather(self.tx, self.organization, few)? {
                few = source.len().unwrap_or(few);
                rarest = Some((index, source));
            }
        }
        if let Some((index, source)) = rarest {
            self.asked.remove(index);
            self.sources.push(source);
        }
        Ok(())
    }

    /// Makes sources of the beginnings that are asked, but for the most common.
    fn put_in_order(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_in_order, true) {
            return Ok(());
        }
        for beginning in std::mem::take(&mut self.asked) {
            let few_words = beginning.words(self.tx, self.organization, FEW_WORDS)?;
            let source = match few_words {
                None => beginning.gather(self.tx, self.organization, MANY_ROWS)?,
                few_words => few_words,
            };
            match source {
                Some(source) => self.sources.push(source),
                None => self.asked.push(beginning),
            }
        }
        Ok(())
    }

    /// Makes a source of the rarest of those that are still asked.
    fn put_rarest_in_order(&mut self) -> Result<(), Error> {
        let mut rarest = None;
        for (index, beginning) in self.asked.iter().enumerate() {
            let count = beginning.count(self.tx, self.organization, COUNTED_MAX)?;
            if rarest.is_none_or(|(fewest, _)| count < fewest) {
                rarest = Some((count, index));
            }
        }
        if let Some((_, index)) = rarest {
            let beginning = self.asked.remove(index);
            self.sources.extend(beginning.gather(self.tx, self.organization, usize::MAX)?);
        }
        Ok(())
    }

    /// The next candidate to be looked at.
    fn next(&mut self, at_most: i64) -> Result<Option<Candidate>, Error> {
        if self.sources.is_empty() {
            return self.walk(at_most);
        }
        let Some(number) = self.agreed(at_most)? else { return Ok(None) };
        let found = self.tx.one(BY_NUMBER, (number, self.organization.as_str()), candidate)?;
        match found {
            None => Err(Error::Defect(format!("candidate {number} is not of the organization that finds them"))),
            found => Ok(found),
        }
    }

    /// Everybody, one after the other.
    fn walk(&mut self, at_most: i64) -> Result<Option<Candidate>, Error> {
        if self.walked.is_empty() {
            let rows = i64::try_from(self.walk).unwrap_or(i64::MAX);
            let params = (self.organization.as_str(), at_most, rows);
            self.walked = self.tx.all(NEWEST, params, candidate)?.into();
            self.walk = (self.walk * 2).min(WALKED_MAX);
        }
        Ok(self.walked.pop_front())
    }

    /// The newest that every source has: each skips to where the one before it is.
    fn agreed(&mut self, at_most: i64) -> Result<Option<i64>, Error> {
        let (mut number, mut agreeing, count) = (at_most, 0, self.sources.len());
        for index in (0..count).cycle() {
            let Some(newest) = self.sources[index].newest(self.tx, self.organization, number)? else { return Ok(None) };
            agreeing = if newest < number { 1 } else { agreeing + 1 };
            number = newest;
            if agreeing == count {
                break;
            }
        }
        Ok(Some(number))
    }

    fn is_met_by(&self, candidate: &Candidate) -> bool {
        if self.asked.is_empty() {
            return true;
        }
        let words = search::of_candidate(&candidate.name, &candidate.email);
        !candidate.is_erased && self.asked.iter().all(|asked| search::begins(&words, &asked.text, asked.in_name_only))
    }
}

fn beginnings(filter: &Filter) -> Vec<Beginning> {
    let beginning = |in_name_only| move |text: &String| Beginning { text: text.clone(), in_name_only };
    let of_name = filter.words_of_name.iter().map(beginning(true));
    of_name.chain(filter.words.iter().map(beginning(false))).collect()
}
