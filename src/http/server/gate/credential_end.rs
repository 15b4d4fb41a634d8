//! Ends that were seen: a key that was refused because it has expired, or a session because it was idle or old, stays refused,
//! also where the clock goes back.

use super::job::outcome_of;
use crate::http::server::authentication::{Presented, presented};
use crate::http::server::ctx::Ctx;
use crate::http::server::request::Request;
use crate::store::{self, Error, Grade, Tx};

/// Writes the end of the credential that a refused request carried, where it has come to one. Before the answer, so that
/// nobody who was refused is let in later.
pub(super) async fn write(ctx: &Ctx, request: &Request) {
    if let Ok(presented) = presented(ctx, request) {
        write_of(ctx, presented).await;
    }
}

/// The same of this credential.
pub(super) async fn write_of(ctx: &Ctx, presented: Presented) {
    let has_ended = ctx.store.read(|tx| match &presented {
        Presented::ApiKey(digest) => store::api_key::has_unrecorded_expiry(tx, digest),
        Presented::Session(digest) => store::session::has_ended(tx, digest),
    });
    // A credential that is unknown or was revoked has nothing to write, so refusing it costs no write.
    if !has_ended.unwrap_or(false) {
        return;
    }
    let end = move |tx: &Tx<'_>| -> Result<(), Error> {
        match &presented {
            Presented::ApiKey(digest) => store::api_key::record_expiry(tx, Some(digest)),
            Presented::Session(digest) => store::session::delete_ended(tx, Some(digest)),
        }
    };
    // Where the file cannot be written, the next request that is refused writes it, or the sweep.
    let _ = outcome_of(|done| ctx.store.write(Grade::Durable, end, done)).await;
}
