//! `POST /signup/{token}`: the effect of a submitted form, the rules for its age and its link, and the forms that are
//! refused.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::roles::last_activity;
use crate::support::signup::{Form, fields_with_errors, input_value, signup_path, signup_path_of, status_path};
use crate::support::{App, Hiring};

crate::tests![
    a_form_creates_a_candidate_and_an_application,
    activity_records_the_signup_without_a_user,
    staff_find_the_new_candidate,
    a_form_needs_no_origin_and_no_credential,
    a_form_sent_twice_makes_one_application_with_one_link,
    a_repeated_form_gets_the_same_answer_after_the_role_was_closed,
    a_form_is_accepted_from_three_seconds_to_a_day_after_it_was_rendered,
    a_form_sent_too_early_is_accepted_a_moment_later,
    an_expired_form_is_replaced_by_a_new_one_with_the_input,
    a_forged_form_is_refused,
    a_form_from_another_link_is_refused,
    a_form_survives_a_restart,
    a_form_whose_hidden_field_is_filled_in_is_refused,
    a_form_for_a_role_that_was_closed_after_rendering_is_refused,
    a_form_for_a_link_that_expired_after_rendering_is_refused,
    a_form_for_an_unknown_link_is_refused,
    the_language_is_stored_with_the_application,
    the_same_address_in_another_organization_creates_another_candidate,
];

/// Returns the numbers of candidates, applications, signups, status pages and activity rows.
fn counts(app: &App) -> String {
    let tables = ["candidates", "candidate_roles", "signups", "status_pages", "activities"];
    let counts = tables.map(|table| format!("(SELECT count(*) FROM {table})"));
    app.sql(&format!("SELECT {}", counts.join(", "))).remove(0)
}

#[track_caller]
fn assert_nothing_stored(app: &App) {
    assert_eq!(counts(app), "3|3|0|0|0");
}

fn newest_application(app: &App) -> Vec<String> {
    app.sql(
        "SELECT c.name, c.email, a.status, a.role_id, s.name
         FROM candidate_roles a
         JOIN candidates c ON c.id = a.candidate_id
         JOIN candidate_role_steps s ON s.candidate_role_id = a.id AND s.role_step_id = a.at_role_step_id
         ORDER BY c.number DESC, a.id DESC
         LIMIT 1",
    )
}

fn a_form_creates_a_candidate_and_an_application() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = Form::for_role(&app, &hiring).send(&app);
    let status = status_path(&answer);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.body.is_empty());
    let token = status.strip_prefix("/status/").unwrap();
    assert_eq!(token.len(), 43, "{token}");
    let role = &hiring.role_id;
    assert_eq!(newest_application(&app), [format!("Ada Lovelace|ada@example.org|In Progress|{role}|Application")]);
    assert_eq!(
        app.sql("SELECT count(*) FROM candidate_role_steps WHERE candidate_role_id NOT LIKE 'app\\_1\\_%' ESCAPE '\\'"),
        ["4"]
    );
    let linked = "SELECT count(*) FROM signups s
                  JOIN candidate_roles a ON a.id = s.candidate_role_id AND a.role_id = s.role_id
                  JOIN candidates c ON c.id = a.candidate_id AND c.email_key = s.email_key
                  JOIN status_pages p ON p.candidate_role_id = a.id AND p.signup_id IS NULL AND p.locale = s.locale";
    assert_eq!(app.sql(linked), ["1"]);
    assert_eq!(counts(&app), "4|4|1|1|2");
    assert!(!app.sql("SELECT hex(digest) FROM status_pages")[0].contains(token));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn activity_records_the_signup_without_a_user() {
    let app = App::start();
    let hiring = app.hiring();
    status_path(&Form::for_role(&app, &hiring).send(&app));
    let (action, role, detail) = last_activity(&app);
    assert_eq!((action.as_str(), role.as_str()), ("candidate_role.signed_up", hiring.role_id.as_str()));
    assert_eq!((&detail["before"], &detail["after"]["application"]), (&Value::Null, &Value::from("In Progress")));
    let rows = app.sql("SELECT action, user_id, api_key_id, candidate_id IS NOT NULL FROM activities ORDER BY number");
    assert_eq!(rows, ["candidate.added|null|null|1", "candidate_role.signed_up|null|null|1"]);
    let client = app.user_with_all(&hiring.staff("member"));
    let shown = client.get(&format!("/api/v1/roles/{role}/activity")).expect(200).json();
    assert_eq!(shown["data"][0]["action"], "candidate_role.signed_up");
}

fn staff_find_the_new_candidate() {
    let app = App::start();
    let hiring = app.hiring();
    status_path(&Form::for_role(&app, &hiring).send(&app));
    let client = app.user_with_all(&hiring.staff("member"));
    let found = client.get(&format!("{}?q=lovelace", hiring.candidates_path())).expect(200).json();
    assert_eq!(found["data"][0]["email"], "ada@example.org");
    let board = client.get(&format!("/api/v1/roles/{}/board", hiring.role_id)).expect(200).text();
    assert!(board.contains("Ada Lovelace"), "{board}");
    let status = client.get(&format!("/api/v1/organizations/{}/status", hiring.organization_id)).expect(200).json();
    assert_eq!(status["data"]["applications"]["inProgress"], 4, "{status}");
}

