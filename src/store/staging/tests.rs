//! Tests of the number of applications that one transaction publishes.

use super::*;
use crate::domain::due_day::DueDay;
use crate::domain::erasure::Privacy;
use crate::domain::id::{ApplicationId, Id, OrganizationId, RoleId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::store::application::ApplicationRecord;
use crate::store::file::{self, Missing, Older};
use crate::world::Scripted;

/// Returns an application that is skipped, because its role does not exist.
fn staged(number: usize) -> StagedApplication {
    let at = Timestamp::from_micros(1);
    StagedApplication {
        organization: OrganizationId::parse("org_1").unwrap(),
        role: RoleId::parse("role_1").unwrap(),
        candidate: CandidateRecord {
            id: CandidateId::parse(&format!("cand_{number}")).unwrap(),
            name: format!("Person {number}"),
            email: Email::parse(&format!("person-{number}@example.org")).unwrap(),
            privacy: Privacy { hold_reason: None, erased_at: None },
        },
        application: ApplicationRecord {
            id: ApplicationId::parse(&format!("app_{number}")).unwrap(),
            status: ApplicationStatus::InProgress,
            applied_at: at,
            hire: None,
            later_due_on: number.is_multiple_of(2).then(|| DueDay::parse("2027-03-17").unwrap()),
        },
        steps: Vec::new(),
    }
}

/// Decides and publishes `count` applications. Returns the number of rows left after each transaction, and the number
/// of skipped applications.
fn left_after_each_transaction(count: usize, is_over: bool) -> (Vec<usize>, usize) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    file::prepare(&path, Missing::Create, Older::Refuse).unwrap();
    let world = Scripted::at(Timestamp::from_micros(1_000_000));
    let mut staging = Staging::begin(&path, &world).unwrap();
    staging.stage((0..count).map(staged)).unwrap();
    staging.decide(|_| Ok(())).unwrap();
    let rows = |tx: &Tx<'_>| tx.value::<i64>("SELECT count(*) FROM import_rows", []);
    let mut left = Vec::new();
    while tx::act(&staging.connection, world.now(), |tx| publish_slice(tx, &|| is_over)).unwrap() {
        let rows = tx::snapshot(&staging.connection, world.now(), rows).unwrap().unwrap();
        left.push(usize::try_from(rows).unwrap());
    }
    let skipped = staging.finish().unwrap();
    let to_wipe = tx::snapshot(&staging.connection, world.now(), dropped).unwrap();
    assert_eq!(to_wipe, [1], "the pages of skipped rows must be wiped");
    tx::act(&staging.connection, world.now(), |tx| delete_wiped(tx, &to_wipe)).unwrap();
    assert_eq!(tx::snapshot(&staging.connection, world.now(), dropped).unwrap(), Vec::<i64>::new());
    (left, skipped)
}

#[test]
fn one_transaction_publishes_at_most_64_applications() {
    assert_eq!(PUBLISHED_MAX, 64);
    assert_eq!(left_after_each_transaction(63, false), (vec![0], 63));
    assert_eq!(left_after_each_transaction(64, false), (vec![0], 64));
    assert_eq!(left_after_each_transaction(65, false), (vec![1, 0], 65));
    assert_eq!(left_after_each_transaction(129, false), (vec![65, 1, 0], 129));
}

#[test]
fn a_slow_transaction_ends_after_one_application() {
    assert_eq!(left_after_each_transaction(3, true), (vec![2, 1, 0], 3));
}
