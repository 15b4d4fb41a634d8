//! The secret that signs forms. The first start creates the secret. Restarts and backups do not change it.

use std::path::Path;

use crate::db::tx::Error;
use crate::world::World;

/// Reads the secret from the file, or creates it if the file has none.
pub(super) fn load_or_create(path: &Path, world: &dyn World) -> Result<[u8; 32], Error> {
    let sql = "SELECT secret
               FROM form_secrets
               WHERE id = 1";
    if let Some(secret) = crate::db::read_alone(path, world, |tx| tx.value(sql, []))? {
        return Ok(secret);
    }
    let mut secret = [0; 32];
    world.fill(&mut secret);
    let insert = "INSERT INTO form_secrets (id, secret)
                  VALUES (1, $1)";
    crate::db::act_alone(path, world, |tx| tx.run(insert, [&secret]))?;
    Ok(secret)
}
