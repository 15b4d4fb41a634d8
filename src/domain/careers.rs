//! The list of roles on a career portal, with filters by department, location and work type, and a search by words.

use super::closing_day::ClosingDay;
use super::id::RoleId;
use super::role::{Salary, WorkType};
use super::search;
use super::timestamp::Timestamp;

/// The maximum number of roles on one page.
pub const PAGE_ROWS: usize = 50;

/// The maximum number of characters in a search, which is enough for several words. Further characters are ignored.
pub const SEARCH_CHARACTERS_MAX: usize = 100;

/// The maximum number of values that a filter offers. It offers the most frequent values. Visitors can find other
/// values with the search.
pub const VALUES_MAX: usize = 24;

/// A role in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The role's id, which is part of the posting's URL.
    pub id: RoleId,
    /// The title of the posting.
    pub name: String,
    /// The department; may be empty.
    pub department: String,
    /// The location; may be empty.
    pub location: String,
    /// The work type, if the role has one.
    pub work_type: Option<WorkType>,
    /// The salary; any part may be missing.
    pub salary: Salary,
    /// The last day on which the role accepts signups, if there is one.
    pub closes_on: Option<ClosingDay>,
    /// The time at which the role was created.
    pub created_at: Timestamp,
}

impl Listing {
    /// Returns the value that a filter compares; empty if the role has none.
    pub fn value(&self, facet: Facet) -> &str {
        match facet {
            Facet::Department => &self.department,
            Facet::Location => &self.location,
            Facet::WorkType => self.work_type.map_or("", WorkType::as_str),
        }
    }
}

/// A property by which visitors can filter the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facet {
    /// The department.
    Department,
    /// The location.
    Location,
    /// The work type.
    WorkType,
}

impl Facet {
    /// All facets, in the order in which the page shows them.
    pub const ALL: [Self; 3] = [Self::Department, Self::Location, Self::WorkType];
}

/// The filters and the search that a visitor chose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    chosen: [Option<String>; 3],
    search: String,
    /// The words of the search; `None` if the search has no words.
    words: Option<Vec<String>>,
}

impl Filter {
    /// Creates a filter from the chosen values, in the order of [`Facet::ALL`], and a search. Ignores blank values.
    pub fn new(chosen: [Option<String>; 3], search: &str) -> Self {
        let search = super::text::cut(search.trim(), SEARCH_CHARACTERS_MAX).to_owned();
        let mut words = search::words(&search);
        words.truncate(search::WORDS_OF_SEARCH_MAX);
        let chosen = chosen.map(|value| value.filter(|value| Self::is_choice(value)));
        Self { chosen, words: (!words.is_empty()).then_some(words), search }
    }

    /// Returns whether a filter value is a choice. A blank value is not a choice.
    pub fn is_choice(value: &str) -> bool {
        !value.trim().is_empty()
    }

    /// Returns the chosen value of a facet.
    pub fn chosen(&self, facet: Facet) -> Option<&str> {
        self.chosen[facet as usize].as_deref()
    }

    /// Returns a copy with another value, or no value, for a facet.
    #[must_use]
    pub fn with(&self, facet: Facet, value: Option<&str>) -> Self {
        let mut other = self.clone();
        other.chosen[facet as usize] = value.map(str::to_owned);
        other
    }

    /// Returns the search, shortened to the maximum number of characters; empty if there is no search.
    pub fn search(&self) -> &str {
        &self.search
    }

    /// Returns whether the filter matches all roles.
    pub fn is_empty(&self) -> bool {
        self.search.is_empty() && self.chosen.iter().all(Option::is_none)
    }

    /// Returns the roles that the search finds. The result can be filtered for several facets without another search.
    pub fn searched<'a>(&self, listings: &'a [Listing]) -> SearchResult<'_, 'a> {
        let listings = listings.iter().filter(|listing| self.is_found(listing)).collect();
        SearchResult { filter: self, listings }
    }

    /// Returns whether each word of the search is a prefix of a word in the listing. Without a search, every listing is
    /// found. A search without words finds none.
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
    /// Returns the found roles that match all chosen values, in order.
    pub fn matching(&self) -> Vec<&'a Listing> {
        self.matching_except(None).collect()
    }

    /// Returns the values that a facet can have while the other choices remain, most frequent first, each with the
    /// number of matching roles. Returns at most [`VALUES_MAX`] values.
    pub fn values(&self, facet: Facet) -> Vec<(&'a str, usize)> {
        let mut counts = std::collections::BTreeMap::new();
        let values = self.matching_except(Some(facet)).map(|listing| listing.value(facet));
        for value in values.filter(|value| !value.trim().is_empty()) {
            *counts.entry(value).or_insert(0) += 1;
        }
        let mut values: Vec<(&str, usize)> = counts.into_iter().collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        values.truncate(VALUES_MAX);
        values
    }

    /// Returns the found roles that match all chosen values, ignoring the choice for one facet.
    fn matching_except(&self, ignored: Option<Facet>) -> impl Iterator<Item = &'a Listing> {
        let matches = move |listing: &Listing, facet: Facet| {
            ignored == Some(facet) || self.filter.chosen(facet).is_none_or(|chosen| chosen == listing.value(facet))
        };
        let listings = self.listings.iter().copied();
        listings.filter(move |listing| Facet::ALL.into_iter().all(|facet| matches(listing, facet)))
    }
}

/// One page of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPage {
    /// The page number, from 1.
    pub number: usize,
    /// The number of pages, at least one.
    pub count: usize,
}

impl ListPage {
    /// Returns the page that is nearest to the wanted page and exists in a list of `rows` rows.
    pub fn of(rows: usize, wanted: usize) -> Self {
        let count = rows.div_ceil(PAGE_ROWS).max(1);
        Self { number: wanted.clamp(1, count), count }
    }

    /// Returns the rows of this page.
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
            closes_on: None,
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
        filter.searched(&portal()).matching().iter().map(|listing| listing.name.clone()).collect()
    }

    fn filter(department: &str, location: &str, work_type: &str, search: &str) -> Filter {
        Filter::new([department, location, work_type].map(|value| Some(value.to_owned())), search)
    }

    #[test]
    fn all_filters_and_search_words_must_match() {
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
    fn facets_offer_a_limited_number_of_values_with_matching_roles() {
        let portal = portal();
        assert_eq!(filter("", "", "", "").searched(&portal).values(Facet::Location), [("Bremen", 2), ("Genève", 1)]);
        assert_eq!(filter("Grounds", "", "", "").searched(&portal).values(Facet::Location), [("Bremen", 1)]);
        // A facet's own choice does not reduce the values that it offers.
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
    fn searches_are_shortened_to_the_maximum_numbers_of_characters_and_words() {
        let long = "ä".repeat(SEARCH_CHARACTERS_MAX + 1);
        assert_eq!(Filter::new([None, None, None], &long).search().chars().count(), SEARCH_CHARACTERS_MAX);
        let many = "c ".repeat(SEARCH_CHARACTERS_MAX);
        assert_eq!(Filter::new([None, None, None], &many).words.unwrap().len(), search::WORDS_OF_SEARCH_MAX);
    }

    #[test]
    fn pages_have_at_most_fifty_rows_and_a_number_out_of_range_leads_to_the_nearest_page() {
        let rows: Vec<usize> = (0..101).collect();
        for (rows_count, wanted, number, count, rows_on_page) in [
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
            assert_eq!(page.rows(&rows[..rows_count]).len(), rows_on_page, "{rows_count} {wanted}");
        }
    }
}
