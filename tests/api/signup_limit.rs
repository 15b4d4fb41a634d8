//! The number of applications that the service accepts from one client address within an hour.

use serde_json::json;

use crate::support::app::Options;
use crate::support::signup::{Form, fields_with_errors, input_value, signup_path, status_path, text_area_value};
use crate::support::{App, Client};

crate::tests![
    each_client_address_may_send_a_limited_number_of_applications_an_hour,
    a_form_over_the_limit_is_shown_again_with_its_file,
    a_form_over_the_limit_is_shown_again_in_the_language_of_the_page,
    the_file_of_a_form_far_over_the_limit_is_not_read,
    ipv6_networks_in_a_slash_56_share_twice_the_limit_and_those_in_a_slash_48_four_times_the_limit,
    the_hour_begins_with_the_first_application,
    invalid_forms_are_counted_but_opening_the_page_is_not,
    the_api_and_the_form_share_the_limit,
    forms_for_an_unknown_link_are_not_counted,
    without_a_limit_every_form_is_accepted,
    an_address_claimed_by_an_untrusted_client_is_ignored,
];

fn limited(per_hour: u32) -> App {
    let options =
        Options { signups_per_hour: Some(per_hour), trusted_proxies: vec!["127.0.0.0/8"], ..Options::default() };
    App::with(options)
}

fn from(app: &App, address: &str) -> Client {
    app.anonymous().with_header("X-Forwarded-For", address)
}

fn each_client_address_may_send_a_limited_number_of_applications_an_hour() {
    let app = limited(2);
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let (one, other) = (from(&app, "192.0.2.1"), from(&app, "192.0.2.2"));
    for number in 0..2 {
        status_path(&Form::for_role(&app, &hiring).with("email", &format!("{number}@example.org")).send_by(&one));
    }
    let answer = form.send_by(&one).expect(429);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("retry-after"), Some("3597"));
    let text = answer.text();
    assert!(text.contains("Many applications have come from your connection"), "{text}");
    assert!(text.contains("Nothing has been sent yet.") && text.contains("again in 60 min"), "{text}");
    assert_eq!((fields_with_errors(&text).len(), input_value(&text, "name").as_deref()), (0, Some("Ada Lovelace")));
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["2"]);
    status_path(&form.send_by(&other));
}

fn a_form_over_the_limit_is_shown_again_with_its_file() {
    let app = limited(1);
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    status_path(&form.send(&app));
    let form = Form::for_role(&app, &hiring).with("email", "b@example.org").with("note", "Engines\n& more");
    let text = form.with_file("Ada CV.pdf", b"%PDF-1.7").send(&app).expect(429).text();
    assert_eq!(
        (input_value(&text, "email").as_deref(), text_area_value(&text, "note").as_str()),
        (Some("b@example.org"), "Engines\n& more")
    );
    assert!(
        text.contains("Ada CV.pdf is already uploaded.") && text.contains("value=\"on\" required checked"),
        "{text}"
    );
    // The page has everything that is needed to apply after the hour.
    app.pass(3_597);
    let again = Form::from_page(&text, &form.path).with("email", "b@example.org");
    status_path(&again.with("cvToken", &input_value(&text, "cvToken").unwrap()).send(&app));
    assert_eq!(app.sql("SELECT file_name, signup_id IS NOT NULL FROM documents"), ["Ada CV.pdf|1"]);
}

fn a_form_over_the_limit_is_shown_again_in_the_language_of_the_page() {
    let app = limited(1);
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    status_path(&form.send(&app));
    for (tag, words) in [
        ("en", "Everything you entered is still here: please send it again in 60 min."),
        ("de", "Alle Ihre Angaben sind noch da: Bitte senden Sie sie in 60 Min. noch einmal."),
        ("es", "Todo lo que ha escrito sigue aquí: envíelo de nuevo dentro de 60 min."),
        ("fr", "Tout ce que vous avez saisi est encore là\u{a0}: veuillez l’envoyer à nouveau dans 60 min."),
    ] {
        let text = form.sent_to(&format!("{}?lang={tag}", form.path)).send_urlencoded(&app).expect(429).text();
        assert!(text.contains(words) && input_value(&text, "name").is_some(), "{tag}: {text}");
    }
}

