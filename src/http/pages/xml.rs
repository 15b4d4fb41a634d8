//! Encodes text for XML 1.0 documents.

use std::borrow::Cow;

use crate::http::server::html;

pub(in crate::http) const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";

/// Removes the characters that XML forbids (XML 1.0 §2.2), and all control characters except tabs and line breaks.
fn without_illegal(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_legal) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().filter(|c| is_legal(*c)).collect())
    }
}

/// Escapes text for an element or an attribute.
pub(in crate::http) fn escape(text: &str) -> String {
    html::escape(&without_illegal(text))
}

/// Wraps text in a `CDATA` section, which some readers of job feeds require. Splits each `]]>` in the text across two
/// sections, because `]]>` ends a section.
pub(in crate::http) fn cdata(text: &str) -> String {
    format!("<![CDATA[{}]]>", without_illegal(text).replace("]]>", "]]]]><![CDATA[>"))
}

fn is_legal(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn illegal_characters_are_removed() {
        for c in
            ['\0', '\u{1}', '\u{8}', '\u{b}', '\u{c}', '\u{e}', '\u{1f}', '\u{7f}', '\u{9f}', '\u{fffe}', '\u{ffff}']
        {
            assert_eq!(without_illegal(&format!("a{c}b")), "ab", "{c:?}");
        }
        let text = "a\t\n\r ä\u{a0}\u{d7ff}\u{e000}\u{fffd}\u{10000}\u{10ffff}";
        assert!(matches!(without_illegal(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn escaped_text_contains_no_markup() {
        assert_eq!(escape("<a b=\"'&\u{0}>]]>"), "&lt;a b=&quot;&#39;&amp;&gt;]]&gt;");
    }

    #[test]
    fn text_cannot_end_its_cdata_section() {
        for (text, section) in [
            ("<b>&amp;</b>", "<![CDATA[<b>&amp;</b>]]>"),
            ("]]>", "<![CDATA[]]]]><![CDATA[>]]>"),
            ("a]]>]]>b", "<![CDATA[a]]]]><![CDATA[>]]]]><![CDATA[>b]]>"),
            // Removing the illegal character must not produce the end of the section.
            ("]]\u{0}>", "<![CDATA[]]]]><![CDATA[>]]>"),
            ("", "<![CDATA[]]>"),
        ] {
            assert_eq!(cdata(text), section, "{text:?}");
        }
    }
}
