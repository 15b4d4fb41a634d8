//! The file of an application form: stored with the application, and staged while the form has errors.

use crate::support::App;
use crate::support::signup::{Form, fields_with_errors, input_value, status_path};

crate::tests![
    a_file_is_stored_with_the_application,
    the_file_of_a_form_with_errors_need_not_be_sent_again,
    a_new_file_replaces_the_staged_file,
    a_refused_file_is_reported_beside_its_field,
    a_form_with_a_file_that_is_too_large_gets_a_413_page_with_the_input,
    a_staged_file_expires_after_an_hour,
    a_staged_file_can_be_claimed_only_once,
    a_form_sent_twice_stores_its_file_once,
    a_hostile_file_name_is_inert,
    text_in_windows_1252_and_utf_16_is_accepted_and_returned_unchanged,
];

const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n";

/// Returns each attachment: its file name, its media type, and whether a signup has claimed it.
fn attachments(app: &App) -> Vec<String> {
    app.sql("SELECT file_name, media_type, signup_id IS NOT NULL FROM documents ORDER BY number")
}

fn a_file_is_stored_with_the_application() {
    let app = App::start();
    let hiring = app.hiring();
    status_path(&Form::for_role(&app, &hiring).with_file("Ada CV.pdf", PDF).send(&app));
    assert_eq!(attachments(&app), ["Ada CV.pdf|application/pdf|1"]);
    assert_eq!(app.sql("SELECT d.signup_id = s.id FROM documents d, signups s"), ["1"]);
    // Browsers send an empty file when no file was chosen.
    status_path(&Form::for_role(&app, &hiring).with("email", "b@example.org").with_file("", b"").send(&app));
    assert_eq!(attachments(&app).len(), 1);
    // A later signup stores its file as well.
    status_path(&Form::for_role(&app, &hiring).with_file("Other.txt", b"Hello").send(&app));
    assert_eq!(attachments(&app)[1], "Other.txt|text/plain; charset=utf-8|1");
}

fn the_file_of_a_form_with_errors_need_not_be_sent_again() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("name", "").with_file("Ada CV.pdf", PDF);
    let text = form.send(&app).expect(400).text();
    assert_eq!(fields_with_errors(&text), ["name"]);
    assert!(text.contains("Ada CV.pdf is already uploaded."), "{text}");
    assert!(text.contains("aria-describedby=\"cv-hint cv-uploaded\""), "{text}");
    assert_eq!(attachments(&app), ["Ada CV.pdf|application/pdf|0"]);
    let token = input_value(&text, "cvToken").unwrap();
    assert_eq!(token.len(), 26);
    assert!(!app.sql("SELECT hex(digest) FROM documents")[0].to_lowercase().contains(&token));
    // The file remains staged when the form has another error.
    let again = Form::from_page(&text, &form.path).with("cvToken", &token).with("phone", "\u{7}");
    let text = again.send(&app).expect(400).text();
    assert_eq!(input_value(&text, "cvToken"), Some(token.clone()));
    status_path(&again.with("phone", "").send(&app));
    assert_eq!(attachments(&app), ["Ada CV.pdf|application/pdf|1"]);
}

fn a_new_file_replaces_the_staged_file() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("name", "").with_file("first.pdf", PDF);
    let token = input_value(&form.send(&app).expect(400).text(), "cvToken").unwrap();
    let form = form.with("name", "Ada").with("cvToken", &token).with_file("second.txt", b"Hello");
    status_path(&form.send(&app));
    assert_eq!(attachments(&app), ["first.pdf|application/pdf|0", "second.txt|text/plain; charset=utf-8|1"]);
}

fn a_refused_file_is_reported_beside_its_field() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    for (name, content, words) in [
        ("cv.pdf", &b"MZ\x90\0\x03\0"[..], "not a PDF, DOCX, ODT or plain text file"),
        ("cv.docx", b"PK\x03\x04\0\0\0\0\0\0", "not a PDF, DOCX, ODT or plain text file"),
        ("cv.txt", b"a\0b", "not a PDF, DOCX, ODT or plain text file"),
        ("cv.pdf", b"", "The file is empty."),
    ] {
        let text = form.with_file(name, content).send(&app).expect(400).text();
        assert_eq!(fields_with_errors(&text), ["cv"], "{name}");
        assert!(text.contains(words), "{name}: {text}");
        assert_eq!(input_value(&text, "name").as_deref(), Some("Ada Lovelace"));
        assert_eq!(input_value(&text, "cvToken"), None);
    }
    assert_eq!(attachments(&app), Vec::<String>::new());
    // All errors are reported together, in the order of the form.
    let text = form.with("name", "").without("consent").with_file("a", b"\0").send(&app).expect(400).text();
    assert_eq!(fields_with_errors(&text), ["name", "cv", "consent"]);
    // A staged file remains staged when the file that should replace it is refused.
    let text = form.with("name", "").with_file("good.pdf", PDF).send(&app).expect(400).text();
    let token = input_value(&text, "cvToken").unwrap();
    let text = form.with("cvToken", &token).with_file("bad.pdf", b"\0").send(&app).expect(400).text();
    assert_eq!((fields_with_errors(&text), input_value(&text, "cvToken")), (vec!["cv".to_owned()], Some(token)));
    assert!(text.contains("good.pdf is already uploaded."), "{text}");
}

