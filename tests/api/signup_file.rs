//! A CV that comes with the form behind a signup link: kept with the application, and with a form that is wrong.

use crate::support::App;
use crate::support::signup::{Form, faults, status_path, value};

crate::tests![
    a_file_is_kept_with_the_application,
    a_file_that_came_with_faults_need_not_be_sent_again,
    another_file_takes_its_place,
    a_file_that_is_not_taken_is_told_beside_its_field,
    a_file_that_is_too_large_is_a_413_page_with_everything_typed,
    a_file_that_was_kept_for_an_hour_is_gone,
    a_file_is_applied_with_once,
    a_file_of_a_form_that_is_sent_twice_is_there_once,
    a_hostile_name_is_inert,
    text_of_windows_programs_is_taken_and_handed_out_in_its_charset,
];

const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n";

/// The documents: what they are called, and whether somebody has applied with them.
fn documents(app: &App) -> Vec<String> {
    app.sql("SELECT file_name, media_type, signup_id IS NOT NULL FROM documents ORDER BY number")
}

fn a_file_is_kept_with_the_application() {
    let app = App::start();
    let hiring = app.hiring();
    status_path(&Form::of(&app, &hiring).with_file("Ada CV.pdf", PDF).send(&app));
    assert_eq!(documents(&app), ["Ada CV.pdf|application/pdf|1"]);
    assert_eq!(app.sql("SELECT d.signup_id = s.id FROM documents d, signups s"), ["1"]);
    // Whoever chose none has sent an empty one.
    status_path(&Form::of(&app, &hiring).with("email", "b@example.org").with_file("", b"").send(&app));
    assert_eq!(documents(&app).len(), 1);
    // So it is with one that changes nothing else.
    status_path(&Form::of(&app, &hiring).with_file("Other.txt", b"Hello").send(&app));
    assert_eq!(documents(&app)[1], "Other.txt|text/plain; charset=utf-8|1");
}

fn a_file_that_came_with_faults_need_not_be_sent_again() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring).with("name", "").with_file("Ada CV.pdf", PDF);
    let text = form.send(&app).expect(400).text();
    assert_eq!(faults(&text), ["name"]);
    assert!(text.contains("Ada CV.pdf is here already."), "{text}");
    assert!(text.contains("aria-describedby=\"cv-hint cv-kept\""), "{text}");
    assert_eq!(documents(&app), ["Ada CV.pdf|application/pdf|0"]);
    let token = value(&text, "cvToken").unwrap();
    assert_eq!(token.len(), 26);
    assert!(!app.sql("SELECT hex(digest) FROM documents")[0].to_lowercase().contains(&token));
    // Through any number of faults.
    let again = Form::on(&text, &form.path).with("cvToken", &token).with("phone", "\u{7}");
    let text = again.send(&app).expect(400).text();
    assert_eq!(value(&text, "cvToken"), Some(token.clone()));
    status_path(&again.with("phone", "").send(&app));
    assert_eq!(documents(&app), ["Ada CV.pdf|application/pdf|1"]);
}

fn another_file_takes_its_place() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring).with("name", "").with_file("first.pdf", PDF);
    let token = value(&form.send(&app).expect(400).text(), "cvToken").unwrap();
    let form = form.with("name", "Ada").with("cvToken", &token).with_file("second.txt", b"Hello");
    status_path(&form.send(&app));
    assert_eq!(documents(&app), ["first.pdf|application/pdf|0", "second.txt|text/plain; charset=utf-8|1"]);
}

fn a_file_that_is_not_taken_is_told_beside_its_field() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring);
    for (name, content, words) in [
        ("cv.pdf", &b"MZ\x90\0\x03\0"[..], "none of PDF, DOCX, ODT or plain text"),
        ("cv.docx", b"PK\x03\x04\0\0\0\0\0\0", "none of PDF, DOCX, ODT or plain text"),
        ("cv.txt", b"a\0b", "none of PDF, DOCX, ODT or plain text"),
        ("cv.pdf", b"", "The file is empty."),
    ] {
        let text = form.with_file(name, content).send(&app).expect(400).text();
        assert_eq!(faults(&text), ["cv"], "{name}");
        assert!(text.contains(words), "{name}: {text}");
        assert_eq!(value(&text, "name").as_deref(), Some("Ada Lovelace"));
        assert_eq!(value(&text, "cvToken"), None);
    }
    assert_eq!(documents(&app), Vec::<String>::new());
    // All faults at once, in the order of the form.
    let text = form.with("name", "").without("consent").with_file("a", b"\0").send(&app).expect(400).text();
    assert_eq!(faults(&text), ["name", "cv", "consent"]);
    // One that came before stays, where another is not taken.
    let text = form.with("name", "").with_file("good.pdf", PDF).send(&app).expect(400).text();
    let token = value(&text, "cvToken").unwrap();
    let text = form.with("cvToken", &token).with_file("bad.pdf", b"\0").send(&app).expect(400).text();
    assert_eq!((faults(&text), value(&text, "cvToken")), (vec!["cv".to_owned()], Some(token)));
    assert!(text.contains("good.pdf is here already."), "{text}");
}

