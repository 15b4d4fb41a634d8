//! What pages say to candidates, in each language that they speak: a file a language, one struct that each of them fills, so
//! that a text which is missing is an error of the compiler. To add a language, add its file and its name to the list below.
//!
//! `{name}` in a text is a place that [`fill`] fills. Texts are plain: what is put into a page is escaped there.

mod format;

use std::borrow::Cow;

use hyper::header::{ACCEPT_LANGUAGE, HeaderMap};

use super::request::Request;
use crate::domain::language;
use crate::store::Error;

macro_rules! languages {
    ($($tag:ident),+ $(,)?) => {
        $(mod $tag;)+

        /// Every language, the one for everybody else first.
        pub(super) static ALL: &[&Texts] = &[$(&$tag::TEXTS),+];

        const TAGS: &[&str] = &[$(stringify!($tag)),+];
    };
}

languages!(en, de, fr, es);

/// All texts of one language.
pub(super) struct Texts {
    /// Its tag (BCP 47), as `lang` has it.
    pub(super) tag: &'static str,
    /// What its speakers call it.
    pub(super) own_name: &'static str,
    pub(super) forms: Forms,
    pub(super) common: Common,
    pub(super) careers: Careers,
    pub(super) signup: Signup,
    pub(super) status: Status,
}

