//! Which of the answers that a path can give a request gets: by the parameters of its query that count, and by its language.

use std::borrow::Cow;

use form_urlencoded::Serializer;
use hyper::header::HeaderMap;

use super::language::Language;

/// The parameter that names a language, on every page.
const LANG: &str = "lang";

/// The longest query that is looked at.
const QUERY_BYTES_MAX: usize = 512;

/// A parameter that chooses an answer.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct Parameter {
    /// Its name.
    pub(in crate::http) name: &'static str,
    /// What is read from a value of it: those that are read alike have one answer. `None` for a value that chooses nothing.
    pub(in crate::http) read: fn(&str) -> Option<Cow<'_, str>>,
}

/// One of the answers of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::http) enum Variant {
    /// The only one: the path depends on neither language nor query.
    Only,
    /// To a request without any parameter that counts, by the language.
    Plain(Language),
    /// To others, by the parameters in the order of the route and the language.
    Queried(String),
}

/// The variant that a request asks for. `parameters` are those that count; a page is the same whether its language was named
/// or wanted by the browser. `None` where it is not one that is kept: another parameter is there, or one twice. A parameter
/// whose value chooses nothing counts as not there.
pub(in crate::http) fn of(parameters: &[Parameter], query: &str, fields: &HeaderMap) -> Option<Variant> {
    if query.is_empty() {
        return Some(Variant::Plain(Language::negotiate(None, fields)));
    }
    if query.len() > QUERY_BYTES_MAX {
        return None;
    }
    let mut values = vec![None; parameters.len()];
    let mut lang = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let place = match parameters.iter().position(|known| known.name == name) {
            Some(place) => &mut values[place],
            None if name == LANG => &mut lang,
            None if value.is_empty() => continue,
            None => return None,
        };
        if place.replace(value).is_some() {
            return None;
        }
    }
    let language = Language::negotiate(lang.as_deref(), fields);
    let given = parameters.iter().zip(&values);
    let given = given.filter_map(|(known, value)| Some((known.name, (known.read)(value.as_deref()?)?)));
    let mut given = given.peekable();
    if given.peek().is_none() {
        return Some(Variant::Plain(language));
    }
    let mut key = Serializer::new(String::new());
    key.extend_pairs(given);
    key.append_pair(LANG, language.tag());
    Some(Variant::Queried(key.finish()))
}

#[cfg(test)]
mod tests {
    use hyper::header::ACCEPT_LANGUAGE;

    use super::*;

    const PARAMETERS: [Parameter; 2] = [
        Parameter { name: "page", read: |text| text.parse().ok().map(|page: u32| page.to_string().into()) },
        Parameter { name: "department", read: |text| (!text.trim().is_empty()).then_some(text.into()) },
    ];

    fn asked(query: &str, accepted: &'static str) -> Option<Variant> {
        let fields = [(ACCEPT_LANGUAGE, accepted.parse().unwrap())].into_iter().collect();
        of(&PARAMETERS, query, &fields)
    }

    #[test]
    fn what_counts_is_the_parameters_and_the_language() {
        assert_eq!(asked("", "en"), Some(Variant::Plain(Language::of_tag("en"))));
        assert_eq!(asked("", "de-CH"), Some(Variant::Plain(Language::of_tag("de"))));
        for same in ["page=", "department=&page=&lang=", "q=&x=", "&&", "lang=de", "lang=de-CH", "lang=tlh", "page=x"] {
            assert_eq!(asked(same, "de"), asked("", "de"), "{same}");
        }
        let wanted = asked("page=2&department=R%26D", "en");
        assert!(matches!(wanted, Some(Variant::Queried(_))));
        for same in [
            "department=R%26D&page=2",
            "page=%32&lang=&department=R%26D",
            "page=2&lang=en&department=R%26D",
            "page=002&department=R%26D",
            "page=%2B2&department=R%26D",
        ] {
            assert_eq!(asked(same, "en"), wanted, "{same}");
        }
        assert_eq!(asked("page=2&department=%20", "en"), asked("page=2", "en"));
        for other in ["page=2", "page=2&department=R", "department=R%26D%26page%3D2", "page=2&department=R%26D&lang=de"]
        {
            assert_ne!(asked(other, "en"), wanted, "{other}");
        }
        assert_eq!(asked("page=2&department=R%26D&lang=en", "fr"), wanted, "what is named goes before what is wanted");
        assert_ne!(asked("page=2&department=R%26D", "fr"), wanted);
    }

    #[test]
    fn what_anybody_could_invent_is_no_variant() {
        let long = format!("department={}", "x".repeat(QUERY_BYTES_MAX));
        for query in ["q=engineer", "utm_source=x", "page=1&page=1", "page=&page=1", "lang=de&lang=de", &long] {
            assert_eq!(asked(query, "en"), None, "{query}");
        }
    }
}
