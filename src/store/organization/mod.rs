//! Organizations: their rows (`record`), their creation and changes (`change`), and their status cache (`status`).

mod change;
mod record;
mod status;

pub use self::change::{change, create};
pub use self::record::{
    Organization, OrganizationRecord, all, any, exists, find, find_by_slug, insert, page, slug_exists, today, with_slug,
};
pub use self::status::{add_to_status, recount, status, write_status};
