//! How many applications one transaction brings.

use super::*;
use crate::domain::erasure::Privacy;
use crate::domain::id::{ApplicationId, Id, OrganizationId, RoleId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::store::file::{self, Missing, Older};
use crate::world::Scripted;

/// An application to a role that is not there any more, so it is skipped when it comes.
fn row(number: usize) -> Row {
    let at = Timestamp::from_micros(1);
    Row {
        organization: OrganizationId::parse("org_1").unwrap(),
        role: RoleId::parse("role_1").unwrap(),
        candidate: candidate::Record {
            id: CandidateId::parse(&format!("cand_{number}")).unwrap(),
            name: format!("Person {number}"),
            email: Email::parse(&format!("person-{number}@example.org")).unwrap(),
            privacy: Privacy { hold_reason: None, erased_at: None },
        },
        application: candidate_role::Record {
            id: ApplicationId::parse(&format!("app_{number}")).unwrap(),
            status: ApplicationStatus::InProgress,
            applied_at: at,
            hire: None,
        },
        steps: Vec::new(),
    }
}

/// The applications that are left after each transaction, of so many that were decided; and the import's last answer.
fn lefts(count: usize, is_over: bool) -> (Vec<usize>, usize) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    file::prepare(&path, Missing::Create, Older::Refuse).unwrap();
    let world = Scripted::at(Timestamp::from_micros(1_000_000));
    let mut staging = Staging::begin(&path, &world).unwrap();
    staging.stage((0..count).map(row)).unwrap();
    staging.decide(|_| Ok(())).unwrap();
    let left = |tx: &Tx<'_>| tx.one("SELECT count(*) FROM import_rows", [], |row| Ok(row.get::<_, i64>(0)?));
    let mut lefts = Vec::new();
    while tx::act(&staging.connection, world.now(), |tx| bring_some(tx, &|| is_over)).unwrap() {
        let rows = tx::snapshot(&staging.connection, world.now(), left).unwrap().unwrap();
        lefts.push(usize::try_from(rows).unwrap());
    }
    let skipped = staging.finish().unwrap();
    let of_file = tx::snapshot(&staging.connection, world.now(), dropped).unwrap();
    assert_eq!(of_file, [1], "what was skipped is to be wiped");
    tx::act(&staging.connection, world.now(), |tx| forget_dropped(tx, &of_file)).unwrap();
    assert_eq!(tx::snapshot(&staging.connection, world.now(), dropped).unwrap(), Vec::<i64>::new());
    (lefts, skipped)
}

#[test]
fn one_transaction_brings_64_applications_at_most() {
    assert_eq!(BROUGHT_MAX, 64);
    assert_eq!(lefts(63, false), (vec![0], 63));
    assert_eq!(lefts(64, false), (vec![0], 64));
    assert_eq!(lefts(65, false), (vec![1, 0], 65));
    assert_eq!(lefts(129, false), (vec![65, 1, 0], 129));
}

#[test]
fn a_transaction_that_takes_long_ends_behind_one_application() {
    assert_eq!(lefts(3, true), (vec![2, 1, 0], 3));
}
