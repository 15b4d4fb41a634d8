//! The work that remains after a transaction has erased data. With PostgreSQL, the transaction records this work in the
//! database as a debt, which `VACUUM` settles. A file has no such record, because the service checks at each start what
//! remains.

use super::tx::{Error, Tx};

/// Records in the transaction that its deleted and overwritten rows leave something to clean up.
pub(crate) fn owe(tx: &Tx<'_>) -> Result<(), Error> {
    #[cfg(feature = "postgres")]
    super::postgres::vacuum::owe(tx)?;
    let _ = tx;
    Ok(())
}
