//! The fields of the application form: accepted values, refused values, and how errors are shown.

use serde_json::json;

use crate::support::App;
use crate::support::signup::{Form, fields_with_errors, input_value, status_path, text_area_value};

crate::tests![
    values_are_stored_trimmed_with_uniform_line_breaks_and_without_tabs,
    optional_fields_can_be_empty_or_missing,
    values_at_a_limit_are_accepted_and_values_beyond_it_are_refused,
    an_invalid_address_is_reported,
    an_invalid_link_is_reported,
    control_characters_are_refused,
    invisible_and_direction_changing_characters_are_refused,
    only_explicit_consent_is_accepted,
    all_errors_are_shown_together_with_the_input,
    an_error_is_also_shown_beside_its_field,
    errors_are_shown_in_the_language_of_the_page,
    markup_in_every_field_is_inert,
    a_body_that_is_not_a_form_is_refused,
];

fn values_are_stored_trimmed_with_uniform_line_breaks_and_without_tabs() {
    let app = App::start();
    let hiring = app.hiring();
    let mut form = Form::for_role(&app, &hiring).with("name", "  Ada  Lovelace ").with("email", " Ada@Example.org ");
    form = form.with("phone", " +44 20 7946 0000 ").with("note", "\r\nHello,\r\n\r\n\tI can.\r\n");
    form = form.with("links", "https://ada.example/\r\n\r\n  http://engine.example/?a=b#c  \r\n");
    form.path = format!("{}?locale=de-CH", form.path);
    status_path(&form.send(&app));
    let links = "[\"https://ada.example/\",\"http://engine.example/?a=b#c\"]";
    assert_eq!(
        app.sql("SELECT name, email, email_key, phone, links, note, locale, consented_at = created_at FROM signups"),
        [format!("Ada  Lovelace|Ada@Example.org|ada@example.org|+44 20 7946 0000|{links}|Hello,\n\n I can.|de|1")]
    );
}

fn optional_fields_can_be_empty_or_missing() {
    let app = App::start();
    let hiring = app.hiring();
    for (number, missing) in ["", "phone", "links", "note"].into_iter().enumerate() {
        let mut form = Form::for_role(&app, &hiring).with("email", &format!("{number}@example.org"));
        for name in ["phone", "links", "note", "homepage", "cvToken"] {
            form = if name == missing { form.without(name) } else { form.with(name, "") };
        }
        status_path(&form.send(&app));
        status_path(&form.with("email", "x@example.org").send_urlencoded(&app));
    }
    assert_eq!(app.sql("SELECT DISTINCT phone, links, note FROM signups"), ["|[]|"]);
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["4"]);
}

fn values_at_a_limit_are_accepted_and_values_beyond_it_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let long = |count: usize| "ä".repeat(count);
    let links = |count: usize| vec!["https://a.example"; count].join("\n");
    for (name, most, more) in [
        ("name", long(255), long(256)),
        ("email", format!("{}@b", long(252)), format!("{}@b", long(253))),
        ("phone", long(50), long(51)),
        ("links", format!("https://{}", long(492)), format!("https://{}", long(493))),
        ("links", links(5), links(6)),
        ("note", long(5_000), long(5_001)),
    ] {
        let form = Form::for_role(&app, &hiring);
        let text = form.with(name, &more).send(&app).expect(400).text();
        assert_eq!(fields_with_errors(&text), [name]);
        let form = form.with("email", &format!("{name}{}@example.org", most.len()));
        status_path(&form.with(name, &most).send(&app));
    }
}

fn an_invalid_address_is_reported() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    for email in ["", " ", "ada", "@example.org", "ada@", "a@b@c", "a b@c", "a@b c"] {
        let text = form.with("email", email).send(&app).expect(400).text();
        assert_eq!(fields_with_errors(&text), ["email"], "{email}");
        assert_eq!(input_value(&text, "email").as_deref(), Some(email));
    }
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
}