fn a_form_needs_no_origin_and_no_credential() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let elsewhere = app.anonymous().with_header("Origin", "https://elsewhere.example");
    status_path(&form.send_by(&elsewhere.with_header("Authorization", "Bearer nonsense")));
    status_path(
        &Form::for_role(&app, &hiring).with("email", "b@example.org").with("unknown", "x").send_urlencoded(&app),
    );
    assert_eq!(counts(&app), "5|5|2|2|4");
}

fn a_form_sent_twice_makes_one_application_with_one_link() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let first = form.send(&app);
    let before = counts(&app);
    for again in [form.clone(), form.with("name", "Other").with("email", "other@example.org")] {
        app.pass(60);
        let answer = again.send(&app);
        assert_eq!(status_path(&answer), status_path(&first));
        assert_eq!(answer.header("set-cookie"), first.header("set-cookie"));
    }
    assert_eq!(counts(&app), before);
    // A different form gets a different link.
    assert_ne!(status_path(&Form::for_role(&app, &hiring).send(&app)), status_path(&first));
}

fn a_repeated_form_gets_the_same_answer_after_the_role_was_closed() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let first = status_path(&form.send(&app));
    close(&app, &hiring);
    assert_eq!(status_path(&form.send(&app)), first);
    form.with("form", "x").send(&app).expect(410);
}

fn a_form_is_accepted_from_three_seconds_to_a_day_after_it_was_rendered() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let micro = Duration::from_micros(1);
    for (number, (age, is_good)) in [
        (Duration::ZERO, false),
        (Duration::from_secs(3) - micro, false),
        (Duration::from_secs(3), true),
        (Duration::from_secs(86_400), true),
        (Duration::from_secs(86_400) + micro, false),
    ]
    .into_iter()
    .enumerate()
    {
        let form = Form::fresh(&app, &path).with("email", &format!("{number}@example.org"));
        app.world.pass(age);
        let answer = form.send(&app);
        assert_eq!(answer.status, if is_good { 303 } else { 400 }, "{age:?}");
    }
    assert_eq!(app.sql("SELECT email FROM signups"), ["2@example.org", "3@example.org"]);
}

fn a_form_sent_too_early_is_accepted_a_moment_later() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::fresh(&app, &signup_path(&app, &hiring));
    let text = form.send(&app).expect(400).text();
    assert!(text.contains("That was very quick.") && fields_with_errors(&text).is_empty(), "{text}");
    assert_nothing_stored(&app);
    assert_eq!(input_value(&text, "form").as_deref(), Some(form.value("form")));
    assert_eq!(input_value(&text, "name").as_deref(), Some("Ada Lovelace"));
    app.pass(3);
    status_path(&Form::from_page(&text, &form.path).send(&app));
}

fn an_expired_form_is_replaced_by_a_new_one_with_the_input() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("name", "Grace").with("note", "Hello");
    app.pass(86_400);
    let text = form.with("phone", "\u{7}").send(&app).expect(400).text();
    assert!(text.contains("The form was open for too long."), "{text}");
    assert_eq!(fields_with_errors(&text), ["phone"]);
    assert_nothing_stored(&app);
    assert_ne!(input_value(&text, "form").as_deref(), Some(form.value("form")));
    assert_eq!(input_value(&text, "name").as_deref(), Some("Grace"));
    app.pass(3);
    let renewed = form.with("form", &input_value(&text, "form").unwrap());
    status_path(&renewed.send(&app));
    // After the clock is set back, the time of the form is in the future.
    let form = Form::for_role(&app, &hiring).with("email", "b@example.org");
    app.set_clock("2026-11-21T09:00:00Z");
    assert!(form.send(&app).expect(400).text().contains("The form was open for too long."));
}

fn a_forged_form_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let good = form.value("form").to_owned();
    let (head, signature) = good.rsplit_once('.').unwrap();
    let (id, time) = head.split_once('.').unwrap();
    let other_end = if signature.ends_with('0') { '1' } else { '0' };
    // The services of all tests draw the same random numbers, so the other service needs another secret.
    let other = App::start();
    other.stop();
    other.change("UPDATE form_secrets SET secret = randomblob(32)");
    other.start_again();
    let foreign = Form::for_role(&other, &other.hiring());
    let forged = [
        String::new(),
        "x".to_owned(),
        "..".to_owned(),
        format!("{head}.{}", "0".repeat(64)),
        format!("{head}.{}{other_end}", &signature[..63]),
        format!("{id}.{}.{signature}", time.parse::<i64>().unwrap() - 1),
        format!("{}.{time}.{signature}", id.to_uppercase()),
        format!("{good}.x"),
        "a".repeat(10_000),
        "\0".to_owned(),
        foreign.value("form").to_owned(),
    ];
    for text in forged {
        assert_ne!(text, good);
        let page = form.with("form", &text).send(&app).expect(400).text();
        assert!(page.contains("The form was open for too long."), "{text}: {page}");
    }
    form.without("form").send(&app).expect(400);
    // The page does not show the secret with which the service signs forms.
    let secrets = [&app, &other].map(|app| app.sql("SELECT hex(secret) FROM form_secrets").remove(0));
    assert_ne!(secrets[0].len(), 0);
    assert!(!app.anonymous().get(&form.path).expect(200).text().to_uppercase().contains(&secrets[0]));
    assert_nothing_stored(&app);
}

