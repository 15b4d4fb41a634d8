//! `GET /app/{orgSlug}/roles/{id}`: the board of a role. `page` shows it, `column` has its columns and cards, `scene` the
//! role on it, `input` the form of a decision, `decide` the decisions, `aside` the later marks, `ask` the forms for their details, and `outcome`
//! the answers.

mod aside;
mod ask;
mod column;
mod decide;
mod input;
mod outcome;
mod page;
mod scene;

use hyper::Method;

use crate::http::server::route::Route;
use crate::store::Grade;

pub(super) fn routes() -> Vec<Route> {
    let (board, decision) = ("/app/{orgSlug}/roles/{id}", "/app/{orgSlug}/roles/{id}/decide");
    vec![
        Route::staff(Method::GET, board, page::decode, page::show).answering(&[(200, "")]),
        Route::staff(Method::GET, decision, ask::decode_menu, ask::menu).answering(&[(200, ""), (403, "forbidden")]),
        Route::staff(Method::POST, decision, input::decode, decide::decide)
            .with_form()
            .writes(Grade::Durable)
            .answering(&[(200, ""), (303, ""), (409, "conflict")]),
    ]
}
