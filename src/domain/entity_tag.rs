//! Entity tags: whether the caller already has the current response (`If-None-Match`), and whether the caller has seen
//! the current version (`If-Match`).

/// Returns whether an `If-None-Match` field is `*` or lists the tag, by weak comparison (RFC 9110 §13.1.2).
pub fn lists_tag(list: &str, tag: &str) -> bool {
    list.trim() == "*" || list.split(',').any(|listed| without_weak_prefix(listed.trim()) == tag)
}

/// Returns the tag without the `W/` prefix of weak tags.
fn without_weak_prefix(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// The form of an `If-Match` field, in words for the caller.
pub const IF_MATCH_MUST_BE: &str = "must be * or a list of entity tags in quotes, such as the ETag of the role";

/// The condition of an `If-Match` field (RFC 9110 §13.1.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// `*`: any current version.
    Any,
    /// One of these versions: the strong tags of the list, without quotes. A weak tag never matches.
    OneOf(Vec<String>),
}

impl IfMatch {
    /// Parses the field. Returns `None` if the field is neither `*` nor a list of entity tags. Ignores empty elements
    /// of the list (RFC 9110 §5.6.1.2), unless all elements are empty.
    pub fn parse(field: &str) -> Option<Self> {
        const BLANK: [char; 2] = [' ', '\t'];
        const BETWEEN: [char; 3] = [' ', '\t', ','];
        if field.trim_matches(BLANK) == "*" {
            return Some(Self::Any);
        }
        let mut rest = field.trim_matches(BETWEEN);
        let mut strong_tags = Vec::new();
        loop {
            let is_weak = rest.starts_with("W/");
            let (tag, after) = without_weak_prefix(rest).strip_prefix('"')?.split_once('"')?;
            if tag.chars().any(|character| character <= ' ' || character == '\u{7f}') {
                return None;
            }
            if !is_weak {
                strong_tags.push(tag.to_owned());
            }
            rest = after.trim_start_matches(BLANK);
            if rest.is_empty() {
                return Some(Self::OneOf(strong_tags));
            }
            rest = rest.strip_prefix(',')?.trim_start_matches(BETWEEN);
        }
    }

    /// Returns whether the current version fulfils the condition. `version` is the text of its tag, without quotes.
    pub fn matches(&self, version: &str) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(tags) => tags.iter().any(|tag| tag == version),
        }
    }
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

    #[test]
    fn if_match_is_an_asterisk_or_a_list_of_tags_and_only_strong_tags_match() {
        for (field, matches_a) in [
            ("*", true),
            (" * ", true),
            ("\"a\"", true),
            ("\t\"b\" ,\"a\" ", true),
            ("\"a,b\", \"a\"", true),
            ("W/\"b\",\"a\"", true),
            ("\"b\"", false),
            ("\"A\"", false),
            ("\"\"", false),
            ("W/\"a\"", false),
            ("\"a,b\"", false),
            ("\"ä!#~\"", false),
            ("\"b\",,\"a\"", true),
            (",\"a\"", true),
            ("\"a\", ,\t, ", true),
            (" , ,\"b\",", false),
        ] {
            assert_eq!(IfMatch::parse(field).map(|condition| condition.matches("a")), Some(matches_a), "{field}");
        }
        for field in [
            "",
            " ",
            "a",
            "\"",
            "\"a",
            "a\"",
            "\"a\"b",
            "\"a\" \"b\"",
            ",",
            " , ,",
            "*,",
            "*,\"a\"",
            "\"a\",*",
            "**",
            "w/\"a\"",
            "W/",
            "W/a",
            "W/W/\"a\"",
            "\"a b\"",
            "\"a\tb\"",
            "\"a\u{7f}\"",
            "'a'",
        ] {
            assert_eq!(IfMatch::parse(field), None, "{field}");
        }
    }
}
