//! Renders the OpenAPI document as an HTML page: a table of contents, all operations and all schemas. The page loads no
//! other resources and runs no script. Every string from the document is escaped, except the names of the HTTP methods,
//! which are fixed words in the JSON files of this folder.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::example;
use crate::http::server::html::escape;

const STYLE: &str = include_str!("page.css");

/// Returns the hash of the page's style, for `style-src` in the Content Security Policy.
pub(super) fn style_hash() -> String {
    STANDARD.encode(Sha256::digest(STYLE))
}

pub(super) fn render(document: &Value) -> String {
    let title = escape(text(&document["info"]["title"]));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}: reference</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n"
    );
    page.push_str(&format!(
        "<header>\n<h1>{title}</h1>\n<p class=\"dim\">Version {}. For programs: \
         <a href=\"/api/openapi.json\">OpenAPI {}</a>.</p>\n",
        escape(text(&document["info"]["version"])),
        escape(text(&document["openapi"])),
    ));
    page.push_str(&prose(text(&document["info"]["description"])));
    page.push_str("</header>\n");
    contents(&mut page, document);
    page.push_str("<main>\n");
    for tag in list(&document["tags"]) {
        let name = text(&tag["name"]);
        page.push_str(&format!("<h2 id=\"{}\">{}</h2>\n", anchor("tag", name), escape(name)));
        page.push_str(&prose(text(&tag["description"])));
        for (path, method, operation) in operations(document, name) {
            show_operation(&mut page, document, path, method, operation);
        }
    }
    page.push_str("<h2 id=\"schemas\">Schemas</h2>\n");
    for (name, schema) in members(&document["components"]["schemas"]) {
        show_schema(&mut page, name, schema);
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn contents(page: &mut String, document: &Value) {
    page.push_str("<nav aria-label=\"Contents\">\n<ul>\n");
    for tag in list(&document["tags"]) {
        let name = text(&tag["name"]);
        page.push_str(&format!(
            "<li><details><summary><a href=\"#{}\">{}</a></summary>\n<ul>\n",
            anchor("tag", name),
            escape(name)
        ));
        for (_, _, operation) in operations(document, name) {
            let id = text(&operation["operationId"]);
            let summary = escape(text(&operation["summary"]));
            page.push_str(&format!("<li><a href=\"#{}\">{summary}</a></li>\n", anchor("operation", id)));
        }
        page.push_str("</ul></details></li>\n");
    }
    page.push_str("<li><a href=\"#schemas\">Schemas</a></li>\n</ul>\n</nav>\n");
}

/// Returns the operations of a tag, in the document's order.
fn operations<'a>(document: &'a Value, tag: &'a str) -> impl Iterator<Item = (&'a str, &'a str, &'a Value)> {
    let all = members(&document["paths"]);
    let all =
        all.flat_map(|(path, methods)| members(methods).map(move |(method, operation)| (path, method, operation)));
    all.filter(move |(_, _, operation)| operation["tags"][0] == tag)
}

