//! The form behind a signup link, as a browser fills it in.

use super::{Answer, App, Client, Hiring};
use serde_json::json;

/// The boundary between the parts of a multipart form.
const BOUNDARY: &str = "----boundary-of-a-test";

/// A filled-in form. A field that occurs twice is sent twice.
#[derive(Clone)]
pub(crate) struct Form {
    pub(crate) path: String,
    pub(crate) fields: Vec<(String, String)>,
    file: Option<(String, Vec<u8>)>,
}

impl Form {
    /// Returns the form behind the link of the organization's role, with the required fields filled, and old enough
    /// to be accepted.
    pub(crate) fn for_role(app: &App, hiring: &Hiring) -> Self {
        Self::for_link(app, &signup_path(app, hiring))
    }

    /// Returns the form behind this link, with the required fields filled, and old enough to be accepted.
    pub(crate) fn for_link(app: &App, path: &str) -> Self {
        let form = Self::fresh(app, path);
        app.pass(3);
        form
    }

    /// Returns the form behind this link immediately after it is rendered.
    pub(crate) fn fresh(app: &App, path: &str) -> Self {
        Self::from_page(&app.anonymous().get(path).expect(200).text(), path)
    }

    /// Returns the form on this page, with the required fields filled.
    pub(crate) fn from_page(page: &str, path: &str) -> Self {
        let form = Self { path: path.to_owned(), fields: Vec::new(), file: None };
        let form = form.with("form", &input_value(page, "form").expect("the page has a form"));
        form.with("name", "Ada Lovelace").with("email", "ada@example.org").with("consent", "on")
    }

    /// Returns the form with only this value in a field.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        self.without(name).with_another(name, value)
    }

    /// Returns the form with an additional value in a field.
    pub(crate) fn with_another(&self, name: &str, value: &str) -> Self {
        let mut form = self.clone();
        form.fields.push((name.to_owned(), value.to_owned()));
        form
    }

    /// Returns the form, addressed to another link.
    pub(crate) fn sent_to(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    /// Returns the form without a field.
    pub(crate) fn without(&self, name: &str) -> Self {
        let mut form = self.clone();
        form.fields.retain(|(known, _)| known != name);
        form
    }

    /// Returns the form with a file.
    pub(crate) fn with_file(&self, name: &str, content: &[u8]) -> Self {
        Self { file: Some((name.to_owned(), content.to_vec())), ..self.clone() }
    }

    pub(crate) fn without_file(&self) -> Self {
        Self { file: None, ..self.clone() }
    }

    /// Returns the value of a field.
    pub(crate) fn value(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Sends the form from a new browser.
    pub(crate) fn send(&self, app: &App) -> Answer {
        self.send_by(&app.anonymous())
    }

    /// Sends the form from this browser.
    pub(crate) fn send_by(&self, client: &Client) -> Answer {
        let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
        client.send("POST", &self.path, &[("Content-Type", &content_type)], &self.body())
    }

    /// Sends the form without its file, as `application/x-www-form-urlencoded`.
    pub(crate) fn send_urlencoded(&self, app: &App) -> Answer {
        let fields = self.fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        let body = fields.collect::<Vec<_>>().join("&");
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        app.anonymous().send("POST", &self.path, &headers, body.as_bytes())
    }

    fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for (name, value) in &self.fields {
            body.extend(
                format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n").into_bytes(),
            );
            body.extend_from_slice(value.as_bytes());
            body.extend_from_slice(b"\r\n");
        }
        if let Some((name, content)) = &self.file {
            let head = format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"cv\"; filename=\"{name}\"\r\n\
                 Content-Type: application/octet-stream\r\n\r\n"
            );
            body.extend(head.into_bytes());
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend(format!("--{BOUNDARY}--\r\n").into_bytes());
        body
    }
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Returns the value of an input of a page, unescaped.
pub(crate) fn input_value(page: &str, name: &str) -> Option<String> {
    let input = page.split("<input ").skip(1).find(|input| input.contains(&format!("name=\"{name}\"")))?;
    let value = input.split('>').next()?.split(" value=\"").nth(1)?.split('"').next()?;
    Some(unescaped(value))
}

/// Returns the text of a text area of a page.
pub(crate) fn text_area_value(page: &str, name: &str) -> String {
    let area = page.split("<textarea ").skip(1).find(|area| area.contains(&format!("name=\"{name}\""))).unwrap();
    let text = area.split_once('>').unwrap().1.split("</textarea>").next().unwrap();
    // Browsers drop a line break at the start of a text area.
    unescaped(text.strip_prefix('\n').unwrap_or(text))
}

fn unescaped(text: &str) -> String {
    let named = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
    ];
    let text = named.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    text.replace("&#38;", "&").replace("&amp;", "&")
}

/// Returns the path of the signup link of the organization's role.
pub(crate) fn signup_path(app: &App, hiring: &Hiring) -> String {
    signup_path_of(app, hiring, &hiring.role_id)
}

/// Returns the path of the signup link of this role.
pub(crate) fn signup_path_of(app: &App, hiring: &Hiring, role_id: &str) -> String {
    let path = format!("{}/apply", hiring.portal());
    let answer = app.anonymous().post(&path, &json!({ "roleId": role_id })).expect(200).json();
    let link = answer["inviteUrl"].as_str().unwrap();
    link[link.find("/signup/").unwrap()..].split('?').next().unwrap().to_owned()
}

/// Returns the path of the status page that an accepted form leads to, without its query.
#[track_caller]
pub(crate) fn status_path(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.text());
    answer.header("location").unwrap().strip_suffix("?new=1").unwrap().to_owned()
}

/// Returns the ids of the fields that a page reports errors for, in order.
pub(crate) fn fields_with_errors(page: &str) -> Vec<String> {
    let Some(list) = page.split("id=\"errors\"").nth(1) else { return Vec::new() };
    let list = list.split("</div>").next().unwrap();
    list.split("<a href=\"#").skip(1).map(|link| link.split('"').next().unwrap().to_owned()).collect()
}
