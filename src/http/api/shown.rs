//! Things as answers show them, for whoever shows them elsewhere: the lists of the command line have the same members.

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

/// An organization, as `GET /api/admin/organizations` lists it.
///
/// # Errors
/// [`Error::Defect`] where the file has a theme that is no JSON object.
pub fn organization(organization: &Organization) -> Result<impl Serialize + use<>, Error> {
    admin::organization::wire(organization.clone())
}

/// A user, as `GET /api/admin/users` lists one.
pub fn user(user: &User) -> impl Serialize + use<> {
    admin::user::wire(user, None)
}

/// A key, as `GET /api/admin/api-keys` lists it.
pub fn api_key(key: &ApiKey) -> impl Serialize {
    api_key::wire(key)
}

/// A delivery, as `GET /api/admin/hr-deliveries` lists it.
pub fn hr_delivery(delivery: &HrDelivery) -> impl Serialize {
    hr_delivery::wire(delivery)
}

/// A row of activity, as `GET /api/admin/activity` lists it.
///
/// # Errors
/// [`Error::Defect`] where its detail is no JSON.
pub fn activity(row: &Activity) -> Result<impl Serialize, Error> {
    activity::wire(row)
}
