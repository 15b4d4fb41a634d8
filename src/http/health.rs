//! `GET /`, `/healthz` and `/readyz`: what this is, whether it lives, whether it can work.

use hyper::Method;
use serde::Serialize;

use super::ctx::Ctx;
use super::reply::Reply;
use super::route::Route;
use crate::store::{self, Error, Grade, Tx};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::plain(Method::GET, "/", name).answering(&[(200, "")]),
        Route::plain(Method::GET, "/healthz", live).answering(&[(200, "")]),
        Route::open(Method::GET, "/readyz", |_, _| Ok(()), ready).writes(Grade::Logged).answering(&[(200, "")]),
    ]
}

/// `GET /`: names the service.
fn name(_: &Ctx) -> Reply {
    Reply::json(&WireName { name: "Recruiting appliance", version: env!("CARGO_PKG_VERSION") })
}

/// `GET /healthz`: the process lives.
fn live(_: &Ctx) -> Reply {
    Reply::text("ok\n")
}

/// `GET /readyz`: the file can be read and written, which is tried.
///
/// # Errors
/// `unavailable` where it cannot be now, `internal_error` where it does not keep what is written.
fn ready(_: &Ctx, tx: &Tx<'_>, (): &()) -> Result<Reply, Error> {
    store::health::touch(tx)?;
    Ok(Reply::text("ready\n"))
}

#[derive(Serialize)]
struct WireName {
    name: &'static str,
    version: &'static str,
}
