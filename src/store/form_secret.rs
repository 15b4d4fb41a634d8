//! What the forms of this file are signed with: made once, at the first start, and the same behind every restart and backup.

use std::path::Path;

use crate::db::tx::Error;
use crate::world::World;

/// The file's secret, made where there is none.
///
/// # Errors
/// When SQLite fails.
pub(super) fn of(path: &Path, world: &dyn World) -> Result<[u8; 32], Error> {
    let sql = "SELECT secret
               FROM form_secrets
               WHERE id = 1";
    if let Some(secret) = crate::db::read_alone(path, world, |tx| tx.one(sql, [], |row| Ok(row.get(0)?)))? {
        return Ok(secret);
    }
    let mut secret = [0; 32];
    world.fill(&mut secret);
    let insert = "INSERT INTO form_secrets (id, secret)
                  VALUES (1, $1)";
    crate::db::act_alone(path, world, |tx| tx.run(insert, [&secret]))?;
    Ok(secret)
}
