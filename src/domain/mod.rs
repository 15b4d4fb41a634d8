//! The ground floor: values and rules as pure functions. Facts in, a change or a [`refusal::Refusal`] out.
//!
//! Nothing here knows of SQL, HTTP, JSON, the wall clock or randomness; what a rule needs is handed in.

pub mod activity;
pub mod address;
pub mod api_key;
pub mod candidate;
pub mod candidate_role;
pub mod candidate_step;
pub mod careers;
pub mod colour;
pub mod document;
pub mod encoding;
pub mod entity_tag;
pub mod erasure;
pub mod form;
pub mod hr_delivery;
pub mod hr_integration;
pub mod hr_turn;
pub mod id;
pub mod idempotency_key;
pub mod invitation;
pub mod language;
pub mod logo;
pub mod organization;
pub mod progress;
pub mod rate;
pub mod refusal;
pub mod report;
pub mod role;
pub mod role_step;
pub mod search;
pub mod session;
pub mod signature;
pub mod signup;
pub mod status_page;
pub mod text;
pub mod throttle;
pub mod timestamp;
pub mod usage;
pub mod user;
pub(crate) mod words;
