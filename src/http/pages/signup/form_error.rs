//! Errors of a submitted form, and their texts in the reader's language.

use crate::domain::attachment::AttachmentFault;
use crate::domain::signup::{FieldFault, FormField};
use crate::http::pages::texts::{Signup, fill};

/// An error in one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldError {
    /// The typed text is invalid.
    Typed(FieldFault),
    /// The file was refused.
    File(AttachmentFault),
    /// The form names a file that was uploaded earlier and has since expired.
    FileExpired,
}

/// An error in the form as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormError {
    /// The hidden field, which people do not see, was filled in.
    Robot,
    /// The form was submitted faster than a person can fill it in.
    TooSoon,
    /// Too many forms came from the client's network.
    Limited {
        /// Whole seconds until the next form is accepted.
        retry_after_s: u64,
    },
    /// The service cannot accept the form now.
    Unavailable,
    /// The form is too old, belongs to another link, or was not rendered by this service.
    TooOld,
}

pub(super) fn form_error_text(texts: &'static Signup, error: FormError) -> String {
    let text = match error {
        FormError::Limited { retry_after_s } => {
            return fill(texts.limited, &[("minutes", &retry_after_s.div_ceil(60).to_string())]);
        }
        FormError::Unavailable => texts.unavailable,
        FormError::Robot => texts.robot,
        FormError::TooSoon => texts.too_soon,
        FormError::TooOld => texts.too_old,
    };
    text.to_owned()
}

pub(super) fn field_label(texts: &'static Signup, field: FormField) -> &'static str {
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

pub(super) fn field_error_text(texts: &'static Signup, field: FormField, error: FieldError) -> String {
    let counted = |text, count: usize| fill(text, &[("count", &count.to_string())]);
    match error {
        FieldError::Typed(FieldFault::Missing) => missing_field_text(texts, field).to_owned(),
        FieldError::Typed(FieldFault::TooLong(max)) if field == FormField::Links => counted(texts.link_too_long, max),
        FieldError::Typed(FieldFault::TooLong(max)) => counted(texts.too_long, max),
        FieldError::Typed(FieldFault::Unreadable(_)) => texts.unreadable.to_owned(),
        FieldError::Typed(FieldFault::NotAnAddress) => texts.no_address.to_owned(),
        FieldError::Typed(FieldFault::TooMany(max)) => counted(texts.too_many_links, max),
        FieldError::Typed(FieldFault::NotALink) => texts.no_link.to_owned(),
        FieldError::File(AttachmentFault::TooLarge) => texts.cv_too_large.to_owned(),
        FieldError::File(AttachmentFault::WrongType) => texts.cv_wrong_type.to_owned(),
        FieldError::File(AttachmentFault::Empty) => texts.cv_empty.to_owned(),
        FieldError::File(AttachmentFault::MoreThanOne) => texts.cv_more_than_one.to_owned(),
        FieldError::File(AttachmentFault::NoRoom) => texts.cv_no_room.to_owned(),
        FieldError::FileExpired => texts.cv_expired.to_owned(),
    }
}

fn missing_field_text(texts: &'static Signup, field: FormField) -> &'static str {
    match field {
        FormField::Email => texts.email_missing,
        FormField::Consent => texts.consent_missing,
        _ => texts.name_missing,
    }
}
