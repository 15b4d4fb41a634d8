//! Markdown as HTML that is safe wherever it stands, and as plain text: descriptions of roles, notices of organizations.
//!
//! The HTML has a closed list of elements, no attribute but a link's, and no element of the author's own: raw HTML is
//! shown as the text that it is, so that nothing anybody wrote goes missing without their seeing it. Tables are not read:
//! a row of two bytes can make one of ten thousand cells.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::http::server::html;

/// How many elements stand inside one another. What is nested deeper keeps its text and loses its marks: nobody reads a
/// list in a list in a list, and browsers stop at a few hundred.
const DEPTH_MAX: usize = 12;

/// The highest of a page's headings that a text can have: the page has the first one itself.
const HEADING_FIRST: usize = 2;
const HEADING_LAST: usize = 6;

/// The Markdown of a description as it is stored: `{ "format": "markdown", "body": "…" }`, and nothing of any other shape.
pub(in crate::http) fn of_description(description: &str) -> String {
    match serde_json::from_str(description) {
        Ok(Value::Object(mut members)) if members.get("format").is_some_and(|format| format == "markdown") => {
            match members.remove("body") {
                Some(Value::String(body)) => body,
                _ => String::new(),
            }
        }
        _ => String::new(),
    }
}

/// Markdown as HTML: to stand in a page below its `h1`, as it is.
pub(in crate::http) fn to_html(markdown: &str) -> String {
    let mut writer = Writer { out: String::with_capacity(markdown.len() + markdown.len() / 4), ..Writer::default() };
    for event in Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH) {
        writer.event(event);
    }
    writer.out
}

/// Markdown as plain text on one line.
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

/// The beginning of a text on one line, of whole words where it has any, with a sign that there is more.
pub(in crate::http) fn excerpt(text: &str, characters_max: usize) -> String {
    let Some((cut, _)) = text.char_indices().nth(characters_max) else { return text.to_owned() };
    let room = text[..cut].char_indices().last().map_or(0, |(at, _)| at);
    let end = text[..room].rfind(' ').filter(|end| *end * 2 > room).unwrap_or(room);
    format!("{}…", text[..end].trim_end())
}

/// Whether an element stands within a line.
fn is_inline(end: TagEnd) -> bool {
    matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

/// Writes events.
#[derive(Default)]
struct Writer {
    out: String,
    /// The elements that are open.
    open: Vec<Open>,
    /// How many of them have a mark in what was written.
    depth: usize,
    /// The levels of the headings above the one that comes, as the author chose them.
    headings: Vec<HeadingLevel>,
    /// How much that can be seen was written.
    seen: usize,
}

/// An element that is open.
struct Open {
    /// What ends it, where it has a mark.
    end: Option<&'static str>,
    /// Where it began, and what could be seen then: one that ends with nothing in it was never there.
    at: usize,
    seen: usize,
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
                self.seen += 1;
            }
            // What no option asked for.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        // Lines that lose their marks must not run into one another.
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
            // Its items are marked too, or neither is.
            Tag::List(_) if self.depth + 1 >= DEPTH_MAX => self.open("", None),
            Tag::List(None) => self.open("<ul>\n", Some("</ul>\n")),
            Tag::List(Some(1)) => self.open("<ol>\n", Some("</ol>\n")),
            Tag::List(Some(first)) => self.open(&format!("<ol start=\"{first}\">\n"), Some("</ol>\n")),
            Tag::Item if self.open.last().is_some_and(|list| list.end.is_none()) => self.open("", None),
            Tag::Item => self.open("<li>", Some("</li>\n")),
            Tag::Emphasis => self.open("<em>", Some("</em>")),
            Tag::Strong => self.open("<strong>", Some("</strong>")),
            Tag::Strikethrough => self.open("<del>", Some("</del>")),
            Tag::Link { dest_url, .. } if is_safe(dest_url) => {
                let url = html::escape(dest_url);
                self.open(&format!("<a href=\"{url}\" rel=\"nofollow noopener\">"), Some("</a>"));
            }
            // A picture is what it says, and a link that leads anywhere else is its words.
            _ => self.open("", None),
        }
    }

    /// A heading one deeper than the nearest one above it that the author put higher: none is left out on the way down.
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
        self.open.push(Open { end, at: self.out.len(), seen: self.seen });
        if end.is_some() {
            self.depth += 1;
            self.out.push_str(start);
        }
    }

    fn end(&mut self) {
        let Some(Open { end, at, seen }) = self.open.pop() else { return };
        if end.is_some() {
            self.depth -= 1;
        }
        if self.seen == seen {
            self.out.truncate(at);
        } else {
            self.out.push_str(end.unwrap_or_default());
        }
    }

    fn text(&mut self, text: &str) {
        self.seen += text.chars().filter(|c| is_seen(*c)).count();
        let is_text = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        if text.chars().all(|c| is_text(&c)) {
            self.out.push_str(&html::escape(text));
        } else {
            self.out.push_str(&html::escape(&text.chars().filter(is_text).collect::<String>()));
        }
    }
}

