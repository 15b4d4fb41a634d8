//! The erasure of candidates. An erasure withdraws the candidate's applications in progress and removes personal data
//! from the database. All counts stay correct, and the activity chain stays valid.
//!
//! The transaction of an erasure (`candidate`) deletes and overwrites rows. The cleanup follows: `wipe` overwrites the
//! bytes that SQLite leaves in pages, and a checkpoint truncates the write-ahead log. In a PostgreSQL database, `wipe`
//! runs `VACUUM` and `ANALYZE` instead. `progress` tracks this cleanup. `list` records erasures outside the file, so
//! that an older copy of the file does not bring erased candidates back. `retention` erases candidates whose retention
//! period has ended. `deferred_job` erases candidates who asked for erasure while a hire was hidden from them, and
//! `deferred` stores their requests.
//!
//! Modules of the store import the `pub(super)` submodules directly, or use the `pub(super)` re-exports below. The
//! `pub` re-exports are for the layers above.

pub(super) mod candidate;
pub(super) mod deferred;
pub(super) mod deferred_job;
pub(super) mod hold;
mod last_change;
pub(super) mod list;
mod missing_list;
pub(super) mod progress;
mod restore;
pub mod retention;
mod wipe;

pub use self::candidate::erase;
pub use self::hold::{facts, set_hold};
pub use self::list::ListError;
pub(super) use self::list::add_missing_lines;
pub(super) use self::missing_list::write_missing_list;
pub use self::progress::Erasures;
pub use self::restore::RepeatedErasures;
pub(super) use self::restore::{reported, restore};
#[cfg(feature = "postgres")]
pub(super) use self::wipe::VacuumJob;
pub(super) use self::wipe::job_step as wiping_step;
