//! Signups: validation of the form's fields, and the outcome of a valid signup.
//!
//! Faults are a closed list, so that pages can translate them. API callers get them in English.

use super::erasure;
use super::plain::{self, Flaw};
use super::text::{self, EMAIL_CHARACTERS_MAX, Email, NAME_CHARACTERS_MAX};

/// The longest telephone number, including separators and remarks.
pub const PHONE_CHARACTERS_MAX: usize = 50;

/// The most links: a profile, some work, and room for more.
pub const LINKS_MAX: usize = 5;

/// The longest link.
pub const LINK_CHARACTERS_MAX: usize = 500;

/// The longest note: some two pages.
pub const NOTE_CHARACTERS_MAX: usize = 5_000;

/// Characters that URLs cannot have unescaped (RFC 3986 §2). Markup could begin with them.
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
    /// The consent to the privacy notice.
    Consent,
}

impl FormField {
    /// All fields, in the order of the form.
    pub const ALL: [Self; 7] = [Self::Name, Self::Email, Self::Phone, Self::Links, Self::Note, Self::Cv, Self::Consent];

    /// The field's name in forms and in JSON.
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
    /// The text, or an entry of the list, has more characters than this.
    TooLong(usize),
    /// The text has characters that are invisible or change how it reads.
    Unreadable(Flaw),
    /// The text is no email address.
    NoAddress,
    /// The list has more entries than this.
    TooMany(usize),
    /// An entry is no http or https URL.
    NoLink,
}

impl FieldFault {
    /// The fault for API callers, as a sentence without its subject.
    pub fn sentence(self) -> String {
        match self {
            Self::Missing => "is required".to_owned(),
            Self::TooLong(max) => format!("must have at most {max} characters"),
            Self::Unreadable(flaw) => flaw.sentence(),
            Self::NoAddress => "must be an email address".to_owned(),
            Self::TooMany(max) => format!("must be at most {max}"),
            Self::NoLink => "must be addresses that begin with http:// or https://".to_owned(),
        }
    }
}

/// The fields as the applicant typed them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedSignup {
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
    /// The telephone number; blank if the applicant gave none.
    pub phone: String,
    /// Links to profiles and work samples.
    pub links: Vec<String>,
    /// A note to the organization; blank if the applicant wrote none.
    pub note: String,
}

