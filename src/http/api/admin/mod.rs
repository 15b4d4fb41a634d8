//! `/api/admin`: how admins set up and run the appliance: its organizations, its users, and who is what where. Keys are in
//! `api_key` and `usage`, HR systems in `hr_integration` and `hr_delivery`.

pub(in crate::http) mod membership;
pub(in crate::http) mod organization;
pub(in crate::http) mod retention;
pub(in crate::http) mod user;

use crate::domain::id;
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::http::server::pagination::{PageRequest, invalid_cursor};
use crate::http::server::request::Request;
use crate::http::server::route::Answer;

const NO_ORGANIZATION: Refusal = Refusal::NotFound("there is no such organization");
const NO_USER: Refusal = Refusal::NotFound("there is no such user");

/// What one that is there can answer.
const READS: &[Answer] =
    &[(200, ""), (401, "unauthorized"), (403, "forbidden"), (404, "not_found"), (429, "rate_limited")];

/// What a page of a list can answer.
const LISTS: &[Answer] =
    &[(200, ""), (400, "validation_error"), (401, "unauthorized"), (403, "forbidden"), (429, "rate_limited")];

/// The moment and the id behind which a page begins: those of the last row of the page before.
type After = Option<(Timestamp, String)>;

/// The page that the query asks for of a list by time and id.
///
/// # Errors
/// `validation_error` for a `limit` that is no integer, a `cursor` that no page gave, or either there twice.
fn page(request: &Request) -> Result<(PageRequest, After), Refusal> {
    let page = PageRequest::parse(request, 2)?;
    let after = match page.after.as_deref() {
        Some([at, id]) if id::is_id(id) => {
            Some((Timestamp::from_micros(at.parse().map_err(|_| invalid_cursor())?), id.clone()))
        }
        Some(_) => return Err(invalid_cursor()),
        None => None,
    };
    Ok((page, after))
}

/// What the row is found by from the next page on.
fn key(at: Timestamp, id: &str) -> Vec<String> {
    vec![at.micros().to_string(), id.to_owned()]
}
