//! Shows a form again, with the submitted values, if the service cannot process the form now.

use std::sync::Arc;

use super::request_trail::RequestTrail;
use crate::http::server::ctx::Ctx;
use crate::http::server::database_read::read_briefly;
use crate::http::server::form::Trouble;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::Error;

/// Replaces a failed outcome with the form itself, if the route has a fallback. Returns the outcome unchanged if the
/// fallback fails too.
pub(super) async fn show(
    ctx: &Arc<Ctx>,
    route: &Route,
    request: &Arc<Request>,
    trail: &RequestTrail,
    outcome: Result<Reply, Error>,
) -> Result<Reply, Error> {
    let fallback = route.form.as_ref().and_then(|rules| rules.fallback).filter(|_| request.form().is_some());
    let (Some(fallback), Err(error)) = (fallback, &outcome) else { return outcome };
    let shown = Arc::clone(request);
    let show = move |ctx: &Arc<Ctx>| ctx.store.read(|tx| fallback(ctx, tx, &shown, Trouble::Unavailable));
    match read_briefly(ctx, show).await {
        Ok(reply) => {
            ctx.telemetry.note(ctx.world.now(), Some(trail.request_id.as_str()), &error.to_string());
            Ok(reply)
        }
        Err(_) => outcome,
    }
}
