//! Pages of lists: how many rows, and how the next page is asked for.

use serde::Serialize;

use super::request::Request;
use crate::domain::refusal::Refusal;
use crate::domain::usage;

/// How many rows a page is to have, by the query's `limit`.
///
/// # Errors
/// `validation_error` where that is no integer, or there twice.
pub(super) fn rows(request: &Request) -> Result<usize, Refusal> {
    let Some(text) = request.query("limit")? else { return Ok(usage::PAGE_ROWS_DEFAULT) };
    usage::page_rows(&text).ok_or_else(|| {
        Refusal::invalid("limit", format!("must be an integer; 1 to {} rows make a page", usage::PAGE_ROWS_MAX))
    })
}

/// How a page stands in its list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePagination {
    /// Rows that the page could have.
    pub(super) limit: usize,
    /// Whether there are more behind it.
    pub(super) has_more: bool,
    /// What asks for those, as `cursor`.
    pub(super) next_cursor: Option<String>,
}

/// A page of a list.
#[derive(Serialize)]
pub(super) struct WirePage<T> {
    pub(super) success: bool,
    pub(super) data: Vec<T>,
    pub(super) pagination: WirePagination,
}