fn show_operation(page: &mut String, document: &Value, path: &str, method: &str, operation: &Value) {
    let id = anchor("operation", text(&operation["operationId"]));
    page.push_str(&format!(
        "<section>\n<h3 id=\"{id}\">{}</h3>\n<p class=\"path\"><span class=\"method\">{}</span> {}</p>\n",
        escape(text(&operation["summary"])),
        method.to_ascii_uppercase(),
        escape(path),
    ));
    page.push_str(&prose(text(&operation["description"])));
    let parameters: Vec<&Value> =
        list(&operation["parameters"]).map(|parameter| resolved(document, parameter)).collect();
    if !parameters.is_empty() {
        page.push_str("<h4>Parameters</h4>\n");
        table(page, ["Name", "Type", ""], parameters.iter().map(|parameter| parameter_row(parameter)));
    }
    for (media_type, content) in members(&operation["requestBody"]["content"]) {
        let optional_note = if operation["requestBody"]["required"] == true { "" } else { ", optional" };
        let kind = kind(&content["schema"]);
        page.push_str(&format!(
            "<h4>Body: {kind} <span class=\"dim\">{}{optional_note}</span></h4>\n",
            escape(media_type)
        ));
        show_example(page, &content["example"]);
    }
    page.push_str("<h4>Responses</h4>\n");
    let (successes, errors): (Vec<_>, Vec<_>) =
        members(&operation["responses"]).partition(|(status, _)| *status < "400");
    for (status, response) in successes {
        let kinds: Vec<String> = members(&response["content"]).map(|(_, content)| kind(&content["schema"])).collect();
        let (kinds, words) = (kinds.join(", "), inline(text(&response["description"])));
        page.push_str(&format!("<p><strong>{}</strong> {kinds} {words}</p>\n", escape(status)));
        members(&response["content"]).for_each(|(_, content)| show_example(page, &content["example"]));
    }
    page.push_str("<details><summary>Errors</summary>\n");
    let rows = errors.into_iter().map(|(status, response)| {
        let response = resolved(document, response);
        [escape(status), problem_codes(response), inline(text(&response["description"]))]
    });
    table(page, ["Status", "Codes", ""], rows);
    page.push_str("</details>\n</section>\n");
}

fn parameter_row(parameter: &Value) -> [String; 3] {
    let optional_note = if parameter["required"] == true { "" } else { ", optional" };
    let name = format!("<code>{}</code>", escape(text(&parameter["name"])));
    let words = inline(text(&parameter["description"]));
    let name = format!("{name} <span class=\"dim\">{}{optional_note}</span>", escape(text(&parameter["in"])));
    [name, kind(&parameter["schema"]), format!("{words} {}", limits(&parameter["schema"]))]
}

fn problem_codes(response: &Value) -> String {
    let examples = members(&response["content"]["application/problem+json"]["examples"]);
    let codes: Vec<String> = examples.map(|(code, _)| format!("<code>{}</code>", escape(code))).collect();
    codes.join(" ")
}

fn show_schema(page: &mut String, name: &str, schema: &Value) {
    let id = anchor("schema", name);
    page.push_str(&format!("<section>\n<h3 id=\"{id}\">{}</h3>\n", escape(name)));
    page.push_str(&prose(text(&schema["description"])));
    let mut rows = Vec::new();
    member_rows(&mut rows, "", schema);
    if rows.is_empty() {
        page.push_str(&format!("<p>{} {}</p>\n", kind(schema), limits(schema)));
    } else {
        table(page, ["Member", "Type", ""], rows.into_iter());
    }
    page.push_str("</section>\n");
}

/// Adds one row per member. The members of a nested, unnamed object follow its row, with their paths.
fn member_rows(rows: &mut Vec<[String; 3]>, parent_path: &str, schema: &Value) {
    let required: Vec<&str> = list(&schema["required"]).map(text).collect();
    for (name, member) in members(&schema["properties"]) {
        let path = format!("{parent_path}{name}");
        let optional_note = if required.contains(&name) { "" } else { " <span class=\"dim\">optional</span>" };
        let words = inline(text(&member["description"]));
        let name = format!("<code>{}</code>{optional_note}", escape(&path));
        rows.push([name, kind(member), format!("{words} {}", limits(member))]);
        member_rows(rows, &format!("{path}."), member);
        member_rows(rows, &format!("{path}[]."), &member["items"]);
    }
}

/// Returns a short description of a schema's type. A named schema becomes a link.
fn kind(schema: &Value) -> String {
    if let Some(name) = example::referred(schema) {
        return format!("<a href=\"#{}\">{}</a>", anchor("schema", name), escape(name));
    }
    let choices: Vec<String> = list(&schema["anyOf"]).chain(list(&schema["oneOf"])).map(kind).collect();
    if !choices.is_empty() {
        return choices.join(" or ");
    }
    let name = |type_name: &str| match (type_name, &schema["items"], &schema["format"]) {
        ("array", Value::Object(_), _) => format!("array of {}", kind(&schema["items"])),
        ("string", _, Value::String(format)) => escape(format),
        _ => escape(type_name),
    };
    let types: Vec<String> = example::types(schema).into_iter().map(name).collect();
    if types.is_empty() { "anything".to_owned() } else { types.join(" or ") }
}

