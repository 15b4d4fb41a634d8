//! Plain pages for people: one template, everything put into it escaped.

const TEMPLATE: &str = include_str!("page.html");

/// A page with a heading and paragraphs. All of it is text: nothing in it is read as markup.
pub(super) fn render(title: &str, paragraphs: &[String], nonce: &str) -> String {
    let paragraphs: String = paragraphs.iter().map(|text| format!("<p>{}</p>\n", escape(text))).collect();
    let mut page = String::with_capacity(TEMPLATE.len() + paragraphs.len());
    // In one pass, so that a placeholder inside a text stays a text.
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        match name {
            "title" => page.push_str(&escape(title)),
            "paragraphs" => page.push_str(&paragraphs),
            "nonce" => page.push_str(&escape(nonce)),
            _ => {}
        }
        rest = after;
    }
    page.push_str(rest);
    page
}

/// A text as it stands in HTML, in an attribute too.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let page = render("<b>&", &["{{title}} <script>'\"".to_owned()], "n");
        assert!(page.contains("&lt;b&gt;&amp;"));
        assert!(page.contains("<p>{{title}} &lt;script&gt;&#39;&quot;</p>"));
        assert!(page.contains("nonce=\"n\""));
    }
}
