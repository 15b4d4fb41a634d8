//! Uploads that are refused for lack of disk space or because attachments would exceed their maximum total size. All
//! other requests continue to work.

use appliance::domain::disk::UploadLimits;
use serde_json::json;

use crate::support::app::Options;
use crate::support::signup::{Form, fields_with_errors, input_value, status_path, text_area_value};
use crate::support::{Answer, App};

crate::tests![
    only_files_are_refused_when_disk_space_is_low,
    the_minimum_free_space_is_configurable,
    staged_attachments_count_towards_the_total,
    a_refusal_shows_the_form_again_in_the_language_of_the_page,
    refused_api_requests_get_a_problem_document,
];

const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n";

/// The size of the disk. A twentieth of it is 800,000 bytes.
const DISK_BYTES: u64 = 16_000_000;

/// The smallest free disk space at which the service accepts the file that these tests upload.
const ENOUGH_BYTES: u64 = DISK_BYTES / 20 + PDF.len() as u64;

/// Asserts that a 503 answer shows the form again with its input. Returns the text of the page.
#[track_caller]
fn assert_form_shown_again(answer: &Answer) -> String {
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.header("retry-after"), Some("300"));
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let text = answer.text();
    assert_eq!(fields_with_errors(&text), ["cv"], "{text}");
    assert_eq!(
        (input_value(&text, "name").as_deref(), text_area_value(&text, "note")),
        (Some("Ada Lovelace"), "Engines".to_owned())
    );
    text
}

fn only_files_are_refused_when_disk_space_is_low() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("note", "Engines");
    app.set_disk(ENOUGH_BYTES - 1, DISK_BYTES);
    let text = assert_form_shown_again(&form.with_file("cv.pdf", PDF).send(&app));
    assert!(text.contains("Your file cannot be accepted right now."), "{text}");
    // The consent box is still ticked.
    assert!(text.contains("value=\"on\" required checked"), "{text}");
    assert_eq!(app.sql("SELECT (SELECT count(*) FROM documents) + (SELECT count(*) FROM signups)"), ["0"]);
    // The same form without its file succeeds, and so does a decision.
    status_path(&Form::from_page(&text, &form.path).send(&app));
    app.user(&hiring.staff("owner")).post_empty(&hiring.hire(0)).expect(200);
    app.set_disk(ENOUGH_BYTES, DISK_BYTES);
    status_path(&Form::for_role(&app, &hiring).with("email", "b@example.org").with_file("cv.pdf", PDF).send(&app));
    assert_eq!(app.sql("SELECT signup_id IS NOT NULL FROM documents"), ["1"]);
}

fn the_minimum_free_space_is_configurable() {
    for (min_free_bytes, enough) in [(1_000, 1_000 + PDF.len() as u64), (0, PDF.len() as u64)] {
        let uploads = UploadLimits { min_free_bytes: Some(min_free_bytes), ..UploadLimits::default() };
        let app = App::with(Options { uploads, ..Options::default() });
        let hiring = app.hiring();
        let form = Form::for_role(&app, &hiring).with("note", "Engines").with_file("cv.pdf", PDF);
        app.set_disk(enough - 1, DISK_BYTES);
        assert_form_shown_again(&form.send(&app));
        app.set_disk(enough, DISK_BYTES);
        status_path(&form.send(&app));
    }
}

fn staged_attachments_count_towards_the_total() {
    let bytes_max = 3 * PDF.len() as u64 - 1;
    let uploads = UploadLimits { attachments_bytes_max: Some(bytes_max), ..UploadLimits::default() };
    let app = App::with(Options { uploads, ..Options::default() });
    let hiring = app.hiring();
    let form = |email: &str| {
        let form = Form::for_role(&app, &hiring).with("note", "Engines").with("email", email);
        form.with_file("cv.pdf", PDF)
    };
    status_path(&form("a@example.org").send(&app));
    // This file is only staged, because the name in its form is missing.
    let text = form("b@example.org").with("name", "").send(&app).expect(400).text();
    assert!(input_value(&text, "cvToken").is_some(), "{text}");
    assert_form_shown_again(&form("c@example.org").send(&app));
    assert_eq!(app.sql("SELECT bytes FROM attachment_totals"), [(2 * PDF.len()).to_string()]);
    assert_eq!(app.check(), Vec::<String>::new());
    // A file that fills the total to the last byte is accepted.
    status_path(&form("c@example.org").with_file("cv.pdf", &PDF[..PDF.len() - 1]).send(&app));
    assert_form_shown_again(&form("d@example.org").send(&app));
    // Deleting an attachment frees its share of the total.
    app.change("DELETE FROM document_pieces WHERE document_number = 2; DELETE FROM documents WHERE number = 2");
    assert_eq!(app.sql("SELECT bytes FROM attachment_totals"), [(2 * PDF.len() - 1).to_string()]);
    status_path(&form("d@example.org").send(&app));
    // A wrong total is a finding of `check`.
    app.change("UPDATE attachment_totals SET bytes = 7");
    let counted = 3 * PDF.len() - 1;
    assert_eq!(app.check(), [format!("attachments have {counted} bytes, but the stored total is 7")]);
}

fn a_refusal_shows_the_form_again_in_the_language_of_the_page() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("note", "Engines").with_file("cv.pdf", PDF);
    app.set_disk(0, DISK_BYTES);
    for (tag, words) in [
        ("en", "Your file cannot be accepted right now."),
        ("de", "Ihre Datei kann gerade nicht angenommen werden."),
        ("es", "Ahora mismo no se puede recibir su archivo."),
        ("fr", "Votre fichier ne peut pas être reçu pour le moment."),
    ] {
        let text = assert_form_shown_again(&form.sent_to(&format!("{}?lang={tag}", form.path)).send(&app));
        assert!(text.contains(words), "{tag}: {text}");
    }
}

fn refused_api_requests_get_a_problem_document() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let path = format!("/api/public{}", form.path);
    app.set_disk(ENOUGH_BYTES - 1, DISK_BYTES);
    let answer = form.sent_to(&path).with_file("cv.pdf", PDF).send(&app).refused(503, "unavailable");
    assert_eq!(answer.header("retry-after"), Some("300"));
    assert!(answer.text().contains("send the application without a file"), "{}", answer.text());
    let body = json!({ "name": "Ada", "email": "ada@example.org", "consent": true });
    app.anonymous().post(&path, &body).expect(200);
}