fn the_file_of_a_form_far_over_the_limit_is_not_read() {
    let app = limited(1);
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with_file("cv.pdf", b"%PDF-1.7");
    status_path(&form.send(&app));
    // Within the hour, one form is accepted and one more is shown again with its file.
    assert!(input_value(&form.send(&app).expect(429).text(), "cvToken").is_some());
    let text = form.send(&app).expect(429).text();
    assert_eq!((input_value(&text, "cvToken"), input_value(&text, "name").as_deref()), (None, Some("Ada Lovelace")));
    assert!(text.contains("Your file cannot be accepted right now."), "{text}");
    assert_eq!(app.sql("SELECT count(*) FROM documents"), ["2"]);
}

fn ipv6_networks_in_a_slash_56_share_twice_the_limit_and_those_in_a_slash_48_four_times_the_limit() {
    let app = limited(2);
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let status_from = |address: &str| {
        let fields = [("Content-Type", "application/x-www-form-urlencoded")];
        from(&app, address).send("POST", &path, &fields, b"").status
    };
    let statuses: Vec<u16> = (0..6).map(|number| status_from(&format!("2001:db8:0:{number:x}::1"))).collect();
    assert_eq!(statuses, [400, 400, 400, 400, 429, 429]);
    let statuses_in_48: Vec<u16> = (1..7).map(|number| status_from(&format!("2001:db8:0:{number:x}00::1"))).collect();
    assert_eq!(statuses_in_48, [400, 400, 400, 400, 429, 429]);
    assert_eq!(status_from("2001:db8:1::1"), 400);
}

fn the_hour_begins_with_the_first_application() {
    let app = limited(1);
    let hiring = app.hiring();
    let (form, client) = (Form::for_role(&app, &hiring), from(&app, "2001:db8::1"));
    status_path(&form.send_by(&client));
    app.pass(3_599);
    let neighbour = from(&app, "2001:db8::2");
    assert_eq!(form.send_by(&neighbour).expect(429).header("retry-after"), Some("1"));
    app.pass(1);
    status_path(&form.send_by(&client));
    assert_eq!(form.send_by(&client).expect(429).header("retry-after"), Some("3600"));
}

fn invalid_forms_are_counted_but_opening_the_page_is_not() {
    let app = limited(3);
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    for _ in 0..10 {
        app.anonymous().get(&form.path).expect(200);
    }
    form.with("name", "").send(&app).expect(400);
    form.with("form", "x").send(&app).expect(400);
    form.with("homepage", "x").send(&app).expect(400);
    form.send(&app).expect(429);
    app.anonymous().get(&form.path).expect(200);
}

fn the_api_and_the_form_share_the_limit() {
    let app = limited(2);
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let path = format!("/api/public{}", form.path);
    app.anonymous().post(&path, &json!({})).refused(400, "validation_error");
    status_path(&form.send(&app));
    let answer = app.anonymous().post(&path, &json!({})).refused(429, "rate_limited");
    assert_eq!(answer.header("retry-after"), Some("3600"));
    form.send(&app).expect(429);
}

fn forms_for_an_unknown_link_are_not_counted() {
    let app = limited(1);
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    for _ in 0..3 {
        app.anonymous().post("/api/public/signup/nothing", &json!({})).refused(404, "not_found");
        form.sent_to("/signup/nothing").send(&app).expect(404);
    }
    status_path(&form.send(&app));
}

fn without_a_limit_every_form_is_accepted() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for _ in 0..100 {
        app.anonymous().send("POST", &path, &[("Content-Type", "application/x-www-form-urlencoded")], b"").expect(400);
    }
}

fn an_address_claimed_by_an_untrusted_client_is_ignored() {
    let app = App::with(Options { signups_per_hour: Some(1), ..Options::default() });
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    status_path(&form.send_by(&from(&app, "192.0.2.1")));
    // This service trusts no proxy.
    form.send_by(&from(&app, "192.0.2.2")).expect(429);
}
