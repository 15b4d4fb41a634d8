//! Items of the admin lists, for the command line. The items of the JSON lists that commands print have the same
//! fields as the items of the API's lists.

use serde::Serialize;

use super::activity;
use super::admin;
use super::api_key;
use super::hr_delivery;
use crate::store::Error;
use crate::store::activity::Activity;
use crate::store::api_key::ApiKey;
use crate::store::hr_delivery::HrDelivery;
use crate::store::organization::Organization;
use crate::store::user::User;

/// Returns an item of `GET /api/admin/organizations`.
///
/// # Errors
/// [`Error::Defect`] if the stored theme is not a JSON object.
pub fn organization(organization: &Organization) -> Result<impl Serialize + use<>, Error> {
    admin::organization::wire(organization.clone())
}

/// Returns an item of `GET /api/admin/users`.
pub fn user(user: &User) -> impl Serialize + use<> {
    admin::user::wire(user, None)
}

/// Returns an item of `GET /api/admin/api-keys`.
pub fn api_key(key: &ApiKey) -> impl Serialize {
    api_key::wire(key)
}

/// Returns an item of `GET /api/admin/hr-deliveries`.
pub fn hr_delivery(delivery: &HrDelivery) -> impl Serialize {
    hr_delivery::wire(delivery)
}

/// Returns an item of `GET /api/admin/activity`.
pub fn activity(row: &Activity) -> impl Serialize {
    activity::wire(row)
}
