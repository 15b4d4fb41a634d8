//! Tests for the validation of the form and for the outcomes of signups.

use super::*;

fn typed() -> SubmittedSignup {
    SubmittedSignup {
        name: "Ada Lovelace".to_owned(),
        email: "ada@example.org".to_owned(),
        consents: true,
        ..SubmittedSignup::default()
    }
}

fn faults(typed: &SubmittedSignup) -> Vec<(FormField, FieldFault)> {
    typed.check().err().unwrap_or_default()
}

#[test]
fn typed_text_is_trimmed_and_normalized() {
    let checked = SubmittedSignup {
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
    let none = SubmittedSignup::default();
    assert_eq!(
        faults(&none),
        [
            (FormField::Name, FieldFault::Missing),
            (FormField::Email, FieldFault::Missing),
            (FormField::Consent, FieldFault::Missing)
        ]
    );
    let all = SubmittedSignup {
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
        [FormField::Name, FormField::Email, FormField::Phone, FormField::Links, FormField::Note, FormField::Consent]
    );
}

#[test]
fn each_field_has_a_limit_in_characters_or_entries() {
    let long = |count: usize| "ä".repeat(count);
    for (typed, fault) in [
        (SubmittedSignup { name: long(255), ..typed() }, None),
        (SubmittedSignup { name: long(256), ..typed() }, Some((FormField::Name, FieldFault::TooLong(255)))),
        (SubmittedSignup { email: format!("{}@b", long(252)), ..typed() }, None),
        (
            SubmittedSignup { email: format!("{}@b", long(253)), ..typed() },
            Some((FormField::Email, FieldFault::TooLong(254))),
        ),
        (SubmittedSignup { phone: long(50), ..typed() }, None),
        (SubmittedSignup { phone: long(51), ..typed() }, Some((FormField::Phone, FieldFault::TooLong(50)))),
        (SubmittedSignup { note: long(5_000), ..typed() }, None),
        (SubmittedSignup { note: long(5_001), ..typed() }, Some((FormField::Note, FieldFault::TooLong(5_000)))),
        (SubmittedSignup { links: vec![format!("https://{}", long(492))], ..typed() }, None),
        (
            SubmittedSignup { links: vec![format!("https://{}", long(493))], ..typed() },
            Some((FormField::Links, FieldFault::TooLong(500))),
        ),
        (SubmittedSignup { links: vec!["http://a".to_owned(); 5], ..typed() }, None),
        (
            SubmittedSignup { links: vec!["http://a".to_owned(); 6], ..typed() },
            Some((FormField::Links, FieldFault::TooMany(5))),
        ),
    ] {
        assert_eq!(faults(&typed), fault.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn single_line_fields_refuse_invisible_characters() {
    for c in "\u{200b}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}".chars()
    {
        let text = format!("a{c}b");
        for (typed, field) in [
            (SubmittedSignup { name: text.clone(), ..typed() }, FormField::Name),
            (SubmittedSignup { email: format!("{text}@b.example"), ..typed() }, FormField::Email),
            (SubmittedSignup { phone: text.clone(), ..typed() }, FormField::Phone),
        ] {
            let found = faults(&typed);
            assert!(matches!(found[..], [(found, FieldFault::Unreadable(_))] if found == field), "{c:?}: {found:?}");
        }
        // A note does not identify anybody, so it may contain invisible characters.
        assert_eq!(faults(&SubmittedSignup { note: text, ..typed() }), []);
    }
    for good in ["می\u{200c}خواهم", "क्\u{200d}ष", "👩\u{200d}💻"] {
        let typed = SubmittedSignup { name: good.to_owned(), phone: good.to_owned(), ..typed() };
        assert_eq!(faults(&typed), [], "{good}");
    }
}

#[test]
fn links_are_http_urls_that_show_their_host() {
    for good in ["https://a", "http://a.example/b?c=d#e", "HTTPS://ä.example/ü", "https://[::1]/", "https://a:1"] {
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
fn the_outcome_depends_on_who_has_the_address() {
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

#[test]
fn only_a_signup_that_creates_the_candidate_proves_who_sent_it() {
    for (outcome, proves) in
        [(SignupOutcome::NewCandidate, true), (SignupOutcome::NewApplication, false), (SignupOutcome::Later, false)]
    {
        assert_eq!(outcome.proves_identity(), proves, "{outcome:?}");
    }
}

#[test]
fn withdrawn_signups_are_processed_after_the_others() {
    for (signups, order) in [
        (vec![], vec![]),
        (vec![(1, true), (2, false)], vec![2, 1]),
        (vec![(1, false), (2, true), (3, false), (4, true)], vec![1, 3, 2, 4]),
    ] {
        let ordered = reapplication_order(signups, |(_, is_withdrawn): &(i32, bool)| *is_withdrawn);
        assert_eq!(ordered.into_iter().map(|(number, _)| number).collect::<Vec<_>>(), order);
    }
}
