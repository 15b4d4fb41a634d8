//! The texts of all pages. Each language has a file that fills the same structs, so that the compiler finds a missing
//! text. `home`, `role_labels` and `console` contain texts in all languages, and so does `careers/embed.js`. To add a
//! language, add its file, its tag in the list below, in `language::TAGS`, in `console::ByLanguage::of` and in
//! `console::activity::label`, and its texts in these modules, in the script, in the default pipeline
//! (`domain::role_step`) and in the names of countries (`careers::job_location`).
//!
//! [`fill`] replaces placeholders such as `{name}`. The texts are plain text, which the page escapes, except the
//! default privacy notice, which is Markdown.

pub(super) mod console;
mod format;
pub(super) mod home;
mod role_labels;

use self::home::Home;
use self::role_labels::RoleLabels;
use crate::domain::refusal::Refusal;
use crate::http::server::language::Language;
use crate::http::server::request::Request;
use crate::store::Error;

macro_rules! languages {
    ($($tag:ident),+ $(,)?) => {
        $(mod $tag;)+

        /// The texts of all languages. The first language is the fallback.
        pub(in crate::http) static ALL: &[&Texts] = &[$(&$tag::TEXTS),+];
    };
}

languages!(en, de, fr, es);

/// The texts of one language.
pub(in crate::http) struct Texts {
    /// The language tag (BCP 47), for the attribute `lang`.
    pub(in crate::http) tag: &'static str,
    /// The name of the language in that language.
    pub(in crate::http) own_name: &'static str,
    pub(in crate::http) forms: Forms,
    pub(in crate::http) common: Common,
    pub(in crate::http) home: Home,
    pub(in crate::http) role: RoleLabels,
    pub(in crate::http) careers: Careers,
    pub(in crate::http) signup: Signup,
    pub(in crate::http) status: Status,
}

