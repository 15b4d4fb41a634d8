//! `/api/admin`: admins manage organizations, users and memberships, and confirm retention. The modules `api_key` and
//! `usage` handle API keys; `hr_integration` and `hr_delivery` handle HR systems.

pub(in crate::http) mod membership;
pub(in crate::http) mod organization;
pub(in crate::http) mod retention;
pub(in crate::http) mod user;
