//! What a career portal lists, and how its readers narrow it: by department, location and work type, and by words.

use super::id::RoleId;
use super::role::{Salary, WorkType};
use super::search;
use super::timestamp::Timestamp;

/// Roles of one page.
pub const PAGE_ROWS: usize = 50;

/// The longest search that is looked at, in characters: more than any name of a role.
pub const SEARCH_CHARACTERS_MAX: usize = 100;

/// Values of a filter that are offered: the commonest ones. The search finds the others.
pub const VALUES_MAX: usize = 24;

/// A role in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// Its id.
    pub id: RoleId,
    /// Its name.
    pub name: String,
    /// Its department; may be empty.
    pub department: String,
    /// Its location; may be empty.
    pub location: String,
    /// Where the work is done.
    pub work_type: Option<WorkType>,
    /// The salary, of which any part may be missing.
    pub salary: Salary,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Listing {
    /// What a filter looks at; empty where the role has none.
    pub fn value(&self, facet: Facet) -> &str {
        match facet {
            Facet::Department => &self.department,
            Facet::Location => &self.location,
            Facet::WorkType => self.work_type.map_or("", WorkType::as_str),
        }
    }
}

/// What the list can be filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facet {
    /// By department.
    Department,
    /// By location.
    Location,
    /// By work type.
    WorkType,
}

impl Facet {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::Department, Self::Location, Self::WorkType];
}

/// What a reader asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    chosen: [Option<String>; 3],
    search: String,
    /// The words of the search; `None` for one without any.
    words: Option<Vec<String>>,
}

impl Filter {
    /// Of the values that were chosen, in the order of [`Facet::ALL`], and a search. What is blank was not chosen.
    pub fn new(chosen: [Option<String>; 3], search: &str) -> Self {
        let search = super::text::cut(search.trim(), SEARCH_CHARACTERS_MAX).to_owned();
        let mut words = search::words(&search);
        words.truncate(search::WORDS_OF_SEARCH_MAX);
        let chosen = chosen.map(|value| value.filter(|value| Self::is_choice(value)));
        Self { chosen, words: (!words.is_empty()).then_some(words), search }
    }

    /// Whether a value of a filter chooses anything: one that is blank does not.
    pub fn is_choice(value: &str) -> bool {
        !value.trim().is_empty()
    }

    /// The value that was chosen.
    pub fn chosen(&self, facet: Facet) -> Option<&str> {
        self.chosen[facet as usize].as_deref()
    }

    /// The same with another value chosen, or none.
    #[must_use]
    pub fn with(&self, facet: Facet, value: Option<&str>) -> Self {
        let mut other = self.clone();
        other.chosen[facet as usize] = value.map(str::to_owned);
        other
    }

    /// What is searched for, as it was typed; empty for nothing.
    pub fn search(&self) -> &str {
        &self.search
    }

    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.search.is_empty() && self.chosen.iter().all(Option::is_none)
    }

    /// The roles that its search finds. The words of each are looked at once, however much is asked of them then.
    pub fn searched<'a>(&self, listings: &'a [Listing]) -> SearchResult<'_, 'a> {
        let listings = listings.iter().filter(|listing| self.is_found(listing)).collect();
        SearchResult { filter: self, listings }
    }

    /// Whether each word of the search begins one of the role's.
    fn is_found(&self, listing: &Listing) -> bool {
        if self.search.is_empty() {
            return true;
        }
        let Some(wanted) = &self.words else { return false };
        let texts = [&listing.name, &listing.department, &listing.location];
        let words: Vec<String> = texts.into_iter().flat_map(|text| search::words(text)).collect();
        wanted.iter().all(|wanted| words.iter().any(|word| word.starts_with(wanted)))
    }
}

/// The roles that a search finds.
#[derive(Debug)]
pub struct SearchResult<'f, 'a> {
    filter: &'f Filter,
    listings: Vec<&'a Listing>,
}

impl<'a> SearchResult<'_, 'a> {
    /// Those of them that fit what was chosen, in their order.
    pub fn chosen(&self) -> Vec<&'a Listing> {
        self.fitting(None).collect()
    }

    /// The values that a filter can have with all else as it is, the commonest first, each with the number of roles that it
    /// would leave.
    pub fn values(&self, facet: Facet) -> Vec<(&'a str, usize)> {
        let mut counts = std::collections::BTreeMap::new();
        let values = self.fitting(Some(facet)).map(|listing| listing.value(facet));
        for value in values.filter(|value| !value.trim().is_empty()) {
            *counts.entry(value).or_insert(0) += 1;
        }
        let mut values: Vec<(&str, usize)> = counts.into_iter().collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        values.truncate(VALUES_MAX);
        values
    }

    /// Those that fit what was chosen, but for what was chosen of one facet.
    fn fitting(&self, whatever: Option<Facet>) -> impl Iterator<Item = &'a Listing> {
        let fits = move |listing: &Listing, facet: Facet| {
            whatever == Some(facet) || self.filter.chosen(facet).is_none_or(|chosen| chosen == listing.value(facet))
        };
        let listings = self.listings.iter().copied();
        listings.filter(move |listing| Facet::ALL.into_iter().all(|facet| fits(listing, facet)))
    }
}

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPage {
    /// Its number, from 1.
    pub number: usize,
    /// How many there are, at least one.
    pub count: usize,
}

