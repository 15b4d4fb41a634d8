//! HTML for people: careers, signup and status pages, with their templates, texts and Markdown.

pub(in crate::http) mod careers;
pub(in crate::http) mod frame;
pub(in crate::http) mod markdown;
pub(in crate::http) mod plain;
pub(in crate::http) mod signup;
pub(in crate::http) mod status_page;
pub(in crate::http) mod texts;
mod xml;
