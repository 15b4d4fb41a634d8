//! Removes deleted and overwritten rows from the tables of the service, and old values from the statistics.

use super::settings::{self, Use};
use super::target::Target;
use crate::db::error::Error;

/// Runs `VACUUM` and `ANALYZE` on each table of the service. Rows that an older snapshot can see stay until the next
/// run; snapshots of the service last milliseconds.
pub(crate) fn run(target: &Target) -> Result<(), Error> {
    let connection = settings::reopen(target, Use::Maintain)?;
    let sql = "SELECT quote_ident(relname)
               FROM pg_class
               JOIN pg_namespace ON pg_namespace.oid = relnamespace
               WHERE nspname = current_schema() AND relkind = 'r'
               ORDER BY relname";
    for table in connection.texts(sql)?.into_iter().flatten() {
        connection.batch(&format!("VACUUM (ANALYZE) {table}"))?;
    }
    Ok(())
}
