//! Which of the answers that a path can give a request gets: by the parameters of its query that count, and by its language.

use form_urlencoded::Serializer;
use hyper::header::HeaderMap;

use super::texts;

/// The parameter that names a language, on every page.
const LANG: &str = "lang";

/// The longest query that is looked at.
const QUERY_BYTES_MAX: usize = 512;

/// One of the answers of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Variant {
    /// To a request without any parameter that counts, by the language's place.
    Plain(usize),
    /// To others, by the parameters in the order of the route and the language.
    Queried(String),
}

/// The variant that a request asks for. `parameters` are those that count; a page is the same whether its language was named
/// or wanted by the browser. `None` where it is not one that is kept: another parameter is there, or one twice. A parameter
/// without a value counts as not there.
pub(super) fn of(parameters: &[&str], query: &str, fields: &HeaderMap) -> Option<Variant> {
    if query.is_empty() {
        return Some(Variant::Plain(texts::place(None, fields)));
    }
    if query.len() > QUERY_BYTES_MAX {
        return None;
    }
    let mut values = vec![None; parameters.len()];
    let mut lang = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let place = match parameters.iter().position(|known| *known == name) {
            Some(place) => &mut values[place],
            None if name == LANG => &mut lang,
            None if value.is_empty() => continue,
            None => return None,
        };
        if place.replace(value).is_some() {
            return None;
        }
    }
    let language = texts::place(lang.as_deref(), fields);
    let given = parameters.iter().zip(&values).filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    let mut given = given.filter(|(_, value)| !value.is_empty()).peekable();
    if given.peek().is_none() {
        return Some(Variant::Plain(language));
    }
    let mut key = Serializer::new(String::new());
    key.extend_pairs(given);
    key.append_pair(LANG, &language.to_string());
    Some(Variant::Queried(key.finish()))
}

#[cfg(test)]
mod tests {
    use hyper::header::ACCEPT_LANGUAGE;

    use super::*;

    fn asked(query: &str, accepted: &'static str) -> Option<Variant> {
        let fields = [(ACCEPT_LANGUAGE, accepted.parse().unwrap())].into_iter().collect();
        of(&["page", "department"], query, &fields)
    }

    #[test]
    fn what_counts_is_the_parameters_and_the_language() {
        assert_eq!(asked("", "en"), Some(Variant::Plain(0)));
        assert_eq!(asked("", "de-CH"), Some(Variant::Plain(1)));
        for same in ["page=", "department=&page=&lang=", "q=&x=", "&&", "lang=de", "lang=de-CH", "lang=tlh"] {
            assert_eq!(asked(same, "de"), asked("", "de"), "{same}");
        }
        let wanted = asked("page=2&department=R%26D", "en");
        assert!(matches!(wanted, Some(Variant::Queried(_))));
        for same in ["department=R%26D&page=2", "page=%32&lang=&department=R%26D", "page=2&lang=en&department=R%26D"] {
            assert_eq!(asked(same, "en"), wanted, "{same}");
        }
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
