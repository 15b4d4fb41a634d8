//! `/api/admin/api-keys/{id}/usage`: admins read the usage log of a key.

use hyper::Method;
use serde::Serialize;

use super::api_key::NO_KEY;
use crate::domain::id::{self, ApiKeyId};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::domain::user::Admin;
use crate::http::api::envelope;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::usage::UsageRow;
use crate::store::{self, Error, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let route = Route::admin(Method::GET, "/api/admin/api-keys/{id}/usage", decode, list);
    vec![route.answering(&[(200, ""), (400, "validation_error"), (404, "not_found")])]
}

struct UsageInput {
    id: ApiKeyId,
    rows_max: usize,
    before: Option<Timestamp>,
}

/// # Errors
/// `validation_error`, which names every invalid parameter; `not_found` if the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<UsageInput, Error> {
    let before = request.query("before").and_then(|text| parse_before(text.as_deref()));
    let (rows_max, before) = Refusal::both(pagination::requested_rows(request), before)?;
    Ok(UsageInput { id: request.id_param("id", NO_KEY)?, rows_max, before })
}

fn parse_before(text: Option<&str>) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    // The query decoder turned an unescaped `+` into a space.
    let moment = Timestamp::parse(&text.replace(' ', "+"), Rounding::Up);
    let must_be = "must be a date, or an RFC 3339 date-time with an offset, such as pagination.nextBefore";
    moment.map(Some).ok_or_else(|| Refusal::invalid("before", must_be))
}

/// `GET /api/admin/api-keys/{id}/usage`: returns the key's statistics and a page of its requests, newest first.
///
/// # Errors
/// `not_found` if the key does not exist.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &UsageInput) -> Result<Reply, Error> {
    let key = store::api_key::find(tx, &input.id)?.ok_or(NO_KEY)?;
    // The query reads one row more than fits on the page, to find out whether there is another page.
    let mut rows = store::usage::page(tx, key.number, input.before, input.rows_max + 1)?;
    let has_more = rows.len() > input.rows_max;
    rows.truncate(input.rows_max);
    let next_before = rows.last().filter(|_| has_more).map(|row| row.at.to_string());
    Ok(envelope::with_data(WireUsage {
        key: WireUsageKey {
            id: key.id.as_str(),
            name: key.name.as_deref(),
            created_at: key.created_at.to_string(),
            last_request: key.last_request.map(|at| at.to_string()),
            request_count: key.request_count,
            owner: WireUsageOwner { id: key.owner.id.as_str(), email: &key.owner.email, name: &key.owner.name },
        },
        rows: rows.iter().map(wire_row).collect(),
        pagination: WirePagination { limit: input.rows_max, has_more, next_before },
    }))
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