fn a_file_that_is_too_large_is_a_413_page_with_everything_typed() {
    let app = App::start();
    let hiring = app.hiring();
    let mut content = PDF.to_vec();
    content.resize(10 * 1_024 * 1_024 + 1, b' ');
    let form = Form::of(&app, &hiring).without("consent").with("note", "Hello");
    let text = form.with_file("large.pdf", &content).send(&app).expect(413).text();
    // What stands behind the file was not read, and is nobody's fault.
    assert_eq!(faults(&text), ["cv"]);
    assert!(text.contains("The file is larger than 10 MB."), "{text}");
    assert!(text.contains(">\nHello</textarea>") && value(&text, "email").is_some(), "{text}");
    // What stands before it is.
    let text = form.with("name", "").with_file("large.pdf", &content).send(&app).expect(413).text();
    assert_eq!(faults(&text), ["name", "cv"]);
    assert_eq!(documents(&app), Vec::<String>::new());
    content.truncate(10 * 1_024 * 1_024);
    status_path(&form.with("consent", "on").with_file("large.pdf", &content).send(&app));
    assert_eq!(app.sql("SELECT bytes FROM documents"), ["10485760"]);
}

fn a_file_that_was_kept_for_an_hour_is_gone() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring).with("name", "").with_file("cv.pdf", PDF);
    let token = value(&form.send(&app).expect(400).text(), "cvToken").unwrap();
    app.pass(3_600);
    for token in [token.as_str(), "00000000000000000000000000"] {
        let text = form.without_file().with("name", "Ada").with("cvToken", token).send(&app).expect(400).text();
        assert_eq!(faults(&text), ["cv"], "{token}");
        assert!(text.contains("The file is not here any more"), "{text}");
        assert_eq!(value(&text, "cvToken"), None);
        assert_eq!(value(&text, "form").as_deref(), Some(form.value("form")));
    }
    // What none can be is none.
    status_path(&form.without_file().with("name", "Ada").with("cvToken", "\"><script>").send(&app));
}

fn a_file_is_applied_with_once() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring).with("name", "").with_file("cv.pdf", PDF);
    let token = value(&form.send(&app).expect(400).text(), "cvToken").unwrap();
    let form = form.without_file().with("name", "Ada").with("cvToken", &token);
    status_path(&form.send(&app));
    let other = Form::of(&app, &hiring).with("email", "b@example.org").with("cvToken", &token);
    assert_eq!(faults(&other.send(&app).expect(400).text()), ["cv"]);
    assert_eq!(documents(&app), ["cv.pdf|application/pdf|1"]);
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["1"]);
}

fn a_file_of_a_form_that_is_sent_twice_is_there_once() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring).with_file("cv.pdf", PDF);
    assert_eq!(status_path(&form.send(&app)), status_path(&form.send(&app)));
    assert_eq!(app.sql("SELECT count(*) FROM documents WHERE signup_id IS NOT NULL"), ["1"]);
}

fn a_hostile_name_is_inert() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::of(&app, &hiring).with("name", "");
    let text = form.with_file("<script>alert(1)</script>&'.pdf", PDF).send(&app).expect(400).text();
    assert!(!text.contains("<script") && text.contains("is here already."), "{text}");
}

fn text_of_windows_programs_is_taken_and_handed_out_in_its_charset() {
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
        let form = Form::of(&app, &hiring).with("email", &format!("{nth}@example.org")).with_file("cv.txt", &content);
        status_path(&form.send(&app));
        let sql = "SELECT d.id, c.id FROM documents d JOIN signups s ON s.id = d.signup_id
                   JOIN candidate_roles a ON a.id = s.candidate_role_id JOIN candidates c ON c.id = a.candidate_id
                   ORDER BY d.number DESC LIMIT 1";
        let row = app.sql(sql).remove(0);
        let (document, candidate) = row.split_once('|').unwrap();
        let answer = owner.get(&format!("/api/v1/candidates/{candidate}/documents/{document}")).expect(200);
        let told = format!("text/plain; charset={charset}");
        assert_eq!((answer.header("content-type"), &answer.body), (Some(told.as_str()), &content));
    }
}
