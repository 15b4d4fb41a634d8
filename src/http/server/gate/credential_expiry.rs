//! Records the end of a refused credential: an API key that has expired, or a session that has exceeded its maximum age
//! or idle time. The service then refuses the credential even after the clock is set back.

use std::sync::Arc;

use super::job::run_job;
use crate::http::server::authentication::{Presented, presented};
use crate::http::server::ctx::Ctx;
use crate::http::server::database_read::read_briefly;
use crate::http::server::request::Request;
use crate::store::{self, Error, Grade, Tx};

/// Records the end of a refused request's credential if it has expired. The service tries to write the record before
/// the response, so that a credential that was refused as expired is not accepted later.
pub(super) async fn write(ctx: &Arc<Ctx>, request: &Request) {
    if let Ok(presented) = presented(ctx, request) {
        write_of(ctx, presented).await;
    }
}

/// Records the end of this credential if it has expired.
pub(super) async fn write_of(ctx: &Arc<Ctx>, presented: Presented) {
    let has_ended = move |tx: &Tx<'_>| match &presented {
        Presented::ApiKey(digest) => store::api_key::has_unrecorded_expiry(tx, digest),
        Presented::Session(digest) => store::session::has_ended(tx, digest),
    };
    let has_ended = read_briefly(ctx, move |ctx| ctx.store.read(has_ended)).await;
    // An unknown or revoked credential needs no record, so refusing it costs no write.
    if !has_ended.unwrap_or(false) {
        return;
    }
    let end = move |tx: &Tx<'_>| -> Result<(), Error> {
        match &presented {
            Presented::ApiKey(digest) => store::api_key::record_expiry(tx, Some(digest)),
            Presented::Session(digest) => store::session::delete_ended(tx, Some(digest)),
        }
    };
    // If this write fails, the next refusal or the background job records the end.
    let _ = run_job(|callback| ctx.store.write(Grade::Durable, end, callback)).await;
}
