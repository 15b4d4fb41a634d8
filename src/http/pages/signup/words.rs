//! What is wrong with a form, in the reader's words.

use crate::domain::attachment;
use crate::domain::signup::{FieldFault, FormField};
use crate::http::pages::texts::{Signup, fill};

/// What is wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// What was typed.
    Typed(FieldFault),
    /// The file that was sent.
    File(attachment::AttachmentFault),
    /// The file that was sent before: it was kept for a while, which is over.
    FileGone,
}

/// What is wrong with a form as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// The field that only robots see was filled.
    Robot,
    /// It came sooner than anybody fills one.
    TooSoon,
    /// Too many came from its network.
    Limited {
        /// Whole seconds after which the next one is taken.
        retry_after_s: u64,
    },
    /// The service cannot take it now.
    Unavailable,
    /// It is too old, or was made for another link, or by nobody here.
    TooOld,
}

/// The sentence about a form as a whole.
pub(super) fn of_problem(texts: &'static Signup, problem: Problem) -> String {
    let text = match problem {
        Problem::Limited { retry_after_s } => {
            return fill(texts.limited, &[("minutes", &retry_after_s.div_ceil(60).to_string())]);
        }
        Problem::Unavailable => texts.unavailable,
        Problem::Robot => texts.robot,
        Problem::TooSoon => texts.too_soon,
        Problem::TooOld => texts.too_old,
    };
    text.to_owned()
}

/// What a field is called.
pub(super) fn label(texts: &'static Signup, field: FormField) -> &'static str {
    match field {
        FormField::Name => texts.name,
        FormField::Email => texts.email,
        FormField::Phone => texts.phone,
        FormField::Links => texts.links,
        FormField::Note => texts.note,
        FormField::Cv => texts.cv,
        FormField::Consent => texts.consent_name,
    }
}

/// The sentence about a field.
pub(super) fn of_field(texts: &'static Signup, field: FormField, wrong: Wrong) -> String {
    let counted = |text, count: usize| fill(text, &[("count", &count.to_string())]);
    match wrong {
        Wrong::Typed(FieldFault::Missing) => missing(texts, field).to_owned(),
        Wrong::Typed(FieldFault::TooLong(most)) if field == FormField::Links => counted(texts.link_too_long, most),
        Wrong::Typed(FieldFault::TooLong(most)) => counted(texts.too_long, most),
        Wrong::Typed(FieldFault::Unreadable(_)) => texts.unreadable.to_owned(),
        Wrong::Typed(FieldFault::NoAddress) => texts.no_address.to_owned(),
        Wrong::Typed(FieldFault::TooMany(most)) => counted(texts.too_many_links, most),
        Wrong::Typed(FieldFault::NoLink) => texts.no_link.to_owned(),
        Wrong::File(attachment::AttachmentFault::TooLarge) => texts.cv_too_large.to_owned(),
        Wrong::File(attachment::AttachmentFault::WrongType) => texts.cv_wrong_type.to_owned(),
        Wrong::File(attachment::AttachmentFault::Empty) => texts.cv_empty.to_owned(),
        Wrong::File(attachment::AttachmentFault::MoreThanOne) => texts.cv_more_than_one.to_owned(),
        Wrong::File(attachment::AttachmentFault::NoRoom) => texts.cv_no_room.to_owned(),
        Wrong::FileGone => texts.cv_gone.to_owned(),
    }
}

fn missing(texts: &'static Signup, field: FormField) -> &'static str {
    match field {
        FormField::Email => texts.email_missing,
        FormField::Consent => texts.consent_missing,
        _ => texts.name_missing,
    }
}
