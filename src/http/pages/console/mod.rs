//! The staff console: pages under `/app` for people who are signed in, and the pages by which they sign in.
//!
//! Every page and every form works without JavaScript. The modules in `templates/console` send the same forms and
//! replace parts of the page with the answer. Handlers call the same store and domain functions as the API and have no
//! rules of their own.

mod asset;
mod board;
mod browser;
mod frame;
mod home;
mod join;
mod me;
mod roles;
pub(super) mod sign_in;
mod visit;
mod when;

use crate::http::server::route::Route;

pub(in crate::http) fn routes() -> Vec<Route> {
    [asset::routes(), sign_in::routes(), join::routes(), home::routes(), me::routes(), roles::routes(), board::routes()]
        .into_iter()
        .flatten()
        .collect()
}
