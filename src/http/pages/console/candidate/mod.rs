//! `/app/{orgSlug}/candidates`: the list of candidates (`list`), and a candidate with every application (`page`).

mod application;
mod list;
mod page;

use hyper::Method;

use crate::http::server::route::{Answer, Route};

pub(super) fn routes() -> Vec<Route> {
    let answers: &[Answer] = &[(200, "")];
    vec![
        Route::staff(Method::GET, "/app/{orgSlug}/candidates", list::decode, list::list).answering(answers),
        Route::staff(Method::GET, "/app/{orgSlug}/candidates/{id}", page::decode, page::show).answering(answers),
    ]
}
