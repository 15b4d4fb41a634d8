//! The secret that signs forms. The first start creates the secret. Restarts and backups do not change it.

use crate::db::connection::Connection;
use crate::db::tx::{self, Error};
use crate::world::World;

/// Reads the secret from the database, or creates it if the database has none.
pub(super) fn load_or_create(connection: &Connection, world: &dyn World) -> Result<[u8; 32], Error> {
    let sql = "SELECT secret
               FROM form_secrets
               WHERE id = 1";
    if let Some(secret) = tx::snapshot(connection, world.now(), |tx| tx.value(sql, []))? {
        return Ok(secret);
    }
    let mut secret = [0; 32];
    world.fill(&mut secret);
    // Another server may create a secret at the same time. All servers use the secret that is stored first.
    let insert = "INSERT INTO form_secrets (id, secret)
                  VALUES (1, $1)
                  ON CONFLICT (id) DO NOTHING";
    tx::act(connection, world.now(), |tx| tx.run(insert, [&secret]))?;
    let stored = tx::snapshot(connection, world.now(), |tx| tx.value(sql, []))?;
    stored.ok_or_else(|| Error::Defect("the secret that signs forms was not stored".to_owned()))
}
