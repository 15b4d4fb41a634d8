//! Erasing candidates: nothing of who they were stays in the file, while every figure and the activity chain stay as they are.
//!
//! The transaction of an erasure (`candidate`) deletes and overwrites rows. The rest follows behind it: `list` names the
//! erased for older copies of the file, `wipe` overwrites what SQLite leaves in pages, and a checkpoint truncates the
//! write-ahead log. `progress` counts how far these are. `retention` and `deferred` erase candidates on a later day.
//!
//! The modules of the store import these files, not the names below, which are for the floors above.

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
pub(super) use self::missing_list::write_missing_list;
pub use self::progress::Erasures;
pub use self::restore::RepeatedErasures;
pub(super) use self::restore::{reported, restore};
pub(super) use self::wipe::job_step as wiping_step;
