//! Tags of answers: whether a caller has the newest one already.

/// Whether an `If-None-Match` list names the tag, weakly compared (RFC 9110 §13.1.2).
pub fn lists_tag(list: &str, tag: &str) -> bool {
    list.trim() == "*" || list.split(',').any(|one| weakly(one.trim()) == tag)
}

/// A tag without the mark of a weak one.
fn weakly(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tags_names_one_of_them() {
        for list in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*", " * ", "\"b\",W/\"a\""] {
            assert!(lists_tag(list, "\"a\""), "{list}");
        }
        for list in ["", "a", "\"b\"", "\"A\"", "\"a\"x", "W/W/\"a\""] {
            assert!(!lists_tag(list, "\"a\""), "{list}");
        }
    }
}
