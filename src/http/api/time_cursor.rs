//! Cursors for lists that are sorted by time. A cursor consists of the time and the id of the last row on a page.

use crate::domain::id;
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::http::server::pagination::{PageRequest, invalid_cursor};
use crate::http::server::request::Request;

/// The time and the id of the last row on the previous page.
pub(in crate::http) type TimeCursor<I> = (Timestamp, I);

/// Decodes `limit` and `cursor` from the query.
///
/// # Errors
/// `validation_error` for a `limit` that is not an integer, an invalid `cursor`, or a parameter that occurs more than
/// once.
pub(in crate::http) fn decode_page<I>(
    request: &Request,
    parse_id: impl Fn(&str) -> Option<I>,
) -> Result<(PageRequest, Option<TimeCursor<I>>), Refusal> {
    let page = PageRequest::parse(request, 2)?;
    let cursor = match page.after.as_deref() {
        None => None,
        Some([micros, id]) => {
            let at = micros.parse().map(Timestamp::from_micros).map_err(|_| invalid_cursor())?;
            Some((at, parse_id(id).ok_or_else(invalid_cursor)?))
        }
        Some(_) => return Err(invalid_cursor()),
    };
    Ok((page, cursor))
}

/// Works like [`decode_page`], for lists whose ids are not parsed into a type.
///
/// # Errors
/// The errors of [`decode_page`].
pub(in crate::http) fn decode_text_page(
    request: &Request,
) -> Result<(PageRequest, Option<TimeCursor<String>>), Refusal> {
    decode_page(request, |text| id::is_id(text).then(|| text.to_owned()))
}

/// Returns the parts of the cursor that continues after a row.
pub(in crate::http) fn parts(at: Timestamp, id: &str) -> Vec<String> {
    vec![at.micros().to_string(), id.to_owned()]
}
