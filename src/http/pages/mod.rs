//! HTML for people: the page at `/`, the career, signup and status pages, and the staff console, with their templates,
//! texts and Markdown.

pub(in crate::http) mod asset;
pub(in crate::http) mod careers;
pub(in crate::http) mod console;
mod frame;
pub(in crate::http) mod home;
mod markdown;
pub(in crate::http) mod problem;
pub(in crate::http) mod signup;
pub(in crate::http) mod status_page;
mod texts;
mod xml;
