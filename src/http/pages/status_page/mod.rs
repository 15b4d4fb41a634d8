//! `/status/{token}`: where a candidate sees where they stand, takes the application back, downloads what they sent, and has
//! it deleted. Whoever has the link may: there is nothing to sign in to.
//!
//! What the page shows is in `view`, the downloads in `data`, and what changes something in `acts`.

mod acts;
mod data;
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
        Route::open(Audience::Page, Method::GET, "/status/{token}/data", decode, data::download).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
        Route::open(
            Audience::Page,
            Method::GET,
            "/status/{token}/documents/{documentId}",
            data::decode_attachment,
            data::download_attachment,
        )
        .answering(&[(200, ""), (400, "validation_error"), (404, "not_found")]),
        Route::open(Audience::Page, Method::POST, "/status/{token}/withdraw", decode, acts::withdraw)
            .in_constant_time()
            .writes(Grade::Durable)
            .answering(&[(303, ""), (400, "validation_error"), (404, "not_found")]),
        Route::open(Audience::Page, Method::POST, "/status/{token}/delete", decode, acts::delete)
            .in_constant_time()
            .writes(Grade::Vital)
            .answering(&[(200, ""), (303, ""), (400, "validation_error"), (404, "not_found")]),
    ]
}
