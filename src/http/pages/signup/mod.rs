//! `/signup/{token}`: the application form behind a signup link, and its submission.

mod form;
mod form_error;
mod no_form;
mod submit;
mod visit;

use hyper::Method;

use crate::http::api::signup::FILE_FIELD;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::Grade;

const PATH: &str = "/signup/{token}";

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Page, Method::GET, PATH, form::decode, form::show).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
            (410, "gone"),
        ]),
        Route::page_act_or_read(Method::POST, PATH, submit::decode, submit::act, submit::refuse)
            .with_upload(FILE_FIELD, submit::precheck)
            .with_fallback(submit::show_again)
            .in_constant_time()
            .writes(Grade::Durable)
            .answering(&[
                (303, ""),
                (400, "bad_request"),
                (400, "validation_error"),
                (404, "not_found"),
                (409, "conflict"),
                (410, "gone"),
                (413, "payload_too_large"),
                (415, "unsupported_media_type"),
                (429, "rate_limited"),
            ]),
    ]
}
