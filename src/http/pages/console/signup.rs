//! A signup as the console shows it: the fields of the form, and the attachments.

use super::when::When;
use crate::domain::attachment::MediaType;
use crate::domain::timestamp::Timestamp;
use crate::http::pages::texts::Texts;
use crate::store::attachment::Attachment;
use crate::store::signup::Signup;

/// The language, the organization and the time for which a page is rendered.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) texts: &'static Texts,
    pub(super) slug: &'a str,
    /// The IANA time zone of the organization.
    pub(super) zone: &'a str,
    pub(super) now: Timestamp,
}

/// A signup.
pub(super) struct SignupView {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) phone: String,
    pub(super) links: Vec<String>,
    pub(super) note: String,
    pub(super) submitted: When,
    pub(super) withdrew: Option<When>,
    pub(super) files: Vec<FileView>,
}

/// An attachment of a signup, or one that an import added.
pub(super) struct FileView {
    pub(super) name: String,
    /// The kind and the size, such as `PDF, 184 kB`.
    pub(super) facts: String,
    /// The URL of the page that shows the file.
    pub(super) url: String,
    /// The URL of the file itself, for a frame; `None` if browsers cannot show the file.
    pub(super) frame_url: Option<String>,
    pub(super) download_url: String,
}

impl Place<'_> {
    pub(super) fn signup(self, signup: &Signup) -> SignupView {
        let when = |at| When::new(self.texts, self.zone, at, self.now);
        SignupView {
            name: signup.name.clone(),
            email: signup.email.clone(),
            phone: signup.phone.clone(),
            links: signup.links.clone(),
            note: signup.note.clone(),
            submitted: when(signup.submitted_at),
            withdrew: signup.withdrawn_at.map(when),
            files: signup.attachments.iter().map(|attachment| self.file(attachment)).collect(),
        }
    }

    pub(super) fn file(self, attachment: &Attachment) -> FileView {
        let url = format!("/app/{}/documents/{}", self.slug, attachment.id);
        let kind = attachment.media_type.extension().to_uppercase();
        FileView {
            name: attachment.file_name.clone(),
            facts: format!("{kind}, {}", self.texts.file_size(attachment.bytes)),
            frame_url: is_shown(attachment.media_type).then(|| format!("{url}/file")),
            download_url: format!("{url}/download"),
            url,
        }
    }
}

/// Returns whether browsers themselves show files of this type, so that no other program has to open the file.
pub(super) fn is_shown(media_type: MediaType) -> bool {
    matches!(media_type, MediaType::Pdf | MediaType::Text | MediaType::WesternText | MediaType::Utf16Text)
}
