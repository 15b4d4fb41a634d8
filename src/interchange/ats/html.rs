//! Converts the HTML of exports to Markdown: paragraphs, line breaks, lists and emphasis. All other elements become
//! plain text. Comments, scripts and styles are left out. `markdown_writer` writes the Markdown.
//!
//! This module does not sanitize the text. The code that renders the Markdown sanitizes it.

use super::markdown_writer::{Emphasis, Gap, MarkdownWriter};

/// Elements whose tags end a paragraph.
const BLOCKS: &[&str] =
    &["p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "table", "tr", "blockquote", "section", "article", "pre", "hr"];

/// Elements whose content is not text.
const HIDDEN: &[&str] = &["script", "style"];

/// The maximum length of a recognized tag. It limits the search for `>` after each `<`.
const TAG_BYTES_MAX: usize = 4_096;

/// The maximum length of a recognized entity name.
const ENTITY_BYTES_MAX: usize = 8;

/// A tag or a comment at the beginning of a text.
struct Tag {
    /// The name of the element in lower case; empty for a comment.
    name: String,
    is_end: bool,
    bytes: usize,
}

/// Converts HTML to Markdown. Text without tags does not change, except that white space at both ends is removed.
pub(in crate::interchange) fn to_markdown(html: &str) -> String {
    if !html.match_indices('<').any(|(at, _)| tag(&html[at..]).is_some()) {
        return html.trim().to_owned();
    }
    let mut out = MarkdownWriter::default();
    let mut rest = html;
    while let Some(next) = rest.chars().next() {
        if let Some(tag) = tag(rest) {
            rest = &rest[tag.bytes..];
            if HIDDEN.contains(&tag.name.as_str()) && !tag.is_end {
                rest = skip_hidden(rest, &tag.name);
            }
            write_tag(&mut out, &tag);
        } else if let Some((character, length)) = entity(rest) {
            rest = &rest[length..];
            out.push_entity(character, rest);
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out.finish()
}

/// Parses the tag or comment at the beginning of `text`.
fn tag(text: &str) -> Option<Tag> {
    let inner = text.strip_prefix('<')?;
    if let Some(comment) = inner.strip_prefix("!--") {
        return Some(Tag { name: String::new(), is_end: false, bytes: "<!--".len() + comment_bytes(comment) });
    }
    let (is_end, named) = inner.strip_prefix('/').map_or((false, inner), |named| (true, named));
    if !named.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!') {
        return None;
    }
    let name: String = named.chars().take_while(char::is_ascii_alphanumeric).collect();
    Some(Tag { name: name.to_ascii_lowercase(), is_end, bytes: "<".len() + tag_bytes(inner)? })
}

/// Returns the number of bytes up to the end of a comment. As in browsers, a comment without an end contains the rest
/// of the text.
fn comment_bytes(comment: &str) -> usize {
    for end in [">", "->"] {
        if comment.starts_with(end) {
            return end.len();
        }
    }
    comment.find("-->").map_or(comment.len(), |at| at + "-->".len())
}

/// Returns the number of bytes up to the first `>` outside quotes or, if there is none, up to the first `>`. Searches
/// at most [`TAG_BYTES_MAX`] bytes.
fn tag_bytes(inner: &str) -> Option<usize> {
    let mut quote = None;
    let mut first = None;
    for (at, byte) in inner.bytes().enumerate().take(TAG_BYTES_MAX) {
        match (byte, quote) {
            (b'>', None) => return Some(at + 1),
            (b'>', Some(_)) => first = first.or(Some(at + 1)),
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    first
}

/// Skips the content of a hidden element. Returns the rest of the text from the element's end tag on, or an empty
/// string if there is no end tag.
fn skip_hidden<'a>(text: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}");
    let is_end = |at: &usize| {
        let tag = &text.as_bytes()[*at..];
        let is_named = tag.get(..end.len()).is_some_and(|bytes| bytes.eq_ignore_ascii_case(end.as_bytes()));
        is_named && tag.get(end.len()).is_none_or(|next| next.is_ascii_whitespace() || matches!(next, b'/' | b'>'))
    };
    text.match_indices('<').map(|(at, _)| at).find(is_end).map_or("", |at| &text[at..])
}

fn write_tag(out: &mut MarkdownWriter, tag: &Tag) {
    match (tag.name.as_str(), tag.is_end) {
        ("br", _) => out.break_line(),
        ("ul", false) => out.begin_list(false),
        ("ol", false) => out.begin_list(true),
        ("ul" | "ol", true) => out.end_list(),
        ("li", false) => out.begin_item(),
        ("li", true) => out.separate(Gap::Item),
        ("b" | "strong", false) => out.begin_emphasis(Emphasis::Strong),
        ("b" | "strong", true) => out.end_emphasis(Emphasis::Strong),
        ("i" | "em", false) => out.begin_emphasis(Emphasis::Weak),
        ("i" | "em", true) => out.end_emphasis(Emphasis::Weak),
        ("td" | "th", true) => out.separate(Gap::Space),
        (name, _) if BLOCKS.contains(&name) => out.separate(Gap::Paragraph),
        _ => {}
    }
}

/// Parses the entity at the beginning of `text`. Returns its character and its length in bytes.
fn entity(text: &str) -> Option<(char, usize)> {
    let inner = text.strip_prefix('&')?;
    let end = inner.bytes().take(ENTITY_BYTES_MAX + 1).position(|byte| byte == b';')?;
    let name = inner.get(..end)?;
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '\u{2013}',
        "mdash" => '\u{2014}',
        "rsquo" => '\u{2019}',
        "bull" => '\u{2022}',
        _ => {
            let digits = name.strip_prefix('#')?;
            let hexadecimal = digits.strip_prefix(['x', 'X']);
            hexadecimal.map_or_else(|| number(digits, 10), |digits| number(digits, 16))?
        }
    };
    (!character.is_control()).then_some((character, end + 2))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn assert_converted(table: &[(&str, &str)]) {
        for (html, text) in table {
            assert_eq!(to_markdown(html), *text, "{html}");
        }
    }

    #[test]
    fn the_markdown_matches_what_a_browser_shows() {
        assert_converted(&[
            ("<p>Resistance to radiation a plus!</p>", "Resistance to radiation a plus!"),
            ("plain\n\n text, 3 < 4 & so *this* #1\n", "plain\n\n text, 3 < 4 & so *this* #1"),
            (
                "<h2>You</h2>\n<ul>\n <li>dig</li>\n <li>a <b>lot</b></li></ul><p>We<br/>pay</p>",
                "You\n\n- dig\n- a **lot**\n\nWe\\\npay",
            ),
            (
                "<div><div>a</div></div><p></p><p>b &amp; c&nbsp;&#8212;&#x21; &lt;i&gt; &no; &#0; &</p>",
                "a\n\nb & c \u{2014}! \\<i> &no; &#0; &",
            ),
            ("<a href=\"https://x\">site</a> <em>now</em>", "site *now*"),
            ("", ""),
        ]);
    }

    #[test]
    fn emphasis_markers_touch_the_emphasized_text() {
        assert_converted(&[
            ("a<b> b </b>c", "a **b** c"),
            ("<b> </b>a<i></i>", "a"),
            ("<b>a <i>b</i> </b><b>c</b>", "**a *b*** **c**"),
            ("<b>a<strong>b</strong>c</b>", "**abc**"),
            ("<b><p>a</p><p>b</p></b>c", "**a**\n\n**b**\n\nc"),
            ("<b>never closed", "**never closed**"),
            ("a</b>b<i>c</b>d</i>", "ab*cd*"),
            ("<b>a<br>b</b>", "**a\\\nb**"),
            ("<b>a</b><b>b</b> <b>c</b>", "**ab** **c**"),
        ]);
    }

    #[test]
    fn line_breaks_between_text_remain() {
        assert_converted(&[
            ("a<br>b", "a\\\nb"),
            ("a <br> \n b", "a\\\nb"),
            ("a<br><br/>b", "a\n\nb"),
            ("<p>a<br></p><p><br>b</p>", "a\n\nb"),
            ("<br>a<br>", "a"),
            ("<ul><li>a<br>b</li></ul>", "- a\\\n  b"),
        ]);
    }

    #[test]
    fn comments_and_hidden_elements_are_left_out() {
        assert_converted(&[
            ("a<!-- x > y -->b", "ab"),
            ("a<!-- <p> -- > -->b", "ab"),
            ("a<!-->b<!--->c", "abc"),
            ("a<!-- never closed > b", "a"),
            ("a<script>x < y</SCRIPT>b<style>p{}</style>c<!-- d -->", "abc"),
            ("a<script>'</scripty>'</script >b", "ab"),
            ("a<script>x</script/>b", "ab"),
            ("<script>never closed", ""),
            ("<a title=\"x > y\" rel='>'>b</a>", "b"),
            ("<a title=\"x>b", "b"),
        ]);
    }

    #[test]
    fn characters_with_a_meaning_in_markdown_are_escaped() {
        assert_converted(&[
            ("<p>5 * 3 * 2, snake_case, `x` and \\</p>", "5 \\* 3 \\* 2, snake\\_case, \\`x\\` and \\\\"),
            ("<p>[a](b) ~~c~~</p>", "\\[a\\](b) \\~\\~c\\~\\~"),
            ("<p># a</p><p>C# b</p>", "\\# a\n\nC# b"),
            ("<p>1. a</p><p>12) b</p><p>in 1. c</p>", "1\\. a\n\n12\\) b\n\nin 1. c"),
            ("<p>- a</p><p>+ b</p><p>&gt; c - d + e &gt; f</p>", "\\- a\n\n\\+ b\n\n\\> c - d + e > f"),
            ("a<br>- b<br>===", "a\\\n\\- b\\\n\\==="),
            ("<ul><li>1. a</li><li># b</li></ul>", "- 1\\. a\n- \\# b"),
            ("<p>&amp;lt; &amp; &copy;</p>", "\\&lt; & &copy;"),
        ]);
    }

    #[test]
    fn lists_have_numbers_or_bullets_and_can_be_nested() {
        assert_converted(&[
            ("<ol><li>a</li><li>b</li></ol><ul><li>c</li></ul>", "1. a\n2. b\n\n- c"),
            ("<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>", "- a\n  1. b\n  2. c\n- d"),
            ("<ol><li>a<ul><li>b</li></ul></li></ol>c", "1. a\n   - b\n\nc"),
            ("<ol><li><p>a</p><p>b</p></li></ol>", "1. a\n\n   b"),
            ("<li>a</li><li>b</li>", "- a\n- b"),
            ("</ul></ol><p>a</p>", "a"),
        ]);
    }

    proptest! {
        #[test]
        fn the_length_of_the_markdown_is_limited(html in "[<>/a&;#x!ä \n\"pscriptol]{0,40}") {
            let text = to_markdown(&html);
            prop_assert!(text.len() <= html.len() * 3 + 3);
        }
    }
}
