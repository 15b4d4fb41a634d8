//! Renders Markdown, such as role descriptions and privacy notices, as safe HTML or as plain text.
//!
//! The HTML consists of a closed list of elements. Only links and numbered lists have attributes. Raw HTML becomes
//! visible text, so that authors notice it. Tables are not supported, because a row of two bytes can become ten
//! thousand cells.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::http::server::html;

/// The maximum nesting depth of elements. Deeper elements lose their tags but not their text. Nobody needs lists that
/// are nested more deeply, and browsers flatten a page after a few hundred levels.
const DEPTH_MAX: usize = 12;

/// The maximum number of characters in a summary. Search engines and link previews truncate longer summaries.
const SUMMARY_CHARACTERS_MAX: usize = 200;

/// The first and last levels of headings in rendered Markdown. Level 1 is the page's own heading.
const HEADING_FIRST: usize = 2;
const HEADING_LAST: usize = 6;

/// Renders Markdown as safe HTML, for a page that has an `h1`.
pub(in crate::http) fn to_html(markdown: &str) -> String {
    let mut writer = Writer { out: String::with_capacity(markdown.len() + markdown.len() / 4), ..Writer::default() };
    for event in Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH) {
        writer.event(event);
    }
    writer.out
}

/// Renders Markdown as plain text on one line.
pub(in crate::http) fn to_text(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    for event in Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => out.push_str(&text),
            Event::End(end) if !is_inline(end) => out.push(' '),
            Event::SoftBreak | Event::HardBreak | Event::Rule => out.push(' '),
            _ => {}
        }
    }
    let mut line = String::with_capacity(out.len());
    for word in out.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    line
}

/// Returns the beginning of a description as one line of plain text, for feeds, search engines and link previews.
pub(in crate::http) fn summary(markdown: &str) -> String {
    excerpt(&to_text(markdown), SUMMARY_CHARACTERS_MAX)
}

/// Truncates a text of more than `characters_max` characters: after a word, or inside a very long word. The result ends
/// with an ellipsis.
fn excerpt(text: &str, characters_max: usize) -> String {
    let Some((cut, _)) = text.char_indices().nth(characters_max) else { return text.to_owned() };
    let room = text[..cut].char_indices().last().map_or(0, |(at, _)| at);
    let end = text[..room].rfind(' ').filter(|end| *end * 2 > room).unwrap_or(room);
    format!("{}…", text[..end].trim_end())
}

