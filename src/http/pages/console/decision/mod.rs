//! The decisions of staff in the browser: the forms (`panel`), their handlers (`act`, `hire`, `later`), the message
//! afterwards (`done`), and the pages that explain refusals (`refused`). `scene` loads the application. The board and
//! the page that closes out a role send decisions on several candidates to handlers of their own.
//!
//! A browser submits a form to `/app/{orgSlug}/applications/{id}/…`. The form names the page to which the browser
//! returns (`back`). Unless the form undoes an act, it also names the state that the page showed (`seen`). A form that
//! advances, rejects or reopens names the step (`step`); in a form that moves the candidate, `step` is the destination.
//! If the act succeeds, the answer is a 303 to the page that `back` names, with the id of the application as `done`. A
//! page that is requested with `done` shows the [`done::message`].

mod act;
pub(super) mod done;
mod hire;
pub(super) mod later;
pub(super) mod panel;
pub(super) mod refused;
pub(super) mod scene;

use hyper::Method;

use crate::http::server::route::{Answer, Route};
use crate::store::Grade;

pub(super) fn routes() -> Vec<Route> {
    let answers: &[Answer] = &[(303, ""), (409, "conflict")];
    let [advance, move_to, reject, reopen, undo, withdraw, hire, later, take_up, later_undo] = [
        "/app/{orgSlug}/applications/{id}/advance",
        "/app/{orgSlug}/applications/{id}/move",
        "/app/{orgSlug}/applications/{id}/reject",
        "/app/{orgSlug}/applications/{id}/reopen",
        "/app/{orgSlug}/applications/{id}/undo",
        "/app/{orgSlug}/applications/{id}/withdraw",
        "/app/{orgSlug}/applications/{id}/hire",
        "/app/{orgSlug}/applications/{id}/later",
        "/app/{orgSlug}/applications/{id}/take-up",
        "/app/{orgSlug}/applications/{id}/later/undo",
    ];
    let page = Route::staff(Method::GET, hire, hire::decode_page, hire::show);
    let page_answers: &[Answer] = &[(200, ""), (403, "forbidden")];
    let forms = [
        Route::staff(Method::POST, advance, act::decode_advance, act::advance),
        Route::staff(Method::POST, move_to, act::decode_move, act::move_to),
        Route::staff(Method::POST, reject, act::decode_reject, act::reject),
        Route::staff(Method::POST, reopen, act::decode_reopen, act::reopen),
        Route::staff(Method::POST, undo, act::decode_undo, act::undo),
        Route::staff(Method::POST, withdraw, act::decode_withdraw, act::withdraw),
        Route::staff(Method::POST, hire, hire::decode, hire::hire),
        Route::staff(Method::POST, later, later::decode, later::put),
        Route::staff(Method::POST, later_undo, later::decode_target, later::undo),
    ];
    let take_up = Route::staff(Method::POST, take_up, later::decode_target, later::take_up);
    let take_up = take_up.with_form().writes(Grade::Durable).answering(&[(303, "")]);
    let forms = forms.map(|route| route.with_form().writes(Grade::Durable).answering(answers));
    [page.answering(page_answers), take_up].into_iter().chain(forms).collect()
}
