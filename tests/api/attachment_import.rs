//! Attachments that an import added to an application, without a signup. Staff of the organization see
//! and download them, staff of other organizations do not, and an erasure removes them.

use appliance::domain::attachment::MediaType;
use appliance::domain::id::{ApplicationId, AttachmentId, Id, OrganizationId};
use appliance::store::attachment::imported::{AttachmentImport, ImportedFile, StoredFile};
use appliance::world::World;
use serde_json::{Value, json};

use crate::attachment::wait_until;
use crate::candidate_erase::{path, start};
use crate::support::{App, Hiring};

crate::tests![
    staff_see_and_download_an_imported_attachment,
    a_file_of_many_chunks_is_imported_once,
    a_file_is_imported_only_for_an_application_of_the_organization,
    an_unfinished_file_is_imported_again,
    an_erasure_removes_imported_attachments,
];

const COUNTS: &str = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM document_pieces)";

/// Imports a file for an application.
fn import(app: &App, organization: &str, application: &str, id: &str, content: &[u8]) -> StoredFile {
    let world: &dyn World = app.world.as_ref();
    let organization = OrganizationId::parse(organization).unwrap();
    let import = AttachmentImport::begin(&app.path, world, organization, true).unwrap();
    let file = ImportedFile {
        id: &AttachmentId::parse(id).unwrap(),
        application: &ApplicationId::parse(application).unwrap(),
        name: "../Zoë's cv.exe",
        media_type: MediaType::Pdf,
        content,
    };
    import.store(&file).unwrap()
}

fn import_first(app: &App, hiring: &Hiring, id: &str, content: &[u8]) -> StoredFile {
    import(app, &hiring.organization_id, &hiring.candidates[0].application_id, id, content)
}

fn staff_see_and_download_an_imported_attachment() {
    let (app, hiring) = start();
    assert_eq!(import_first(&app, &hiring, "xx_file_1", b"%PDF-1.7 imported"), StoredFile::Stored);
    let owner = app.user_with_all(&hiring.staff("owner"));
    let candidate = owner.get(&path(&hiring, 0)).expect(200).json();
    let application = &candidate["data"]["applications"][0];
    let documents = application["documents"].as_array().unwrap();
    let expected = json!({
        "id": "xx_file_1", "fileName": "Zoë's cv.exe.pdf", "mediaType": "application/pdf", "bytes": 17,
        "createdAt": documents[0]["createdAt"],
    });
    assert_eq!((documents.as_slice(), &application["signup"]), (&[expected.clone()][..], &Value::Null));
    let document = format!("{}/documents/xx_file_1", path(&hiring, 0));
    assert_eq!(owner.get(&document).expect(200).body, b"%PDF-1.7 imported");
    let export = owner.get(&format!("{}/export", path(&hiring, 0))).expect(200).json();
    assert_eq!(export["data"]["candidate"]["applications"][0]["documents"], json!([expected]));
    // The attachment is found neither under another candidate nor by staff of another organization.
    owner.get(&format!("{}/documents/xx_file_1", path(&hiring, 1))).refused(404, "not_found");
    let elsewhere = app.hiring();
    app.user_with_all(&elsewhere.staff("owner")).get(&document).refused(404, "not_found");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_file_of_many_chunks_is_imported_once() {
    let (app, hiring) = start();
    let content: Vec<u8> = b"%PDF-1.7 ".iter().copied().cycle().take(1_200_000).collect();
    assert_eq!(import_first(&app, &hiring, "xx_file_1", &content), StoredFile::Stored);
    assert_eq!(import_first(&app, &hiring, "xx_file_1", b"%PDF-1.7 other"), StoredFile::Exists);
    assert_eq!(app.sql(COUNTS), ["1|19"]);
    let owner = app.user_with_all(&hiring.staff("owner"));
    assert_eq!(owner.get(&format!("{}/documents/xx_file_1", path(&hiring, 0))).expect(200).body, content);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_file_is_imported_only_for_an_application_of_the_organization() {
    let (app, hiring) = start();
    let elsewhere = app.hiring();
    let application = &hiring.candidates[0].application_id;
    for (organization, application) in
        [(&elsewhere.organization_id, application.as_str()), (&hiring.organization_id, "none")]
    {
        let content = vec![b'x'; 700_000];
        assert_eq!(import(&app, organization, application, "xx_file_1", &content), StoredFile::NoApplication);
        assert_eq!(app.sql(COUNTS), ["0|0"]);
    }
    app.user_with_all(&hiring.staff("owner")).delete(&path(&hiring, 0)).expect(200);
    assert_eq!(import_first(&app, &hiring, "xx_file_1", b"%PDF-1.7"), StoredFile::NoApplication);
    assert_eq!(app.sql(COUNTS), ["0|0"]);
}

fn an_unfinished_file_is_imported_again() {
    let (app, hiring) = start();
    app.change(
        "INSERT INTO documents (id, digest, file_name, created_at) VALUES ('xx_file_1', zeroblob(32), 'a', 1795000000000000);
         INSERT INTO document_pieces (document_number, number, content)
         SELECT number, 1, zeroblob(65536) FROM documents WHERE id = 'xx_file_1'",
    );
    assert_eq!(import_first(&app, &hiring, "xx_file_1", b"%PDF-1.7 whole"), StoredFile::Stored);
    assert_eq!(app.sql(COUNTS), ["1|1"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_erasure_removes_imported_attachments() {
    let (app, hiring) = start();
    let content = [b"%PDF-1.7 ".as_slice(), b"quixworthian-resume ".repeat(20_000).as_slice()].concat();
    import_first(&app, &hiring, "xx_file_1", &content);
    let second = &hiring.candidates[1].application_id;
    import(&app, &hiring.organization_id, second, "xx_file_2", b"%PDF-1.7 stays");
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.delete(&path(&hiring, 0)).expect(200);
    owner.get(&format!("{}/documents/xx_file_1", path(&hiring, 0))).refused(404, "not_found");
    wait_until(&app, COUNTS, "1|1");
    owner.get(&format!("{}/documents/xx_file_2", path(&hiring, 1))).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}
