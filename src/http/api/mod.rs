//! The JSON endpoints, one file or folder per noun, and their OpenAPI description. This module uses the server, but not
//! the pages.

pub(in crate::http) mod access;
pub(in crate::http) mod activity;
pub(in crate::http) mod admin;
pub(in crate::http) mod api_key;
pub(in crate::http) mod application;
pub(in crate::http) mod attachment;
pub(in crate::http) mod board;
pub(in crate::http) mod candidate;
pub(in crate::http) mod candidate_step;
pub(in crate::http) mod decode;
pub(in crate::http) mod decision_batch;
mod envelope;
pub(in crate::http) mod erasure;
mod existing;
pub(in crate::http) mod export;
pub(in crate::http) mod health;
pub(in crate::http) mod hr_delivery;
pub(in crate::http) mod hr_integration;
pub(in crate::http) mod in_progress;
pub mod list_item;
pub(in crate::http) mod logo;
pub(in crate::http) mod me;
pub mod openapi;
pub(in crate::http) mod organization_status;
pub(in crate::http) mod portal;
pub(in crate::http) mod report;
mod resource;
pub(in crate::http) mod role;
pub(in crate::http) mod role_step;
pub(in crate::http) mod security_txt;
pub(in crate::http) mod session;
pub(in crate::http) mod signup;
pub(in crate::http) mod status_link;
pub(in crate::http) mod time_cursor;
pub(in crate::http) mod usage;
mod visible;
