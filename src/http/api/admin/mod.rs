//! `/api/admin`: admins manage organizations, users and memberships, and confirm retention. API keys are in `api_key` and
//! `usage`, HR systems in `hr_integration` and `hr_delivery`.

pub(in crate::http) mod membership;
pub(in crate::http) mod organization;
pub(in crate::http) mod retention;
pub(in crate::http) mod user;
