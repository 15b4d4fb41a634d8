//! `/api/admin/api-keys/{id}/usage`: admins read what a key was used for.

use hyper::Method;
use serde::Serialize;

use super::api_key::{NO_KEY, WireData};
use crate::domain::id::{self, ApiKeyId, Id};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::domain::user::Admin;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::usage::UsageRow;
use crate::store::{self, Error, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![Route::admin(Method::GET, "/api/admin/api-keys/{id}/usage", decode, page).answering(&[
        (200, ""),
        (400, "validation_error"),
        (401, "unauthorized"),
        (403, "forbidden"),
        (404, "not_found"),
        (429, "rate_limited"),
    ])]
}

struct UsageInput {
    id: Option<ApiKeyId>,
    rows: usize,
    before: Option<Timestamp>,
}

/// Which rows are asked for.
///
/// # Errors
/// `validation_error` for a `limit` that is no integer, a `before` that is no moment, and for both at once.
fn decode(_: &Ctx, request: &Request) -> Result<UsageInput, Error> {
    let before = request.query("before").and_then(|text| cursor(text.as_deref()));
    let (rows, before) = Refusal::both(pagination::requested_rows(request), before)?;
    Ok(UsageInput { id: ApiKeyId::parse(request.param("id")), rows, before })
}

fn cursor(text: Option<&str>) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    // A `+` that was not escaped in the query has become a space.
    let moment = Timestamp::parse(&text.replace(' ', "+"), Rounding::Up);
    let what = "must be an RFC 3339 date-time with an offset or a date, as pagination.nextBefore is";
    moment.map(Some).ok_or_else(|| Refusal::invalid("before", what))
}

/// `GET /api/admin/api-keys/{id}/usage`: the key's statistics and a page of its requests, newest first.
///
/// # Errors
/// `not_found` where there is no such key.
fn page(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &UsageInput) -> Result<Reply, Error> {
    let id = input.id.as_ref().ok_or(NO_KEY)?;
    let key = store::api_key::find(tx, id)?.ok_or(NO_KEY)?;
    // One row more than the page has tells whether there are more.
    let mut rows = store::usage::page(tx, key.number, input.before, input.rows + 1)?;
    let has_more = rows.len() > input.rows;
    rows.truncate(input.rows);
    let next_before = rows.last().filter(|_| has_more).map(|row| row.at.to_string());
    let data = WireUsage {
        key: WireUsageKey {
            id: key.id.as_str(),
            name: key.name.as_deref(),
            created_at: key.created_at.to_string(),
            last_request: key.last_request.map(|at| at.to_string()),
            request_count: key.request_count,
            owner: WireUsageOwner { id: key.owner.id.as_str(), email: &key.owner.email, name: &key.owner.name },
        },
        rows: rows.iter().map(wire_row).collect(),
        pagination: WirePagination { limit: input.rows, has_more, next_before },
    };
    Ok(Reply::json(&WireData { success: true, data }))
}

fn wire_row(row: &UsageRow) -> WireUsageRow<'_> {
    WireUsageRow {
        id: id::usage_id(row.at),
        timestamp: row.at.to_string(),
        method: &row.method,
        path: &row.path,
        ip: &row.ip,
        user_agent: &row.user_agent,
        auth_endpoint: &row.auth_endpoint,
    }
}

#[derive(Serialize)]
struct WireUsage<'a> {
    key: WireUsageKey<'a>,
    rows: Vec<WireUsageRow<'a>>,
    pagination: WirePagination,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireUsageKey<'a> {
    id: &'a str,
    name: Option<&'a str>,
    created_at: String,
    last_request: Option<String>,
    request_count: i64,
    owner: WireUsageOwner<'a>,
}

#[derive(Serialize)]
struct WireUsageOwner<'a> {
    id: &'a str,
    email: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireUsageRow<'a> {
    id: String,
    timestamp: String,
    method: &'a str,
    path: &'a str,
    ip: &'a str,
    user_agent: &'a str,
    auth_endpoint: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WirePagination {
    limit: usize,
    has_more: bool,
    next_before: Option<String>,
}