/// How dates, numbers and salaries are written.
pub(super) struct Forms {
    pub(super) months: [&'static str; 12],
    /// A day: `{day}`, `{month}`, `{year}`.
    pub(super) date: &'static str,
    /// The number of a month's first day.
    pub(super) first_day: &'static str,
    /// What stands between three digits and the next, and from how many digits on.
    pub(super) group: &'static str,
    pub(super) grouped_from: usize,
    /// What stands before a fraction.
    pub(super) decimal: &'static str,
    /// Whether nothing is said like one thing, not like many.
    pub(super) none_is_one: bool,
    /// Currencies (ISO 4217) that readers know by a symbol.
    pub(super) currencies: &'static [(&'static str, &'static str)],
    /// An amount: `{symbol}`, `{amount}`; and with a code for a symbol.
    pub(super) money: &'static str,
    pub(super) money_by_code: &'static str,
    /// Two amounts: `{symbol}`, `{from}`, `{to}`; and with a code for a symbol.
    pub(super) range: &'static str,
    pub(super) range_by_code: &'static str,
    /// At least, and at most an `{amount}`.
    pub(super) from: &'static str,
    pub(super) up_to: &'static str,
    /// An `{amount}` that is paid for so long.
    pub(super) per_hour: &'static str,
    pub(super) per_day: &'static str,
    pub(super) per_week: &'static str,
    pub(super) per_month: &'static str,
    pub(super) per_year: &'static str,
}

/// A text about a number of things, its `{count}`: about one, and about another number.
pub(super) struct Counted {
    pub(super) one: &'static str,
    pub(super) many: &'static str,
}

/// What every page has.
pub(super) struct Common {
    /// The link that keyboards reach first.
    pub(super) skip: &'static str,
    /// The heading of the choice of languages.
    pub(super) language: &'static str,
    /// The link to the organization's notice on personal data.
    pub(super) privacy: &'static str,
    /// The link back to the portal: `{organization}`.
    pub(super) all_roles: &'static str,
    /// The title of a page that is not there.
    pub(super) not_found: &'static str,
    /// What it says.
    pub(super) not_found_more: &'static str,
    /// The title of a page about a defect or an overload.
    pub(super) failed: &'static str,
    /// What it says: nothing was changed, and later it may go.
    pub(super) failed_more: &'static str,
    /// What it says where the service cannot know whether the request was carried out.
    pub(super) unknown_more: &'static str,
    /// The title of a page about a request that cannot be carried out as it is, and what it says.
    pub(super) refused: &'static str,
    pub(super) refused_more: &'static str,
    /// The same where there were too many of them.
    pub(super) too_many: &'static str,
    pub(super) too_many_more: &'static str,
    /// The service cannot do it now.
    pub(super) unavailable: &'static str,
    pub(super) unavailable_more: &'static str,
    /// What to do about either: `{number}`, the request's id.
    pub(super) ask: &'static str,
}

/// The career portal: its list, its roles, its notice.
pub(super) struct Careers {
    /// The portal's title: `{organization}`.
    pub(super) title: &'static str,
    /// The same of a later page: `{title}`, `{page}`.
    pub(super) title_of_page: &'static str,
    /// How many roles are listed.
    pub(super) count: Counted,
    /// The search: its label, what it looks at, its button.
    pub(super) search: &'static str,
    pub(super) search_hint: &'static str,
    pub(super) search_button: &'static str,
    /// The heading of all filters, and of each; the link that ends each.
    pub(super) filters: &'static str,
    pub(super) department: &'static str,
    pub(super) location: &'static str,
    pub(super) work_type: &'static str,
    pub(super) all_departments: &'static str,
    pub(super) all_locations: &'static str,
    pub(super) all_work_types: &'static str,
    /// The link that ends the search and all filters.
    pub(super) show_all: &'static str,
    /// The work types.
    pub(super) remote: &'static str,
    pub(super) hybrid: &'static str,
    pub(super) onsite: &'static str,
    /// A portal without roles: `{organization}`.
    pub(super) none: &'static str,
    pub(super) none_more: &'static str,
    /// A search or filters that leave nothing.
    pub(super) no_match: &'static str,
    pub(super) no_match_more: &'static str,
    /// The paging: what it is, where one is (`{page}`, `{pages}`), and its two links.
    pub(super) pages: &'static str,
    pub(super) page_of: &'static str,
    pub(super) previous: &'static str,
    pub(super) next: &'static str,
    /// A role: what its title is in the browser's tab (`{role}`, `{organization}`), and its facts.
    pub(super) role_title: &'static str,
    pub(super) salary: &'static str,
    pub(super) posted: &'static str,
    pub(super) apply: &'static str,
    pub(super) apply_hint: &'static str,
    /// A role that is no longer open: `{role}`.
    pub(super) closed: &'static str,
    pub(super) closed_more: &'static str,
    /// A role that there is none of.
    pub(super) no_role: &'static str,
    pub(super) no_role_more: &'static str,
    /// The heading of others.
    pub(super) others: &'static str,
    /// A portal that there is none of.
    pub(super) no_portal: &'static str,
    pub(super) no_portal_more: &'static str,
    /// The title of the notice on personal data, and its words where the organization has none of its own: Markdown,
    /// `{organization}`.
    pub(super) privacy_title: &'static str,
    pub(super) privacy_words: &'static str,
}

/// The form behind a signup link.
pub(super) struct Signup {
    /// The page's title (`{role}`, `{organization}`), its heading (`{role}`), and what stands below (`{organization}`).
    pub(super) title: &'static str,
    pub(super) heading: &'static str,
    pub(super) lead: &'static str,
    /// Behind the label of a field that may stay empty.
    pub(super) optional: &'static str,
    /// The fields, and what helps to fill them.
    pub(super) name: &'static str,
    pub(super) email: &'static str,
    pub(super) email_hint: &'static str,
    pub(super) phone: &'static str,
    pub(super) links: &'static str,
    pub(super) links_hint: &'static str,
    pub(super) note: &'static str,
    pub(super) note_hint: &'static str,
    pub(super) cv: &'static str,
    pub(super) cv_hint: &'static str,
    /// The file that came already: `{file}`.
    pub(super) cv_kept: &'static str,
    /// The consent (`{organization}`), its name in the list of errors, and the link to what is consented to.
    pub(super) consent: &'static str,
    pub(super) consent_name: &'static str,
    pub(super) notice: &'static str,
    pub(super) send: &'static str,
    /// The label of the field that only robots see.
    pub(super) trap: &'static str,
    /// The title of a form with errors (`{title}`), and the heading of their list.
    pub(super) title_with_errors: &'static str,
    pub(super) errors: &'static str,
    pub(super) name_missing: &'static str,
    pub(super) email_missing: &'static str,
    pub(super) consent_missing: &'static str,
    /// `{count}`, the most characters.
    pub(super) too_long: &'static str,
    pub(super) unreadable: &'static str,
    pub(super) no_address: &'static str,
    /// `{count}`, the most links.
    pub(super) too_many_links: &'static str,
    /// `{count}`, the most characters of one.
    pub(super) link_too_long: &'static str,
    pub(super) no_link: &'static str,
    pub(super) cv_too_large: &'static str,
    pub(super) cv_wrong_type: &'static str,
    pub(super) cv_empty: &'static str,
    pub(super) cv_more_than_one: &'static str,
    pub(super) cv_gone: &'static str,
    pub(super) cv_no_room: &'static str,
    /// What is wrong with a form as a whole: the field for robots was filled, it came too soon, it is not good any more.
    pub(super) robot: &'static str,
    pub(super) too_soon: &'static str,
    pub(super) too_old: &'static str,
    /// A link that leads nowhere.
    pub(super) nowhere: &'static str,
    pub(super) nowhere_more: &'static str,
    /// A link that has run out while its role is open, and the link to the role.
    pub(super) expired: &'static str,
    pub(super) expired_more: &'static str,
    pub(super) to_role: &'static str,
    /// A role that takes no applications any more: `{role}`.
    pub(super) closed: &'static str,
    pub(super) closed_more: &'static str,
    /// What became of an application that was sent to either.
    pub(super) not_sent: &'static str,
    /// The form cannot be taken now: too many came from one address, and when it goes on (`{minutes}`); or for another
    /// reason.
    pub(super) limited: &'static str,
    pub(super) unavailable: &'static str,
    /// For a browser that has applied (`{role}`), the link to where that stands, and the one to the form all the same.
    pub(super) already: &'static str,
    pub(super) already_more: &'static str,
    pub(super) to_status: &'static str,
    pub(super) again: &'static str,
}

/// The page where a candidate sees where they stand.
pub(super) struct Status {
    /// The page's title: `{role}`, `{organization}`.
    pub(super) title: &'static str,
    /// What is said of an application that was just sent: that it was, that the link is to be kept (`{organization}`), and
    /// what is so for whoever had applied before (`{organization}`), known or not.
    pub(super) new: &'static str,
    pub(super) new_keep: &'static str,
    pub(super) new_before: &'static str,
    /// When it was sent: `{date}`.
    pub(super) applied: &'static str,
    /// Where it is, and what that means: `{organization}`, `{role}`.
    pub(super) running: &'static str,
    pub(super) running_more: &'static str,
    pub(super) withdrawn: &'static str,
    pub(super) withdrawn_more: &'static str,
    pub(super) not_selected: &'static str,
    pub(super) not_selected_more: &'static str,
    pub(super) hired: &'static str,
    pub(super) hired_more: &'static str,
    /// The heading of the steps, and what is said of each.
    pub(super) steps: &'static str,
    pub(super) done: &'static str,
    pub(super) current: &'static str,
    pub(super) upcoming: &'static str,
    pub(super) skipped: &'static str,
    pub(super) ended: &'static str,
    /// The heading of what was sent, or of what is known of somebody who was added, and its names.
    pub(super) sent: &'static str,
    pub(super) known: &'static str,
    pub(super) name: &'static str,
    pub(super) email: &'static str,
    pub(super) phone: &'static str,
    pub(super) links: &'static str,
    pub(super) note: &'static str,
    pub(super) document: &'static str,
    /// A document: `{name}`, `{size}`; and the sizes.
    pub(super) document_of: &'static str,
    pub(super) kilobytes: &'static str,
    pub(super) megabytes: &'static str,
    /// When the notice was consented to: `{date}`.
    pub(super) consent: &'static str,
    /// The heading of what can be done, and the download.
    pub(super) yours: &'static str,
    pub(super) download: &'static str,
    pub(super) download_more: &'static str,
    /// Taking the application back: what is opened, what it says (`{organization}`), and the button.
    pub(super) withdraw: &'static str,
    pub(super) withdraw_more: &'static str,
    pub(super) withdraw_button: &'static str,
    /// The same for deleting.
    pub(super) delete: &'static str,
    pub(super) delete_more: &'static str,
    pub(super) delete_button: &'static str,
    /// What is said where it cannot be deleted for now: `{organization}`, `{date}`.
    pub(super) held: &'static str,
    pub(super) held_more: &'static str,
    /// The page behind a deletion: `{organization}`.
    pub(super) deleted: &'static str,
    pub(super) deleted_more: &'static str,
    /// The page of a link that leads nowhere.
    pub(super) nowhere: &'static str,
    pub(super) nowhere_more: &'static str,
}

/// The texts that a request gets: the language that its query names (`lang`, or a signup link's `locale`), else the best that
/// its browser wants.
///
/// # Errors
/// `validation_error` where a parameter is there twice.
pub(super) fn of(request: &Request) -> Result<&'static Texts, Error> {
    let (lang, locale) = (request.query("lang")?, request.query("locale")?);
    Ok(ALL[place(lang.or(locale).as_deref(), request.headers())])
}

