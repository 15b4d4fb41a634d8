//! Which of the languages that pages speak a reader gets. The texts themselves are on the HTTP floor.

/// Entries of an `Accept-Language` that are looked at: more than any browser sends.
const ENTRIES_MAX: usize = 32;

/// The place, among `known` tags of one subtag each, of the language that a page speaks: the one that was asked for by name,
/// else the best of an `Accept-Language` (RFC 9110 §12.5.4), else the first. A tag such as `de-CH` is `de` (BCP 47).
pub fn choose_language(known: &[&str], named: Option<&str>, accepted: Option<&str>) -> usize {
    let named = named.and_then(|tag| find(known, tag));
    named.or_else(|| accepted.and_then(|list| best(known, list))).unwrap_or(0)
}

/// The place of a tag's language among the known ones.
pub fn find(known: &[&str], tag: &str) -> Option<usize> {
    let primary = tag.split('-').next().unwrap_or_default();
    known.iter().position(|known| known.eq_ignore_ascii_case(primary))
}

fn best(known: &[&str], list: &str) -> Option<usize> {
    let mut best: Option<(f32, usize)> = None;
    for entry in list.split(',').take(ENTRIES_MAX) {
        let (tag, weight) = entry.split_once(';').unwrap_or((entry, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(1.0, |q| q.trim().parse().unwrap_or(0.0));
        let Some(place) = find(known, tag.trim()) else { continue };
        if weight > 0.0 && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, place));
        }
    }
    best.map(|(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_what_the_link_names_then_what_the_browser_wants_then_the_first() {
        let known = ["en", "de", "fr", "es"];
        for (named, accepted, expected) in [
            (None, None, "en"),
            (Some("de-CH"), Some("fr"), "de"),
            (Some("DE"), None, "de"),
            (Some("zh-Hant"), Some("fr-CA, en;q=0.5"), "fr"),
            (None, Some("it, es;q=0.3, de;q=0.7"), "de"),
            (None, Some("fr;q=0, es"), "es"),
            (None, Some("*"), "en"),
            (None, Some("de;q=x, ,;q=1,en"), "en"),
        ] {
            assert_eq!(known[choose_language(&known, named, accepted)], expected, "{named:?} {accepted:?}");
        }
    }
}
