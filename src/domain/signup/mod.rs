//! Signups: the validation of the form's fields, and the outcome of a valid signup.
//!
//! The faults are a closed list, so that pages can translate them. Callers of the API get them in English.

use super::erasure;
use super::plain::{self, Flaw};
use super::text::{self, EMAIL_CHARACTERS_MAX, Email, NAME_CHARACTERS_MAX};

/// The maximum length of a telephone number, in characters, including separators and remarks.
pub const PHONE_CHARACTERS_MAX: usize = 50;

/// The maximum number of links: enough for a profile and several work samples.
pub const LINKS_MAX: usize = 5;

/// The maximum length of a link, in characters.
pub const LINK_CHARACTERS_MAX: usize = 500;

/// The maximum length of a note, in characters: about two pages.
pub const NOTE_CHARACTERS_MAX: usize = 5_000;

/// Characters that a link must not contain. A URL must escape them (RFC 3986 §2), and some of them have a meaning in
/// markup.
const NOT_IN_LINKS: &[char] = &['<', '>', '"', '`', '\\'];

/// A field of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FormField {
    /// The applicant's name.
    Name,
    /// The email address.
    Email,
    /// The telephone number.
    Phone,
    /// Links to profiles and work samples.
    Links,
    /// A note to the organization.
    Note,
    /// The CV, as a file.
    Cv,
    /// Consent to the privacy notice.
    Consent,
}

impl FormField {
    /// All fields, in the order of the form.
    pub const ALL: [Self; 7] = [Self::Name, Self::Email, Self::Phone, Self::Links, Self::Note, Self::Cv, Self::Consent];

    /// Returns the field's name in forms and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Links => "links",
            Self::Note => "note",
            Self::Cv => "cv",
            Self::Consent => "consent",
        }
    }
}

/// The fault of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldFault {
    /// The field is missing or blank.
    Missing,
    /// The text, or an entry in the list, has more characters than this.
    TooLong(usize),
    /// The text has a character that is not allowed: a control character, an invisible character or a character that
    /// changes the direction of text.
    Unreadable(Flaw),
    /// The text is not an email address.
    NotAnAddress,
    /// The list has more entries than this.
    TooMany(usize),
    /// An entry is not an http or https URL that clearly shows its host.
    NotALink,
}

impl FieldFault {
    /// Returns the fault for API callers, as a sentence without its subject.
    pub fn sentence(self) -> String {
        match self {
            Self::Missing => "is required".to_owned(),
            Self::TooLong(max) => format!("must have at most {max} characters"),
            Self::Unreadable(flaw) => flaw.sentence(),
            Self::NotAnAddress => "must be an email address".to_owned(),
            Self::TooMany(max) => format!("must have at most {max} items"),
            Self::NotALink => {
                "must be http:// or https:// addresses with a host, and without a user name or spaces".to_owned()
            }
        }
    }
}

/// The fields as the applicant submitted them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmittedSignup {
    /// The applicant's name.
    pub name: String,
    /// The email address.
    pub email: String,
    /// The telephone number.
    pub phone: String,
    /// Links to profiles and work samples.
    pub links: Vec<String>,
    /// A note to the organization.
    pub note: String,
    /// Whether the applicant consents to the privacy notice.
    pub consents: bool,
}

/// A signup without faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedSignup {
    /// The applicant's name.
    pub name: String,
    /// The email address.
    pub email: Email,
    /// The telephone number, or an empty string if the applicant entered none.
    pub phone: String,
    /// Links to profiles and work samples.
    pub links: Vec<String>,
    /// A note to the organization, or an empty string if the applicant wrote none.
    pub note: String,
}

impl SubmittedSignup {
    /// Validates and trims all fields.
    ///
    /// # Errors
    /// Returns all faulty fields with one fault each, in the order of the form.
    pub fn check(&self) -> Result<CheckedSignup, Vec<(FormField, FieldFault)>> {
        let mut faults = Vec::new();
        let mut note = |field, fault: Option<FieldFault>| faults.extend(fault.map(|fault| (field, fault)));
        let name = self.name.trim();
        note(FormField::Name, check_required(name, NAME_CHARACTERS_MAX));
        let (email, fault) = parse_address(self.email.trim());
        note(FormField::Email, fault);
        let phone = self.phone.trim();
        note(FormField::Phone, check_line(phone, PHONE_CHARACTERS_MAX));
        let links: Vec<&str> = self.links.iter().map(|link| link.trim()).filter(|link| !link.is_empty()).collect();
        note(FormField::Links, check_links(&links));
        let text = normalize_lines(&self.note);
        note(FormField::Note, check_lines(&text));
        note(FormField::Consent, (!self.consents).then_some(FieldFault::Missing));
        match email.filter(|_| faults.is_empty()) {
            None => Err(faults),
            Some(email) => Ok(CheckedSignup {
                name: name.to_owned(),
                email,
                phone: phone.to_owned(),
                links: links.into_iter().map(str::to_owned).collect(),
                note: text,
            }),
        }
    }
}

