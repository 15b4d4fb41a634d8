//! The variant of a cached response that a request selects by its language and its query parameters.

use std::borrow::Cow;

use form_urlencoded::Serializer;
use hyper::header::HeaderMap;

use super::language::Language;

/// The query parameter that names a language, on every page.
const LANG: &str = "lang";

/// The maximum number of bytes in a query whose response is cached.
const QUERY_BYTES_MAX: usize = 512;

/// A query parameter that a response depends on.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct CacheParameter {
    pub(in crate::http) name: &'static str,
    /// The function that normalizes a value. Values with equal results share one response. `None` means that the value
    /// has no effect.
    pub(in crate::http) normalize: fn(&str) -> Option<Cow<'_, str>>,
}

/// A variant of the response to requests for one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CacheVariant {
    /// The only variant, because the response depends on neither language nor query.
    Only,
    /// The variant for requests without effective parameters, by language.
    ByLanguage(Language),
    /// The variant for other requests. The string contains the parameters, in the order in which the route lists them,
    /// and the language.
    ByQuery(String),
}

/// Returns the variant that a request selects among responses that depend on `parameters` and the language. The variant
/// is the same whether the query or the browser chose the language. Returns `None` for a query whose response is not
/// cached, because the query is too long, has a value for an unknown parameter, or repeats a known parameter. A
/// parameter without effect is treated as absent.
pub(super) fn choose(parameters: &[CacheParameter], query: &str, fields: &HeaderMap) -> Option<CacheVariant> {
    if query.is_empty() {
        return Some(CacheVariant::ByLanguage(Language::negotiate(None, fields)));
    }
    if query.len() > QUERY_BYTES_MAX {
        return None;
    }
    let mut values = vec![None; parameters.len()];
    let mut lang = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let slot = match parameters.iter().position(|parameter| parameter.name == name) {
            Some(index) => &mut values[index],
            None if name == LANG => &mut lang,
            None if value.is_empty() => continue,
            None => return None,
        };
        if slot.replace(value).is_some() {
            return None;
        }
    }
    let language = Language::negotiate(lang.as_deref(), fields);
    let given = parameters.iter().zip(&values);
    let given =
        given.filter_map(|(parameter, value)| Some((parameter.name, (parameter.normalize)(value.as_deref()?)?)));
    let mut given = given.peekable();
    if given.peek().is_none() {
        return Some(CacheVariant::ByLanguage(language));
    }
    let mut key = Serializer::new(String::new());
    key.extend_pairs(given);
    key.append_pair(LANG, language.tag());
    Some(CacheVariant::ByQuery(key.finish()))
}

#[cfg(test)]
mod tests {
    use hyper::header::ACCEPT_LANGUAGE;

    use super::*;

    const PARAMETERS: [CacheParameter; 2] = [
        CacheParameter { name: "page", normalize: |text| text.parse().ok().map(|page: u32| page.to_string().into()) },
        CacheParameter { name: "department", normalize: |text| (!text.trim().is_empty()).then_some(text.into()) },
    ];

    fn selected(query: &str, accepted: &'static str) -> Option<CacheVariant> {
        let fields = [(ACCEPT_LANGUAGE, accepted.parse().unwrap())].into_iter().collect();
        choose(&PARAMETERS, query, &fields)
    }

    #[test]
    fn only_effective_parameters_and_the_language_select_a_variant() {
        assert_eq!(selected("", "en"), Some(CacheVariant::ByLanguage(Language::of_tag("en"))));
        assert_eq!(selected("", "de-CH"), Some(CacheVariant::ByLanguage(Language::of_tag("de"))));
        for same in ["page=", "department=&page=&lang=", "q=&x=", "&&", "lang=de", "lang=de-CH", "lang=tlh", "page=x"] {
            assert_eq!(selected(same, "de"), selected("", "de"), "{same}");
        }
        let variant = selected("page=2&department=R%26D", "en");
        assert!(matches!(variant, Some(CacheVariant::ByQuery(_))));
        for same in [
            "department=R%26D&page=2",
            "page=%32&lang=&department=R%26D",
            "page=2&lang=en&department=R%26D",
            "page=002&department=R%26D",
            "page=%2B2&department=R%26D",
        ] {
            assert_eq!(selected(same, "en"), variant, "{same}");
        }
        assert_eq!(selected("page=2&department=%20", "en"), selected("page=2", "en"));
        for other in ["page=2", "page=2&department=R", "department=R%26D%26page%3D2", "page=2&department=R%26D&lang=de"]
        {
            assert_ne!(selected(other, "en"), variant, "{other}");
        }
        assert_eq!(selected("page=2&department=R%26D&lang=en", "fr"), variant, "the query's language takes precedence");
        assert_ne!(selected("page=2&department=R%26D", "fr"), variant);
    }

    #[test]
    fn unknown_repeated_or_long_parameters_select_no_variant() {
        let long = format!("department={}", "x".repeat(QUERY_BYTES_MAX));
        for query in ["q=engineer", "utm_source=x", "page=1&page=1", "page=&page=1", "lang=de&lang=de", &long] {
            assert_eq!(selected(query, "en"), None, "{query}");
        }
    }
}
