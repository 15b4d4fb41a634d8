//! Paged lists: the number of rows in a page, and the cursor of the next page.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use super::reply::Reply;
use super::request::Request;
use crate::domain::refusal::Refusal;
use crate::domain::usage;

/// Returns the number of rows that the query's `limit` requests, or the default number. A limit that is out of bounds
/// is replaced with the nearest bound.
///
/// # Errors
/// `validation_error` if `limit` is not an integer, or is repeated.
pub(in crate::http) fn requested_rows(request: &Request) -> Result<usize, Refusal> {
    let Some(text) = request.query("limit")? else { return Ok(usage::PAGE_ROWS_DEFAULT) };
    usage::page_rows(&text).ok_or_else(|| {
        Refusal::invalid("limit", format!("must be an integer; a page has 1 to {} rows", usage::PAGE_ROWS_MAX))
    })
}

/// The default number of rows in a page.
pub(super) const ROWS_DEFAULT: usize = 50;

/// The maximum number of rows in a page. It is low because a row can be a candidate with all their applications.
pub(super) const ROWS_MAX: usize = 200;

/// A request for a page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::http) struct PageRequest {
    /// The maximum number of rows in the page.
    pub(in crate::http) rows: usize,
    /// The cursor: the parts that identify the last row of the previous page; `None` for the first page.
    pub(in crate::http) after: Option<Vec<String>>,
}

impl PageRequest {
    /// Parses the query's `limit` and `cursor`. `parts` is the number of parts in a cursor of this list. A limit that
    /// is out of bounds is replaced with the nearest bound.
    ///
    /// # Errors
    /// `validation_error` if `limit` is not an integer, if `cursor` is not a cursor with this number of parts, or if
    /// either is repeated.
    pub(in crate::http) fn parse(request: &Request, parts: usize) -> Result<Self, Refusal> {
        let limit = request.query("limit").and_then(|text| text.as_deref().map(page_limit).transpose());
        let cursor = request.query("cursor").and_then(|text| text.map(|text| decode_cursor(&text, parts)).transpose());
        let (rows, after) = Refusal::both(limit, cursor)?;
        Ok(Self { rows: rows.unwrap_or(ROWS_DEFAULT), after })
    }

    /// Returns the number of rows to load: one more than fits on the page, to find out whether there is a next page.
    pub(in crate::http) fn rows_to_fetch(&self) -> usize {
        self.rows + 1
    }

    /// Returns the reply with these rows, and with the cursor of the next page if there is one.
    pub(in crate::http) fn reply_with_cursor<W: Serialize>(&self, data: Vec<W>, next: Option<&[String]>) -> Reply {
        let next_cursor = next.map(encode_cursor);
        let pagination = WirePagination { limit: self.rows, has_more: next_cursor.is_some(), next_cursor };
        Reply::json(&WirePage { success: true, data, pagination })
    }

    /// Returns the reply with the rows of the page. `key` returns the cursor of a row, and `wire` its JSON.
    pub(in crate::http) fn reply<T, W: Serialize>(
        &self,
        loaded: Vec<T>,
        key: impl Fn(&T) -> Vec<String>,
        wire: impl Fn(T) -> W,
    ) -> Reply {
        let (rows, pagination) = self.take_page(loaded, key);
        Reply::json(&WirePage { success: true, data: rows.into_iter().map(wire).collect(), pagination })
    }

    /// Returns the rows of the page and their pagination.
    pub(in crate::http) fn take_page<T>(
        &self,
        mut loaded: Vec<T>,
        key: impl Fn(&T) -> Vec<String>,
    ) -> (Vec<T>, WirePagination) {
        let has_more = loaded.len() > self.rows;
        loaded.truncate(self.rows);
        let next_cursor = loaded.last().filter(|_| has_more).map(|last| encode_cursor(&key(last)));
        (loaded, WirePagination { limit: self.rows, has_more, next_cursor })
    }
}

/// Returns the refusal for an invalid cursor.
pub(in crate::http) fn invalid_cursor() -> Refusal {
    Refusal::invalid("cursor", "must be pagination.nextCursor of the previous page")
}

fn page_limit(text: &str) -> Result<usize, Refusal> {
    let rows = usage::page_rows(text).map(|rows| rows.min(ROWS_MAX));
    rows.ok_or_else(|| Refusal::invalid("limit", format!("must be an integer; a page has 1 to {ROWS_MAX} rows")))
}

/// The separator between the parts of a cursor. No part contains the separator.
const SEPARATOR: char = '\n';

/// Encodes a cursor, which is opaque to clients.
pub(in crate::http) fn encode_cursor(parts: &[String]) -> String {
    URL_SAFE_NO_PAD.encode(parts.join(&SEPARATOR.to_string()))
}

fn decode_cursor(cursor: &str, parts: usize) -> Result<Vec<String>, Refusal> {
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let decoded: Vec<String> = text.ok_or_else(invalid_cursor)?.split(SEPARATOR).map(str::to_owned).collect();
    if decoded.len() == parts { Ok(decoded) } else { Err(invalid_cursor()) }
}

/// The `pagination` member of a page.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WirePagination {
    pub(in crate::http) limit: usize,
    pub(in crate::http) has_more: bool,
    /// The `cursor` of the next page.
    pub(in crate::http) next_cursor: Option<String>,
}

#[derive(Serialize)]
pub(in crate::http) struct WirePage<T> {
    pub(in crate::http) success: bool,
    pub(in crate::http) data: Vec<T>,
    pub(in crate::http) pagination: WirePagination,
}
