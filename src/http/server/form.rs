//! Forms as nouns see them: the texts that somebody typed, and what became of a file that came with them.

use crate::domain::attachment::AttachmentFault;
use crate::domain::refusal::Refusal;
use crate::store::attachment::StagedAttachment;

/// What a form is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum FileUse {
    /// Its file is staged.
    Stage,
    /// Its file is read past.
    Discard,
}

/// What keeps a form from being taken now, whatever is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Trouble {
    /// Too many came from its network.
    Limited {
        /// Whole seconds after which the next one is taken.
        retry_after_s: u64,
    },
    /// The service cannot take it now.
    Unavailable,
}

/// A form that was sent.
#[derive(Debug, Clone, Default)]
pub(in crate::http) struct Form {
    fields: Vec<(String, String)>,
    upload: Option<Upload>,
    trouble: Option<Trouble>,
}

/// What became of a file.
#[derive(Debug, Clone)]
pub(in crate::http) enum Upload {
    /// It is staged: the noun attaches it, or hands its token out so that it need not be sent again.
    Staged(StagedAttachment),
    /// It was not taken, and nothing of it is kept. Behind one that is too large the form was not read on, so fields that
    /// stand behind the file are missing.
    Fault(AttachmentFault),
}

impl Form {
    pub(in crate::http) fn new(fields: Vec<(String, String)>, upload: Option<Upload>) -> Self {
        Self { fields, upload, trouble: None }
    }

    /// The same, in trouble where there is some.
    pub(in crate::http) fn with_trouble(self, trouble: Option<Trouble>) -> Self {
        Self { trouble, ..self }
    }

    /// What keeps it from being taken now.
    pub(in crate::http) fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    /// What was typed into a field, as it came; `None` where the field was not sent.
    ///
    /// # Errors
    /// `validation_error` where it is there twice.
    pub(in crate::http) fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.texts(name);
        let value = values.next();
        if values.next().is_some() {
            return Err(Refusal::invalid(name, "must be there once, not twice"));
        }
        Ok(value)
    }

    /// The same of a field that may be there more than once.
    pub(in crate::http) fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether it was refused for its length before anything of it was read.
    pub(in crate::http) fn is_unread(&self) -> bool {
        self.fields.is_empty() && matches!(self.upload, Some(Upload::Fault(AttachmentFault::TooLarge)))
    }

    /// The file that was sent with it, where one was chosen.
    pub(in crate::http) fn upload(&self) -> Option<&Upload> {
        self.upload.as_ref()
    }
}
