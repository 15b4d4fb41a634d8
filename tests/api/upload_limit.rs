//! When a file is not taken: little space on the disk, or a total that is reached. Everything else goes on.

use appliance::domain::disk::UploadLimits;
use serde_json::json;

use crate::support::app::Options;
use crate::support::signup::{Form, area, faults, status_path, value};
use crate::support::{Answer, App};

crate::tests![
    below_the_free_space_only_files_are_refused,
    the_free_space_can_be_set_and_switched_off,
    attachments_have_a_total_that_staged_ones_count_for,
    a_refusal_shows_the_form_again_in_the_language_of_the_page,
    programs_get_a_problem_document,
];

const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n";

/// A twentieth of it is 800,000 bytes.
const DISK_BYTES: u64 = 16_000_000;

/// The least free space with which the file of these tests is taken.
const ENOUGH_BYTES: u64 = DISK_BYTES / 20 + PDF.len() as u64;

/// A 503 that shows the form again: its text.
#[track_caller]
fn shown_again(answer: &Answer) -> String {
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.header("retry-after"), Some("300"));
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let text = answer.text();
    assert_eq!(faults(&text), ["cv"], "{text}");
    assert_eq!((value(&text, "name").as_deref(), area(&text, "note")), (Some("Ada Lovelace"), "Engines".to_owned()));
    text
}

fn below_the_free_space_only_files_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring).with("note", "Engines");
    app.set_disk(ENOUGH_BYTES - 1, DISK_BYTES);
    let text = shown_again(&form.with_file("cv.pdf", PDF).send(&app));
    assert!(text.contains("Your file cannot be taken right now."), "{text}");
    // What stands behind the file was read.
    assert!(text.contains("value=\"on\" required checked"), "{text}");
    assert_eq!(app.sql("SELECT (SELECT count(*) FROM documents) + (SELECT count(*) FROM signups)"), ["0"]);
    // The same form without its file, and an act of staff.
    status_path(&Form::on(&text, &form.path).send(&app));
    app.user(&hiring.staff("owner")).post_empty(&hiring.hire(0)).expect(200);
    app.set_disk(ENOUGH_BYTES, DISK_BYTES);
    status_path(&Form::of(&app, &hiring).with("email", "b@example.org").with_file("cv.pdf", PDF).send(&app));
    assert_eq!(app.sql("SELECT signup_id IS NOT NULL FROM documents"), ["1"]);
}

fn the_free_space_can_be_set_and_switched_off() {
    for (min_free_bytes, enough) in [(1_000, 1_000 + PDF.len() as u64), (0, PDF.len() as u64)] {
        let uploads = UploadLimits { min_free_bytes: Some(min_free_bytes), ..UploadLimits::default() };
        let app = App::with(Options { uploads, ..Options::default() });
        let hiring = app.hiring();
        let form = Form::of(&app, &hiring).with("note", "Engines").with_file("cv.pdf", PDF);
        app.set_disk(enough - 1, DISK_BYTES);
        shown_again(&form.send(&app));
        app.set_disk(enough, DISK_BYTES);
        status_path(&form.send(&app));
    }
}

fn attachments_have_a_total_that_staged_ones_count_for() {
    let bytes_max = 3 * PDF.len() as u64 - 1;
    let uploads = UploadLimits { attachments_bytes_max: Some(bytes_max), ..UploadLimits::default() };
    let app = App::with(Options { uploads, ..Options::default() });
    let hiring = app.hiring();
    let form = |email: &str| {
        let form = Form::of(&app, &hiring).with("note", "Engines").with("email", email);
        form.with_file("cv.pdf", PDF)
    };
    status_path(&form("a@example.org").send(&app));
    // One that is only staged, because something else is wrong with its form.
    let text = form("b@example.org").with("name", "").send(&app).expect(400).text();
    assert!(value(&text, "cvToken").is_some(), "{text}");
    shown_again(&form("c@example.org").send(&app));
    assert_eq!(app.sql("SELECT bytes FROM attachment_totals"), [(2 * PDF.len()).to_string()]);
    assert_eq!(app.check(), Vec::<String>::new());
    // Up to the last byte.
    status_path(&form("c@example.org").with_file("cv.pdf", &PDF[..PDF.len() - 1]).send(&app));
    shown_again(&form("d@example.org").send(&app));
    // What is taken away makes room.
    app.change("DELETE FROM document_pieces WHERE document_number = 2; DELETE FROM documents WHERE number = 2");
    assert_eq!(app.sql("SELECT bytes FROM attachment_totals"), [(2 * PDF.len() - 1).to_string()]);
    status_path(&form("d@example.org").send(&app));
    // A sum that is wrong is a finding.
    app.change("UPDATE attachment_totals SET bytes = 7");
    let counted = 3 * PDF.len() - 1;
    assert_eq!(app.check(), [format!("attachments have {counted} bytes, their sum says 7")]);
}

fn a_refusal_shows_the_form_again_in_the_language_of_the_page() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring).with("note", "Engines").with_file("cv.pdf", PDF);
    app.set_disk(0, DISK_BYTES);
    for (tag, words) in [
        ("en", "Your file cannot be taken right now."),
        ("de", "Ihre Datei kann gerade nicht angenommen werden."),
        ("es", "Ahora mismo no se puede recibir su archivo."),
        ("fr", "Votre fichier ne peut pas être reçu pour le moment."),
    ] {
        let text = shown_again(&form.to(&format!("{}?lang={tag}", form.path)).send(&app));
        assert!(text.contains(words), "{tag}: {text}");
    }
}

fn programs_get_a_problem_document() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring);
    let path = format!("/api/public{}", form.path);
    app.set_disk(ENOUGH_BYTES - 1, DISK_BYTES);
    let answer = form.to(&path).with_file("cv.pdf", PDF).send(&app).refused(503, "unavailable");
    assert_eq!(answer.header("retry-after"), Some("300"));
    assert!(answer.text().contains("send the application without one"), "{}", answer.text());
    let body = json!({ "name": "Ada", "email": "ada@example.org", "consent": true });
    app.anonymous().post(&path, &body).expect(200);
}
