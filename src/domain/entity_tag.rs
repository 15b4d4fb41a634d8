//! Entity tags: whether the caller already has the current response.

/// Returns whether an `If-None-Match` list contains the tag, by weak comparison (RFC 9110 §13.1.2).
pub fn lists_tag(list: &str, tag: &str) -> bool {
    list.trim() == "*" || list.split(',').any(|listed| without_weak_prefix(listed.trim()) == tag)
}

/// Returns the tag without the `W/` prefix of weak tags.
fn without_weak_prefix(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_none_match_lists_are_searched_for_the_tag() {
        for list in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*", " * ", "\"b\",W/\"a\""] {
            assert!(lists_tag(list, "\"a\""), "{list}");
        }
        for list in ["", "a", "\"b\"", "\"A\"", "\"a\"x", "W/W/\"a\""] {
            assert!(!lists_tag(list, "\"a\""), "{list}");
        }
    }
}
