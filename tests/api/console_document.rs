//! `/app/{orgSlug}/documents/{id}`: attachments, shown in the page or downloaded.

use appliance::domain::attachment::MediaType;

use crate::attachment::apply_with;
use crate::support::console::app_path;
use crate::support::{App, Client, Hiring};

crate::tests![
    pdf_and_text_attachments_are_shown_in_a_frame_with_sandboxed_content,
    attachments_that_are_neither_pdf_nor_text_are_only_downloaded,
    content_is_never_shown_as_another_type,
    opening_an_attachment_is_recorded_once_for_each_person_and_day,
    attachments_of_other_organizations_are_unknown,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.browser(&hiring, "member");
    (app, hiring, member)
}

/// Applies as the `nth` candidate, with an attachment, and returns the path of the attachment's page in the console.
fn applied(app: &App, hiring: &Hiring, nth: usize, name: &str, media_type: MediaType, content: &[u8]) -> String {
    let path = apply_with(app, hiring, nth, name, media_type, content);
    app_path(hiring, &format!("documents/{}", path.rsplit('/').next().unwrap()))
}

fn pdf_and_text_attachments_are_shown_in_a_frame_with_sandboxed_content() {
    let (app, hiring, member) = start();
    let hostile = b"%PDF-1.7\n1 0 obj <</OpenAction <</S /JavaScript /JS (app.alert(1))>>>> <script>alert(1)</script>";
    for (nth, name, media_type, content) in [
        (0, "cv.pdf", MediaType::Pdf, &hostile[..]),
        (1, "cv.txt", MediaType::Text, b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>"),
        (2, "alt.txt", MediaType::WesternText, b"M\xfcller"),
    ] {
        let path = applied(&app, &hiring, nth, name, media_type, content);
        let page = member.get(&path).expect(200).text();
        assert!(page.contains(&format!("<iframe class=\"file\" src=\"{path}/file\"")), "{page}");
        assert!(!page.contains("sandbox") && page.contains(&format!("href=\"{path}/download\"")), "{page}");
        let file = member.get(&format!("{path}/file")).expect(200);
        let disposition = format!("inline; filename*=UTF-8''{name}");
        for (field, value) in [
            ("content-type", media_type.as_str()),
            ("content-security-policy", "sandbox; default-src 'none'; frame-ancestors 'self'"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("content-disposition", &disposition),
        ] {
            assert_eq!(file.header(field), Some(value), "{name}: {field}");
        }
        assert_eq!(file.body, content);
        let download = member.get(&format!("{path}/download")).expect(200);
        assert_eq!(
            download.header("content-disposition"),
            Some(format!("attachment; filename*=UTF-8''{name}").as_str())
        );
        assert_eq!(download.header("content-security-policy"), Some("sandbox; default-src 'none'"));
        assert_eq!(download.body, content);
    }
}

fn attachments_that_are_neither_pdf_nor_text_are_only_downloaded() {
    let (app, hiring, member) = start();
    for (nth, name, media_type) in [(0, "cv.docx", MediaType::Docx), (1, "cv.odt", MediaType::Odt)] {
        let path = applied(&app, &hiring, nth, name, media_type, b"PK");
        let page = member.get(&path).expect(200).text();
        assert!(!page.contains("<iframe") && page.contains("Browsers cannot show this kind of file."), "{page}");
        member.get(&format!("{path}/file")).expect(404);
        member.get(&format!("{path}/download")).expect(200);
    }
}

fn content_is_never_shown_as_another_type() {
    let (app, hiring, member) = start();
    let html = b"<!doctype html><script>alert(1)</script>";
    // The service detects the type of an upload from its content, so HTML in a file named `cv.pdf` is text.
    let path = applied(&app, &hiring, 0, "cv.pdf", MediaType::Text, html);
    assert_eq!(
        member.get(&format!("{path}/file")).expect(200).header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    // Content that does not begin with `%PDF-` is not shown as a PDF, even if its stored media type is that of a PDF.
    for content in [&html[..], b" %PDF-1.7", b"%PDF", b"%PDX-1.7"] {
        app.change("DELETE FROM document_pieces WHERE document_number = (SELECT max(number) FROM documents)");
        let hex: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
        app.change(&format!(
            "INSERT INTO document_pieces (document_number, number, content) SELECT max(number), 1, x'{hex}' FROM documents;
             UPDATE documents SET media_type = 'application/pdf', bytes = {}, sha256 = NULL",
            content.len()
        ));
        member.get(&format!("{path}/file")).expect(404);
        member.get(&format!("{path}/download")).expect(200);
    }
}

fn opening_an_attachment_is_recorded_once_for_each_person_and_day() {
    let (app, hiring, member) = start();
    app.set_clock("2026-11-21T09:00:00Z");
    let first = applied(&app, &hiring, 0, "cv.pdf", MediaType::Pdf, b"%PDF-1.7 first");
    let second = applied(&app, &hiring, 1, "cv.pdf", MediaType::Pdf, b"%PDF-1.7 second");
    let opened = |count: usize, what: &str| {
        let rows = app.sql("SELECT user_id FROM activities WHERE action = 'document.opened' AND api_key_id IS NULL");
        assert_eq!(rows.len(), count, "{what}");
    };
    member.get(&first).expect(200);
    opened(0, "the page around an attachment");
    member.send("HEAD", &format!("{first}/file"), &[], b"").expect(200);
    opened(0, "HEAD");
    for part in ["file", "file", "download"] {
        member.get(&format!("{first}/{part}")).expect(200);
        opened(1, part);
    }
    member.get(&format!("{second}/download")).expect(200);
    opened(2, "another attachment");
    let owner = app.browser(&hiring, "owner");
    owner.get(&format!("{first}/file")).expect(200);
    opened(3, "another person");
    app.set_clock("2026-11-22T00:00:00Z");
    let owner = app.browser(&hiring, "owner");
    owner.get(&format!("{first}/file")).expect(200);
    opened(4, "another day");
    let page = app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id));
    assert!(owner.get(&page).expect(200).text().contains("File opened</span><br><span class=\"quiet\"><bdi>The owner"));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn attachments_of_other_organizations_are_unknown() {
    let (app, hiring, member) = start();
    let other = app.hiring();
    let path = applied(&app, &other, 0, "cv.pdf", MediaType::Pdf, b"%PDF-1.7");
    let own_slug = path.replace(&other.slug, &hiring.slug);
    let unknown = app_path(&hiring, "documents/doc_none");
    for part in ["", "/file", "/download"] {
        let answers = [&path, &own_slug, &unknown].map(|path| member.get(&format!("{path}{part}")).expect(404));
        let shown = answers.map(|answer| answer.text().replace(answer.header("x-request-id").unwrap(), ""));
        assert!(shown[0] == shown[1] && shown[1] == shown[2], "{part}: {shown:?}");
        app.browser(&other, "member").get(&format!("{path}{part}")).expect(200);
    }
}
