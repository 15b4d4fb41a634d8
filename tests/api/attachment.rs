//! `GET /api/v1/candidates/{id}/documents/{documentId}`, and the life cycle of an attachment: staging,
//! claiming, sweeping, export, erasure, and verification by `check`. The tests of streaming are in
//! `attachment_download`.

use std::time::{Duration, Instant};

use appliance::domain::attachment::{
    ATTACHMENT_TOKEN_BYTES, AttachmentDigest, AttachmentToken, CHUNK_BYTES_MAX, MediaType,
};
use appliance::domain::id::{AttachmentId, Id, SignupId};
use appliance::store::{self, attachment};
use appliance::world::World;
use serde_json::{Value, json};

use crate::candidate_erase::{path, start};
use crate::support::stored_signup::later_signup_columns;
use crate::support::{App, Hiring};

crate::tests![
    an_attachment_is_downloaded_unchanged_and_never_displayed_inline,
    a_file_name_in_any_script_is_sent_in_full,
    an_attachment_is_found_only_under_its_own_candidate,
    an_export_has_the_signups_and_lists_their_attachments,
    an_erasure_removes_signups_attachments_and_status_pages,
    an_erasure_removes_signups_under_earlier_addresses_but_not_those_of_other_organizations,
    retention_removes_attachments,
    an_unclaimed_attachment_is_swept_after_an_hour,
    a_partial_upload_is_swept_at_the_next_start,
    a_start_with_a_database_server_leaves_partial_uploads_until_they_expire,
    a_token_claims_an_attachment_once_and_within_an_hour,
    check_reports_damaged_attachments_and_inconsistent_signups,
    check_reports_chunks_without_their_attachment,
];

/// Stages an attachment in chunks, as the form does, and returns its id and token.
pub(crate) fn stage(app: &App, name: &str, media_type: MediaType, content: &[u8]) -> (AttachmentId, AttachmentToken) {
    let world: &dyn World = app.world.as_ref();
    let mut random = [0; ATTACHMENT_TOKEN_BYTES];
    world.fill(&mut random);
    let (id, token): (AttachmentId, _) = (world.id(), AttachmentToken::new(random));
    store::act_alone(&app.path, world, |tx| {
        attachment::begin(tx, &id, &token, name)?;
        for (chunk, number) in content.chunks(CHUNK_BYTES_MAX).zip(1..) {
            attachment::append_chunk(tx, &id, number, chunk)?;
        }
        let mut digest = AttachmentDigest::default();
        digest.add(content);
        let bytes = u32::try_from(content.len()).unwrap();
        attachment::finish(tx, &id, name, media_type, bytes, &digest.value())
    })
    .unwrap();
    (id, token)
}

/// Inserts a signup with an application, or a later signup without one.
pub(crate) fn sign_up(app: &App, hiring: &Hiring, id: &str, application: Option<&str>, email: &str) {
    let (organization, role) = (&hiring.organization_id, &hiring.role_id);
    let quoted = application.map_or("NULL".to_owned(), |id| format!("'{id}'"));
    let of_signup = application.map_or(format!("'{id}'"), |_| "NULL".to_owned());
    let now = app.world.now().micros();
    let (later_of, steps) = later_signup_columns(hiring, application, email);
    app.change(&format!(
        "INSERT INTO signups (id, organization_id, role_id, candidate_role_id, later_of, steps, name, email, email_key,
           phone, links, note, locale, consented_at, created_at)
         VALUES ('{id}', '{organization}', '{role}', {quoted}, {later_of}, {steps}, 'Typed {id}', '{email}', lower('{email}'), '+49 30 1',
           '[\"https://{id}.example\"]', 'A note of {id}', 'de', {now}, {now});
         INSERT INTO status_pages (digest, candidate_role_id, signup_id, is_trusted, locale, issued_at)
         VALUES (randomblob(32), {quoted}, {of_signup}, 0, 'de', {now})"
    ));
}

