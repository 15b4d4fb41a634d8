//! The activity row of an import.

use serde_json::json;

use crate::interchange::Counts;
use crate::store::{self, Error, Tx};
use crate::world::World;

/// Records the import as platform activity.
pub(super) fn record_import(tx: &Tx<'_>, world: &dyn World, format: &str, counts: &Counts) -> Result<(), Error> {
    let facts = json!({ "format": format, "imported": counts.to_string() });
    store::activity::platform::record_command(tx, world, "import", &facts)
}