/// The formats of dates, numbers and salaries.
pub(in crate::http) struct Forms {
    pub(in crate::http) months: [&'static str; 12],
    /// A date, with `{day}`, `{month}` and `{year}`.
    pub(in crate::http) date: &'static str,
    /// The first day of a month, such as `1` or `1er`.
    pub(in crate::http) first_day: &'static str,
    /// The separator between groups of digits.
    pub(in crate::http) group: &'static str,
    /// The minimum number of digits in a number whose digits are grouped.
    pub(in crate::http) grouped_from: usize,
    /// The decimal separator.
    pub(in crate::http) decimal: &'static str,
    /// Whether zero is singular, as in French.
    pub(in crate::http) none_is_one: bool,
    /// The currencies (ISO 4217) that are written with a symbol.
    pub(in crate::http) currencies: &'static [(&'static str, &'static str)],
    /// The patterns for an amount, with a currency symbol and with a currency code: `{symbol}`, `{amount}`.
    pub(in crate::http) money: &'static str,
    pub(in crate::http) money_by_code: &'static str,
    /// The patterns for a range, with a currency symbol and with a currency code: `{symbol}`, `{from}`, `{to}`.
    pub(in crate::http) range: &'static str,
    pub(in crate::http) range_by_code: &'static str,
    /// A salary with only a minimum and a salary with only a maximum, each with `{amount}`.
    pub(in crate::http) from: &'static str,
    pub(in crate::http) up_to: &'static str,
    /// An `{amount}` per period.
    pub(in crate::http) per_hour: &'static str,
    pub(in crate::http) per_day: &'static str,
    pub(in crate::http) per_week: &'static str,
    pub(in crate::http) per_month: &'static str,
    pub(in crate::http) per_year: &'static str,
}

/// A text with a `{count}`, in the singular and in the plural.
pub(in crate::http) struct Counted {
    pub(in crate::http) one: &'static str,
    pub(in crate::http) many: &'static str,
}

/// Texts that pages share.
pub(in crate::http) struct Common {
    /// The link that skips to the content, first in the tab order.
    pub(in crate::http) skip: &'static str,
    /// The accessible name of the language selection.
    pub(in crate::http) language: &'static str,
    /// The link to the organization's privacy notice.
    pub(in crate::http) privacy: &'static str,
    /// The link back to the portal: `{organization}`.
    pub(in crate::http) all_roles: &'static str,
    /// The title of the 404 page.
    pub(in crate::http) not_found: &'static str,
    /// The text of the 404 page.
    pub(in crate::http) not_found_more: &'static str,
    /// The title of the page about a request that the service failed to process.
    pub(in crate::http) failed: &'static str,
    /// The text of that page, if the request changed nothing.
    pub(in crate::http) failed_more: &'static str,
    /// The text of that page, if nobody knows whether the request changed anything.
    pub(in crate::http) unknown_more: &'static str,
    /// The title and text of the page about a request that would fail again if it were sent unchanged.
    pub(in crate::http) refused: &'static str,
    pub(in crate::http) refused_more: &'static str,
    /// The title and text of the page about too many requests.
    pub(in crate::http) too_many: &'static str,
    pub(in crate::http) too_many_more: &'static str,
    /// The title and text of the page about a service that is unavailable, for example because the disk is full.
    pub(in crate::http) unavailable: &'static str,
    pub(in crate::http) unavailable_more: &'static str,
    /// The text of the page about a form that was opened under another address: `{page}` and `{own}`.
    pub(in crate::http) other_origin: &'static str,
    /// The request id for inquiries: `{number}`.
    pub(in crate::http) ask: &'static str,
}

impl Common {
    /// Returns the message about a refusal for which the page has no text of its own.
    pub(in crate::http) fn refusal(&self, refusal: &Refusal) -> String {
        match refusal {
            Refusal::OtherOrigin { page, own } => fill(self.other_origin, &[("page", page), ("own", own)]),
            _ => self.refused_more.to_owned(),
        }
    }
}

/// Texts of the portal: the list of roles, the postings and the privacy notice.
pub(in crate::http) struct Careers {
    /// The portal's title: `{organization}`.
    pub(in crate::http) title: &'static str,
    /// The title of later pages of the list: `{title}`, `{page}`.
    pub(in crate::http) title_of_page: &'static str,
    /// The number of listed roles.
    pub(in crate::http) count: Counted,
    /// The search field: label, hint, button.
    pub(in crate::http) search: &'static str,
    pub(in crate::http) search_hint: &'static str,
    pub(in crate::http) search_button: &'static str,
    /// The filters: the heading, and for each filter the link that removes it.
    pub(in crate::http) filters: &'static str,
    pub(in crate::http) all_departments: &'static str,
    pub(in crate::http) all_locations: &'static str,
    pub(in crate::http) all_work_types: &'static str,
    /// The link that removes the search and all filters.
    pub(in crate::http) show_all: &'static str,
    /// The work types.
    pub(in crate::http) remote: &'static str,
    pub(in crate::http) hybrid: &'static str,
    pub(in crate::http) onsite: &'static str,
    /// The message for a portal without roles: `{organization}`.
    pub(in crate::http) none: &'static str,
    pub(in crate::http) none_more: &'static str,
    /// The message if no role matches the search and filters.
    pub(in crate::http) no_match: &'static str,
    pub(in crate::http) no_match_more: &'static str,
    /// The page navigation: its label, the position (`{page}`, `{pages}`), and its two links.
    pub(in crate::http) pages: &'static str,
    pub(in crate::http) page_of: &'static str,
    pub(in crate::http) previous: &'static str,
    pub(in crate::http) next: &'static str,
    /// A posting: the title of the browser tab (`{role}`, `{organization}`), the apply button and its hint.
    pub(in crate::http) role_title: &'static str,
    pub(in crate::http) apply: &'static str,
    pub(in crate::http) apply_hint: &'static str,
    /// The message about a role that is no longer open: `{role}`.
    pub(in crate::http) closed: &'static str,
    pub(in crate::http) closed_more: &'static str,
    /// The message about an unknown role.
    pub(in crate::http) no_role: &'static str,
    pub(in crate::http) no_role_more: &'static str,
    /// The heading of the list of open roles on a page about a missing or former role.
    pub(in crate::http) others: &'static str,
    /// The message about an unknown or disabled portal.
    pub(in crate::http) no_portal: &'static str,
    pub(in crate::http) no_portal_more: &'static str,
    /// The title of the privacy notice, and the default notice for organizations without their own notice, as Markdown
    /// with `{organization}`.
    pub(in crate::http) privacy_title: &'static str,
    pub(in crate::http) privacy_words: &'static str,
}

/// Texts of the signup form.
pub(in crate::http) struct Signup {
    /// The title of the page (`{role}`, `{organization}`), its heading (`{role}`), and the introduction
    /// (`{organization}`).
    pub(in crate::http) title: &'static str,
    pub(in crate::http) heading: &'static str,
    pub(in crate::http) lead: &'static str,
    /// The word after the label of an optional field.
    pub(in crate::http) optional: &'static str,
    /// The labels and hints of the fields.
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
    /// The hint about a file that is already uploaded: `{file}`.
    pub(in crate::http) cv_uploaded: &'static str,
    /// The consent (`{organization}`), its name in the list of errors, and the link to the privacy notice.
    pub(in crate::http) consent: &'static str,
    pub(in crate::http) consent_name: &'static str,
    pub(in crate::http) notice: &'static str,
    pub(in crate::http) send: &'static str,
    /// The label of the hidden field that only robots fill in.
    pub(in crate::http) trap: &'static str,
    /// The title of a form with errors (`{title}`), and the heading of the list of errors.
    pub(in crate::http) title_with_errors: &'static str,
    pub(in crate::http) errors: &'static str,
    /// A line of that list: the label of the field (`{field}`) and its `{error}`.
    pub(in crate::http) field_error: &'static str,
    pub(in crate::http) name_missing: &'static str,
    pub(in crate::http) email_missing: &'static str,
    pub(in crate::http) consent_missing: &'static str,
    /// `{count}`: the maximum number of characters.
    pub(in crate::http) too_long: &'static str,
    pub(in crate::http) unreadable: &'static str,
    pub(in crate::http) no_address: &'static str,
    /// `{count}`: the maximum number of links.
    pub(in crate::http) too_many_links: &'static str,
    /// `{count}`: the maximum number of characters in one link.
    pub(in crate::http) link_too_long: &'static str,
    pub(in crate::http) no_link: &'static str,
    pub(in crate::http) cv_too_large: &'static str,
    pub(in crate::http) cv_wrong_type: &'static str,
    pub(in crate::http) cv_empty: &'static str,
    pub(in crate::http) cv_more_than_one: &'static str,
    pub(in crate::http) cv_expired: &'static str,
    pub(in crate::http) cv_no_room: &'static str,
    /// The errors of the whole form: the hidden field was filled in, or the form was submitted too soon or is too old.
    pub(in crate::http) robot: &'static str,
    pub(in crate::http) too_soon: &'static str,
    pub(in crate::http) too_old: &'static str,
    /// The page for an unknown signup link.
    pub(in crate::http) nowhere: &'static str,
    pub(in crate::http) nowhere_more: &'static str,
    /// The page for an expired signup link of an open role, and the link to the posting.
    pub(in crate::http) expired: &'static str,
    pub(in crate::http) expired_more: &'static str,
    pub(in crate::http) to_role: &'static str,
    /// The page for a role that no longer accepts applications: `{role}`.
    pub(in crate::http) closed: &'static str,
    pub(in crate::http) closed_more: &'static str,
    /// The message that the application was not sent, because the signup link does not lead to a form.
    pub(in crate::http) not_sent: &'static str,
    /// The errors of a form that can be submitted again later: too many signups came from one network (`{minutes}` to
    /// wait), or the service cannot accept the form now.
    pub(in crate::http) limited: &'static str,
    pub(in crate::http) unavailable: &'static str,
    /// The page for a browser that has already been used to apply (`{role}`), with links to the status page and to the
    /// form.
    pub(in crate::http) already: &'static str,
    pub(in crate::http) already_more: &'static str,
    pub(in crate::http) to_status: &'static str,
    pub(in crate::http) again: &'static str,
}

/// Texts of the status page.
pub(in crate::http) struct Status {
    /// The page's title: `{role}`, `{organization}`.
    pub(in crate::http) title: &'static str,
    /// The message that a candidate sees right after applying: the confirmation, the request to save the link, and the
    /// hint for people who had applied before (`{organization}`). The message always contains the hint, so that the
    /// hint does not reveal earlier applications.
    pub(in crate::http) new: &'static str,
    pub(in crate::http) new_save: &'static str,
    pub(in crate::http) new_before: &'static str,
    /// The date of the application: `{date}`.
    pub(in crate::http) applied: &'static str,
    /// The states of the application, with explanations: `{organization}`.
    pub(in crate::http) running: &'static str,
    pub(in crate::http) running_more: &'static str,
    /// The texts in place of `running` for a filled role and for a closed role: `{organization}`.
    pub(in crate::http) filled: &'static str,
    pub(in crate::http) filled_more: &'static str,
    pub(in crate::http) closed: &'static str,
    pub(in crate::http) closed_more: &'static str,
    pub(in crate::http) withdrawn: &'static str,
    pub(in crate::http) withdrawn_more: &'static str,
    pub(in crate::http) not_selected: &'static str,
    pub(in crate::http) not_selected_more: &'static str,
    pub(in crate::http) hired: &'static str,
    pub(in crate::http) hired_more: &'static str,
    /// The heading of the steps, and the possible states of a step.
    pub(in crate::http) steps: &'static str,
    pub(in crate::http) done: &'static str,
    pub(in crate::http) current: &'static str,
    pub(in crate::http) upcoming: &'static str,
    pub(in crate::http) skipped: &'static str,
    pub(in crate::http) ended: &'static str,
    /// The heading of the submitted form, the heading of the data of a candidate who did not apply with a form, and the
    /// labels.
    pub(in crate::http) sent: &'static str,
    pub(in crate::http) known: &'static str,
    pub(in crate::http) name: &'static str,
    pub(in crate::http) email: &'static str,
    pub(in crate::http) phone: &'static str,
    pub(in crate::http) links: &'static str,
    pub(in crate::http) note: &'static str,
    pub(in crate::http) document: &'static str,
    /// An attachment: `{name}`, `{size}`; and the units of sizes.
    pub(in crate::http) document_of: &'static str,
    pub(in crate::http) kilobytes: &'static str,
    pub(in crate::http) megabytes: &'static str,
    /// The date of the consent: `{date}`.
    pub(in crate::http) consent: &'static str,
    /// The heading of the actions, and the download.
    pub(in crate::http) yours: &'static str,
    pub(in crate::http) download: &'static str,
    pub(in crate::http) download_more: &'static str,
    /// The action that withdraws the application: the summary, the explanation (`{organization}`), and the button.
    pub(in crate::http) withdraw: &'static str,
    pub(in crate::http) withdraw_more: &'static str,
    pub(in crate::http) withdraw_button: &'static str,
    /// The action that deletes the data: the summary, the explanation (`{organization}`), and the button.
    pub(in crate::http) delete: &'static str,
    pub(in crate::http) delete_more: &'static str,
    pub(in crate::http) delete_button: &'static str,
    /// The message for a candidate under a legal hold: `{organization}`, `{date}`.
    pub(in crate::http) held: &'static str,
    pub(in crate::http) held_more: &'static str,
    /// The page after a deletion: `{organization}`.
    pub(in crate::http) deleted: &'static str,
    pub(in crate::http) deleted_more: &'static str,
    /// The page for an unknown or spent status link.
    pub(in crate::http) nowhere: &'static str,
    pub(in crate::http) nowhere_more: &'static str,
}

/// Returns the texts for a request, in the language that the query names (`lang`, or `locale` in a signup link), or
/// else in the best match for `Accept-Language`.
///
/// # Errors
/// `validation_error` if `lang` or `locale` is repeated.
pub(in crate::http) fn of(request: &Request) -> Result<&'static Texts, Error> {
    Ok(of_language(request.language()?))
}

/// Returns the texts of a language.
pub(in crate::http) fn of_language(language: Language) -> &'static Texts {
    ALL[language.index()]
}

/// Returns the texts of the tag's language, or of the fallback.
pub(in crate::http) fn of_tag(tag: &str) -> &'static Texts {
    of_language(Language::of_tag(tag))
}

/// Replaces placeholders in one pass, so that placeholders inside values are not replaced. A placeholder without a
/// value becomes an empty string.
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
    fn placeholders_in_values_are_not_replaced() {
        assert_eq!(fill("{a} at {b}!", &[("a", "{b}"), ("b", "<c>")]), "{b} at <c>!");
        assert_eq!(fill("no placeholder", &[]), "no placeholder");
    }

    #[test]
    fn the_texts_are_in_the_order_of_the_language_tags() {
        let tags: Vec<_> = ALL.iter().map(|texts| texts.tag).collect();
        assert_eq!(tags, language::TAGS);
        for tag in tags {
            assert_eq!(of_tag(tag).tag, tag);
        }
    }
}
