//! The JSON envelope of successful answers: `success`, and `data` if there is any.

use serde::Serialize;

use crate::http::server::reply::Reply;

/// Returns a 200 answer with `{ "success": true, "data": … }`.
pub(in crate::http) fn with_data(data: impl Serialize) -> Reply {
    Reply::json(&WireData { success: true, data })
}

/// Returns a 202 answer with `{ "success": true, "data": … }`.
pub(in crate::http) fn accepted(data: impl Serialize) -> Reply {
    Reply::accepted(&WireData { success: true, data })
}

/// Returns a 200 answer with `{ "success": true }`.
pub(in crate::http) fn success() -> Reply {
    Reply::json(&WireSuccess { success: true })
}

#[derive(Serialize)]
struct WireData<T> {
    success: bool,
    data: T,
}

#[derive(Serialize)]
struct WireSuccess {
    success: bool,
}
