//! Text in XML documents (XML 1.0): what may stand in one, and how.

use std::borrow::Cow;

use crate::http::server::html;

/// What every document begins with.
pub(in crate::http) const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";

/// A text without the characters that no document may have (XML 1.0 §2.2), nor those that it advises against.
pub(in crate::http) fn legal(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_legal) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().filter(|c| is_legal(*c)).collect())
    }
}

/// A text as it stands in an element or an attribute.
pub(in crate::http) fn text(text: &str) -> String {
    html::escape(&legal(text))
}

/// A text as it stands in an element whose readers want `CDATA`. The one thing that could end it is split in two.
pub(in crate::http) fn cdata(text: &str) -> String {
    format!("<![CDATA[{}]]>", legal(text).replace("]]>", "]]]]><![CDATA[>"))
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
    fn what_no_document_may_have_is_left_out() {
        for c in
            ['\0', '\u{1}', '\u{8}', '\u{b}', '\u{c}', '\u{e}', '\u{1f}', '\u{7f}', '\u{9f}', '\u{fffe}', '\u{ffff}']
        {
            assert_eq!(legal(&format!("a{c}b")), "ab", "{c:?}");
        }
        let text = "a\t\n\r ä\u{a0}\u{d7ff}\u{e000}\u{fffd}\u{10000}\u{10ffff}";
        assert!(matches!(legal(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(text("<a b=\"'&\u{0}>]]>"), "&lt;a b=&quot;&#39;&amp;&gt;]]&gt;");
    }

    #[test]
    fn nothing_ends_a_cdata_section_but_its_end() {
        for (text, section) in [
            ("<b>&amp;</b>", "<![CDATA[<b>&amp;</b>]]>"),
            ("]]>", "<![CDATA[]]]]><![CDATA[>]]>"),
            ("a]]>]]>b", "<![CDATA[a]]]]><![CDATA[>]]]]><![CDATA[>b]]>"),
            // Where a character between them goes, what is left must not end it either.
            ("]]\u{0}>", "<![CDATA[]]]]><![CDATA[>]]>"),
            ("", "<![CDATA[]]>"),
        ] {
            assert_eq!(cdata(text), section, "{text:?}");
        }
    }
}
