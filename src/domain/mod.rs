//! The lowest layer: values and rules. A rule is a pure function from facts to a decision or a [`refusal::Refusal`].
//!
//! Nothing here depends on SQL, HTTP, JSON, the wall clock or randomness. The caller passes in everything that a rule
//! needs.

pub mod activity;
pub mod address;
pub mod api_key;
pub mod application;
pub mod attachment;
pub mod candidate;
pub mod candidate_step;
pub mod careers;
pub mod charset;
pub mod clock;
pub mod colour;
pub mod disk;
pub mod encoding;
pub mod entity_tag;
pub mod erasure;
pub mod form;
pub mod host;
pub mod hr_delivery;
pub mod hr_dispatch;
pub mod hr_integration;
pub mod id;
pub mod idempotency_key;
pub mod invitation;
pub mod keyed_hash;
pub mod language;
pub mod logo;
pub mod network;
pub mod organization;
pub mod pace;
pub mod password;
pub mod plain;
pub mod progress;
pub mod rate;
pub mod refusal;
pub mod report;
pub mod retention;
pub mod role;
pub mod role_step;
pub mod search;
pub mod session;
pub mod signature;
pub mod signup;
pub mod status_page;
pub mod tally;
pub mod text;
pub mod throttle;
pub mod timestamp;
pub mod usage;
pub mod user;
pub(crate) mod words;