fn a_form_from_another_link_is_refused() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let form = Form::for_role(&app, &hiring);
    let moved = form.sent_to(&signup_path(&app, &other));
    let text = moved.send(&app).expect(400).text();
    assert!(text.contains("The form was open for too long."), "{text}");
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
    // The form on the page in the answer is valid for the other link.
    app.pass(3);
    status_path(&Form::from_page(&text, &moved.path).send(&app));
    assert_eq!(app.sql("SELECT role_id FROM signups"), std::slice::from_ref(&other.role_id));
}

fn a_form_survives_a_restart() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let secret = app.sql("SELECT hex(secret) FROM form_secrets");
    app.stop();
    app.start_again();
    assert_eq!(app.sql("SELECT hex(secret) FROM form_secrets"), secret);
    let first = status_path(&form.send(&app));
    app.stop();
    app.start_again();
    assert_eq!(status_path(&form.send(&app)), first);
}

fn a_form_whose_hidden_field_is_filled_in_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    for homepage in ["https://spam.example", " ", "0"] {
        let form = Form::for_role(&app, &hiring).with("homepage", homepage);
        let text = form.send(&app).expect(400).text();
        assert!(text.contains("A field that people do not see was filled in."), "{text}");
        assert_eq!(input_value(&text, "homepage"), None);
        assert_nothing_stored(&app);
        // A person whose browser filled in the field can send the form again.
        assert_eq!(input_value(&text, "name").as_deref(), Some("Ada Lovelace"));
    }
    status_path(&Form::for_role(&app, &hiring).with("homepage", "").send(&app));
}

fn close(app: &App, hiring: &Hiring) {
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.post(&format!("{}/close", hiring.role()), &json!({ "reason": "found" })).expect(200);
}

fn a_form_for_a_role_that_was_closed_after_rendering_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    close(&app, &hiring);
    let before = counts(&app);
    for form in [form.clone(), form.with("name", "")] {
        let text = form.send(&app).expect(410).text();
        assert!(text.contains("<h1>Engineer no longer accepts applications</h1>"), "{text}");
        assert!(text.contains("Your application was not sent.") && !text.contains("<form"), "{text}");
        assert!(text.contains(&format!("href=\"/careers/{}?lang=en\"", hiring.slug)), "{text}");
    }
    assert_eq!(counts(&app), before);
}

fn a_form_for_a_link_that_expired_after_rendering_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    app.pass(30 * 86_400 - 4);
    let (first, second) = (Form::for_link(&app, &path), Form::fresh(&app, &path).with("email", "b@example.org"));
    app.world.pass(Duration::from_micros(999_999));
    status_path(&first.send(&app));
    app.pass(3);
    let text = second.send(&app).expect(410).text();
    assert!(text.contains("<h1>This link has expired</h1>") && text.contains("was not sent"), "{text}");
    assert_eq!(app.sql("SELECT email FROM signups"), ["ada@example.org"]);
}

fn a_form_for_an_unknown_link_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    for token in ["nothing", "%00", "0123456789abcdefghjkmnpqrstvwxyz0"] {
        let text = form.sent_to(&format!("/signup/{token}")).send(&app).expect(404).text();
        assert!(text.contains("<h1>This link does not work</h1>"), "{text}");
    }
    assert_nothing_stored(&app);
}

fn the_language_is_stored_with_the_application() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for (number, (query, accepted, expected)) in
        [("?lang=fr", "de", "fr"), ("?locale=es-MX", "de", "es"), ("", "de", "de"), ("?lang=gsw", "", "en")]
            .into_iter()
            .enumerate()
    {
        let mut form = Form::for_link(&app, &path).with("email", &format!("{number}@example.org"));
        form.path = format!("{path}{query}");
        status_path(&form.send_by(&app.anonymous().with_header("Accept-Language", accepted)));
        let row = app.sql("SELECT s.locale, p.locale FROM signups s JOIN status_pages p ON p.candidate_role_id = s.candidate_role_id ORDER BY s.number DESC LIMIT 1");
        assert_eq!(row, [format!("{expected}|{expected}")]);
    }
}

fn the_same_address_in_another_organization_creates_another_candidate() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    for hiring in [&hiring, &other] {
        status_path(&Form::for_link(&app, &signup_path_of(&app, hiring, &hiring.role_id)).send(&app));
    }
    assert_eq!(
        app.sql("SELECT organization_id FROM candidates WHERE email_key = 'ada@example.org' ORDER BY number"),
        [hiring.organization_id.clone(), other.organization_id.clone()]
    );
    assert_eq!(app.sql("SELECT count(*) FROM signups WHERE candidate_role_id IS NOT NULL"), ["2"]);
}