fn a_form_with_a_file_that_is_too_large_gets_a_413_page_with_the_input() {
    let app = App::start();
    let hiring = app.hiring();
    let mut content = PDF.to_vec();
    content.resize(10 * 1_024 * 1_024 + 1, b' ');
    let form = Form::for_role(&app, &hiring).without("consent").with("note", "Hello");
    let text = form.with_file("large.pdf", &content).send(&app).expect(413).text();
    // The service did not read the fields after the file, so it reports no errors in them.
    assert_eq!(fields_with_errors(&text), ["cv"]);
    assert!(text.contains("The file is larger than 10 MB."), "{text}");
    assert!(text.contains(">\nHello</textarea>") && input_value(&text, "email").is_some(), "{text}");
    // Errors in the fields before the file are reported.
    let text = form.with("name", "").with_file("large.pdf", &content).send(&app).expect(413).text();
    assert_eq!(fields_with_errors(&text), ["name", "cv"]);
    assert_eq!(attachments(&app), Vec::<String>::new());
    content.truncate(10 * 1_024 * 1_024);
    status_path(&form.with("consent", "on").with_file("large.pdf", &content).send(&app));
    assert_eq!(app.sql("SELECT bytes FROM documents"), ["10485760"]);
}

fn a_staged_file_expires_after_an_hour() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("name", "").with_file("cv.pdf", PDF);
    let token = input_value(&form.send(&app).expect(400).text(), "cvToken").unwrap();
    app.pass(3_600);
    for token in [token.as_str(), "00000000000000000000000000"] {
        let text = form.without_file().with("name", "Ada").with("cvToken", token).send(&app).expect(400).text();
        assert_eq!(fields_with_errors(&text), ["cv"], "{token}");
        assert!(text.contains("The uploaded file has expired"), "{text}");
        assert_eq!(input_value(&text, "cvToken"), None);
        assert_eq!(input_value(&text, "form").as_deref(), Some(form.value("form")));
    }
    // A token with an invalid format is ignored.
    status_path(&form.without_file().with("name", "Ada").with("cvToken", "\"><script>").send(&app));
}

fn a_staged_file_can_be_claimed_only_once() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("name", "").with_file("cv.pdf", PDF);
    let token = input_value(&form.send(&app).expect(400).text(), "cvToken").unwrap();
    let form = form.without_file().with("name", "Ada").with("cvToken", &token);
    status_path(&form.send(&app));
    let other = Form::for_role(&app, &hiring).with("email", "b@example.org").with("cvToken", &token);
    assert_eq!(fields_with_errors(&other.send(&app).expect(400).text()), ["cv"]);
    assert_eq!(attachments(&app), ["cv.pdf|application/pdf|1"]);
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["1"]);
}

fn a_form_sent_twice_stores_its_file_once() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with_file("cv.pdf", PDF);
    assert_eq!(status_path(&form.send(&app)), status_path(&form.send(&app)));
    assert_eq!(app.sql("SELECT count(*) FROM documents WHERE signup_id IS NOT NULL"), ["1"]);
}

fn a_hostile_file_name_is_inert() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("name", "");
    let text = form.with_file("<script>alert(1)</script>&'.pdf", PDF).send(&app).expect(400).text();
    assert!(!text.contains("<script") && text.contains("is already uploaded."), "{text}");
}

fn text_in_windows_1252_and_utf_16_is_accepted_and_returned_unchanged() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let text = "Zoë – “Köchin”, 5 €\r\n";
    let windows = b"Zo\xeb \x96 \x93K\xf6chin\x94, 5 \x80\r\n".to_vec();
    let units = || [0xfeff].into_iter().chain(text.encode_utf16());
    for (nth, (content, charset)) in [
        (windows, "windows-1252"),
        (units().flat_map(u16::to_le_bytes).collect(), "utf-16"),
        (units().flat_map(u16::to_be_bytes).collect(), "utf-16"),
    ]
    .into_iter()
    .enumerate()
    {
        let form =
            Form::for_role(&app, &hiring).with("email", &format!("{nth}@example.org")).with_file("cv.txt", &content);
        status_path(&form.send(&app));
        let sql = "SELECT d.id, c.id FROM documents d JOIN signups s ON s.id = d.signup_id
                   JOIN candidate_roles a ON a.id = s.candidate_role_id JOIN candidates c ON c.id = a.candidate_id
                   ORDER BY d.number DESC LIMIT 1";
        let row = app.sql(sql).remove(0);
        let (document, candidate) = row.split_once('|').unwrap();
        let answer = owner.get(&format!("/api/v1/candidates/{candidate}/documents/{document}")).expect(200);
        let content_type = format!("text/plain; charset={charset}");
        assert_eq!((answer.header("content-type"), &answer.body), (Some(content_type.as_str()), &content));
    }
}