/// Lists the limits of a schema's values and its default, in parentheses.
fn limits(schema: &Value) -> String {
    const LIMITS: [(&str, &str); 8] = [
        ("const", "always"),
        ("default", "default"),
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "minimum length"),
        ("maxLength", "maximum length"),
        ("maxItems", "maximum number of items"),
        ("pattern", "pattern"),
    ];
    let mut parts = Vec::new();
    let words: Vec<String> = list(&schema["enum"]).map(|word| format!("<code>{}</code>", code(word))).collect();
    if !words.is_empty() {
        parts.push(format!("one of {}", words.join(", ")));
    }
    for (name, words) in LIMITS {
        if let Some(limit) = schema.get(name) {
            parts.push(format!("{words} <code>{}</code>", code(limit)));
        }
    }
    if parts.is_empty() { String::new() } else { format!("<span class=\"dim\">({})</span>", parts.join("; ")) }
}

fn show_example(page: &mut String, example: &Value) {
    let shown = match example {
        Value::Null => return,
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    page.push_str(&format!("<pre><code>{}</code></pre>\n", escape(&shown)));
}

fn table(page: &mut String, head: [&str; 3], rows: impl Iterator<Item = [String; 3]>) {
    let cells = head.map(|name| format!("<th scope=\"col\">{name}</th>"));
    page.push_str(&format!("<div class=\"scroll\"><table>\n<tr>{}</tr>\n", cells.concat()));
    for row in rows {
        let cells = row.map(|cell| format!("<td>{cell}</td>"));
        page.push_str(&format!("<tr>{}</tr>\n", cells.concat()));
    }
    page.push_str("</table></div>\n");
}

/// Renders text as paragraphs.
fn prose(words: &str) -> String {
    let paragraphs = words.split("\n\n").filter(|paragraph| !paragraph.is_empty());
    paragraphs.map(|paragraph| format!("<p>{}</p>\n", inline(paragraph))).collect()
}

/// Renders text with `code` and **emphasis**, the only markup in descriptions.
fn inline(words: &str) -> String {
    let emphasized = |text: &str| {
        let parts = text.split("**").enumerate();
        let parts = parts.map(|(at, part)| if at % 2 == 1 { format!("<strong>{part}</strong>") } else { part.into() });
        parts.collect::<String>()
    };
    let parts = words.split('`').map(escape).enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { emphasized(&part) });
    parts.collect()
}

fn code(value: &Value) -> String {
    escape(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// Returns the anchor to which links point. An anchor contains only ASCII letters, digits and hyphens.
fn anchor(kind: &str, name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    format!("{kind}-{}", plain.collect::<String>())
}

/// Resolves a reference within the document.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let object: Option<&Map<String, Value>> = value.as_object();
    object.into_iter().flatten().map(|(name, member)| (name.as_str(), member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_escapes_strings_from_the_document() {
        assert_eq!(
            inline("a **b** `<c>**` & \"d\""),
            "a <strong>b</strong> <code>&lt;c&gt;**</code> &amp; &quot;d&quot;"
        );
        assert_eq!(anchor("tag", "a \"b\""), "tag-a--b-");
        let page = render(&serde_json::json!({
            "info": { "title": "<script>" }, "tags": [{ "name": "<t>" }],
            "paths": { "/{<p>}": { "get": { "tags": ["<t>"], "summary": "<s>", "operationId": "o" } } },
            "components": { "schemas": { "<S>": { "type": "<x>", "pattern": "<y>" } } }
        }));
        for bare in ["<script>", "<t>", "<p>}", "<s>", "<S>", "<x>", "<y>"] {
            assert!(!page.contains(bare), "{bare}");
        }
    }
}