fn check_required(text: &str, characters_max: usize) -> Option<FieldFault> {
    if text.is_empty() { Some(FieldFault::Missing) } else { check_line(text, characters_max) }
}

fn check_line(text: &str, characters_max: usize) -> Option<FieldFault> {
    match () {
        () if text::characters(text) > characters_max => Some(FieldFault::TooLong(characters_max)),
        () => plain::flaw_of_line(text).map(FieldFault::Unreadable),
    }
}

fn parse_address(text: &str) -> (Option<Email>, Option<FieldFault>) {
    let email = Email::parse(text).filter(|email| !erasure::is_erased_address(email));
    let fault = match &email {
        Some(_) => None,
        None => check_required(text, EMAIL_CHARACTERS_MAX).or(Some(FieldFault::NotAnAddress)),
    };
    (email, fault)
}

fn check_links(links: &[&str]) -> Option<FieldFault> {
    match () {
        () if links.len() > LINKS_MAX => Some(FieldFault::TooMany(LINKS_MAX)),
        () if links.iter().any(|link| text::characters(link) > LINK_CHARACTERS_MAX) => {
            Some(FieldFault::TooLong(LINK_CHARACTERS_MAX))
        }
        () if links.iter().any(|link| !is_link(link)) => Some(FieldFault::NotALink),
        () => None,
    }
}

/// Returns whether a string is an http or https URL that clearly shows its host. The URL must have a host and no user
/// information, which could look like the host.
fn is_link(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !NOT_IN_LINKS.contains(&c);
    is_web && !host.is_empty() && !host.starts_with(':') && !host.contains('@') && text.chars().all(is_plain)
}

/// Normalizes multi-line text: trims it, and replaces each CRLF or CR with a newline and each tab with a space. The
/// status page starts a new line at each newline.
fn normalize_lines(text: &str) -> String {
    text.trim().replace("\r\n", "\n").replace('\r', "\n").replace('\t', " ")
}

fn check_lines(text: &str) -> Option<FieldFault> {
    match () {
        () if text::characters(text) > NOTE_CHARACTERS_MAX => Some(FieldFault::TooLong(NOTE_CHARACTERS_MAX)),
        () => plain::flaw_of_lines(text).map(FieldFault::Unreadable),
    }
}

/// The outcome of a signup without faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignupOutcome {
    /// Create a candidate and an application.
    NewCandidate,
    /// Create an application for the candidate who has the address. The candidate's name does not change.
    NewApplication,
    /// Only store the signup as a later signup: the address belongs to a candidate who has applied for the role. (An
    /// erased candidate has an address that the form refuses. The rule treats such an address in the same way.) An
    /// address alone proves nothing, so the candidate's data does not change and the answer does not mention the
    /// candidate. Staff see the later signup next to the application.
    Later,
}

impl SignupOutcome {
    /// Returns whether the signup proves that its sender is the candidate, which is true only if the signup creates the
    /// candidate. Any other sender has only typed an address that belongs to the candidate.
    pub fn proves_identity(self) -> bool {
        self == Self::NewCandidate
    }
}

/// The holder of the submitted address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressHolder {
    /// The organization has no candidate with this address.
    Nobody,
    /// A candidate of the organization.
    Candidate {
        /// Whether the candidate has applied for this role.
        has_applied: bool,
        /// Whether the candidate was erased.
        is_erased: bool,
    },
}

/// Decides the outcome from the holder of the address.
pub fn decide(holder: AddressHolder) -> SignupOutcome {
    match holder {
        AddressHolder::Nobody => SignupOutcome::NewCandidate,
        AddressHolder::Candidate { has_applied: false, is_erased: false } => SignupOutcome::NewApplication,
        AddressHolder::Candidate { .. } => SignupOutcome::Later,
    }
}

/// Returns the order in which the service processes the later signups of an erased candidate again. It processes them
/// as if the candidate had never applied ([`decide`]). `signups` must be ordered oldest first. In the returned order,
/// signups that were not withdrawn come first, so that one of them creates the candidate if possible.
pub fn reapplication_order<T>(mut signups: Vec<T>, is_withdrawn: impl Fn(&T) -> bool) -> Vec<T> {
    signups.sort_by_key(|signup| is_withdrawn(signup));
    signups
}

#[cfg(test)]
mod tests;
