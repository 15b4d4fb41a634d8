//! Checked strings: email addresses and slugs. Each retains its original spelling and is compared by a lower-case key.

use std::fmt::Display;

use super::plain;

/// The maximum length of an email address, in characters (RFC 5321 §4.5.3.1, without the angle brackets).
pub const EMAIL_CHARACTERS_MAX: usize = 254;

/// The maximum length of a slug, in characters: slightly more than a DNS label.
pub const SLUG_CHARACTERS_MAX: usize = 64;

/// The maximum length of the name of a person, a role, a step, an organization or a key, in Unicode code points.
pub const NAME_CHARACTERS_MAX: usize = 255;

/// The error detail for a string that is not a valid new address.
pub const EMAIL_MUST_BE: &str = "an email address of at most 254 characters, without spaces, double quotes, \
                                 backticks, brackets or any of , ; : ? & % # / | \\";

/// Characters that a new address must not have before its `@`.
const NOT_IN_ADDRESSES: &[char] =
    &['<', '>', '(', ')', '[', ']', '"', '`', '\\', ',', ';', ':', '?', '&', '%', '#', '/', '|'];

/// An email address: the trimmed string, and the key by which the address is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Email {
    shown: String,
    key: String,
}

impl Email {
    /// Parses an address that is new to the database. [`Email::parse_stored`] must accept the address. The address must
    /// not contain anything that looks like a second address, a mail header field or a link (RFC 5322 §3.2.3, RFC
    /// 6068). This rule excludes quoted local parts and addresses in brackets. Apostrophes are allowed, because
    /// people's names contain them.
    pub fn parse(text: &str) -> Option<Self> {
        let email = Self::parse_stored(text)?;
        let (local, domain) = email.shown.split_once('@')?;
        let is_local = |c: char| !NOT_IN_ADDRESSES.contains(&c);
        let is_domain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_') || !c.is_ascii();
        let is_good = local.chars().all(is_local) && domain.chars().all(is_domain) && !local.starts_with('-');
        (is_good && plain::flaw_of_line(&email.shown).is_none()).then_some(email)
    }

    /// Parses an address that is stored in the database or entered in a search. The address must have one `@` with text
    /// on both sides, no white space or control characters, and at most 254 characters. This function is less strict
    /// than [`Email::parse`], so that every stored address can be read, found and replaced.
    pub fn parse_stored(text: &str) -> Option<Self> {
        let shown = text.trim();
        let (local, domain) = shown.split_once('@')?;
        let is_plain = shown.chars().all(|c| !c.is_whitespace() && !c.is_control());
        let is_short_enough = shown.chars().count() <= EMAIL_CHARACTERS_MAX;
        (!local.is_empty() && !domain.is_empty() && !domain.contains('@') && is_plain && is_short_enough)
            .then(|| Self { shown: shown.to_owned(), key: key(shown) })
    }

    /// Returns the trimmed string in its original spelling.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// Returns the lower-case key, for comparisons.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// An organization's slug: the trimmed string, and the key by which the slug is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slug {
    shown: String,
    key: String,
}

impl Slug {
    /// Parses a slug: 1 to 64 characters from `a-z`, `0-9` and `-`, after trimming and conversion to lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let shown = text.trim();
        let key = key(shown);
        let is_plain = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        // The lower case of the Kelvin sign is an ASCII k, so the original string must also be ASCII.
        (shown.is_ascii() && is_plain && (1..=SLUG_CHARACTERS_MAX).contains(&key.len()))
            .then(|| Self { shown: shown.to_owned(), key })
    }

    /// Returns the trimmed string in its original spelling.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// Returns the lower-case key, for comparisons.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// Returns the key by which addresses and slugs are compared.
fn key(shown: &str) -> String {
    shown.to_lowercase()
}

/// Returns the number of characters (Unicode code points) in a string.
pub fn characters(text: &str) -> usize {
    text.chars().count()
}

/// Returns a number with its noun, such as "1 problem" or "2 problems".
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Returns at most the first `characters_max` characters of a string.
pub fn cut(text: &str, characters_max: usize) -> &str {
    text.char_indices().nth(characters_max).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_one_has_a_singular_noun() {
        for (count, expected) in [(0, "0 days"), (1, "1 day"), (2, "2 days")] {
            assert_eq!(counted(count, "day"), expected);
        }
        assert_eq!((counted(1_u64, "hour"), counted(-1, "hour")), ("1 hour".to_owned(), "-1 hours".to_owned()));
    }

    #[test]
    fn addresses_are_trimmed_and_compared_ignoring_case() {
        let email = Email::parse("  Ada@Example.org ").unwrap();
        assert_eq!((email.as_str(), email.key()), ("Ada@Example.org", "ada@example.org"));
        let longest = format!("{}@example.org", "a".repeat(242));
        assert!(Email::parse(&longest).is_some() && Email::parse(&format!("a{longest}")).is_none());
        for bad in ["", "ada", "@b", "a@", "a b@c", "a@b@c", "a@b\nc", "a\0@b"] {
            assert!(Email::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn new_addresses_contain_no_header_fields_and_no_links() {
        for good in
            ["o'brien+jobs@example.org", "a.b=c@sub-1.example", "jörg@bücher.example", "user!x@b", "用户@例子.公司"]
        {
            assert!(Email::parse(good).is_some(), "{good}");
        }
        for bad in [
            "a@b?bcc=c",
            "mailto:a@b",
            "<a@b>",
            "a@b>",
            "\"a\"@b",
            "a&b@c",
            "a%0abcc:d@c",
            "a@b%0a",
            "a,b@c",
            "a;b@c",
            "a@b,c",
            "//evil@b",
            "a@b/c",
            "a@[127.0.0.1]",
            "a\\b@c",
            "a#b@c",
            "-a@b",
            "a\u{200b}b@c",
            "a\u{202e}b@c",
        ] {
            assert!(Email::parse(bad).is_none(), "{bad:?}");
        }
        for old in ["a&b@c", "a@b?c", "\"a\"@b"] {
            assert!(Email::parse_stored(old).is_some(), "{old}");
        }
    }

    #[test]
    fn slugs_outside_their_alphabet_or_length_are_refused() {
        let slug = Slug::parse(" Acme-2 ").unwrap();
        assert_eq!((slug.as_str(), slug.key()), ("Acme-2", "acme-2"));
        assert!(Slug::parse(&"a".repeat(64)).is_some());
        for bad in ["", "a b", "a_b", "ä", "\u{212a}", "a/b", &"a".repeat(65)] {
            assert!(Slug::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_string_is_cut_between_characters() {
        assert_eq!(cut("äöü", 2), "äö");
        assert_eq!(cut("äö", 2), "äö");
    }
}
