//! How many applications are taken from one address within an hour.

use serde_json::json;

use crate::support::app::Options;
use crate::support::signup::{Form, path, status_path};
use crate::support::{App, Client};

crate::tests![
    each_address_has_so_many_applications_an_hour,
    the_hour_begins_with_the_first_of_them,
    forms_that_are_wrong_count_and_looking_does_not,
    the_api_and_the_form_count_together,
    a_link_that_leads_nowhere_counts_for_nobody,
    without_a_limit_there_is_none,
    a_proxy_that_is_believed_says_who_sent_it,
];

fn limited(per_hour: u32) -> App {
    let options =
        Options { signups_per_hour: Some(per_hour), trusted_proxies: vec!["127.0.0.0/8"], ..Options::default() };
    App::with(options)
}

fn from(app: &App, address: &str) -> Client {
    app.anonymous().with_header("X-Forwarded-For", address)
}

fn each_address_has_so_many_applications_an_hour() {
    let app = limited(2);
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring);
    let (one, other) = (from(&app, "192.0.2.1"), from(&app, "192.0.2.2"));
    for number in 0..2 {
        status_path(&Form::of(&app, &hiring).with("email", &format!("{number}@example.org")).send_by(&one));
    }
    let answer = form.send_by(&one).expect(429);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("retry-after"), Some("3597"));
    let text = answer.text();
    assert!(text.contains("<h1>Too many applications</h1>") && text.contains("again in 60 min"), "{text}");
    assert!(text.contains("Your application was not sent."), "{text}");
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["2"]);
    status_path(&form.send_by(&other));
}

fn the_hour_begins_with_the_first_of_them() {
    let app = limited(1);
    let hiring = app.hiring();
    let (form, client) = (Form::of(&app, &hiring), from(&app, "2001:db8::1"));
    status_path(&form.send_by(&client));
    app.pass(3_599);
    let neighbour = from(&app, "2001:db8::2");
    assert_eq!(form.send_by(&neighbour).expect(429).header("retry-after"), Some("1"));
    app.pass(1);
    status_path(&form.send_by(&client));
    assert_eq!(form.send_by(&client).expect(429).header("retry-after"), Some("3600"));
}

fn forms_that_are_wrong_count_and_looking_does_not() {
    let app = limited(3);
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring);
    for _ in 0..10 {
        app.anonymous().get(&form.path).expect(200);
    }
    form.with("name", "").send(&app).expect(400);
    form.with("form", "x").send(&app).expect(400);
    form.with("homepage", "x").send(&app).expect(400);
    form.send(&app).expect(429);
    app.anonymous().get(&form.path).expect(200);
}

fn the_api_and_the_form_count_together() {
    let app = limited(2);
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring);
    let path = format!("/api/public{}", form.path);
    app.anonymous().post(&path, &json!({})).refused(400, "validation_error");
    status_path(&form.send(&app));
    let answer = app.anonymous().post(&path, &json!({})).refused(429, "rate_limited");
    assert_eq!(answer.header("retry-after"), Some("3600"));
    form.send(&app).expect(429);
}

fn a_link_that_leads_nowhere_counts_for_nobody() {
    let app = limited(1);
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring);
    for _ in 0..3 {
        app.anonymous().post("/api/public/signup/nothing", &json!({})).refused(404, "not_found");
        form.to("/signup/nothing").send(&app).expect(404);
    }
    status_path(&form.send(&app));
}

fn without_a_limit_there_is_none() {
    let app = App::start();
    let hiring = app.hiring();
    let path = path(&app, &hiring);
    for _ in 0..100 {
        app.anonymous().send("POST", &path, &[("Content-Type", "application/x-www-form-urlencoded")], b"").expect(400);
    }
}

fn a_proxy_that_is_believed_says_who_sent_it() {
    let app = App::with(Options { signups_per_hour: Some(1), ..Options::default() });
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring);
    status_path(&form.send_by(&from(&app, "192.0.2.1")));
    // Nobody is believed here.
    form.send_by(&from(&app, "192.0.2.2")).expect(429);
}