pub(crate) fn attach(app: &App, token: &AttachmentToken, signup: &str) -> bool {
    let signup = SignupId::parse(signup).unwrap();
    store::act_alone(&app.path, app.world.as_ref(), |tx| attachment::claim(tx, token, &signup)).unwrap()
}

/// Applies as the `nth` candidate, with an attachment. Returns the attachment's path.
pub(crate) fn apply_with(
    app: &App,
    hiring: &Hiring,
    nth: usize,
    name: &str,
    media_type: MediaType,
    content: &[u8],
) -> String {
    let application = &hiring.candidates[nth].application_id;
    let signup = format!("sign_{application}");
    sign_up(app, hiring, &signup, Some(application), &format!("Zoe.Quixworth+{nth}@mail.example"));
    let (id, token) = stage(app, name, media_type, content);
    assert!(attach(app, &token, &signup));
    format!("{}/documents/{id}", path(hiring, nth))
}

/// Applies as the first candidate, with a text file. Returns the attachment's path.
pub(crate) fn applied(app: &App, hiring: &Hiring) -> String {
    apply_with(app, hiring, 0, "cv.txt", MediaType::Text, b"engines")
}

/// Polls until a query returns this value, because a background thread does the work.
#[track_caller]
pub(crate) fn wait_until(app: &App, sql: &str, expected: &str) {
    let began = Instant::now();
    while app.sql(sql) != [expected] {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?} is not {expected}", app.sql(sql));
        std::thread::sleep(Duration::from_millis(10));
    }
}

const DAY_S: u64 = 24 * 60 * 60;

const COUNTS: &str = "SELECT (SELECT count(*) FROM signups), (SELECT count(*) FROM status_pages),
  (SELECT count(*) FROM documents), (SELECT count(*) FROM document_pieces)";

