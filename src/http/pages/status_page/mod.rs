//! `/status/{token}`: the page on which a candidate sees their application, withdraws it, downloads their data, and
//! deletes their data. Anybody who has the secret link may do all of this, because candidates have no accounts.

mod action;
mod download;
mod view;
mod visit;

use hyper::Method;

use self::visit::decode;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::Grade;

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/status/{token}";
    vec![
        Route::open(Audience::Page, Method::GET, path, decode, view::show).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
        Route::open(Audience::Page, Method::GET, "/status/{token}/data", decode, download::download_data).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
        Route::open(
            Audience::Page,
            Method::GET,
            "/status/{token}/documents/{documentId}",
            download::decode_attachment,
            download::download_attachment,
        )
        .answering(&[(200, ""), (400, "validation_error"), (404, "not_found")]),
        Route::open(Audience::Page, Method::POST, "/status/{token}/withdraw", decode, action::withdraw)
            .in_constant_time()
            .writes(Grade::Durable)
            .answering(&[(303, ""), (400, "validation_error"), (404, "not_found")]),
        Route::open(Audience::Page, Method::POST, "/status/{token}/delete", decode, action::delete)
            .in_constant_time()
            .writes(Grade::Vital)
            .answering(&[(200, ""), (303, ""), (400, "validation_error"), (404, "not_found")]),
    ]
}
