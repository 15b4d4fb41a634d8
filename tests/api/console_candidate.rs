//! `/app/{orgSlug}/candidates`: the list and the search, and the page of a candidate.

use serde_json::json;

use crate::support::console::app_path;
use crate::support::stored_signup::insert_signup;
use crate::support::{Answer, App, Client, Hiring, crowd};

crate::tests![
    the_page_shows_every_application_with_steps_forms_and_attachments,
    a_later_signup_is_marked_as_possibly_from_somebody_else,
    the_page_of_an_erased_candidate_shows_only_the_activity,
    the_activity_is_paged,
    the_activity_of_the_organization_names_candidates_and_roles,
    the_list_is_searched_and_paged,
    an_empty_list_shows_what_to_do,
    invalid_parameters_are_refused,
    the_page_is_in_the_users_language,
    hostile_text_of_candidates_is_shown_as_text,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let recruiter = app.browser(&hiring, "hr_representative");
    (app, hiring, recruiter)
}

fn page_path(hiring: &Hiring, candidate: usize) -> String {
    app_path(hiring, &format!("candidates/{}", hiring.candidates[candidate].candidate_id))
}

#[track_caller]
fn assert_has(answer: &Answer, texts: &[&str]) {
    for text in texts {
        assert!(answer.text().contains(text), "{text} is not in:\n{}", answer.text());
    }
}

/// Adds a signup with an attachment to the first candidate's application.
fn sign_up(app: &App, hiring: &Hiring) {
    insert_signup(app, hiring, Some(&hiring.candidates[0].application_id), "candidate-1@people-1.example", "first");
}

fn the_page_shows_every_application_with_steps_forms_and_attachments() {
    let (app, hiring, recruiter) = start();
    sign_up(&app, &hiring);
    let page = recruiter.get(&page_path(&hiring, 0)).expect(200);
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let answers =
        ["First line\nSecond line", "+44 20 7946", "href=\"https://ada.example\"", "My CV.pdf", "PDF, 1\u{a0}kB"];
    let steps = ["Application</b>", "Call</b>", "here now", "passed", "In progress", "Engineer</a>"];
    let forms = ["Advance to Interview", "Reject at Call", "Skills do not match", "value=\"cstep_1_1_4\"", "Hire…"];
    let seen = format!("name=\"seen\" value=\"{}\"", hiring.candidates[0].steps[1]);
    let links = [format!("/app/{}/documents/doc_first", hiring.slug), "mailto:candidate-1@people-1.example".to_owned()];
    for texts in [&answers[..], &steps, &forms, &[&seen], &[&links[0], &links[1]]] {
        assert_has(&page, texts);
    }
    // Only the first panel has shortcut keys. Each key occurs once on the page, except 1 to 3: the forms for later
    // marks and for rejections share these keys, because only one of these forms is open at a time.
    for key in ["e", "r", "h", "H", "E", "4", "9", "g c"] {
        assert_eq!(page.text().matches(&format!("data-key=\"{key}\"")).count(), 1, "{key}");
    }
}

fn a_later_signup_is_marked_as_possibly_from_somebody_else() {
    let (app, hiring, recruiter) = start();
    sign_up(&app, &hiring);
    insert_signup(&app, &hiring, None, "candidate-1@people-1.example", "later");
    let page = recruiter.get(&page_path(&hiring, 0)).expect(200);
    assert_has(&page, &["1 later form under this address", "That might be a different person.", "doc_later"]);
}

fn the_page_of_an_erased_candidate_shows_only_the_activity() {
    let (app, hiring, recruiter) = start();
    sign_up(&app, &hiring);
    recruiter.get(&page_path(&hiring, 0)).expect(200);
    app.user_with_all(&hiring.staff("owner")).delete(&hiring.candidate_path(0)).expect(200);
    let page = recruiter.get(&page_path(&hiring, 0)).expect(200);
    assert_has(&page, &["was erased", "Personal data erased"]);
    for gone in ["candidate-1@", "First line", "My CV.pdf", "/advance\"", "Candidate 1"] {
        assert!(!page.text().contains(gone), "{gone}");
    }
    let form = app_path(&hiring, &format!("applications/{}/advance", hiring.candidates[0].application_id));
    recruiter.submit(&form, &[("step", &hiring.candidates[0].steps[1])]).expect(409);
}

fn the_activity_is_paged() {
    let (_app, hiring, recruiter) = start();
    let form = app_path(&hiring, &format!("applications/{}/move", hiring.candidates[0].application_id));
    for nth in 0..52 {
        let step = &hiring.candidates[0].steps[if nth % 2 == 0 { 2 } else { 1 }];
        recruiter.submit(&form, &[("step", step), ("reason", &format!("reason {nth}."))]).expect(303);
    }
    let page = recruiter.get(&page_path(&hiring, 0)).expect(200).text();
    assert!(page.contains("reason 51.") && page.contains("reason 2.") && !page.contains("reason 1."), "{page}");
    let older = page.split("?before=").nth(1).unwrap().split('#').next().unwrap();
    let older = recruiter.get(&format!("{}?before={older}", page_path(&hiring, 0))).expect(200).text();
    assert!(older.contains("reason 1.") && older.contains("reason 0.") && !older.contains("reason 2."), "{older}");
    assert!(!older.contains("?before="));
}

