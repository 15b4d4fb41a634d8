//! Roles: their rows (`record`), their seats, which decisions change (`seats`), changes by staff (`change`), and lists
//! (`list`).

mod change;
mod list;
pub(super) mod record;
mod seats;

pub use self::change::{ApplicationCounts, add, applications, delete, save};
pub use self::list::{RoleFilter, RolePage, page};
pub use self::record::{Role, RoleRecord, exists, find, insert, of_organization};
pub use self::seats::{save_seats, seats};
