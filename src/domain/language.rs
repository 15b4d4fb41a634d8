//! Chooses the language of a page for its visitor. The `http` layer contains the texts in each language.

/// The maximum number of entries in `Accept-Language` that are read, which is more than any browser sends.
const ENTRIES_MAX: usize = 32;

/// Returns the index of the chosen language in `known`, a list of primary subtags. The named language takes precedence
/// over the best match for `Accept-Language` (RFC 9110 §12.5.4). Without either, the first language is chosen. `de-CH`
/// matches `de` (BCP 47).
pub fn choose_language(known: &[&str], named: Option<&str>, accepted: Option<&str>) -> usize {
    let named = named.and_then(|tag| find(known, tag));
    named.or_else(|| accepted.and_then(|list| best_match(known, list))).unwrap_or(0)
}

/// Returns the index in `known` of the language of a tag.
pub fn find(known: &[&str], tag: &str) -> Option<usize> {
    let primary = tag.split('-').next().unwrap_or_default();
    known.iter().position(|known| known.eq_ignore_ascii_case(primary))
}

fn best_match(known: &[&str], list: &str) -> Option<usize> {
    let mut best: Option<(f32, usize)> = None;
    for entry in list.split(',').take(ENTRIES_MAX) {
        let (tag, weight) = entry.split_once(';').unwrap_or((entry, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(1.0, |q| q.trim().parse().unwrap_or(0.0));
        let Some(index) = find(known, tag.trim()) else { continue };
        if weight > 0.0 && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, index));
        }
    }
    best.map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_language_takes_precedence_and_the_first_language_is_the_default() {
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