fn the_activity_of_the_organization_names_candidates_and_roles() {
    let (_app, hiring, recruiter) = start();
    let path = app_path(&hiring, "activity");
    assert_has(&recruiter.get(&path).expect(200), &["Nothing has happened yet."]);
    let form = app_path(&hiring, &format!("applications/{}/move", hiring.candidates[0].application_id));
    for nth in 0..51 {
        let step = &hiring.candidates[0].steps[if nth % 2 == 0 { 2 } else { 1 }];
        recruiter.submit(&form, &[("step", step), ("reason", &format!("reason {nth}."))]).expect(303);
    }
    let page = recruiter.get(&path).expect(200);
    let candidate = format!("<a href=\"{}\"><bdi>Candidate 1</bdi></a> · <bdi>Engineer</bdi>", page_path(&hiring, 0));
    assert_has(&page, &["Moved to Interview", &candidate, "reason 50.", "The hr_representative</bdi> in the browser"]);
    let older = page.text().split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let older = recruiter.get(&older).expect(200).text();
    assert!(older.contains("reason 0.") && !older.contains("reason 1."), "{older}");
    for before in ["!", "act_none"] {
        recruiter.get(&format!("{path}?before={before}")).expect(400);
    }
}

fn the_list_is_searched_and_paged() {
    let (app, hiring, recruiter) = start();
    let list = app_path(&hiring, "candidates");
    let page = recruiter.get(&list).expect(200);
    let rows = ["Candidate 1</bdi>", "Candidate 3</bdi>", "candidate-1@people", "Engineer</bdi>", "at Call"];
    assert_has(&page, &rows);
    assert!(!page.text().contains("rel=\"next\""));
    let found = recruiter.get(&format!("{list}?q=people+candidate-2%40")).expect(200);
    assert!(found.text().contains("Candidate 2") && !found.text().contains("Candidate 1"));
    assert_has(
        &recruiter.get(&format!("{list}?q=%3Cb%3Enobody")).expect(200),
        &["Nobody matches “&#60;b&#62;nobody”."],
    );
    let words = recruiter.get(&format!("{list}?q=a+b+c+d+e+f+g+h+i")).expect(200);
    assert_has(&words, &["Search for at most 8 words."]);
    crowd::add(&app, &hiring, 120);
    let mut path = format!("{list}?q=");
    let mut sizes = Vec::new();
    loop {
        let text = recruiter.get(&path).expect(200).text();
        sizes.push(text.matches("<tr><td>").count());
        let Some(next) = text.split("rel=\"next\" href=\"").nth(1) else { break };
        path = next.split('"').next().unwrap().replace("&#38;", "&");
    }
    assert_eq!(sizes, [50, 50, 23]);
}

fn an_empty_list_shows_what_to_do() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["roles"][0]["candidates"] = json!([]));
    let recruiter = app.browser(&hiring, "owner");
    let page = recruiter.get(&app_path(&hiring, "candidates")).expect(200);
    assert_has(&page, &["No candidates yet", &format!("href=\"/careers/{}\"", hiring.slug)]);
}

fn invalid_parameters_are_refused() {
    let (_app, hiring, recruiter) = start();
    let (list, page) = (app_path(&hiring, "candidates"), page_path(&hiring, 0));
    for path in [
        format!("{list}?q=a&q=b"),
        format!("{list}?cursor=%21"),
        format!("{list}?cursor=Y2FuZF9ub25l"),
        format!("{list}?limit=many"),
        format!("{page}?done=a&done=b"),
        format!("{page}?before=!"),
        format!("{page}?before=act_none"),
    ] {
        recruiter.get(&path).expect(400);
    }
    for id in ["cand_none", "%00", "a%2Fb"] {
        recruiter.get(&app_path(&hiring, &format!("candidates/{id}"))).expect(404);
    }
    // A link cannot make the page show a message about a decision that was not made.
    let page = recruiter.get(&format!("{page}?done={}", hiring.candidates[1].application_id)).expect(200);
    assert!(!page.text().contains("notice good"));
}

fn the_page_is_in_the_users_language() {
    let (_app, hiring, recruiter) = start();
    for (language, texts) in [
        ("de", ["Weiter zu Interview", "Im Schritt Call ablehnen", "Verlauf"]),
        ("fr", ["Passer à Interview", "Refuser à l’étape Call", "Activité"]),
        ("es", ["Pasar a Interview", "Rechazar en Call", "Actividad"]),
    ] {
        recruiter.submit("/app/me/preferences", &[("language", language)]).expect(303);
        let page = recruiter.get(&page_path(&hiring, 0)).expect(200);
        assert_has(&page, &[&format!("<html lang=\"{language}\"")]);
        assert_has(&page, &texts);
    }
}

fn hostile_text_of_candidates_is_shown_as_text() {
    const SCRIPT: &str = "<script>alert(1)</script>\"'&";
    let (app, hiring, recruiter) = start();
    sign_up(&app, &hiring);
    let quoted = |text: &str| text.replace('\'', "''");
    let (sql, links) = (quoted(SCRIPT), quoted(&json!([format!("https://a.example/{SCRIPT}")]).to_string()));
    app.change(&format!(
        "UPDATE signups SET name = '{sql}', phone = '{sql}', note = '{sql}', links = '{links}';
         UPDATE documents SET file_name = '{sql}';
         UPDATE candidates SET name = '{sql}' WHERE id = '{}'",
        hiring.candidates[0].candidate_id
    ));
    let pages = [
        page_path(&hiring, 0),
        app_path(&hiring, "candidates"),
        app_path(&hiring, "candidates?q=%3Cscript%3E"),
        app_path(&hiring, "documents/doc_first"),
    ];
    for path in pages {
        let text = recruiter.get(&path).expect(200).text();
        assert!(!text.contains("<script>") && text.contains("&#60;script&#62;"), "{path}: {text}");
    }
}
