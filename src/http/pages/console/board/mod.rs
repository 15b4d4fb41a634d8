//! `GET /app/{orgSlug}/roles/{id}`: the board of a role. `page` shows it, `column` has its columns and cards, and
//! `role_facts` has the facts about the role. `scene` loads the role. `input` decodes the form of a decision, `decide`
//! makes the decision, `ask` asks for its details, and `outcome` answers. `changes` returns changes to an open board,
//! and `part` renders the parts that have changed.

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

pub(super) use role_facts::closing;

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
