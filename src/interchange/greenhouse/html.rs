//! Converts Greenhouse's HTML to Markdown: paragraphs, line breaks, lists and emphasis. Everything else becomes plain
//! text.
//!
//! This module does not sanitize the text. The code that renders the Markdown sanitizes it.

/// Elements whose tags end a paragraph.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "table",
    "tr",
    "blockquote",
    "section",
    "article",
    "pre",
    "hr",
];

/// Elements whose content is not text.
const HIDDEN: &[&str] = &["script", "style"];

/// The maximum length of a recognized tag. It limits the search for `>` after each `<`.
const TAG_BYTES_MAX: usize = 4_096;

/// The maximum length of a recognized entity name.
const ENTITY_BYTES_MAX: usize = 8;

/// Converts HTML to Markdown. Text without tags does not change, except that white space at both ends is removed.
pub(super) fn to_markdown(html: &str) -> String {
    if !html.match_indices('<').any(|(at, _)| tag(&html[at..]).is_some()) {
        return html.trim().to_owned();
    }
    let mut out = String::new();
    let mut rest = html;
    while let Some(next) = rest.chars().next() {
        if let Some((name, is_end, length)) = tag(rest) {
            rest = &rest[length..];
            if HIDDEN.contains(&name.as_str()) && !is_end {
                rest = skip_hidden(rest, &name);
            }
            write_tag(&mut out, &name, is_end);
        } else if let Some((character, length)) = entity(rest) {
            push_character(&mut out, character);
            rest = &rest[length..];
        } else {
            push_character(&mut out, next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out.trim().to_owned()
}

/// Parses the tag at the beginning of `text`. Returns the element's name, whether the tag is an end tag, and its length
/// in bytes.
fn tag(text: &str) -> Option<(String, bool, usize)> {
    let inner = text.strip_prefix('<')?;
    let (is_end, named) = inner.strip_prefix('/').map_or((false, inner), |named| (true, named));
    if !named.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!') {
        return None;
    }
    let end = inner.bytes().take(TAG_BYTES_MAX).position(|byte| byte == b'>')?;
    let name: String = named.chars().take_while(char::is_ascii_alphanumeric).collect();
    Some((name.to_ascii_lowercase(), is_end, end + 2))
}

/// Skips the content of a hidden element. Returns the rest of the text, which begins with the element's end tag and is
/// empty if there is no end tag.
fn skip_hidden<'a>(text: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}");
    let is_end =
        |at: &usize| text.as_bytes()[*at..].get(..end.len()).is_some_and(|b| b.eq_ignore_ascii_case(end.as_bytes()));
    text.match_indices('<').map(|(at, _)| at).find(is_end).map_or("", |at| &text[at..])
}

fn write_tag(out: &mut String, name: &str, is_end: bool) {
    match name {
        "br" => break_line(out, 1),
        "li" if !is_end => {
            break_line(out, 1);
            out.push_str("- ");
        }
        "b" | "strong" => out.push_str("**"),
        "i" | "em" => out.push('*'),
        "td" | "th" if is_end => push_character(out, ' '),
        name if BLOCKS.contains(&name) => break_line(out, 2),
        _ => {}
    }
}

/// Ends the text with at least `breaks` line breaks, unless it is empty.
fn break_line(out: &mut String, breaks: usize) {
    let text = out.trim_end_matches([' ', '\n']).len();
    let existing = out[text..].matches('\n').count();
    out.truncate(text);
    if !out.is_empty() {
        out.extend(std::iter::repeat_n('\n', breaks.max(existing)));
    }
}

/// Appends a character of the text. Collapses white space, as browsers do.
fn push_character(out: &mut String, character: char) {
    if character.is_whitespace() {
        if !out.is_empty() && !out.ends_with([' ', '\n']) {
            out.push(' ');
        }
        return;
    }
    // An unescaped `<` could begin a tag.
    if character == '<' {
        out.push('\\');
    }
    out.push(character);
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

    #[test]
    fn the_markdown_matches_what_a_browser_shows() {
        for (html, text) in [
            ("<p>Resistance to radiation a plus!</p>", "Resistance to radiation a plus!"),
            ("plain\n\n text, 3 < 4 & so\n", "plain\n\n text, 3 < 4 & so"),
            (
                "<h2>You</h2>\n<ul>\n <li>dig</li>\n <li>a <b>lot</b></li></ul><p>We<br/>pay</p>",
                "You\n\n- dig\n- a **lot**\n\nWe\npay",
            ),
            (
                "<div><div>a</div></div><p></p><p>b &amp; c&nbsp;&#8212;&#x21; &lt;i&gt; &no; &#0; &</p>",
                "a\n\nb & c \u{2014}! \\<i> &no; &#0; &",
            ),
            ("a<script>x < y</SCRIPT>b<style>p{}</style>c<!-- d -->", "abc"),
            ("<script>never closed", ""),
            ("<a href=\"https://x\">site</a> <em>now</em>", "site *now*"),
            ("", ""),
        ] {
            assert_eq!(to_markdown(html), text, "{html}");
        }
    }

    proptest! {
        #[test]
        fn the_markdown_is_at_most_two_bytes_longer_than_twice_the_html(html in "[<>/a&;#x!ä \n\"pscript]{0,40}") {
            let text = to_markdown(&html);
            prop_assert!(text.len() <= html.len() * 2 + 2);
        }
    }
}
