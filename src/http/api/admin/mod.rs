//! `/api/admin`: admins manage organizations, users and memberships, and confirm retention. Other modules contain the
//! endpoints for API keys (`api_key`, `usage`), HR systems (`hr_integration`, `hr_delivery`), logos (`logo`) and
//! platform activity (`activity`).

pub(in crate::http) mod membership;
pub(in crate::http) mod organization;
pub(in crate::http) mod retention;
pub(in crate::http) mod user;