/// The place, among all, of the texts that a request with these fields gets whose query names a language, or none.
pub(super) fn place(named: Option<&str>, fields: &HeaderMap) -> usize {
    let mut values = fields.get_all(ACCEPT_LANGUAGE).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let accepted = values.next().map(|first| values.fold(first, |list, value| Cow::Owned(format!("{list}, {value}"))));
    language::choose(TAGS, named, accepted.as_deref())
}

/// The texts that a browser wants, where nothing but the header fields of its request is known.
pub(super) fn wanted(fields: &HeaderMap) -> &'static Texts {
    ALL[place(None, fields)]
}

/// The texts of a tag's language, or of the first.
pub(super) fn of_tag(tag: &str) -> &'static Texts {
    ALL[language::choose(TAGS, Some(tag), None)]
}

/// A text with its places filled, in one pass: what stands in a value stays what it is.
pub(super) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let value = values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once() {
        assert_eq!(fill("{a} at {b}!", &[("a", "{b}"), ("b", "<c>")]), "{b} at <c>!");
        assert_eq!(fill("no place", &[]), "no place");
    }

    #[test]
    fn the_tags_are_those_of_the_texts() {
        let tags: Vec<_> = ALL.iter().map(|texts| texts.tag).collect();
        assert_eq!(tags, TAGS);
    }
}
