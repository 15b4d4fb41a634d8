//! The pages on which staff create, change, preview, copy, open, close and delete a role. The pages use the rules of
//! the API (`http/api/role`).

mod changes;
mod edit;
mod field;
mod form;
mod page;
mod preview;
mod role_visit;
mod state;

use hyper::Method;

pub(super) use self::changes::changes_path;
pub(super) use self::role_visit::{RoleVisit, path};
use super::live;
use crate::http::server::route::{Answer, Route};
use crate::store::Grade;

pub(super) fn routes() -> Vec<Route> {
    let (new, new_preview) = ("/app/{orgSlug}/roles/new", "/app/{orgSlug}/roles/new/preview");
    let (edit_path, preview) = ("/app/{orgSlug}/roles/{id}/edit", "/app/{orgSlug}/roles/{id}/preview");
    let (open, close) = ("/app/{orgSlug}/roles/{id}/open", "/app/{orgSlug}/roles/{id}/close");
    let (reopen, delete) = ("/app/{orgSlug}/roles/{id}/reopen", "/app/{orgSlug}/roles/{id}/delete");
    let page: &[Answer] = &[(200, "")];
    let (saves, creates): (&[Answer], &[Answer]) = (&[(303, ""), (409, "conflict")], &[(303, "")]);
    let act = |route: Route| route.writes(Grade::Durable).with_form();
    vec![
        Route::staff(Method::GET, new, edit::decode_new, edit::show_new).answering(page),
        act(Route::staff(Method::POST, new, edit::decode, edit::create)).answering(creates),
        Route::staff(Method::GET, new_preview, preview::decode_new, preview::show).answering(page),
        Route::staff(Method::POST, new_preview, preview::decode_typed_new, preview::show).with_form().answering(page),
        Route::staff(Method::GET, edit_path, edit::decode_page, edit::show).answering(page),
        act(Route::staff(Method::POST, edit_path, edit::decode_change, edit::save)).answering(saves),
        live::route("/app/{orgSlug}/roles/{id}/edit/changes", changes::decode, changes::changes).answering(&[
            (200, ""),
            (204, ""),
            (410, "gone"),
        ]),
        Route::staff(Method::GET, preview, preview::decode, preview::show).answering(page),
        Route::staff(Method::POST, preview, preview::decode_typed, preview::show).with_form().answering(page),
        act(Route::staff(Method::POST, open, state::decode, state::open)).answering(saves),
        act(Route::staff(Method::POST, close, state::decode_close, state::close)).answering(saves),
        act(Route::staff(Method::POST, reopen, state::decode, state::reopen)).answering(saves),
        act(Route::staff(Method::POST, delete, state::decode, state::delete)).answering(saves),
    ]
}
