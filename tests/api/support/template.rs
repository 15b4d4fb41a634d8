//! The database file with which a test's service starts. The process creates it once, with the code that the service
//! uses, and each test gets a copy, because creating the schema takes longer than most tests.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::LazyLock;

use appliance::domain::api_key::{Grant, KeySecret, Scope};
use appliance::domain::id::{Id, UserId};
use appliance::domain::text::Email;
use appliance::domain::timestamp::{Rounding, Timestamp};
use appliance::domain::user::PlatformRole;
use appliance::store;
use appliance::store::file::{Missing, Older};
use appliance::world::{Scripted, World};

use super::app::BEGINNING;

/// The number of random numbers that the template's world skips, so that the ids and secrets of the template differ
/// from those of the tests. No test uses that many.
const NUMBERS_SKIPPED: usize = 1 << 20;

/// The bytes of a closed file that contains only a platform admin.
struct Template {
    bytes: Vec<u8>,
    admin_secret: String,
}

static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("template.db");
    let admin_secret = create(&path);
    assert!(!store::file::beside(&path, "-wal").exists(), "the template is closed");
    Template { bytes: std::fs::read(&path).unwrap(), admin_secret }
});

/// Creates a database file with a platform admin, and returns the secret of the admin's key.
pub(super) fn create_file(path: &Path) -> String {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
    file.write_all(&TEMPLATE.bytes).unwrap();
    TEMPLATE.admin_secret.clone()
}

/// Creates the schema and a platform admin, and returns the secret of the admin's key.
pub(super) fn create(db: &Path) -> String {
    let world = Scripted::at(Timestamp::parse(BEGINNING, Rounding::Down).unwrap());
    world.fill(&mut vec![0; NUMBERS_SKIPPED * size_of::<u64>()]);
    store::file::prepare(db, Missing::Create, Older::Refuse).unwrap();
    make_admin(db, &world)
}

fn make_admin(path: &Path, world: &dyn World) -> String {
    let secret = KeySecret::generate(|bytes| world.fill(bytes));
    store::act_alone(path, world, |tx| {
        let user_id = UserId::parse("user_admin").unwrap();
        let email = Email::parse("admin@appliance.example").unwrap();
        store::user::insert(tx, &user_id, &email, "Admin", PlatformRole::Admin)?;
        let key = store::api_key::NewApiKey {
            id: world.id(),
            secret: secret.clone(),
            user_id,
            name: "admin".to_owned(),
            grant: Grant { scopes: Scope::ALL.to_vec(), is_explicit: false },
            expires_at: appliance::domain::api_key::expires_at(tx.now, 365),
        };
        store::api_key::insert(tx, &key)
    })
    .unwrap();
    secret.reveal().to_owned()
}
