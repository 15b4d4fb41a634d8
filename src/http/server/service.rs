//! One service: what every request works with, and the table of its routes. Handlers see the first alone.

use std::sync::Arc;

use super::ctx::Ctx;
use super::table::Table;

/// One service.
pub(in crate::http) struct Service {
    /// What handlers work with.
    pub(in crate::http) ctx: Arc<Ctx>,
    /// Every route there is.
    pub(in crate::http) table: Table,
}