impl ListPage {
    /// The page of a list of so many rows that is nearest to the one that was asked for.
    pub fn of(rows: usize, wanted: usize) -> Self {
        let count = rows.div_ceil(PAGE_ROWS).max(1);
        Self { number: wanted.clamp(1, count), count }
    }

    /// The rows that are on it.
    pub fn rows<T>(self, all: &[T]) -> &[T] {
        let from = ((self.number - 1) * PAGE_ROWS).min(all.len());
        &all[from..(from + PAGE_ROWS).min(all.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    fn listing(name: &str, department: &str, location: &str, work_type: Option<WorkType>) -> Listing {
        Listing {
            id: RoleId::parse("role_1").unwrap(),
            name: name.to_owned(),
            department: department.to_owned(),
            location: location.to_owned(),
            work_type,
            salary: Salary { min: None, max: None, currency: None, period: None },
            created_at: Timestamp::from_micros(0),
        }
    }

    fn portal() -> Vec<Listing> {
        vec![
            listing("Ingénieur réseau", "IT", "Genève", Some(WorkType::Remote)),
            listing("Network engineer", "IT", "Bremen", Some(WorkType::Hybrid)),
            listing("Gardener", "Grounds", "Bremen", None),
            listing("Cook", "", " ", Some(WorkType::Onsite)),
        ]
    }

    fn names(filter: &Filter) -> Vec<String> {
        filter.searched(&portal()).chosen().iter().map(|listing| listing.name.clone()).collect()
    }

    fn filter(department: &str, location: &str, work_type: &str, search: &str) -> Filter {
        Filter::new([department, location, work_type].map(|value| Some(value.to_owned())), search)
    }

    #[test]
    fn every_filter_and_every_word_of_a_search_must_fit() {
        for (filter, expected) in [
            (filter("", "", "", ""), 4),
            (filter("IT", "", "", ""), 2),
            (filter("it", "", "", ""), 0),
            (filter("IT", "Bremen", "", ""), 1),
            (filter("IT", "Bremen", "remote", ""), 0),
            (filter("", "", "hybrid", ""), 1),
            (filter("", "", "sometimes", ""), 0),
            (filter("", "", "", "ing"), 1),
            (filter("", "", "", "GENEVE"), 1),
            (filter("", "", "", "it net"), 1),
            (filter("", "", "", "  eng   brem "), 1),
            (filter("", "", "", "engineer gardener"), 0),
            (filter("", "Bremen", "", "g"), 1),
            (filter("", "", "", "?!"), 0),
            (filter("", "", "", " "), 4),
        ] {
            assert_eq!(names(&filter).len(), expected, "{filter:?}: {:?}", names(&filter));
        }
    }

    #[test]
    fn values_are_those_that_lead_somewhere_with_all_else_as_it_is() {
        let portal = portal();
        assert_eq!(filter("", "", "", "").searched(&portal).values(Facet::Location), [("Bremen", 2), ("Genève", 1)]);
        assert_eq!(filter("Grounds", "", "", "").searched(&portal).values(Facet::Location), [("Bremen", 1)]);
        // A filter's own choice does not narrow what else it offers.
        assert_eq!(
            filter("Grounds", "", "", "").searched(&portal).values(Facet::Department),
            [("IT", 2), ("Grounds", 1)]
        );
        assert_eq!(filter("", "", "", "cook").searched(&portal).values(Facet::Department), []);
        assert_eq!(filter("", "", "", "cook").searched(&portal).values(Facet::WorkType), [("onsite", 1)]);
        let many: Vec<Listing> = (0..100).map(|nth| listing("Cook", &format!("D {nth:02}"), "", None)).collect();
        assert_eq!(Filter::default().searched(&many).values(Facet::Department).len(), VALUES_MAX);
    }

    #[test]
    fn a_search_is_cut_and_its_words_are_few() {
        let long = "ä".repeat(SEARCH_CHARACTERS_MAX + 1);
        assert_eq!(Filter::new([None, None, None], &long).search().chars().count(), SEARCH_CHARACTERS_MAX);
        let many = "c ".repeat(SEARCH_CHARACTERS_MAX);
        assert_eq!(Filter::new([None, None, None], &many).words.unwrap().len(), search::WORDS_OF_SEARCH_MAX);
    }

    #[test]
    fn a_page_has_fifty_rows_and_a_number_beyond_is_the_nearest() {
        let rows: Vec<usize> = (0..101).collect();
        for (rows_count, wanted, number, count, on_it) in [
            (0, 1, 1, 1, 0),
            (0, 9, 1, 1, 0),
            (50, 1, 1, 1, 50),
            (50, 2, 1, 1, 50),
            (51, 1, 1, 2, 50),
            (51, 2, 2, 2, 1),
            (101, 0, 1, 3, 50),
            (101, usize::MAX, 3, 3, 1),
        ] {
            let page = ListPage::of(rows_count, wanted);
            assert_eq!((page.number, page.count), (number, count), "{rows_count} {wanted}");
            assert_eq!(page.rows(&rows[..rows_count]).len(), on_it, "{rows_count} {wanted}");
        }
    }
}
