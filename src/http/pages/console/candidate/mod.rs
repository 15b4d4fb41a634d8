//! `/app/{orgSlug}/candidates`: the list of candidates (`list`), a candidate with every application (`page`), and the
//! changes to an open page (`changes`).

mod application;
mod changes;
mod list;
mod page;

use hyper::Method;

use super::live;
use crate::http::server::route::{Answer, Route};

pub(super) fn routes() -> Vec<Route> {
    let answers: &[Answer] = &[(200, "")];
    vec![
        Route::staff(Method::GET, "/app/{orgSlug}/candidates", list::decode, list::list).answering(answers),
        Route::staff(Method::GET, "/app/{orgSlug}/candidates/{id}", page::decode, page::show).answering(answers),
        live::route("/app/{orgSlug}/candidates/{id}/changes", changes::decode, changes::changes).answering(&[
            (200, ""),
            (204, ""),
            (410, "gone"),
        ]),
    ]
}
