//! `GET /app/{orgSlug}/review`: the review queue. Staff decide on one application after another, with the CV next to
//! the decision. The list is fixed when the queue begins (`queue`). The URL of the page contains the time at which the
//! queue began, so the service stores nothing about a queue. `page` shows the queue, and an open page gets later
//! changes from `changes`.

mod changes;
mod page;
mod queue;

use hyper::Method;

use super::live;
use crate::http::server::route::Route;

pub(super) fn routes() -> Vec<Route> {
    let answers = &[(200, ""), (303, "")];
    vec![
        Route::staff(Method::GET, "/app/{orgSlug}/review", queue::decode, page::show).answering(answers),
        live::route("/app/{orgSlug}/review/changes", changes::decode, changes::changes).answering(&[
            (200, ""),
            (204, ""),
            (410, "gone"),
        ]),
    ]
}
