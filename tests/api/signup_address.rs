//! Signups under a known address. An address does not prove an identity, so the answer reveals nothing and existing
//! data does not change.

use crate::support::signup::{Form, signup_path, signup_path_of, status_path};
use crate::support::{Answer, App, Hiring};
use serde_json::json;

crate::tests![
    a_signup_for_another_role_is_added_to_the_candidate_without_renaming_them,
    a_later_signup_does_not_change_the_candidate_or_the_application,
    a_later_signup_does_not_take_over_an_imported_candidate,
    a_later_signup_does_not_change_an_ended_application,
    the_answer_is_the_same_for_known_and_unknown_addresses,
    the_api_answer_is_the_same_for_known_and_unknown_addresses,
    answers_for_known_and_unknown_addresses_take_at_least_25_ms,
    a_signup_under_the_address_of_an_erased_candidate_creates_a_candidate,
    the_placeholder_of_an_erased_address_matches_nobody,
];

/// Returns the rows that a later signup must not change.
fn state(app: &App) -> Vec<String> {
    let tables = [
        "candidates ORDER BY number",
        "candidate_words ORDER BY word, candidate_number",
        "candidate_roles ORDER BY id",
        "candidate_role_steps ORDER BY id",
        "organization_statuses ORDER BY organization_id",
        "activities WHERE action <> 'candidate_role.signed_up_again' ORDER BY number",
        "roles ORDER BY id",
        "hr_deliveries ORDER BY number",
    ];
    tables.iter().flat_map(|table| app.sql(&format!("SELECT * FROM {table}"))).collect()
}

/// Creates an organization with a second role.
fn with_two_roles(app: &App) -> Hiring {
    app.hiring_with(|document| {
        let role = json!({
            "id": "role_more", "name": "Welder", "status": "open", "public": true, "steps": [{ "name": "Call" }]
        });
        document["organizations"][0]["roles"].as_array_mut().unwrap().push(role);
    })
}

fn later_signups(app: &App) -> Vec<String> {
    app.sql(
        "SELECT s.name, s.role_id, p.candidate_role_id IS NULL FROM signups s
         JOIN status_pages p ON p.signup_id = s.id
         WHERE s.candidate_role_id IS NULL
         ORDER BY s.number",
    )
}