fn is_inline(end: TagEnd) -> bool {
    matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

/// A writer that turns the events of the Markdown parser into HTML.
#[derive(Default)]
struct Writer {
    out: String,
    open_elements: Vec<OpenElement>,
    /// The number of open elements that have tags in the output.
    depth: usize,
    /// The levels that the author gave to the headings of the sections around the current position, outermost first.
    headings: Vec<HeadingLevel>,
    /// The number of visible characters and horizontal rules written so far.
    visible: usize,
}

struct OpenElement {
    /// The end tag; `None` for an element without tags in the output.
    end: Option<&'static str>,
    /// The length of the output before the element. If the element is empty, the output is truncated to this length.
    begin: usize,
    /// The value of `visible` before the element. If `visible` is the same at the end, the element is empty.
    visible_before: usize,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(_) => self.end(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => {
                self.open("<code>", Some("</code>"));
                self.text(&text);
                self.end();
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => {
                self.out.push_str("<hr>\n");
                self.visible += 1;
            }
            // The parser emits these events only for extensions that are not enabled.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        // Blocks that lose their tags must not run together.
        if self.depth + 1 >= DEPTH_MAX && !is_inline(tag.to_end()) {
            self.out.push(' ');
        }
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open("<p>", Some("</p>\n")),
            Tag::Heading { level, .. } => self.heading(*level),
            Tag::BlockQuote(_) => self.open("<blockquote>", Some("</blockquote>\n")),
            Tag::CodeBlock(CodeBlockKind::Indented | CodeBlockKind::Fenced(_)) => {
                self.open("<pre>", Some("</pre>\n"));
            }
            // A list has tags only if its items can have tags too.
            Tag::List(_) if self.depth + 1 >= DEPTH_MAX => self.open("", None),
            Tag::List(None) => self.open("<ul>\n", Some("</ul>\n")),
            Tag::List(Some(1)) => self.open("<ol>\n", Some("</ol>\n")),
            Tag::List(Some(first)) => self.open(&format!("<ol start=\"{first}\">\n"), Some("</ol>\n")),
            Tag::Item if self.open_elements.last().is_some_and(|list| list.end.is_none()) => self.open("", None),
            Tag::Item => self.open("<li>", Some("</li>\n")),
            Tag::Emphasis => self.open("<em>", Some("</em>")),
            Tag::Strong => self.open("<strong>", Some("</strong>")),
            Tag::Strikethrough => self.open("<del>", Some("</del>")),
            Tag::Link { dest_url, .. } if is_safe(dest_url) => {
                let url = html::escape(dest_url);
                self.open(&format!("<a href=\"{url}\" rel=\"nofollow noopener\">"), Some("</a>"));
            }
            // Only the text of an image, or of a link to an unsafe address, is rendered.
            _ => self.open("", None),
        }
    }

    /// Opens a heading one level deeper than the heading of the section around it, but no deeper than [`HEADING_LAST`].
    /// Thus, no level is skipped.
    fn heading(&mut self, level: HeadingLevel) {
        while self.headings.last().is_some_and(|above| *above >= level) {
            self.headings.pop();
        }
        let (start, end) = match (HEADING_FIRST + self.headings.len()).min(HEADING_LAST) {
            2 => ("<h2>", "</h2>\n"),
            3 => ("<h3>", "</h3>\n"),
            4 => ("<h4>", "</h4>\n"),
            5 => ("<h5>", "</h5>\n"),
            _ => ("<h6>", "</h6>\n"),
        };
        self.headings.push(level);
        self.open(start, Some(end));
    }

    fn open(&mut self, start: &str, end: Option<&'static str>) {
        let end = end.filter(|_| self.depth < DEPTH_MAX);
        self.open_elements.push(OpenElement { end, begin: self.out.len(), visible_before: self.visible });
        if end.is_some() {
            self.depth += 1;
            self.out.push_str(start);
        }
    }

    fn end(&mut self) {
        let Some(OpenElement { end, begin, visible_before }) = self.open_elements.pop() else { return };
        if end.is_some() {
            self.depth -= 1;
        }
        if self.visible == visible_before {
            self.out.truncate(begin);
        } else {
            self.out.push_str(end.unwrap_or_default());
        }
    }

    fn text(&mut self, text: &str) {
        self.visible += text.chars().filter(|c| is_visible(*c)).count();
        let is_text = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        if text.chars().all(|c| is_text(&c)) {
            self.out.push_str(&html::escape(text));
        } else {
            self.out.push_str(&html::escape(&text.chars().filter(is_text).collect::<String>()));
        }
    }
}

fn is_visible(c: char) -> bool {
    let is_hidden = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !c.is_whitespace() && !c.is_control() && !is_hidden
}

/// Returns whether a link leads to a web page or an email address.
fn is_safe(url: &str) -> bool {
    let rest = |scheme: &str| {
        let (begin, rest) = url.split_at_checked(scheme.len())?;
        begin.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let rest = rest("https://").or_else(|| rest("http://")).or_else(|| rest("mailto:"));
    let is_name = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '[');
    rest.is_some_and(is_name) && !url.contains(|c: char| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_becomes_html_and_plain_text() {
        let markdown = "# The work\n\nYou *drive* a **tram**.\n\n- day\n- night ~~late~~\n\n3. three\n4. four\n\n> said\n\n---\n\n`a<b`\n\n    code\n";
        let html = "<h2>The work</h2>\n<p>You <em>drive</em> a <strong>tram</strong>.</p>\n<ul>\n<li>day</li>\n\
                    <li>night <del>late</del></li>\n</ul>\n<ol start=\"3\">\n<li>three</li>\n<li>four</li>\n</ol>\n\
                    <blockquote><p>said</p>\n</blockquote>\n<hr>\n<p><code>a&lt;b</code></p>\n<pre>code\n</pre>\n";
        assert_eq!(to_html(markdown), html);
        assert_eq!(to_text(markdown), "The work You drive a tram. day night late three four said a<b code");
    }

    #[test]
    fn raw_html_becomes_visible_text() {
        for (markdown, html) in [
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
            ("a <img src=x onerror=\"y\"> b", "<p>a &lt;img src=x onerror=&quot;y&quot;&gt; b</p>\n"),
            ("<!-- a -->", "<p>&lt;!-- a --&gt;</p>\n"),
            ("&lt;b&gt; &amp;", "<p>&lt;b&gt; &amp;</p>\n"),
            ("a\u{1}b\u{7f}", "<p>ab</p>\n"),
        ] {
            assert_eq!(to_html(markdown), html, "{markdown}");
        }
    }

    #[test]
    fn links_lead_only_to_web_pages_or_email_addresses() {
        let link = |url: &str| format!("<p><a href=\"{url}\" rel=\"nofollow noopener\">a</a></p>\n");
        for (url, escaped) in [
            ("https://example.com/?a=1&b='", "https://example.com/?a=1&amp;b=&#39;"),
            ("HTTP://example.com", "HTTP://example.com"),
            ("mailto:jobs@example.com", "mailto:jobs@example.com"),
        ] {
            assert_eq!(to_html(&format!("[a](<{url}>)")), link(escaped));
        }
        for url in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "java\tscript:alert(1)",
            "&#106;avascript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "//example.com",
            "/signup/x",
            "https:example.com",
            "https://",
            "https:///x",
            "https://a\tb",
            "mailto:",
            "x",
            "",
        ] {
            assert_eq!(to_html(&format!("[a](<{url}>)")), "<p>a</p>\n", "{url}");
        }
        assert_eq!(to_html("![a cat](https://example.com/cat.png)"), "<p>a cat</p>\n");
    }

    #[test]
    fn headings_begin_at_the_second_level_and_skip_no_level() {
        let levels = |markdown: &str| {
            let html = to_html(markdown);
            html.match_indices("<h").map(|(at, _)| html[at + 2..=at + 2].to_owned()).collect::<String>()
        };
        assert_eq!(levels("### a\n\n## b\n\n### c\n\n##### d\n\n# e"), "22342");
        assert_eq!(levels("# a\n\n## b\n\n### c\n\n#### d\n\n##### e\n\n###### f"), "234566");
    }

    #[test]
    fn empty_elements_are_omitted() {
        for markdown in
            ["#", "[](https://example.com)", "[\u{200b}](https://example.com)", "-\n-\n", ">", "*\u{a0}*x", ""]
        {
            let html = to_html(markdown);
            for tag in ["<h2>", "<a", "<ul>", "<blockquote>"] {
                assert!(!html.contains(tag), "{markdown}: {html}");
            }
        }
    }

    #[test]
    fn excerpts_end_after_a_word_or_inside_a_very_long_word() {
        assert_eq!(excerpt("a tram driver", 13), "a tram driver");
        assert_eq!(excerpt("a tram driver", 12), "a tram…");
        assert_eq!(excerpt("äöüäöüäöü", 4), "äöü…");
        assert_eq!(excerpt("", 4), "");
        assert_eq!(excerpt("ab", 0), "…");
    }

    #[test]
    fn pathological_input_renders_in_bounded_time_and_size() {
        const BYTES: usize = 128 * 1_024;
        let deep = (0..360).fold(String::new(), |deep, at| deep + &" ".repeat(at * 2) + "- a\n");
        let mut worst = vec![deep];
        let parts = "> ,- ,* ,*,_,**a,*_,[,![,[a](,[a][,[a]: b\n,`,`a``,<,<a ,<!--,&,&amp;,~~,# a\n,#\n,1. ,\t,\\,a\n,|a,\n,\
                     [a]: x\n\n[a],<x@y.z>,a**b**_c_,> - ,],](,<?,<![CDATA[";
        for part in parts.split(',') {
            worst.push(part.repeat(BYTES / part.len()));
        }
        worst.push(format!("{}{}", "> ".repeat(BYTES / 4), "\na".repeat(BYTES / 4)));
        worst.push(format!("[a]: https://example.com/{}\n\n{}", "x".repeat(BYTES / 2), "[a]".repeat(BYTES / 6)));
        for markdown in &worst {
            let started = Instant::now();
            let html = to_html(markdown);
            let took = started.elapsed();
            let begin: String = markdown.chars().take(20).collect();
            assert!(took < Duration::from_secs(10), "{begin:?} took {took:?}");
            assert!(html.len() <= 24 * BYTES, "{begin:?} becomes {} bytes", html.len());
            assert_is_safe(&html);
        }
    }

    /// Asserts that the HTML has only allowed tags, that links are safe, and that tags are closed in order.
    fn assert_is_safe(html: &str) {
        const TAGS: &[&str] =
            &["p", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del"];
        let mut open: Vec<&str> = Vec::new();
        for (at, _) in html.match_indices('<') {
            let (tag, _) = html[at + 1..].split_once('>').expect("every tag ends");
            if let Some(url) = tag.strip_prefix("a href=\"") {
                let url = url.strip_suffix("\" rel=\"nofollow noopener\"");
                let url = url.expect("links have rel").to_ascii_lowercase();
                assert!(["http://", "https://", "mailto:"].iter().any(|scheme| url.starts_with(scheme)), "{tag}");
                assert!(!url.contains(['"', '<', '\'']), "{tag}");
                open.push("a");
            } else if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "{html}");
            } else if let Some(first) = tag.strip_prefix("ol start=\"") {
                assert!(
                    first.strip_suffix('"').expect("the attribute ends").bytes().all(|b| b.is_ascii_digit()),
                    "{tag}"
                );
                open.push("ol");
            } else if !matches!(tag, "br" | "hr") {
                assert!(TAGS.contains(&tag), "{tag}");
                open.push(tag);
            }
            assert!(open.len() <= DEPTH_MAX, "{html}");
        }
        assert!(open.is_empty(), "{open:?}");
    }

    proptest! {
        #[test]
        fn any_input_renders_as_safe_html(markdown in r#"([-#>*_~`\[\]()!<>"'&;:/= \n\t0-9a-c\PC]|javascript:|https://a|<script|\[a\]\(|\]: |```|&#106;|&colon;){0,80}"#) {
            assert_is_safe(&to_html(&markdown));
            let text = to_text(&markdown);
            prop_assert!(!text.contains(char::is_control));
        }
    }
}
