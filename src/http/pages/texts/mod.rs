//! What pages say to candidates, in each language that they speak: a file a language, one struct that each of them fills, so
//! that a text which is missing is an error of the compiler. To add a language, add its file and its name to the list below.
//!
//! `{name}` in a text is a place that [`fill`] fills. Texts are plain: what is put into a page is escaped there.

mod format;

use crate::http::server::language::Language;
use crate::http::server::request::Request;
use crate::store::Error;

macro_rules! languages {
    ($($tag:ident),+ $(,)?) => {
        $(mod $tag;)+

        /// Every language, the one for everybody else first.
        pub(in crate::http) static ALL: &[&Texts] = &[$(&$tag::TEXTS),+];
    };
}

languages!(en, de, fr, es);

/// All texts of one language.
pub(in crate::http) struct Texts {
    /// Its tag (BCP 47), as `lang` has it.
    pub(in crate::http) tag: &'static str,
    /// What its speakers call it.
    pub(in crate::http) own_name: &'static str,
    pub(in crate::http) forms: Forms,
    pub(in crate::http) common: Common,
    pub(in crate::http) careers: Careers,
    pub(in crate::http) signup: Signup,
    pub(in crate::http) status: Status,
}

/// How dates, numbers and salaries are written.
pub(in crate::http) struct Forms {
    pub(in crate::http) months: [&'static str; 12],
    /// A day: `{day}`, `{month}`, `{year}`.
    pub(in crate::http) date: &'static str,
    /// The number of a month's first day.
    pub(in crate::http) first_day: &'static str,
    /// What stands between three digits and the next, and from how many digits on.
    pub(in crate::http) group: &'static str,
    pub(in crate::http) grouped_from: usize,
    /// What stands before a fraction.
    pub(in crate::http) decimal: &'static str,
    /// Whether nothing is said like one thing, not like many.
    pub(in crate::http) none_is_one: bool,
    /// Currencies (ISO 4217) that readers know by a symbol.
    pub(in crate::http) currencies: &'static [(&'static str, &'static str)],
    /// An amount: `{symbol}`, `{amount}`; and with a code for a symbol.
    pub(in crate::http) money: &'static str,
    pub(in crate::http) money_by_code: &'static str,
    /// Two amounts: `{symbol}`, `{from}`, `{to}`; and with a code for a symbol.
    pub(in crate::http) range: &'static str,
    pub(in crate::http) range_by_code: &'static str,
    /// At least, and at most an `{amount}`.
    pub(in crate::http) from: &'static str,
    pub(in crate::http) up_to: &'static str,
    /// An `{amount}` that is paid for so long.
    pub(in crate::http) per_hour: &'static str,
    pub(in crate::http) per_day: &'static str,
    pub(in crate::http) per_week: &'static str,
    pub(in crate::http) per_month: &'static str,
    pub(in crate::http) per_year: &'static str,
}

/// A text about a number of things, its `{count}`: about one, and about another number.
pub(in crate::http) struct Counted {
    pub(in crate::http) one: &'static str,
    pub(in crate::http) many: &'static str,
}

/// What every page has.
pub(in crate::http) struct Common {
    /// The link that keyboards reach first.
    pub(in crate::http) skip: &'static str,
    /// The heading of the choice of languages.
    pub(in crate::http) language: &'static str,
    /// The link to the organization's notice on personal data.
    pub(in crate::http) privacy: &'static str,
    /// The link back to the portal: `{organization}`.
    pub(in crate::http) all_roles: &'static str,
    /// The title of a page that is not there.
    pub(in crate::http) not_found: &'static str,
    /// What it says.
    pub(in crate::http) not_found_more: &'static str,
    /// The title of a page about a defect or an overload.
    pub(in crate::http) failed: &'static str,
    /// What it says: nothing was changed, and later it may go.
    pub(in crate::http) failed_more: &'static str,
    /// What it says where the service cannot know whether the request was carried out.
    pub(in crate::http) unknown_more: &'static str,
    /// The title of a page about a request that cannot be carried out as it is, and what it says.
    pub(in crate::http) refused: &'static str,
    pub(in crate::http) refused_more: &'static str,
    /// The same where there were too many of them.
    pub(in crate::http) too_many: &'static str,
    pub(in crate::http) too_many_more: &'static str,
    /// The service cannot do it now.
    pub(in crate::http) unavailable: &'static str,
    pub(in crate::http) unavailable_more: &'static str,
    /// What to do about either: `{number}`, the request's id.
    pub(in crate::http) ask: &'static str,
}

/// The career portal: its list, its roles, its notice.
pub(in crate::http) struct Careers {
    /// The portal's title: `{organization}`.
    pub(in crate::http) title: &'static str,
    /// The same of a later page: `{title}`, `{page}`.
    pub(in crate::http) title_of_page: &'static str,
    /// How many roles are listed.
    pub(in crate::http) count: Counted,
    /// The search: its label, what it looks at, its button.
    pub(in crate::http) search: &'static str,
    pub(in crate::http) search_hint: &'static str,
    pub(in crate::http) search_button: &'static str,
    /// The heading of all filters, and of each; the link that ends each.
    pub(in crate::http) filters: &'static str,
    pub(in crate::http) department: &'static str,
    pub(in crate::http) location: &'static str,
    pub(in crate::http) work_type: &'static str,
    pub(in crate::http) all_departments: &'static str,
    pub(in crate::http) all_locations: &'static str,
    pub(in crate::http) all_work_types: &'static str,
    /// The link that ends the search and all filters.
    pub(in crate::http) show_all: &'static str,
    /// The work types.
    pub(in crate::http) remote: &'static str,
    pub(in crate::http) hybrid: &'static str,
    pub(in crate::http) onsite: &'static str,
    /// A portal without roles: `{organization}`.
    pub(in crate::http) none: &'static str,
    pub(in crate::http) none_more: &'static str,
    /// A search or filters that leave nothing.
    pub(in crate::http) no_match: &'static str,
    pub(in crate::http) no_match_more: &'static str,
    /// The paging: what it is, where one is (`{page}`, `{pages}`), and its two links.
    pub(in crate::http) pages: &'static str,
    pub(in crate::http) page_of: &'static str,
    pub(in crate::http) previous: &'static str,
    pub(in crate::http) next: &'static str,
    /// A role: what its title is in the browser's tab (`{role}`, `{organization}`), and its facts.
    pub(in crate::http) role_title: &'static str,
    pub(in crate::http) salary: &'static str,
    pub(in crate::http) posted: &'static str,
    pub(in crate::http) apply: &'static str,
    pub(in crate::http) apply_hint: &'static str,
    /// A role that is no longer open: `{role}`.
    pub(in crate::http) closed: &'static str,
    pub(in crate::http) closed_more: &'static str,
    /// A role that there is none of.
    pub(in crate::http) no_role: &'static str,
    pub(in crate::http) no_role_more: &'static str,
    /// The heading of others.
    pub(in crate::http) others: &'static str,
    /// A portal that there is none of.
    pub(in crate::http) no_portal: &'static str,
    pub(in crate::http) no_portal_more: &'static str,
    /// The title of the notice on personal data, and its words where the organization has none of its own: Markdown,
    /// `{organization}`.
    pub(in crate::http) privacy_title: &'static str,
    pub(in crate::http) privacy_words: &'static str,
}

/// The form behind a signup link.
pub(in crate::http) struct Signup {
    /// The page's title (`{role}`, `{organization}`), its heading (`{role}`), and what stands below (`{organization}`).
    pub(in crate::http) title: &'static str,
    pub(in crate::http) heading: &'static str,
    pub(in crate::http) lead: &'static str,
    /// Behind the label of a field that may stay empty.
    pub(in crate::http) optional: &'static str,
    /// The fields, and what helps to fill them.
    pub(in crate::http) name: &'static str,
    pub(in crate::http) email: &'static str,
    pub(in crate::http) email_hint: &'static str,
    pub(in crate::http) phone: &'static str,
    pub(in crate::http) links: &'static str,
    pub(in crate::http) links_hint: &'static str,
    pub(in crate::http) note: &'static str,
    pub(in crate::http) note_hint: &'static str,
    pub(in crate::http) cv: &'static str,
    pub(in crate::http) cv_hint: &'static str,
    /// The file that came already: `{file}`.
    pub(in crate::http) cv_kept: &'static str,
    /// The consent (`{organization}`), its name in the list of errors, and the link to what is consented to.
    pub(in crate::http) consent: &'static str,
    pub(in crate::http) consent_name: &'static str,
    pub(in crate::http) notice: &'static str,
    pub(in crate::http) send: &'static str,
    /// The label of the field that only robots see.
    pub(in crate::http) trap: &'static str,
    /// The title of a form with errors (`{title}`), and the heading of their list.
    pub(in crate::http) title_with_errors: &'static str,
    pub(in crate::http) errors: &'static str,
    pub(in crate::http) name_missing: &'static str,
    pub(in crate::http) email_missing: &'static str,
    pub(in crate::http) consent_missing: &'static str,
    /// `{count}`, the most characters.
    pub(in crate::http) too_long: &'static str,
    pub(in crate::http) unreadable: &'static str,
    pub(in crate::http) no_address: &'static str,
    /// `{count}`, the most links.
    pub(in crate::http) too_many_links: &'static str,
    /// `{count}`, the most characters of one.
    pub(in crate::http) link_too_long: &'static str,
    pub(in crate::http) no_link: &'static str,
    pub(in crate::http) cv_too_large: &'static str,
    pub(in crate::http) cv_wrong_type: &'static str,
    pub(in crate::http) cv_empty: &'static str,
    pub(in crate::http) cv_more_than_one: &'static str,
    pub(in crate::http) cv_gone: &'static str,
    pub(in crate::http) cv_no_room: &'static str,
    /// What is wrong with a form as a whole: the field for robots was filled, it came too soon, it is not good any more.
    pub(in crate::http) robot: &'static str,
    pub(in crate::http) too_soon: &'static str,
    pub(in crate::http) too_old: &'static str,
    /// A link that leads nowhere.
    pub(in crate::http) nowhere: &'static str,
    pub(in crate::http) nowhere_more: &'static str,
    /// A link that has run out while its role is open, and the link to the role.
    pub(in crate::http) expired: &'static str,
    pub(in crate::http) expired_more: &'static str,
    pub(in crate::http) to_role: &'static str,
    /// A role that takes no applications any more: `{role}`.
    pub(in crate::http) closed: &'static str,
    pub(in crate::http) closed_more: &'static str,
    /// What became of an application that was sent to either.
    pub(in crate::http) not_sent: &'static str,
    /// The form cannot be taken now: too many came from one address, and when it goes on (`{minutes}`); or for another
    /// reason.
    pub(in crate::http) limited: &'static str,
    pub(in crate::http) unavailable: &'static str,
    /// For a browser that has applied (`{role}`), the link to where that stands, and the one to the form all the same.
    pub(in crate::http) already: &'static str,
    pub(in crate::http) already_more: &'static str,
    pub(in crate::http) to_status: &'static str,
    pub(in crate::http) again: &'static str,
}

/// The page where a candidate sees where they stand.
pub(in crate::http) struct Status {
    /// The page's title: `{role}`, `{organization}`.
    pub(in crate::http) title: &'static str,
    /// What is said of an application that was just sent: that it was, that the link is to be kept (`{organization}`), and
    /// what is so for whoever had applied before (`{organization}`), known or not.
    pub(in crate::http) new: &'static str,
    pub(in crate::http) new_keep: &'static str,
    pub(in crate::http) new_before: &'static str,
    /// When it was sent: `{date}`.
    pub(in crate::http) applied: &'static str,
    /// Where it is, and what that means: `{organization}`, `{role}`.
    pub(in crate::http) running: &'static str,
    pub(in crate::http) running_more: &'static str,
    pub(in crate::http) withdrawn: &'static str,
    pub(in crate::http) withdrawn_more: &'static str,
    pub(in crate::http) not_selected: &'static str,
    pub(in crate::http) not_selected_more: &'static str,
    pub(in crate::http) hired: &'static str,
    pub(in crate::http) hired_more: &'static str,
    /// The heading of the steps, and what is said of each.
    pub(in crate::http) steps: &'static str,
    pub(in crate::http) done: &'static str,
    pub(in crate::http) current: &'static str,
    pub(in crate::http) upcoming: &'static str,
    pub(in crate::http) skipped: &'static str,
    pub(in crate::http) ended: &'static str,
    /// The heading of what was sent, or of what is known of somebody who was added, and its names.
    pub(in crate::http) sent: &'static str,
    pub(in crate::http) known: &'static str,
    pub(in crate::http) name: &'static str,
    pub(in crate::http) email: &'static str,
    pub(in crate::http) phone: &'static str,
    pub(in crate::http) links: &'static str,
    pub(in crate::http) note: &'static str,
    pub(in crate::http) document: &'static str,
    /// A document: `{name}`, `{size}`; and the sizes.
    pub(in crate::http) document_of: &'static str,
    pub(in crate::http) kilobytes: &'static str,
    pub(in crate::http) megabytes: &'static str,
    /// When the notice was consented to: `{date}`.
    pub(in crate::http) consent: &'static str,
    /// The heading of what can be done, and the download.
    pub(in crate::http) yours: &'static str,
    pub(in crate::http) download: &'static str,
    pub(in crate::http) download_more: &'static str,
    /// Taking the application back: what is opened, what it says (`{organization}`), and the button.
    pub(in crate::http) withdraw: &'static str,
    pub(in crate::http) withdraw_more: &'static str,
    pub(in crate::http) withdraw_button: &'static str,
    /// The same for deleting.
    pub(in crate::http) delete: &'static str,
    pub(in crate::http) delete_more: &'static str,
    pub(in crate::http) delete_button: &'static str,
    /// What is said where it cannot be deleted for now: `{organization}`, `{date}`.
    pub(in crate::http) held: &'static str,
    pub(in crate::http) held_more: &'static str,
    /// The page behind a deletion: `{organization}`.
    pub(in crate::http) deleted: &'static str,
    pub(in crate::http) deleted_more: &'static str,
    /// The page of a link that leads nowhere.
    pub(in crate::http) nowhere: &'static str,
    pub(in crate::http) nowhere_more: &'static str,
}

/// The texts of the language that a request gets.
///
/// # Errors
/// `validation_error` where a parameter is there twice.
pub(in crate::http) fn of(request: &Request) -> Result<&'static Texts, Error> {
    Ok(of_language(request.language()?))
}

/// The texts of a language.
pub(in crate::http) fn of_language(language: Language) -> &'static Texts {
    ALL[language.index()]
}

/// The texts of a tag's language, or of the first.
pub(in crate::http) fn of_tag(tag: &str) -> &'static Texts {
    of_language(Language::of_tag(tag))
}

/// A text with its places filled, in one pass: what stands in a value stays what it is.
pub(in crate::http) fn fill(text: &str, values: &[(&str, &str)]) -> String {
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
    use crate::http::server::language;

    #[test]
    fn places_are_filled_once() {
        assert_eq!(fill("{a} at {b}!", &[("a", "{b}"), ("b", "<c>")]), "{b} at <c>!");
        assert_eq!(fill("no place", &[]), "no place");
    }

    #[test]
    fn the_tags_are_those_of_the_texts() {
        let tags: Vec<_> = ALL.iter().map(|texts| texts.tag).collect();
        assert_eq!(tags, language::TAGS);
        for tag in tags {
            assert_eq!(of_tag(tag).tag, tag);
        }
    }
}
