//! A service: the context that handlers see, and the route table that only the server sees.

use std::sync::Arc;

use super::ctx::Ctx;
use super::table::Table;

pub(super) struct Service {
    pub(super) ctx: Arc<Ctx>,
    pub(super) table: Table,
}
