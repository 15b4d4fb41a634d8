//! What pages say to candidates, in each language that they speak: a file a language, one struct that each of them fills, so
//! that a text which is missing is an error of the compiler. To add a language, add its file and its name to the list below.
//!
//! `{name}` in a text is a place that [`fill`] fills. Texts are plain: what is put into a page is escaped there.

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
    pub(super) common: Common,
    pub(super) careers: Careers,
    pub(super) signup: Signup,
    pub(super) status: Status,
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
    /// The title of a page about a defect or an overload.
    pub(super) failed: &'static str,
    /// What to do about either: `{number}`, the request's id.
    pub(super) ask: &'static str,
}

/// The career portal: its list, its roles, its notice.
pub(super) struct Careers {}

/// The form behind a signup link.
pub(super) struct Signup {}

/// The page where a candidate sees where they stand.
pub(super) struct Status {}

/// The texts that a request gets: the language that its query names (`lang`, or a signup link's `locale`), else the best that
/// its browser wants.
///
/// # Errors
/// `validation_error` where a parameter is there twice.
pub(super) fn of(request: &Request) -> Result<&'static Texts, Error> {
    let (lang, locale) = (request.query("lang")?, request.query("locale")?);
    let accepted = request.header_list(&hyper::header::ACCEPT_LANGUAGE);
    Ok(ALL[language::choose(TAGS, lang.or(locale).as_deref(), accepted.as_deref())])
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
