//! Entity tags: whether the caller already has the current answer.

/// Whether an `If-None-Match` list names the tag, weakly compared (RFC 9110 §13.1.2).
pub fn lists_tag(list: &str, tag: &str) -> bool {
    list.trim() == "*" || list.split(',').any(|one| weakly(one.trim()) == tag)
}

/// The tag without the `W/` prefix of weak tags.
fn weakly(tag: &str) -> &str {
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
