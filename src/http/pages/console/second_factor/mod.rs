//! The second factors and recovery codes of the signed-in user.

mod authenticator;
mod list;
mod missing;
mod path;
mod qr_code;
mod recovery;

pub(in crate::http::pages) use self::missing::instead;
use crate::http::server::route::Route;

pub(super) fn routes() -> Vec<Route> {
    [list::routes(), authenticator::routes(), recovery::routes()].into_iter().flatten().collect()
}
