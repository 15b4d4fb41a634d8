//! Files of refused forms. A file stays staged if the page in the answer can claim it later. Otherwise, the service
//! deletes it at once.

use serde_json::json;

use crate::support::signup::{Form, fields_with_errors, input_value, signup_path, status_path};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_file_that_the_page_in_the_answer_cannot_claim_is_deleted_at_once,
    the_file_of_a_form_sent_too_early_or_too_late_stays_staged,
    the_file_of_a_form_for_a_closed_role_is_deleted_at_once,
    the_file_of_a_repeated_form_is_deleted_at_once,
    the_file_of_a_refused_api_request_is_deleted_at_once,
    staged_files_are_limited_in_number_and_total_size,
];

const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n";

/// Returns a file with more chunks than one write deletes.
fn large() -> Vec<u8> {
    let mut content = PDF.to_vec();
    content.resize(1_000_000, b' ');
    content
}

/// Returns the numbers of attachments and chunks.
fn counts(app: &App) -> String {
    app.sql("SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM document_pieces)").remove(0)
}

fn close(app: &App, hiring: &Hiring) {
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.post(&format!("{}/close", hiring.role()), &json!({ "reason": "found" })).expect(200);
}

fn a_file_that_the_page_in_the_answer_cannot_claim_is_deleted_at_once() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let form = Form::for_role(&app, &hiring).with_file("cv.pdf", &large());
    let moved = form.sent_to(&signup_path(&app, &other));
    for refused in [form.with("homepage", "x"), form.with("form", "x"), form.without("form"), moved] {
        for refused in [refused.clone(), refused.with("name", "")] {
            let text = refused.send(&app).expect(400).text();
            assert_eq!(input_value(&text, "cvToken"), None, "{text}");
            assert!(!text.contains("is already uploaded"), "{text}");
            assert_eq!(counts(&app), "0|0");
        }
    }
    // A file that an earlier form staged is not deleted.
    let text = form.with("name", "").send(&app).expect(400).text();
    let token = input_value(&text, "cvToken").unwrap();
    assert_eq!(counts(&app), "1|16");
    let text = form.with("cvToken", &token).with("homepage", "x").send(&app).expect(400).text();
    assert_eq!((input_value(&text, "cvToken"), counts(&app)), (Some(token), "1|16".to_owned()));
}

fn the_file_of_a_form_sent_too_early_or_too_late_stays_staged() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for (nth, age) in [0, 86_401].into_iter().enumerate() {
        let form = Form::fresh(&app, &path).with("email", &format!("{nth}@example.org"));
        app.pass(age);
        let text = form.with_file("cv.pdf", PDF).send(&app).expect(400).text();
        let token = input_value(&text, "cvToken").unwrap();
        app.pass(3);
        status_path(&form.with("form", &input_value(&text, "form").unwrap()).with("cvToken", &token).send(&app));
    }
    assert_eq!(app.sql("SELECT count(*) FROM documents WHERE signup_id IS NOT NULL"), ["2"]);
}

fn the_file_of_a_form_for_a_closed_role_is_deleted_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with_file("cv.pdf", &large());
    close(&app, &hiring);
    for form in [form.clone(), form.with("name", "")] {
        form.send(&app).expect(410);
        assert_eq!(counts(&app), "0|0");
    }
}

fn the_file_of_a_repeated_form_is_deleted_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with_file("cv.pdf", &large());
    let first = form.send(&app);
    let cookie = first.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(counts(&app), "1|16");
    // The same form is sent again, and then the same browser sends another form.
    assert_eq!(status_path(&form.send(&app)), status_path(&first));
    assert_eq!(counts(&app), "1|16");
    let again = Form::for_role(&app, &hiring).with_file("cv.pdf", &large());
    again.send_by(&app.anonymous().with_header("Cookie", &cookie)).expect(409);
    assert_eq!(counts(&app), "1|16");
}

fn the_file_of_a_refused_api_request_is_deleted_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let form = Form::for_role(&app, &hiring).with_file("cv.pdf", &large()).sent_to(&format!("/api/public{path}"));
    form.with("email", "nobody").send(&app).refused(400, "validation_error");
    assert_eq!(counts(&app), "0|0");
    form.send(&app).expect(200);
    assert_eq!(app.sql("SELECT signup_id IS NOT NULL FROM documents"), ["1"]);
    close(&app, &hiring);
    form.send(&app).refused(410, "gone");
    assert_eq!(counts(&app), "1|16");
}

fn staged_files_are_limited_in_number_and_total_size() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let now = appliance::world::World::now(app.world.as_ref()).micros();
    let waiting = |count: u64, bytes: u64| {
        app.change(&format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
             INSERT INTO documents (id, digest, file_name, media_type, bytes, created_at)
             SELECT 'doc_' || {bytes} || '_' || n, randomblob(32), 'cv.txt', 'text/plain', {bytes}, {now} FROM n"
        ));
    };
    let apply = |client: &Client, nth: usize| {
        let form = form.with("form", &input_value(&client.get(&form.path).text(), "form").unwrap());
        app.pass(3);
        form.with("email", &format!("{nth}@example.org")).with_file("cv.pdf", PDF).send_by(client)
    };
    let client = app.anonymous();
    waiting(9_999, 1);
    status_path(&apply(&client, 1));
    waiting(1, 2);
    apply(&client, 2).expect(503);
    app.change("DELETE FROM documents WHERE bytes < 3");
    // At first there is room for one more file of the maximum size, and then there is none.
    waiting(999, 10_485_760);
    status_path(&apply(&client, 3));
    waiting(1, 3);
    let text = apply(&client, 4).expect(503).text();
    assert_eq!(fields_with_errors(&text), ["cv"]);
    // Forms without a file are not affected.
    status_path(&Form::for_role(&app, &hiring).with("email", "5@example.org").send(&app));
}
