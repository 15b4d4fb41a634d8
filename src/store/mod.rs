//! The SQL, with a file or folder for each kind of record, and the store of a running service (`service.rs`).
//!
//! A record's module contains the SQL for the record. Its functions must not use `service.rs`, HTTP or `rusqlite`. They
//! run in the transaction that the calling function passes in. Only background jobs and the code that starts the
//! service or a command open connections, through `db`. A JSON object that an organization defines is stored as text,
//! and `theme` and `description` read the fields that the service uses. The rules are in `domain`. This file only
//! declares modules, and re-exports names for the layers above.

pub mod access;
pub mod activity;
pub mod api_key;
pub mod application;
pub mod attachment;
mod background_job;
pub mod backup;
pub mod board;
mod cached_state;
pub mod candidate;
pub mod candidate_step;
pub mod careers;
pub mod change_number;
pub mod check;
#[cfg(feature = "postgres")]
pub mod copy;
pub mod decision_batch;
pub mod description;
pub mod erasure;
mod expiry;
pub mod export;
pub mod feed;
pub mod file;
mod form_secret;
mod hooks;
pub mod hr_delivery;
pub mod hr_integration;
pub mod idempotency_key;
pub mod in_progress;
pub mod inbox;
pub mod invitation;
mod json_object;
pub mod later;
pub mod logo;
pub mod membership;
pub mod not_selected;
mod open;
pub mod organization;
pub mod outbox;
mod parts;
pub mod passkey;
pub mod personal_data;
pub mod portal;
#[cfg(feature = "postgres")]
mod portal_comparison;
pub mod recovery_code;
mod refused_credential;
pub mod report;
pub mod restore;
pub mod role;
pub mod role_step;
mod schema;
pub mod second_factor;
mod server;
mod server_schema;
mod service;
pub mod session;
pub mod sign_in_link;
pub mod signup;
pub mod staging;
pub mod status_page;
#[cfg(test)]
mod tests;
pub mod theme;
pub mod totp;
pub mod usage;
pub mod user;

pub use self::api_key::cache::CachedKey;
pub use self::background_job::{HR_DELIVERY, HR_INTAKE, HR_RECORD};
pub use self::open::READERS_MAX;
pub use self::refused_credential::Refused;
pub use self::service::Store;
pub use self::usage::writer::RowOutcome;
pub use crate::db::count::{CountKey, StoredCounts};
pub use crate::db::location::{is_server, shown};
pub use crate::db::{
    Closed, Error, Grade, Halt, OpenError, Reserve, Tx, act_alone, clock, health, read_alone, read_unchanged,
};
