//! Every endpoint: the only file that names all of them.

use super::api::{
    access, activity, admin, api_key, board, candidate, candidate_role, candidate_step, document, erasure, export,
    health, hr_delivery, hr_integration, logo, me, openapi, portal, report, role, role_step, security_txt, session,
    status, status_link, usage,
};
use super::pages::{careers, signup, status_page};
use super::server::route::Route;

/// Every route there is.
pub(in crate::http) fn all() -> Vec<Route> {
    [
        access::routes(),
        role::routes(),
        role_step::routes(),
        candidate::routes(),
        candidate_role::routes(),
        status_link::routes(),
        candidate_step::routes(),
        document::routes(),
        erasure::routes(),
        export::routes(),
        me::routes(),
        api_key::routes(),
        usage::routes(),
        admin::organization::routes(),
        admin::retention::routes(),
        logo::routes(),
        admin::user::routes(),
        admin::membership::routes(),
        hr_integration::routes(),
        hr_delivery::routes(),
        board::routes(),
        status::routes(),
        report::routes(),
        activity::routes(),
        portal::routes(),
        careers::routes(),
        session::routes(),
        signup::routes(),
        super::api::signup::routes(),
        status_page::routes(),
        health::routes(),
        security_txt::routes(),
        openapi::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
