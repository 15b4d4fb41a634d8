//! The staff console: pages under `/app` for people who are signed in, and the pages on which they sign in.
//!
//! Every page and every form works without JavaScript, except those for passkeys. The JavaScript modules in
//! `templates/console` send the same forms and replace parts of the page with the answer. Handlers call the same store
//! and domain functions as the API and have no rules of their own.

mod activity;
mod activity_page;
mod asset;
mod backup;
mod board;
mod browser;
mod came_back;
mod candidate;
mod close_out;
pub(super) mod confirm;
mod decision;
mod document;
mod due;
mod field;
mod fields;
mod frame;
mod home;
mod join;
mod join_passkey;
mod labels;
mod live;
mod me;
mod membership;
mod not_selected;
mod passkey;
mod review;
mod role;
mod role_step;
mod roles;
pub(super) mod second_factor;
mod security;
pub(super) mod sign_in;
mod sign_in_code;
mod sign_in_form;
mod sign_in_passkey;
mod signup;
mod visit;
mod when;

use crate::http::server::route::Route;

pub(in crate::http) fn routes() -> Vec<Route> {
    [
        asset::routes(),
        sign_in::routes(),
        sign_in_code::routes(),
        sign_in_passkey::routes(),
        join::routes(),
        join_passkey::routes(),
        home::routes(),
        came_back::routes(),
        me::routes(),
        roles::routes(),
        board::routes(),
        close_out::routes(),
        not_selected::routes(),
        candidate::routes(),
        decision::routes(),
        document::routes(),
        review::routes(),
        activity_page::routes(),
        second_factor::routes(),
        confirm::routes(),
        role::routes(),
        role_step::routes(),
        membership::routes(),
        security::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