fn an_attachment_is_downloaded_unchanged_and_never_displayed_inline() {
    let (app, hiring) = start();
    let member = app.user_with_all(&hiring.staff("member"));
    for (nth, media_type, content_type) in [
        (0, MediaType::Pdf, "application/pdf"),
        (1, MediaType::WesternText, "text/plain; charset=windows-1252"),
        (2, MediaType::Docx, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ] {
        let content = b"<script>alert(1)</script>\r\nM\xfcller";
        let path = apply_with(&app, &hiring, nth, "cv.bin", media_type, content);
        for method in ["GET", "HEAD"] {
            let answer = member.send(method, &path, &[], b"").expect(200);
            let fields = [
                ("content-type", content_type),
                ("content-disposition", "attachment; filename*=UTF-8''cv.bin"),
                ("content-security-policy", "sandbox; default-src 'none'"),
                ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
            ];
            for (name, value) in fields {
                assert_eq!(answer.header(name), Some(value), "{method} {name}");
            }
            assert_eq!(answer.body, if method == "GET" { &content[..] } else { b"" });
        }
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_file_name_in_any_script_is_sent_in_full() {
    let (app, hiring) = start();
    let name = "Lebenslauf Zoë \"x\"; filename=a.exe.pdf";
    let path = apply_with(&app, &hiring, 0, name, MediaType::Pdf, b"%PDF-1.7");
    let answer = app.user_with_all(&hiring.staff("owner")).get(&path).expect(200);
    let disposition = "attachment; filename*=UTF-8''Lebenslauf%20Zo%C3%AB%20%22x%22%3B%20filename%3Da.exe.pdf";
    assert_eq!(answer.header("content-disposition"), Some(disposition));
}

fn an_attachment_is_found_only_under_its_own_candidate() {
    let (app, hiring) = start();
    let document = applied(&app, &hiring);
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.get(&document).expect(200);
    let id = document.rsplit('/').next().unwrap();
    owner.get(&format!("{}/documents/{id}", path(&hiring, 1))).refused(404, "not_found");
    owner.get(&format!("{}/documents/none", path(&hiring, 0))).refused(404, "not_found");
    // A staged attachment is not found. A later signup's attachment is found once it is claimed.
    let (staged, token) = stage(&app, "cv.pdf", MediaType::Pdf, b"%PDF-1.7");
    let staged = format!("{}/documents/{staged}", path(&hiring, 0));
    owner.get(&staged).refused(404, "not_found");
    sign_up(&app, &hiring, "sign_later", None, "zoe.quixworth+0@mail.example");
    assert!(attach(&app, &token, "sign_later"));
    owner.get(&staged).expect(200);
    // Only staff of the same organization find the attachment.
    let elsewhere = app.hiring();
    app.user_with_all(&elsewhere.staff("owner")).get(&document).refused(404, "not_found");
}

fn an_export_has_the_signups_and_lists_their_attachments() {
    let (app, hiring) = start();
    let document = applied(&app, &hiring);
    sign_up(&app, &hiring, "sign_later", None, "ZOE.Quixworth+0@mail.example");
    app.change("UPDATE status_pages SET withdrawn_at = 1795000000000000 WHERE signup_id IS NOT NULL");
    let owner = app.user_with_all(&hiring.staff("owner"));
    let export = owner.get(&format!("{}/export", path(&hiring, 0))).expect(200).json();
    let signups = export["data"]["signups"].as_array().unwrap().clone();
    assert_eq!(signups.len(), 2);
    let application = &hiring.candidates[0].application_id;
    let at = &signups[0]["createdAt"];
    let expected = json!({
        "id": format!("sign_{application}"), "roleId": hiring.role_id, "candidateRoleId": application,
        "name": format!("Typed sign_{application}"), "email": "Zoe.Quixworth+0@mail.example", "phone": "+49 30 1",
        "links": [format!("https://sign_{application}.example")], "note": format!("A note of sign_{application}"),
        "locale": "de", "consentedAt": at, "createdAt": at, "withdrewAt": null,
        "documents": [{ "id": document.rsplit('/').next().unwrap(), "fileName": "cv.txt",
            "mediaType": "text/plain; charset=utf-8", "bytes": 7, "createdAt": at }]
    });
    assert_eq!(signups[0], expected);
    assert_eq!((&signups[1]["id"], &signups[1]["candidateRoleId"]), (&json!("sign_later"), &Value::Null));
    assert!(signups[1]["withdrewAt"].is_string() && signups[1]["documents"] == json!([]));
    let other = owner.get(&format!("{}/export", path(&hiring, 1))).expect(200).json();
    assert_eq!(other["data"]["signups"], json!([]));
}

fn an_erasure_removes_signups_attachments_and_status_pages() {
    let (app, hiring) = start();
    let document = applied(&app, &hiring);
    apply_with(&app, &hiring, 1, "cv.pdf", MediaType::Pdf, &vec![b'x'; 200_000]);
    sign_up(&app, &hiring, "sign_later", None, "ZOE.Quixworth+0@mail.example");
    let (_, token) = stage(&app, "cv.pdf", MediaType::Pdf, b"%PDF-1.7");
    assert!(attach(&app, &token, "sign_later"));
    assert_eq!(app.sql(COUNTS), ["3|3|3|6"]);
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.delete(&path(&hiring, 0)).expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM documents WHERE signup_id IS NOT NULL OR created_at > 0"), ["1"]);
    wait_until(&app, COUNTS, "1|1|1|4");
    owner.get(&document).refused(404, "not_found");
    assert_eq!(app.check(), Vec::<String>::new());
    owner.delete(&path(&hiring, 1)).expect(200);
    wait_until(&app, COUNTS, "0|0|0|0");
}

fn an_erasure_removes_signups_under_earlier_addresses_but_not_those_of_other_organizations() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    sign_up(&app, &hiring, "sign_first", None, "zoe.quixworth+0@mail.example");
    owner.patch(&path(&hiring, 0), &json!({ "email": "second@mail.example" })).expect(200);
    sign_up(&app, &hiring, "sign_second", None, "SECOND@mail.example");
    owner.patch(&path(&hiring, 0), &json!({ "email": "third@mail.example" })).expect(200);
    // The second address now belongs to another candidate.
    owner.patch(&path(&hiring, 1), &json!({ "email": "Second@mail.example" })).expect(200);
    // Someone signs up under the same address in another organization.
    let elsewhere = app.hiring();
    sign_up(&app, &elsewhere, "sign_elsewhere", None, "third@mail.example");
    owner.delete(&path(&hiring, 0)).expect(200);
    assert_eq!(app.sql("SELECT id FROM signups ORDER BY id"), ["sign_elsewhere"]);
}

fn retention_removes_attachments() {
    let (app, hiring) = start();
    applied(&app, &hiring);
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.post(&hiring.reject(0), &json!({ "outcomeNotes": "no" })).expect(200);
    app.admin()
        .patch(&format!("/api/admin/organizations/{}", hiring.organization_id), &json!({ "retentionDays": 30 }))
        .expect(200);
    // Retention records the candidate as due on one day and erases them on a later day.
    app.pass(40 * DAY_S);
    wait_until(&app, "SELECT count(*) FROM retention_due", "1");
    assert_eq!(app.sql(COUNTS), ["1|1|1|1"]);
    app.pass(DAY_S);
    wait_until(&app, COUNTS, "0|0|0|0");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_unclaimed_attachment_is_swept_after_an_hour() {
    let (app, hiring) = start();
    applied(&app, &hiring);
    stage(&app, "first.pdf", MediaType::Pdf, &vec![b'x'; 3_000_000]);
    // The sweep does not run until the clock moves.
    insert_expired(&app);
    app.pass(60 * 60 - 1);
    wait_until(&app, COUNT_OF_EXPIRED, "0");
    assert_eq!(app.sql(COUNTS), ["1|1|2|47"]);
    app.pass(61);
    wait_until(&app, COUNTS, "1|1|1|1");
    assert_eq!(app.check(), Vec::<String>::new());
}

/// Inserts an attachment that the next sweep deletes, so that its absence shows that the sweep has run.
fn insert_expired(app: &App) {
    app.change(
        "INSERT INTO documents (id, file_name, created_at) VALUES ('doc_gone', 'a', 0);
         INSERT INTO document_pieces (document_number, number, content)
         SELECT number, 1, zeroblob(65536) FROM documents WHERE id = 'doc_gone'",
    );
}

const COUNT_OF_EXPIRED: &str = "SELECT count(*) FROM documents WHERE id = 'doc_gone'";

fn a_partial_upload_is_swept_at_the_next_start() {
    let (app, hiring) = start();
    applied(&app, &hiring);
    stage(&app, "whole.pdf", MediaType::Pdf, b"%PDF-1.7");
    app.stop();
    begin_upload(&app);
    assert_eq!((app.sql(COUNTS), app.check()), (vec!["1|1|3|22".to_owned()], Vec::new()));
    app.pass(1);
    app.start_again();
    wait_until(&app, COUNTS, "1|1|2|2");
    assert_eq!(app.sql("SELECT file_name FROM documents ORDER BY number"), ["cv.txt", "whole.pdf"]);
}

/// Another server may be receiving the upload, so only the age of the upload shows that nobody will finish it.
fn a_start_with_a_database_server_leaves_partial_uploads_until_they_expire() {
    let (app, hiring) = start();
    applied(&app, &hiring);
    app.stop();
    begin_upload(&app);
    app.pass(60 * 60 - 1);
    insert_expired(&app);
    app.start_again();
    wait_until(&app, COUNT_OF_EXPIRED, "0");
    assert_eq!(app.sql(COUNTS), ["1|1|2|21"]);
    app.pass(61);
    wait_until(&app, COUNTS, "1|1|1|1");
    assert_eq!(app.check(), Vec::<String>::new());
}

/// Begins an upload of 20 chunks, and does not finish it.
fn begin_upload(app: &App) {
    let world: &dyn World = app.world.as_ref();
    let (id, token): (AttachmentId, _) = (world.id(), AttachmentToken::new([9; ATTACHMENT_TOKEN_BYTES]));
    store::act_alone(&app.path, world, |tx| {
        attachment::begin(tx, &id, &token, "half.pdf")?;
        (1..=20).try_for_each(|number| attachment::append_chunk(tx, &id, number, &[b'x'; CHUNK_BYTES_MAX]))
    })
    .unwrap();
}

fn a_token_claims_an_attachment_once_and_within_an_hour() {
    let (app, hiring) = start();
    let (application, other) = (&hiring.candidates[0].application_id, &hiring.candidates[1].application_id);
    sign_up(&app, &hiring, "sign_1", Some(application), "a@mail.example");
    sign_up(&app, &hiring, "sign_2", Some(other), "b@mail.example");
    let (_, token) = stage(&app, "cv.pdf", MediaType::Pdf, b"%PDF-1.7");
    let (_, late) = stage(&app, "cv.pdf", MediaType::Pdf, b"%PDF-1.7");
    assert!(!attach(&app, &AttachmentToken::new([3; ATTACHMENT_TOKEN_BYTES]), "sign_1"));
    assert!(attach(&app, &token, "sign_1"));
    assert!(!attach(&app, &token, "sign_2"));
    app.stop();
    app.pass(60 * 60);
    assert!(!attach(&app, &late, "sign_2"));
    assert_eq!(app.sql("SELECT signup_id FROM documents ORDER BY number"), ["sign_1", "null"]);
}

fn check_reports_damaged_attachments_and_inconsistent_signups() {
    let (app, hiring) = start();
    let document = applied(&app, &hiring);
    apply_with(&app, &hiring, 1, "cv.pdf", MediaType::Pdf, &vec![b'x'; 200_000]);
    sign_up(&app, &hiring, "sign_later", None, "zoe.quixworth+0@mail.example");
    assert_eq!(app.check(), Vec::<String>::new());
    let id = document.rsplit('/').next().unwrap();
    let signup = format!("sign_{}", hiring.candidates[0].application_id);
    app.stop();
    let finds = |broken: &str, whole: &str, finding: &str| {
        app.change(broken);
        assert_eq!(app.check(), [finding], "{broken}");
        app.change(whole);
        assert_eq!(app.check(), Vec::<String>::new(), "{whole}");
    };
    let wrong = format!("attachment {id} does not match its chunks");
    finds(
        &format!("UPDATE documents SET bytes = bytes + 1 WHERE id = '{id}'"),
        &format!("UPDATE documents SET bytes = bytes - 1 WHERE id = '{id}'"),
        &wrong,
    );
    finds(
        "UPDATE document_pieces SET number = 2 WHERE length(content) = 7",
        "UPDATE document_pieces SET number = 1 WHERE length(content) = 7",
        &wrong,
    );
    finds(
        &format!(
            "INSERT INTO status_pages (digest, signup_id, is_trusted, locale, issued_at)
             VALUES (randomblob(32), '{signup}', 0, 'de', 0)"
        ),
        &format!("DELETE FROM status_pages WHERE signup_id = '{signup}'"),
        &format!("signup {signup} has its own status page in addition to its application's"),
    );
    app.change(&format!("UPDATE candidates SET erased_at = 1 WHERE id = '{}'", hiring.candidates[0].candidate_id));
    assert!(app.check().contains(&format!("signup {signup} belongs to an erased candidate")));
}

fn check_reports_chunks_without_their_attachment() {
    let (app, hiring) = start();
    applied(&app, &hiring);
    app.stop();
    app.change(
        "PRAGMA foreign_keys = OFF; UPDATE documents SET number = 99;
         UPDATE document_pieces SET document_number = 98;
         DELETE FROM documents WHERE number = 99",
    );
    assert_eq!(app.check(), ["foreign key: a row in document_pieces refers to a row in documents that does not exist"]);
    app.change("DELETE FROM document_pieces WHERE document_number = 98");
    assert_eq!(app.check(), Vec::<String>::new());
}
