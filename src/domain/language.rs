//! Chooses the language of a page for its visitor. The `http` layer contains the texts in each language.

/// The maximum number of entries in `Accept-Language` that are read. No browser sends so many.
const ENTRIES_MAX: usize = 32;

/// The weight of an entry without `q`, in thousandths.
const WEIGHT_MAX: u16 = 1000;

/// Returns the index of the chosen language in `known`, a list of primary subtags. The language `named` takes
/// precedence over the best match for `Accept-Language` (RFC 9110 §12.5.4). Without either, the choice is the first
/// language that no entry of the field names or, if entries name all of them, the first language. `de-CH` matches `de`
/// (BCP 47).
pub fn choose_language(known: &[&str], named: Option<&str>, accepted: Option<&str>) -> usize {
    let named = named.and_then(|tag| find(known, tag));
    named.or_else(|| accepted.and_then(|list| best_match(known, list))).unwrap_or(0)
}

/// Returns the index in `known` of the language of a tag.
pub fn find(known: &[&str], tag: &str) -> Option<usize> {
    let primary = tag.split('-').next().unwrap_or_default();
    known.iter().position(|known| known.eq_ignore_ascii_case(primary))
}

/// Returns the index of the language with the highest weight. If several languages have this weight, the first entry
/// counts. `*` matches the first language that no other entry names.
fn best_match(known: &[&str], list: &str) -> Option<usize> {
    let entries: Vec<(&str, u16)> = list.split(',').take(ENTRIES_MAX).filter_map(entry).collect();
    let is_named = |index: usize| entries.iter().any(|(tag, _)| find(known, tag) == Some(index));
    let other = (0..known.len()).find(|index| !is_named(*index));
    let mut best: Option<(u16, usize)> = None;
    for (tag, weight) in &entries {
        let Some(index) = (if *tag == "*" { other } else { find(known, tag) }) else { continue };
        if *weight > best.map_or(0, |(most, _)| most) {
            best = Some((*weight, index));
        }
    }
    // Without a best match, every known language that an entry names has the weight 0, so another one is chosen.
    best.map(|(_, index)| index).or(other)
}

/// Parses an entry: a tag or `*`, and its weight. Returns `None` if the weight is malformed.
fn entry(text: &str) -> Option<(&str, u16)> {
    let Some((tag, parameter)) = text.split_once(';') else { return Some((text.trim(), WEIGHT_MAX)) };
    let (name, value) = parameter.trim().split_once('=')?;
    if name.eq_ignore_ascii_case("q") { Some((tag.trim(), weight(value)?)) } else { None }
}

/// Parses a weight (RFC 9110 §12.4.2): 0 to 1 with at most three digits after the point. Returns thousandths.
fn weight(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{fraction:0<3}").parse().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(WEIGHT_MAX),
        _ => None,
    }
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

    #[test]
    fn the_language_with_the_highest_weight_is_chosen_and_weight_0_excludes_a_language() {
        let known = ["en", "de", "fr", "es"];
        for (accepted, expected) in [
            ("de, fr", "de"),
            ("fr;q=0.8, de;q=0.8", "fr"),
            ("fr;q=0.999, de;q=1.000", "de"),
            ("fr;q=0.999, de;q=1.", "de"),
            ("de ; q=0.1\t, fr;Q=0.2", "fr"),
            ("de;q=0.001", "de"),
            ("de;q=0, fr;q=0.1", "fr"),
            ("de;q=0.000", "en"),
            ("en;q=0", "de"),
            ("en;q=0.0, de;q=0.00, it", "fr"),
            ("en;q=0, de;q=0, fr;q=0, es;q=0", "en"),
            ("fr;q=0.1, *", "en"),
            ("en;q=0, *;q=0.5", "de"),
            ("fr, *", "fr"),
        ] {
            assert_eq!(known[choose_language(&known, None, Some(accepted))], expected, "{accepted}");
        }
        for malformed in ["", "x", "2", "1.001", "0.0001", "-0", "+1", ".5", "1e0", "inf", "NaN", "0,5", "1 x", "1;x=1"]
        {
            let accepted = format!("de;q={malformed}, fr;q=0.001");
            assert_eq!(known[choose_language(&known, None, Some(&accepted))], "fr", "{accepted}");
        }
    }
}