fn an_invalid_link_is_reported() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    for link in [
        "ada.example",
        "//ada.example",
        "https://",
        "ftp://ada.example",
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "https://bank.example@evil.example/",
        "https://a.example/<script>",
        "https://a.example https://b.example",
    ] {
        let links = format!("https://good.example\n{link}");
        let text = form.with("links", &links).send(&app).expect(400).text();
        assert_eq!(fields_with_errors(&text), ["links"], "{link}");
        assert_eq!(text_area_value(&text, "links"), links);
    }
}

fn control_characters_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    for control in ["\0", "\u{1}", "\u{7}", "\u{8}", "\u{1b}[31m", "\u{7f}", "\u{85}", "\u{9f}"] {
        for name in ["name", "email", "phone", "links", "note"] {
            let text = match name {
                "email" => format!("a{control}b@example.org"),
                "links" => format!("https://a{control}b"),
                _ => format!("a{control}b"),
            };
            let page = form.with(name, &text).send(&app).expect(400).text();
            assert_eq!(fields_with_errors(&page), [name], "{control:?}");
        }
    }
    for name in ["name", "phone"] {
        assert_eq!(fields_with_errors(&form.with(name, "a\nb").send(&app).expect(400).text()), [name]);
    }
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
}

fn invisible_and_direction_changing_characters_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    for (tag, words) in [
        ("en", "characters that cannot be shown"),
        ("de", "Zeichen, die sich nicht darstellen lassen"),
        ("fr", "caractères qui ne peuvent pas être affichés"),
        ("es", "caracteres que no se pueden mostrar"),
    ] {
        for (name, text) in
            [("name", "Ada\u{202e}ecalevoL"), ("email", "a\u{200b}da@example.org"), ("phone", "1\u{2066}2")]
        {
            let mut form = form.with(name, text);
            form.path = format!("{}?lang={tag}", form.path);
            let page = form.send(&app).expect(400).text();
            assert_eq!(fields_with_errors(&page), [name], "{text:?}");
            assert!(page.contains(words), "{page}");
        }
    }
    let api = app.anonymous();
    let body = json!({ "name": "Ada\u{feff}", "email": "a\u{2060}da@example.org", "consent": true });
    let answer = api.post(&format!("/api/public{}", form.path), &body).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["name", "email"]);
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
    status_path(&form.with("name", "می\u{200c}خواهم 👩\u{200d}💻").send(&app));
}

fn only_explicit_consent_is_accepted() {
    let app = App::start();
    let hiring = app.hiring();
    for (nth, (consent, is_accepted)) in
        [("", false), ("off", false), ("false", false), ("1", false), ("On", false), ("on", true), ("true", true)]
            .into_iter()
            .enumerate()
    {
        let form = Form::for_role(&app, &hiring).with("email", &format!("{nth}@example.org")).with("consent", consent);
        for answer in [form.send(&app), form.send_urlencoded(&app)] {
            if is_accepted {
                status_path(&answer);
            } else {
                assert_eq!(fields_with_errors(&answer.expect(400).text()), ["consent"], "{consent:?}");
            }
        }
    }
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["2"]);
}

fn all_errors_are_shown_together_with_the_input() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring)
        .without("consent")
        .with("name", "")
        .with("email", "ada")
        .with("phone", &"1".repeat(51));
    let form = form.with("links", "a\nb").with("note", &"n".repeat(5_001));
    let answer = form.send(&app).expect(400);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let text = answer.text();
    assert_eq!(fields_with_errors(&text), ["name", "email", "phone", "links", "note", "consent"]);
    for name in ["name", "email", "phone", "form"] {
        assert_eq!(input_value(&text, name).as_deref(), Some(form.value(name)), "{name}");
    }
    for name in ["links", "note"] {
        assert_eq!(text_area_value(&text, name), form.value(name), "{name}");
    }
    assert!(!text.contains(" checked"), "{text}");
    assert!(text.contains("<title>Error: Apply for Engineer at Acme 1</title>"), "{text}");
    // A form with one remaining error is shown again with its consent, and the corrected form is accepted.
    let right = Form::from_page(&text, &form.path).with("phone", &"1".repeat(51));
    let text = right.send(&app).expect(400).text();
    assert!(text.contains(" checked") && fields_with_errors(&text) == ["phone"], "{text}");
    status_path(&right.with("phone", "").send(&app));
}

