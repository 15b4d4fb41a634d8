//! Chooses between a page and JSON for a client, by the client's `Accept` field (RFC 9110 §12.5.1).

/// The maximum number of entries in `Accept` that are read, which is more than any browser sends.
const ENTRIES_MAX: usize = 32;

/// Returns whether the client prefers HTML to JSON. Browsers give HTML a higher weight. A client that accepts both
/// equally, such as one that accepts any type, is treated as a program.
pub fn prefers_html(accepted: &str) -> bool {
    weight(accepted, "text", "html") > weight(accepted, "application", "json")
}

/// Returns the weight of a media type: that of the most specific matching range, or zero if no range matches.
fn weight(accepted: &str, kind: &str, subkind: &str) -> f32 {
    let matches = accepted.split(',').take(ENTRIES_MAX).filter_map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let (entry_kind, entry_subkind) = parts.next()?.split_once('/')?;
        let is_kind = entry_kind.eq_ignore_ascii_case(kind);
        let specificity = match (entry_kind, entry_subkind) {
            (_, named) if is_kind && named.eq_ignore_ascii_case(subkind) => 2,
            (_, "*") if is_kind => 1,
            ("*", "*") => 0,
            _ => return None,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        Some((specificity, weight.map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0))))
    });
    matches.max_by_key(|(specificity, _)| *specificity).map_or(0.0, |(_, weight)| weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_prefer_html_and_programs_do_not() {
        for (accepted, expected) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", true),
            ("text/html", true),
            ("TEXT/HTML", true),
            ("text/*", true),
            ("text/html;q=0.9, application/json;q=0.8", true),
            ("text/html ; level=1 ; q=0.5, */*;Q=0.4", true),
            ("application/json;q=0.5, */*", true),
            ("", false),
            ("*/*", false),
            ("application/json", false),
            ("application/json, text/plain, */*", false),
            ("application/json, text/html", false),
            ("application/json, text/html;q=0.9", false),
            ("text/html;q=0, */*", false),
            ("text/html;q=0", false),
            ("text/html;q=x", false),
            ("text/plain", false),
            ("image/*", false),
            ("html, /, text/, */html, ;q=1, ,", false),
        ] {
            assert_eq!(prefers_html(accepted), expected, "{accepted}");
        }
    }

    #[test]
    fn only_the_first_entries_are_read() {
        let after = |entries: usize| format!("{}text/html", "a/b,".repeat(entries));
        assert!(prefers_html(&after(ENTRIES_MAX - 1)) && !prefers_html(&after(ENTRIES_MAX)));
    }
}
