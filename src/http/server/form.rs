//! Forms as handlers see them: the texts that a person typed, and the outcome of an uploaded file.

use crate::domain::attachment::AttachmentFault;
use crate::domain::refusal::Refusal;
use crate::store::attachment::StagedAttachment;

/// The use of a file while its form is read.
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
    /// The file is staged. The handler claims it, or returns its token, so that the person need not send it again.
    Staged(StagedAttachment),
    /// The file was refused, and nothing of it is stored. Reading stops at a file that is too large, so the fields
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

    /// The reason why the service cannot act on the form now, if there is one.
    pub(in crate::http) fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    /// The raw text of a field; `None` if the field is absent.
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

    /// The raw texts of a field that may be repeated.
    pub(in crate::http) fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether the form was refused for its length before it was read.
    pub(in crate::http) fn is_unread(&self) -> bool {
        self.fields.is_empty() && matches!(self.upload, Some(Upload::Fault(AttachmentFault::TooLarge)))
    }

    /// The outcome of the form's file, if the person chose one.
    pub(in crate::http) fn upload(&self) -> Option<&Upload> {
        self.upload.as_ref()
    }
}
