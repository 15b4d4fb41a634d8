//! `/app/{orgSlug}/roles/{id}/close-out`: rejects the candidates who are still in progress at a role that is filled or
//! closed, in one batch. `page` shows the candidates, `act` makes and undoes the batch, and `offer` leads to the page.

mod act;
pub(super) mod offer;
mod page;

use hyper::Method;

use crate::http::server::route::Route;
use crate::store::Grade;

pub(super) fn routes() -> Vec<Route> {
    let (page, undo) = ("/app/{orgSlug}/roles/{id}/close-out", "/app/{orgSlug}/roles/{id}/close-out/undo");
    vec![
        Route::staff(Method::GET, page, page::decode, page::show).answering(&[(200, ""), (403, "forbidden")]),
        Route::staff(Method::POST, page, act::decode, act::reject).with_form().writes(Grade::Durable).answering(&[
            (200, ""),
            (303, ""),
            (409, "conflict"),
        ]),
        Route::staff(Method::POST, undo, act::decode_undo, act::undo).with_form().writes(Grade::Durable).answering(&[
            (200, ""),
            (303, ""),
            (409, "conflict"),
        ]),
    ]
}
