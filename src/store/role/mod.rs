//! Roles: their rows (`record`), the seats that decisions change (`seats`), other changes (`change`), lists (`list`),
//! numbers for lists (`overview`), versions for `If-Match` (`version`), and the job that closes roles after their
//! closing date (`closing`).

mod change;
pub(super) mod closing;
mod list;
pub(super) mod overview;
pub(super) mod record;
mod seats;
pub(super) mod version;

pub use self::change::{add, applications, delete, save};
pub use self::list::{RoleFilter, RolePage, page};
pub use self::overview::{RoleOverview, counts, overview};
pub use self::record::{Role, RoleRecord, exists, find, insert, of_organization};
pub use self::seats::{save_seats, seats};
pub use self::version::{changes_since, require_version, version};