impl TypedSignup {
    /// Validates all fields and trims their texts.
    ///
    /// # Errors
    /// All faulty fields with one fault each, in the order of the form.
    pub fn check(&self) -> Result<CheckedSignup, Vec<(FormField, FieldFault)>> {
        let mut faults = Vec::new();
        let mut note = |field, fault: Option<FieldFault>| faults.extend(fault.map(|fault| (field, fault)));
        let name = self.name.trim();
        note(FormField::Name, required(name, NAME_CHARACTERS_MAX));
        let (email, fault) = address(self.email.trim());
        note(FormField::Email, fault);
        let phone = self.phone.trim();
        note(FormField::Phone, line(phone, PHONE_CHARACTERS_MAX));
        let links: Vec<&str> = self.links.iter().map(|link| link.trim()).filter(|link| !link.is_empty()).collect();
        note(FormField::Links, all_links(&links));
        let text = lines(&self.note);
        note(FormField::Note, paragraphs(&text));
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

fn required(text: &str, characters_max: usize) -> Option<FieldFault> {
    if text.is_empty() { Some(FieldFault::Missing) } else { line(text, characters_max) }
}

/// Checks a single-line text.
fn line(text: &str, characters_max: usize) -> Option<FieldFault> {
    match () {
        () if text::characters(text) > characters_max => Some(FieldFault::TooLong(characters_max)),
        () => plain::flaw_of_line(text).map(FieldFault::Unreadable),
    }
}

fn address(text: &str) -> (Option<Email>, Option<FieldFault>) {
    let email = Email::parse(text).filter(|email| !erasure::is_erased_address(email));
    let fault = match &email {
        Some(_) => None,
        None => required(text, EMAIL_CHARACTERS_MAX).or(Some(FieldFault::NoAddress)),
    };
    (email, fault)
}

fn all_links(links: &[&str]) -> Option<FieldFault> {
    match () {
        () if links.len() > LINKS_MAX => Some(FieldFault::TooMany(LINKS_MAX)),
        () if links.iter().any(|link| text::characters(link) > LINK_CHARACTERS_MAX) => {
            Some(FieldFault::TooLong(LINK_CHARACTERS_MAX))
        }
        () if links.iter().any(|link| !is_link(link)) => Some(FieldFault::NoLink),
        () => None,
    }
}

/// Whether a text is an http or https URL that shows where it leads: it has a host and no user information, which could
/// look like the host.
fn is_link(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !NOT_IN_LINKS.contains(&c);
    is_web && !host.is_empty() && !host.starts_with(':') && !host.contains('@') && text.chars().all(is_plain)
}

/// Normalizes a multi-line text: one newline for each line break, whichever a browser sends, and spaces for tabs, which
/// pages would show as spaces anyway.
fn lines(text: &str) -> String {
    text.trim().replace("\r\n", "\n").replace('\r', "\n").replace('\t', " ")
}

fn paragraphs(text: &str) -> Option<FieldFault> {
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
    /// Create an application of the candidate who has the address. Their name does not change.
    NewApplication,
    /// Only store the signup as a later signup: the address belongs to a candidate who has applied to the role, or who
    /// was erased. An address alone proves nothing, so their data does not change and the answer does not mention them.
    /// Staff see the later signup beside the application.
    Later,
}

/// The holder of the typed address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressHolder {
    /// The organization has no candidate with this address.
    Nobody,
    /// A candidate of the organization.
    Candidate {
        /// Whether the candidate has applied to this role.
        has_applied: bool,
        /// Whether the candidate was erased.
        is_erased: bool,
    },
}

/// Decides the outcome by the holder of the address.
pub fn decide(holder: AddressHolder) -> SignupOutcome {
    match holder {
        AddressHolder::Nobody => SignupOutcome::NewCandidate,
        AddressHolder::Candidate { has_applied: false, is_erased: false } => SignupOutcome::NewApplication,
        AddressHolder::Candidate { .. } => SignupOutcome::Later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed() -> TypedSignup {
        TypedSignup {
            name: "Ada Lovelace".to_owned(),
            email: "ada@example.org".to_owned(),
            consents: true,
            ..TypedSignup::default()
        }
    }

    fn faults(typed: &TypedSignup) -> Vec<(FormField, FieldFault)> {
        typed.check().err().unwrap_or_default()
    }

    #[test]
    fn typed_texts_are_trimmed_and_normalized() {
        let checked = TypedSignup {
            name: "  Ada ".to_owned(),
            email: " Ada@Example.org\n".to_owned(),
            phone: " +44 20 ".to_owned(),
            links: vec![" https://a.example ".to_owned(), " ".to_owned(), "HTTP://b.example:8080/x?y#z".to_owned()],
            note: "\r\none\r\n\r\ntwo\tthree\rfour\n".to_owned(),
            consents: true,
        }
        .check()
        .unwrap();
        assert_eq!(
            (checked.name.as_str(), checked.email.as_str(), checked.phone.as_str()),
            ("Ada", "Ada@Example.org", "+44 20")
        );
        assert_eq!(checked.links, ["https://a.example", "HTTP://b.example:8080/x?y#z"]);
        assert_eq!(checked.note, "one\n\ntwo three\nfour");
    }

    #[test]
    fn all_faults_are_reported_at_once_in_the_order_of_the_form() {
        let none = TypedSignup::default();
        assert_eq!(
            faults(&none),
            [
                (FormField::Name, FieldFault::Missing),
                (FormField::Email, FieldFault::Missing),
                (FormField::Consent, FieldFault::Missing)
            ]
        );
        let all = TypedSignup {
            name: "a\0".to_owned(),
            email: "ada".to_owned(),
            phone: "1\u{7}".to_owned(),
            links: vec!["javascript:alert(1)".to_owned()],
            note: "\u{1b}".to_owned(),
            consents: false,
        };
        let fields: Vec<FormField> = faults(&all).into_iter().map(|(field, _)| field).collect();
        assert_eq!(
            fields,
            [
                FormField::Name,
                FormField::Email,
                FormField::Phone,
                FormField::Links,
                FormField::Note,
                FormField::Consent
            ]
        );
    }

    #[test]
    fn each_text_has_its_limit_in_characters() {
        let long = |count: usize| "ä".repeat(count);
        for (typed, fault) in [
            (TypedSignup { name: long(255), ..typed() }, None),
            (TypedSignup { name: long(256), ..typed() }, Some((FormField::Name, FieldFault::TooLong(255)))),
            (TypedSignup { email: format!("{}@b", long(252)), ..typed() }, None),
            (
                TypedSignup { email: format!("{}@b", long(253)), ..typed() },
                Some((FormField::Email, FieldFault::TooLong(254))),
            ),
            (TypedSignup { phone: long(50), ..typed() }, None),
            (TypedSignup { phone: long(51), ..typed() }, Some((FormField::Phone, FieldFault::TooLong(50)))),
            (TypedSignup { note: long(5_000), ..typed() }, None),
            (TypedSignup { note: long(5_001), ..typed() }, Some((FormField::Note, FieldFault::TooLong(5_000)))),
            (TypedSignup { links: vec![format!("https://{}", long(492))], ..typed() }, None),
            (
                TypedSignup { links: vec![format!("https://{}", long(493))], ..typed() },
                Some((FormField::Links, FieldFault::TooLong(500))),
            ),
            (TypedSignup { links: vec!["http://a".to_owned(); 5], ..typed() }, None),
            (
                TypedSignup { links: vec!["http://a".to_owned(); 6], ..typed() },
                Some((FormField::Links, FieldFault::TooMany(5))),
            ),
        ] {
            assert_eq!(faults(&typed), fault.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn single_line_fields_refuse_invisible_characters() {
        for c in
            "\u{200b}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}".chars()
        {
            let text = format!("a{c}b");
            for (typed, field) in [
                (TypedSignup { name: text.clone(), ..typed() }, FormField::Name),
                (TypedSignup { email: format!("{text}@b.example"), ..typed() }, FormField::Email),
                (TypedSignup { phone: text.clone(), ..typed() }, FormField::Phone),
            ] {
                let found = faults(&typed);
                assert!(
                    matches!(found[..], [(found, FieldFault::Unreadable(_))] if found == field),
                    "{c:?}: {found:?}"
                );
            }
            // Nobody is identified by a note.
            assert_eq!(faults(&TypedSignup { note: text, ..typed() }), []);
        }
        for good in ["می\u{200c}خواهم", "क्\u{200d}ष", "👩\u{200d}💻"] {
            let typed = TypedSignup { name: good.to_owned(), phone: good.to_owned(), ..typed() };
            assert_eq!(faults(&typed), [], "{good}");
        }
    }

    #[test]
    fn links_are_http_urls_that_show_their_host() {
        for good in ["https://a", "http://a.example/b?c=d#e", "HTTPS://ä.example/ü", "https://[::1]/", "https://a:1"]
        {
            assert!(is_link(good), "{good}");
        }
        for bad in [
            "a.example",
            "//a.example",
            "https:a",
            "https://",
            "https:///a",
            "https://:80",
            "ftp://a",
            "javascript://a/%0aalert(1)",
            "data:text/html,a",
            "https://bank.example@evil.example",
            "https://a b",
            "https://a/<script>",
            "https://a/\"x",
            "https://a\\b",
            "https://a\0",
        ] {
            assert!(!is_link(bad), "{bad}");
        }
    }

    #[test]
    fn a_later_signup_changes_no_application() {
        assert_eq!(decide(AddressHolder::Nobody), SignupOutcome::NewCandidate);
        for (has_applied, is_erased, outcome) in [
            (false, false, SignupOutcome::NewApplication),
            (true, false, SignupOutcome::Later),
            (false, true, SignupOutcome::Later),
            (true, true, SignupOutcome::Later),
        ] {
            assert_eq!(decide(AddressHolder::Candidate { has_applied, is_erased }), outcome);
        }
    }
}
