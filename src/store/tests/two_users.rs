//! A database with the users `ada` and `bob`, for tests of records that belong to a user.

use std::time::Duration;

use crate::db::connection::Connection;
use crate::db::sqlite::tests::in_memory;
use crate::db::tx;
use crate::domain::activity::{SALT_BYTES, Stamp};
use crate::domain::id::{ActivityId, Id, UserId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{Auth, PlatformRole, Principal};
use crate::store::user;

pub(in crate::store) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000).plus(Duration::from_secs(seconds))
}

pub(in crate::store) fn stamp(number: u64) -> Stamp {
    Stamp { id: ActivityId::from_parts(at(number), [0; 10]), salt: [0; SALT_BYTES] }
}

/// Returns the user with this name, signed in.
pub(in crate::store) fn person(name: &str) -> Principal {
    Principal {
        user_id: UserId::parse(name).unwrap(),
        email: format!("{name}@example.org"),
        platform_role: PlatformRole::User,
        auth: Auth::Session { digest: [0; 32] },
    }
}

pub(in crate::store) fn file() -> Connection {
    let connection = in_memory(include_str!("../../../schema.sql"));
    for name in ["ada", "bob"] {
        let email = Email::parse(&format!("{name}@example.org")).unwrap();
        let id = UserId::parse(name).unwrap();
        tx::act(&connection, at(0), |tx| user::insert(tx, &id, &email, name, PlatformRole::User)).unwrap();
    }
    connection
}
