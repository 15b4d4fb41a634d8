//! Pages of lists: how many rows, and how the next page is asked for.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use super::reply::Reply;
use super::request::Request;
use crate::domain::refusal::Refusal;
use crate::domain::usage;

/// How many rows a page is to have, by the query's `limit`.
///
/// # Errors
/// `validation_error` where that is no integer, or there twice.
pub(in crate::http) fn rows(request: &Request) -> Result<usize, Refusal> {
    let Some(text) = request.query("limit")? else { return Ok(usage::PAGE_ROWS_DEFAULT) };
    usage::page_rows(&text).ok_or_else(|| {
        Refusal::invalid("limit", format!("must be an integer; 1 to {} rows make a page", usage::PAGE_ROWS_MAX))
    })
}

/// Rows of a page of staff's and admins' lists when no other number is asked for.
pub(in crate::http) const ROWS_DEFAULT: usize = 50;

/// The most rows of such a page: each may be a candidate with all their applications.
pub(in crate::http) const ROWS_MAX: usize = 200;

/// Which page of a list is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::http) struct Page {
    /// Rows that it may have.
    pub(in crate::http) rows: usize,
    /// What the row before it is found by, as the page before told it; nothing for the first page.
    pub(in crate::http) after: Option<Vec<String>>,
}

impl Page {
    /// The page that the query's `limit` and `cursor` ask for, of a list whose rows are found by so many parts. A limit
    /// beyond its bounds is taken as the nearest.
    ///
    /// # Errors
    /// `validation_error` for a `limit` that is no integer, a `cursor` that no page gave, or either there twice.
    pub(in crate::http) fn read(request: &Request, parts: usize) -> Result<Self, Refusal> {
        let limit = request.query("limit").and_then(|text| text.as_deref().map(limit).transpose());
        let cursor = request.query("cursor").and_then(|text| text.map(|text| decode(&text, parts)).transpose());
        let (rows, after) = Refusal::both(limit, cursor)?;
        Ok(Self { rows: rows.unwrap_or(ROWS_DEFAULT), after })
    }

    /// The rows to ask for: one more than the page has tells whether there are more.
    pub(in crate::http) fn rows_wanted(&self) -> usize {
        self.rows + 1
    }

    /// The answer with the rows of a page, and what the next one is asked for by, where there may be more.
    pub(in crate::http) fn reply_until<W: Serialize>(&self, data: Vec<W>, next: Option<&[String]>) -> Reply {
        let next_cursor = next.map(encode);
        let pagination = WirePagination { limit: self.rows, has_more: next_cursor.is_some(), next_cursor };
        Reply::json(&WirePage { success: true, data, pagination })
    }

    /// The answer with the rows that were found, of which each is told by `wire` and found by `key`.
    pub(in crate::http) fn reply<T, W: Serialize>(
        &self,
        found: Vec<T>,
        key: impl Fn(&T) -> Vec<String>,
        wire: impl Fn(T) -> W,
    ) -> Reply {
        let (rows, pagination) = self.cut(found, key);
        Reply::json(&WirePage { success: true, data: rows.into_iter().map(wire).collect(), pagination })
    }

    /// The rows of the page, and how it stands in its list.
    pub(in crate::http) fn cut<T>(
        &self,
        mut found: Vec<T>,
        key: impl Fn(&T) -> Vec<String>,
    ) -> (Vec<T>, WirePagination) {
        let has_more = found.len() > self.rows;
        found.truncate(self.rows);
        let next_cursor = found.last().filter(|_| has_more).map(|last| encode(&key(last)));
        (found, WirePagination { limit: self.rows, has_more, next_cursor })
    }
}

/// Says that a cursor is none that a page gave.
pub(in crate::http) fn no_cursor() -> Refusal {
    Refusal::invalid("cursor", "must be pagination.nextCursor of the page before")
}

fn limit(text: &str) -> Result<usize, Refusal> {
    let rows = usage::page_rows(text).map(|rows| rows.min(ROWS_MAX));
    rows.ok_or_else(|| Refusal::invalid("limit", format!("must be an integer; 1 to {ROWS_MAX} rows make a page")))
}

/// What stands between the parts of a cursor; none of them holds it.
const BETWEEN: char = '\n';

/// A cursor: opaque to whoever gets it.
pub(in crate::http) fn encode(parts: &[String]) -> String {
    URL_SAFE_NO_PAD.encode(parts.join(&BETWEEN.to_string()))
}

fn decode(cursor: &str, parts: usize) -> Result<Vec<String>, Refusal> {
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let found: Vec<String> = text.ok_or_else(no_cursor)?.split(BETWEEN).map(str::to_owned).collect();
    if found.len() == parts { Ok(found) } else { Err(no_cursor()) }
}

/// How a page stands in its list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WirePagination {
    /// Rows that the page could have.
    pub(in crate::http) limit: usize,
    /// Whether there are more behind it.
    pub(in crate::http) has_more: bool,
    /// What asks for those, as `cursor`.
    pub(in crate::http) next_cursor: Option<String>,
}

/// A page of a list.
#[derive(Serialize)]
pub(in crate::http) struct WirePage<T> {
    pub(in crate::http) success: bool,
    pub(in crate::http) data: Vec<T>,
    pub(in crate::http) pagination: WirePagination,
}
