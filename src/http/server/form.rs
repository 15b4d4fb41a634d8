//! Forms as handlers see them: the values that a person typed, and the outcome of an uploaded file.

use crate::domain::attachment::AttachmentFault;
use crate::domain::refusal::Refusal;
use crate::store::attachment::StagedAttachment;

/// The treatment of a form's file while the form is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum FileUse {
    /// The file is staged.
    Stage,
    /// The file is read and discarded.
    Discard,
}

/// The reason why the service cannot act on a form now, even if the form is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Trouble {
    /// The client's network has sent too many forms.
    Limited {
        /// Whole seconds to wait before the next form.
        retry_after_s: u64,
    },
    /// The service cannot act on forms now.
    Unavailable,
}

/// The prefix of the fields with which a person confirms their identity. These fields belong to one request and are not
/// carried to another one.
pub(in crate::http) const CONFIRMATION_PREFIX: &str = "confirmation.";

/// A submitted form.
#[derive(Debug, Clone, Default)]
pub(in crate::http) struct Form {
    fields: Vec<(String, String)>,
    upload: Option<Upload>,
    trouble: Option<Trouble>,
}

/// The outcome of an uploaded file.
#[derive(Debug, Clone)]
pub(in crate::http) enum Upload {
    /// The file is staged. The handler claims the file, or returns its token, so that the person need not send the file
    /// again.
    Staged(StagedAttachment),
    /// The file was refused, and no part of it is stored. Reading stops at a file that is too large, so the fields
    /// after it are missing.
    Fault(AttachmentFault),
}

impl Form {
    pub(in crate::http) fn new(fields: Vec<(String, String)>, upload: Option<Upload>) -> Self {
        Self { fields, upload, trouble: None }
    }

    pub(super) fn with_trouble(self, trouble: Option<Trouble>) -> Self {
        Self { trouble, ..self }
    }

    /// Returns the reason why the service cannot act on the form now, if there is one.
    pub(in crate::http) fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    /// Returns the raw text of a field, or `None` if the field is absent.
    ///
    /// # Errors
    /// `validation_error` if the field is repeated.
    pub(in crate::http) fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.texts(name);
        let value = values.next();
        if values.next().is_some() {
            return Err(Refusal::invalid(name, "must be given only once"));
        }
        Ok(value)
    }

    /// Returns the raw texts of a field that may be repeated.
    pub(in crate::http) fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the names and raw texts of all fields, in the order of the form.
    pub(in crate::http) fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// Returns the fields that another form may carry: all fields except those of a confirmation.
    pub(in crate::http) fn carried_fields(&self) -> Vec<(String, String)> {
        self.fields.iter().filter(|(name, _)| !name.starts_with(CONFIRMATION_PREFIX)).cloned().collect()
    }

    /// Returns whether no field was read, because the form, or a file before all other fields, was too large.
    pub(in crate::http) fn is_unread(&self) -> bool {
        self.fields.is_empty() && matches!(self.upload, Some(Upload::Fault(AttachmentFault::TooLarge)))
    }

    /// Returns the outcome of the form's file, if the person chose a file.
    pub(in crate::http) fn upload(&self) -> Option<&Upload> {
        self.upload.as_ref()
    }
}
