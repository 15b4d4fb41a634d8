//! The second factors and recovery codes of the signed-in user.

mod authenticator;
mod list;
mod missing;
pub(super) mod passkey;
mod path;
mod qr_code;
pub(super) mod recovery;

pub(in crate::http::pages) use self::missing::instead;
use crate::http::server::route::Route;

pub(super) fn routes() -> Vec<Route> {
    [list::routes(), authenticator::routes(), passkey::routes(), recovery::routes()].into_iter().flatten().collect()
}
