//! What the imports from applicant tracking systems (ATS) share: the conversion of HTML to Markdown, and the types of
//! steps.

pub(super) mod html;
mod markdown_writer;
pub(super) mod step_type;