fn an_error_is_also_shown_beside_its_field() {
    let app = App::start();
    let hiring = app.hiring();
    let form =
        Form::for_role(&app, &hiring).without("consent").with("name", "").with("email", "ada").with("phone", "\u{7}");
    let text = form.with("links", "a").with("note", "\u{7}").with_file("cv.pdf", b"").send(&app).expect(400).text();
    for name in fields_with_errors(&text) {
        assert!(text.contains(&format!("<p class=\"error\" id=\"{name}-error\">")), "{name}: {text}");
        let input = text.split('<').find(|tag| tag.contains(&format!("id=\"{name}\" "))).unwrap();
        let described = input.split("aria-describedby=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(described.ends_with(&format!("{name}-error")), "{input}");
        assert!(input.contains("aria-invalid=\"true\""), "{input}");
        for id in described.split(' ') {
            assert_eq!(text.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
    }
    assert_eq!(
        text.matches("class=\"field wrong\"").count() + text.matches("class=\"field check wrong\"").count(),
        fields_with_errors(&text).len()
    );
}

fn errors_are_shown_in_the_language_of_the_page() {
    let app = App::start();
    let hiring = app.hiring();
    let mut form = Form::for_role(&app, &hiring).with("name", "").without("consent");
    let path = form.path.clone();
    for (tag, words) in [
        ("en", "Your name: Please enter your name."),
        ("de", "Ihr Name: Bitte geben Sie Ihren Namen ein."),
        ("fr", "Votre nom\u{a0}: Veuillez indiquer votre nom."),
        ("es", "Su nombre: Escriba su nombre."),
    ] {
        form.path = format!("{path}?lang={tag}");
        let text = form.send(&app).expect(400).text();
        assert!(text.contains(&format!("<html lang=\"{tag}\">")) && text.contains(words), "{text}");
    }
}

fn markup_in_every_field_is_inert() {
    let app = App::start();
    let hiring = app.hiring();
    let canary = "\"'></textarea></title><script>alert(1)</script>{{form}}&lt;";
    let mut form = Form::for_role(&app, &hiring).without("consent");
    for name in ["name", "email", "phone", "links", "note", "form", "cvToken", "homepage"] {
        form = form.with(name, canary);
    }
    let form = form.with_file("<script>alert(1)</script>.pdf", b"%PDF-1.7\n");
    let form = form.with("consent", canary);
    for answer in [form.send(&app), form.without_file().send_urlencoded(&app)] {
        let text = answer.expect(400).text();
        assert!(!text.contains("<script") && !text.contains("'></textarea"), "{text}");
        assert_eq!(input_value(&text, "name").as_deref(), Some(canary));
        assert_eq!(text_area_value(&text, "note"), canary);
        assert_eq!(text.matches("<textarea ").count(), text.matches("</textarea>").count());
    }
    // The API returns stored markup to staff unchanged, as a JSON string.
    let form = Form::for_role(&app, &hiring).with("name", canary).with("note", canary);
    status_path(&form.send(&app));
    let client = app.user_with_all(&hiring.staff("owner"));
    let found = client.get(&hiring.candidates_path()).expect(200);
    assert_eq!(found.header("content-type"), Some("application/json"));
    assert_eq!(found.json()["data"][0]["name"], json!(canary));
}

fn a_body_that_is_not_a_form_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let path = Form::for_role(&app, &hiring).path;
    for content_type in ["application/json", "text/plain", "multipart/mixed; boundary=x"] {
        let answer = app.anonymous().send("POST", &path, &[("Content-Type", content_type)], b"{}").expect(415);
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{content_type}");
    }
    let broken = [("Content-Type", "multipart/form-data; boundary=x")];
    app.anonymous().send("POST", &path, &broken, b"--y\r\nno form").expect(400);
    let large = format!("note={}", "a".repeat(200 * 1_024));
    let urlencoded = [("Content-Type", "application/x-www-form-urlencoded")];
    app.anonymous().send("POST", &path, &urlencoded, large.as_bytes()).expect(413);
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
}