fn a_signup_for_another_role_is_added_to_the_candidate_without_renaming_them() {
    let app = App::start();
    let hiring = with_two_roles(&app);
    let first = status_path(&Form::for_role(&app, &hiring).send(&app));
    let form = Form::for_link(&app, &signup_path_of(&app, &hiring, "role_more"));
    let other = form.with("name", "A. Byron").with("email", "ADA@Example.ORG").with("phone", "1");
    assert_ne!(status_path(&other.send(&app)), first);
    assert_eq!(
        app.sql("SELECT name, email FROM candidates WHERE email_key = 'ada@example.org'"),
        ["Ada Lovelace|ada@example.org"]
    );
    assert_eq!(
        app.sql(
            "SELECT s.name, s.email, a.role_id FROM signups s JOIN candidate_roles a ON a.id = s.candidate_role_id"
        ),
        [format!("Ada Lovelace|ada@example.org|{}", hiring.role_id), "A. Byron|ADA@Example.ORG|role_more".to_owned()]
    );
    let actions = app.sql("SELECT action FROM activities ORDER BY number");
    assert_eq!(actions, ["candidate.added", "candidate_role.signed_up", "candidate_role.signed_up"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_later_signup_does_not_change_the_candidate_or_the_application() {
    let app = App::start();
    let hiring = app.hiring();
    let first = status_path(&Form::for_role(&app, &hiring).send(&app));
    let before = state(&app);
    for (number, email) in ["ada@example.org", " ADA@example.org", "Ada@EXAMPLE.org "].into_iter().enumerate() {
        app.pass(60);
        let form = Form::for_role(&app, &hiring).with("name", &format!("Mallory {number}")).with("email", email);
        assert_ne!(status_path(&form.send(&app)), first);
    }
    assert_eq!(state(&app), before);
    let role = &hiring.role_id;
    assert_eq!(later_signups(&app), [0, 1, 2].map(|number| format!("Mallory {number}|{role}|1")));
    // An activity row records each later signup for staff.
    let again =
        "SELECT role_id, candidate_role_id = (SELECT id FROM candidate_roles ORDER BY candidate_number DESC LIMIT 1), user_id
                 FROM activities WHERE action = 'candidate_role.signed_up_again'";
    assert_eq!(app.sql(again), vec![format!("{role}|1|null"); 3]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_later_signup_does_not_take_over_an_imported_candidate() {
    let app = App::start();
    let hiring = app.hiring();
    let before = state(&app);
    let form = Form::for_role(&app, &hiring).with("name", "Mallory").with("email", "candidate-1@people-1.example");
    status_path(&form.send(&app));
    assert_eq!(state(&app), before);
    assert_eq!(later_signups(&app), [format!("Mallory|{}|1", hiring.role_id)]);
}

fn a_later_signup_does_not_change_an_ended_application() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.post_empty(&hiring.reject(0)).expect(200);
    owner.post_empty(&hiring.hire(1)).expect(200);
    let withdraw = format!("/api/v1/candidate-roles/{}/withdraw", hiring.candidates[2].application_id);
    owner.post_empty(&withdraw).expect(200);
    let before = state(&app);
    for number in 1..=3 {
        let email = format!("candidate-{number}@people-1.example");
        status_path(&Form::for_role(&app, &hiring).with("email", &email).send(&app));
    }
    assert_eq!(state(&app), before);
    assert_eq!(later_signups(&app).len(), 3);
}

/// Returns an answer as text, without its request id and date and with `TOKEN` in place of its token.
fn shape(answer: &Answer, token: &str) -> String {
    let fields = answer.headers.iter().filter(|(name, _)| !["x-request-id", "date"].contains(&name.as_str()));
    let fields: Vec<String> = fields.map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(token.len(), 43);
    format!("{}\n{}\n\n{}", answer.status, fields.join("\n"), answer.text()).replace(token, "TOKEN")
}

fn the_answer_is_the_same_for_known_and_unknown_addresses() {
    let app = App::start();
    let hiring = with_two_roles(&app);
    let more = signup_path_of(&app, &hiring, "role_more");
    status_path(&Form::for_link(&app, &more).with("email", "elsewhere@example.org").send(&app));
    let mut shapes = Vec::new();
    for email in ["nobody@example.org", "candidate-1@people-1.example", "elsewhere@example.org", "nobody@example.org"] {
        let answer = Form::for_role(&app, &hiring).with("email", email).send(&app);
        let status = status_path(&answer);
        shapes.push(shape(&answer, status.strip_prefix("/status/").unwrap()));
    }
    assert!(shapes[0].contains("location: /status/TOKEN?new=1"), "{}", shapes[0]);
    assert!(shapes.iter().all(|shape| *shape == shapes[0]), "{shapes:#?}");
    assert_eq!(later_signups(&app).len(), 2);
    // The same holds for forms with errors and for repeated forms.
    let forms = ["free@example.org", "candidate-1@people-1.example"]
        .map(|email| Form::for_role(&app, &hiring).with("email", email));
    let pages = forms.each_ref().map(|form| {
        let text = form.with("phone", "\u{7}").send(&app).expect(400).text();
        text.replace(form.value("email"), "EMAIL").replace(form.value("form"), "FORM")
    });
    assert_eq!(pages[0], pages[1]);
    for form in forms {
        assert_eq!(status_path(&form.send(&app)), status_path(&form.send(&app)));
    }
}

fn the_api_answer_is_the_same_for_known_and_unknown_addresses() {
    let app = App::start();
    let hiring = app.hiring();
    let path = format!("/api/public{}", signup_path(&app, &hiring));
    let shapes = ["nobody@example.org", "candidate-1@people-1.example", "nobody@example.org"].map(|email| {
        let body = json!({ "name": "Ada", "email": email, "consent": true });
        let answer = app.anonymous().post(&path, &body).expect(200);
        let url = answer.json()["data"]["statusUrl"].as_str().unwrap().to_owned();
        shape(&answer, url.rsplit('/').next().unwrap())
    });
    assert_eq!((&shapes[1], &shapes[2]), (&shapes[0], &shapes[0]));
    assert_eq!(later_signups(&app).len(), 2);
}

fn answers_for_known_and_unknown_addresses_take_at_least_25_ms() {
    let app = App::start();
    let hiring = app.hiring();
    for email in ["nobody@example.org", "candidate-1@people-1.example"] {
        let form = Form::for_role(&app, &hiring).with("email", email);
        let started = std::time::Instant::now();
        status_path(&form.send(&app));
        assert!(started.elapsed() >= std::time::Duration::from_millis(25), "{email}: {:?}", started.elapsed());
        let body = json!({ "name": "Ada", "email": email, "consent": true });
        let started = std::time::Instant::now();
        app.anonymous().post(&format!("/api/public{}", signup_path(&app, &hiring)), &body).expect(200);
        assert!(started.elapsed() >= std::time::Duration::from_millis(25), "{email}: {:?}", started.elapsed());
    }
}

fn a_signup_under_the_address_of_an_erased_candidate_creates_a_candidate() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.delete(&hiring.candidate_path(0)).expect(200);
    let form = Form::for_role(&app, &hiring).with("email", "candidate-1@people-1.example");
    status_path(&form.send(&app));
    assert_eq!(later_signups(&app), Vec::<String>::new());
    assert_eq!(
        app.sql("SELECT name FROM candidates WHERE email_key = 'candidate-1@people-1.example'"),
        ["Ada Lovelace"]
    );
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_placeholder_of_an_erased_address_matches_nobody() {
    let app = App::start();
    let hiring = with_two_roles(&app);
    app.user_with_all(&hiring.staff("owner")).delete(&hiring.candidate_path(0)).expect(200);
    let placeholder = app.sql("SELECT email FROM candidates WHERE erased_at IS NOT NULL").remove(0);
    let before = state(&app);
    for role in [hiring.role_id.as_str(), "role_more"] {
        let answer = Form::for_link(&app, &signup_path_of(&app, &hiring, role)).with("email", &placeholder).send(&app);
        // The placeholder either is refused as an address or changes nothing.
        assert!([303, 400].contains(&answer.status), "{}", answer.text());
    }
    assert_eq!(state(&app), before);
}
