//! `GET /app/{orgSlug}/roles/{id}`: the board of a role. `page` shows it, `column` has its columns and cards,
//! `role_facts` what it says about the role, `scene` the role on it, `input` the form of a decision, `decide` the
//! decisions, `aside` the later marks, `ask` the forms for their details, and `outcome` the answers. `changes` has what others change meanwhile,
//! and `part` the parts of the board that change.

mod aside;
mod ask;
mod changes;
mod column;
mod decide;
mod input;
mod outcome;
mod page;
mod part;
mod role_facts;
mod scene;

use hyper::Method;

use crate::http::pages::console::live;
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
        live::route("/app/{orgSlug}/roles/{id}/changes", changes::decode, changes::changes).answering(&[
            (200, ""),
            (204, ""),
            (410, "gone"),
        ]),
    ]
}