/// Whether there is something to see where a character stands.
fn is_seen(c: char) -> bool {
    let is_hidden = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !c.is_whitespace() && !c.is_control() && !is_hidden
}

/// Whether a link may be followed: to a page on the web, or to write a mail.
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
    fn a_description_is_a_page_s() {
        let markdown = "# The work\n\nYou *drive* a **tram**.\n\n- day\n- night ~~late~~\n\n3. three\n4. four\n\n> said\n\n---\n\n`a<b`\n\n    code\n";
        let html = "<h2>The work</h2>\n<p>You <em>drive</em> a <strong>tram</strong>.</p>\n<ul>\n<li>day</li>\n\
                    <li>night <del>late</del></li>\n</ul>\n<ol start=\"3\">\n<li>three</li>\n<li>four</li>\n</ol>\n\
                    <blockquote><p>said</p>\n</blockquote>\n<hr>\n<p><code>a&lt;b</code></p>\n<pre>code\n</pre>\n";
        assert_eq!(to_html(markdown), html);
        assert_eq!(to_text(markdown), "The work You drive a tram. day night late three four said a<b code");
    }

    #[test]
    fn html_is_the_text_that_it_is() {
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
    fn a_link_leads_to_the_web_or_to_a_mail() {
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
    fn headings_go_down_one_by_one_below_the_page_s() {
        let levels = |markdown: &str| {
            let html = to_html(markdown);
            html.match_indices("<h").map(|(at, _)| html[at + 2..=at + 2].to_owned()).collect::<String>()
        };
        assert_eq!(levels("### a\n\n## b\n\n### c\n\n##### d\n\n# e"), "22342");
        assert_eq!(levels("# a\n\n## b\n\n### c\n\n#### d\n\n##### e\n\n###### f"), "234566");
    }

    #[test]
    fn what_has_nothing_in_it_is_not_there() {
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
    fn an_excerpt_ends_with_a_word() {
        assert_eq!(excerpt("a tram driver", 13), "a tram driver");
        assert_eq!(excerpt("a tram driver", 12), "a tram…");
        assert_eq!(excerpt("äöüäöüäöü", 4), "äöü…");
        assert_eq!(excerpt("", 4), "");
        assert_eq!(excerpt("ab", 0), "…");
    }

    #[test]
    fn only_a_description_in_markdown_has_some() {
        assert_eq!(of_description(r##"{"format":"markdown","body":"# a"}"##), "# a");
        for other in ["{}", "[]", "", r#"{"format":"html","body":"a"}"#, r#"{"format":"markdown","body":1}"#] {
            assert_eq!(of_description(other), "");
        }
    }

    #[test]
    fn the_worst_that_fits_is_written_at_once() {
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
            let begun = Instant::now();
            let html = to_html(markdown);
            let took = begun.elapsed();
            let begin: String = markdown.chars().take(20).collect();
            assert!(took < Duration::from_secs(10), "{begin:?} took {took:?}");
            assert!(html.len() <= 24 * BYTES, "{begin:?} makes {} bytes", html.len());
            assert_is_safe(&html);
        }
    }

    /// Every mark is one that this file writes, and they are closed in order.
    fn assert_is_safe(html: &str) {
        const MARKS: &[&str] =
            &["p", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del"];
        let mut open: Vec<&str> = Vec::new();
        for (at, _) in html.match_indices('<') {
            let (mark, _) = html[at + 1..].split_once('>').expect("a mark ends");
            if let Some(url) = mark.strip_prefix("a href=\"") {
                let url = url.strip_suffix("\" rel=\"nofollow noopener\"");
                let url = url.expect("a link is not followed").to_ascii_lowercase();
                assert!(["http://", "https://", "mailto:"].iter().any(|scheme| url.starts_with(scheme)), "{mark}");
                assert!(!url.contains(['"', '<', '\'']), "{mark}");
                open.push("a");
            } else if let Some(name) = mark.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "{html}");
            } else if let Some(first) = mark.strip_prefix("ol start=\"") {
                assert!(first.strip_suffix('"').expect("it ends").bytes().all(|b| b.is_ascii_digit()), "{mark}");
                open.push("ol");
            } else if !matches!(mark, "br" | "hr") {
                assert!(MARKS.contains(&mark), "{mark}");
                open.push(mark);
            }
            assert!(open.len() <= DEPTH_MAX, "{html}");
        }
        assert!(open.is_empty(), "{open:?}");
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_safe(markdown in r#"([-#>*_~`\[\]()!<>"'&;:/= \n\t0-9a-c\PC]|javascript:|https://a|<script|\[a\]\(|\]: |```|&#106;|&colon;){0,80}"#) {
            assert_is_safe(&to_html(&markdown));
            let text = to_text(&markdown);
            prop_assert!(!text.contains(char::is_control));
        }
    }
}
