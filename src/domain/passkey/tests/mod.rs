//! Tests of passkeys, with a software authenticator.

mod fuzz;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PublicKeyData as _, SigningKey as _};

use super::*;
use crate::domain::id::Id;
use crate::domain::timestamp::Timestamp;

const ORIGIN: &str = "https://jobs.example.com";
const CREDENTIAL_ID: &[u8] = b"credential-1";

/// The public key of a 2048-bit RSA key pair that OpenSSL generated, and the pair's signature over [`Answer::GOOD`].
const RSA_SPKI: &str = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA1GU1QwtCqkAaMxhpV2SMN+gEAeoFiIfWKdGEDNbHN3mjj3TO+ai+zYqV\
    wSB1lwylACRqhtRHmylov4m1dJNwgkeXNcG/xZr2Yht9S00tLxNELmggJJFCO8+/o+zNqy8IXrvtGo2a0m7qIlxvjkf4kTqDTQrX\
    m1d2W+pWcUMdVsR9Qsn4nROdO67MlzwOD5QOsAmCwTdr3/GulmyI//qVGJWjAIxnp59T43k6KR7kDFgRUubNDAWRpSUjql6yvbLe\
    gy5asmzBs7nbR+0Q8qJLHrZ1a4uqYL5kcFvAnr+r79vKuO+nf0zSvyQoitsLnABBMI+/x2R7wDHYzlxdrTrNXQIDAQAB";
const RSA_SIGNATURE: &str = "BYDcIQOSK6CjswEe2lVJnj4FkUUVMBxCRbeJW4KDuhiaHp5A28GrJNZ6LRFcksJhKaKEQf0Uz3DKqDBvvL8TBrRVZYN/6ZPn1kFc\
    9WBBjnRSz9ng/E7T6oVd6XFUqEGiCTJw3WPk9R3xflYeFWgkUPYyKU6LsHZktaTtEaBWCUxLxVBjtjLMNB5iyPPl3YzX8XCzKIz3\
    z+3aEnIZexU2mzFuAOOForI5pYetftkSmQhuNBKdHQWglie2g5Wtj5MGGb4zZNlEs6pSqTJz7sviHtBAVcIFH39ETizUG6o3fZyd\
    70w1C8wqPifxDZDAPHP8QUAZTcVtzYuMqDOjJG+xkg==";

fn party() -> RelyingParty {
    RelyingParty::of_origin(ORIGIN).unwrap()
}

fn owner() -> UserId {
    UserId::parse("user_1").unwrap()
}

/// An authenticator with one passkey.
struct Authenticator {
    pair: KeyPair,
    algorithm: PasskeyAlgorithm,
}

/// The parts of an answer that the tests change one at a time.
#[derive(Clone)]
struct Answer {
    kind: &'static str,
    origin: &'static str,
    cross_origin: bool,
    has_top_origin: bool,
    party_id: &'static str,
    flags: u8,
    counter: u32,
    user_handle: Option<&'static [u8]>,
    after: Vec<u8>,
}

impl Answer {
    const GOOD: Self = Self {
        kind: "webauthn.get",
        origin: ORIGIN,
        cross_origin: false,
        has_top_origin: false,
        party_id: "jobs.example.com",
        flags: USER_PRESENT | USER_VERIFIED,
        counter: 7,
        user_handle: Some(b"user_1"),
        after: Vec::new(),
    };

    fn json(&self) -> Vec<u8> {
        let Self { kind, origin, cross_origin, .. } = self;
        format!(r#"{{"type":"{kind}","challenge":"YWJj","origin":"{origin}","crossOrigin":{cross_origin}}}"#).into()
    }

    fn client_data<'a>(&self, json: &'a [u8]) -> ClientData<'a> {
        let (cross_origin, has_top_origin) = (self.cross_origin, self.has_top_origin);
        let (kind, origin) = (self.kind.to_owned(), self.origin.to_owned());
        ClientData { json, kind, challenge: "YWJj".to_owned(), origin, cross_origin, has_top_origin }
    }

    fn authenticator_data(&self) -> Vec<u8> {
        let hash = Sha256::digest(self.party_id);
        [&hash[..], &[self.flags], &self.counter.to_be_bytes(), &self.after].concat()
    }

    /// Verifies the answer with this JSON, authenticator data and signature, which may differ from the answer's own.
    fn verify(
        &self,
        stored: &VerifiedKey,
        json: &[u8],
        authenticator_data: &[u8],
        signature: &[u8],
    ) -> Result<u32, PasskeyFault> {
        let client_data = self.client_data(json);
        let assertion = Assertion { client_data, authenticator_data, signature, user_handle: self.user_handle };
        assertion.verify(&party(), &owner(), stored)
    }
}

impl Authenticator {
    fn all() -> [Self; 2] {
        [(&PKCS_ECDSA_P256_SHA256, PasskeyAlgorithm::Es256), (&PKCS_ED25519, PasskeyAlgorithm::EdDsa)]
            .map(|(kind, algorithm)| Self { pair: KeyPair::generate_for(kind).unwrap(), algorithm })
    }

    fn spki(&self) -> Vec<u8> {
        self.pair.subject_public_key_info()
    }

    fn stored(&self, counter: u32) -> VerifiedKey {
        VerifiedKey { key: PasskeyKey::parse(self.algorithm, &self.spki()).unwrap(), counter }
    }

    fn sign(&self, json: &[u8], authenticator_data: &[u8]) -> Vec<u8> {
        self.pair.sign(&[authenticator_data, &Sha256::digest(json)].concat()).unwrap()
    }

    /// Signs the answer and verifies it against a stored counter.
    fn answer(&self, answer: &Answer, stored_counter: u32) -> Result<u32, PasskeyFault> {
        let (json, data) = (answer.json(), answer.authenticator_data());
        answer.verify(&self.stored(stored_counter), &json, &data, &self.sign(&json, &data))
    }

    /// Returns the key as a COSE key, as an authenticator writes it.
    fn cose(&self) -> Vec<u8> {
        let (raw, hex) = (self.pair.public_key_raw(), |text: &str| -> Vec<u8> {
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
        });
        match self.algorithm {
            PasskeyAlgorithm::Es256 => {
                [&hex("a5010203262001215820"), &raw[1..33], &hex("225820"), &raw[33..65]].concat()
            }
            _ => [&hex("a4010103272006215820"), raw].concat(),
        }
    }
}

/// Returns an authenticator's answer to a registration, with [`CREDENTIAL_ID`] and this COSE key.
fn registration(cose: &[u8]) -> Answer {
    let length = u16::try_from(CREDENTIAL_ID.len()).unwrap().to_be_bytes();
    Answer {
        kind: "webauthn.create",
        flags: USER_PRESENT | USER_VERIFIED | HAS_CREDENTIAL,
        after: [&[0xaa; 16][..], &length, CREDENTIAL_ID, cose].concat(),
        ..Answer::GOOD
    }
}

fn number(algorithm: PasskeyAlgorithm) -> i64 {
    PasskeyAlgorithm::OFFERED.into_iter().find(|(offered, _)| *offered == algorithm).unwrap().1
}

fn register(answer: &Answer, data: &[u8], algorithm: i64, spki: &[u8]) -> Result<VerifiedKey, PasskeyFault> {
    let json = answer.json();
    let client_data = answer.client_data(&json);
    let credential_id = CREDENTIAL_ID;
    Registration { credential_id, client_data, authenticator_data: data, algorithm, spki }.verify(&party())
}

#[test]
fn a_registration_yields_the_key_and_the_counter() {
    for authenticator in Authenticator::all() {
        let answer = registration(&authenticator.cose());
        let data = answer.authenticator_data();
        let verified = register(&answer, &data, number(authenticator.algorithm), &authenticator.spki());
        assert_eq!(verified, Ok(authenticator.stored(7)));
    }
}

#[test]
fn a_changed_registration_is_refused() {
    let [authenticator, other] = Authenticator::all();
    let good = registration(&authenticator.cose());
    let data = good.authenticator_data();
    let with = |change: fn(&mut Answer)| {
        let mut answer = good.clone();
        change(&mut answer);
        register(&answer, &answer.authenticator_data(), -7, &authenticator.spki())
    };
    assert!(with(|_| {}).is_ok());
    assert!(with(|answer| answer.flags |= BACKUP_ELIGIBLE | BACKED_UP).is_ok());
    for (refused, fault) in [
        (with(|answer| answer.kind = "webauthn.get"), PasskeyFault::WrongType),
        (with(|answer| answer.origin = "https://jobs.example.com.evil.example"), PasskeyFault::WrongOrigin),
        (with(|answer| answer.origin = "http://jobs.example.com"), PasskeyFault::WrongOrigin),
        (with(|answer| answer.cross_origin = true), PasskeyFault::CrossOrigin),
        (with(|answer| answer.has_top_origin = true), PasskeyFault::CrossOrigin),
        (with(|answer| answer.party_id = "example.com"), PasskeyFault::WrongRelyingParty),
        (with(|answer| answer.flags = USER_VERIFIED | HAS_CREDENTIAL), PasskeyFault::UserNotPresent),
        (with(|answer| answer.flags = USER_PRESENT | HAS_CREDENTIAL), PasskeyFault::UserNotVerified),
        (with(|answer| answer.flags = USER_PRESENT | USER_VERIFIED), PasskeyFault::Malformed),
        (with(|answer| answer.flags |= BACKED_UP), PasskeyFault::Malformed),
        (with(|answer| answer.flags |= HAS_EXTENSIONS), PasskeyFault::Malformed),
        (with(|answer| answer.after.push(0)), PasskeyFault::Malformed),
        (with(|answer| answer.after[18] ^= 1), PasskeyFault::Malformed),
        (register(&good, &data, -8, &authenticator.spki()), PasskeyFault::WrongKey),
        (register(&good, &data, -35, &authenticator.spki()), PasskeyFault::WrongKey),
        (register(&good, &data, -8, &other.spki()), PasskeyFault::WrongKey),
        (register(&good, &data, -7, b""), PasskeyFault::WrongKey),
    ] {
        assert_eq!(refused, Err(fault));
    }
}

#[test]
fn a_credential_id_has_1_to_1023_bytes() {
    let [authenticator, _] = Authenticator::all();
    let with_length = |length: u16| {
        let id = vec![7; usize::from(length)];
        let mut answer = registration(&[]);
        answer.after = [&[0; 16][..], &length.to_be_bytes(), &id, &authenticator.cose()].concat();
        let (json, data) = (answer.json(), answer.authenticator_data());
        let (client_data, spki) = (answer.client_data(&json), authenticator.spki());
        let registration =
            Registration { credential_id: &id, client_data, authenticator_data: &data, algorithm: -7, spki: &spki };
        registration.verify(&party()).is_ok()
    };
    assert_eq!([0, 1, 1_023, 1_024].map(with_length), [false, true, true, false]);
}

#[test]
fn an_assertion_yields_the_new_counter() {
    for authenticator in Authenticator::all() {
        assert_eq!(authenticator.answer(&Answer::GOOD, 6), Ok(7));
        assert_eq!(authenticator.answer(&Answer { user_handle: None, ..Answer::GOOD }, 6), Ok(7));
        let with_extensions = Answer { flags: Answer::GOOD.flags | HAS_EXTENSIONS, after: vec![0xa0], ..Answer::GOOD };
        assert_eq!(authenticator.answer(&with_extensions, 6), Ok(7));
    }
}

#[test]
fn a_changed_assertion_is_refused_even_if_its_signature_is_valid() {
    let [authenticator, _] = Authenticator::all();
    let with = |change: fn(&mut Answer)| {
        let mut answer = Answer::GOOD;
        change(&mut answer);
        authenticator.answer(&answer, 0)
    };
    for (refused, fault) in [
        (with(|answer| answer.kind = "webauthn.create"), PasskeyFault::WrongType),
        (with(|answer| answer.kind = "payment.get"), PasskeyFault::WrongType),
        (with(|answer| answer.origin = "https://jobs.example.com:444"), PasskeyFault::WrongOrigin),
        (with(|answer| answer.cross_origin = true), PasskeyFault::CrossOrigin),
        (with(|answer| answer.has_top_origin = true), PasskeyFault::CrossOrigin),
        (with(|answer| answer.party_id = "example.com"), PasskeyFault::WrongRelyingParty),
        (with(|answer| answer.flags = USER_VERIFIED), PasskeyFault::UserNotPresent),
        (with(|answer| answer.flags = USER_PRESENT), PasskeyFault::UserNotVerified),
        (with(|answer| answer.flags |= BACKED_UP), PasskeyFault::Malformed),
        (with(|answer| answer.flags |= HAS_EXTENSIONS), PasskeyFault::Malformed),
        (with(|answer| answer.after.push(0)), PasskeyFault::Malformed),
        (with(|answer| answer.user_handle = Some(b"user_2")), PasskeyFault::WrongUser),
    ] {
        assert_eq!(refused, Err(fault));
    }
}

#[test]
fn a_signature_by_another_key_is_refused() {
    let [authenticator, other] = Authenticator::all();
    let (json, data) = (Answer::GOOD.json(), Answer::GOOD.authenticator_data());
    for (stored, signer) in [(&authenticator, &other), (&other, &authenticator)] {
        let signature = signer.sign(&json, &data);
        let refused = Answer::GOOD.verify(&stored.stored(0), &json, &data, &signature);
        assert_eq!(refused, Err(PasskeyFault::WrongSignature));
    }
}

#[test]
fn a_counter_must_rise_unless_it_stays_zero() {
    let [authenticator, _] = Authenticator::all();
    for (counter, stored, expected) in [
        (0, 0, Ok(0)),
        (1, 0, Ok(1)),
        (7, 6, Ok(7)),
        (u32::MAX, 7, Ok(u32::MAX)),
        (7, 7, Err(PasskeyFault::Cloned)),
        (6, 7, Err(PasskeyFault::Cloned)),
        (0, 7, Err(PasskeyFault::Cloned)),
    ] {
        assert_eq!(authenticator.answer(&Answer { counter, ..Answer::GOOD }, stored), expected, "{counter} {stored}");
    }
}

#[test]
fn an_rsa_signature_made_by_openssl_is_verified() {
    let (spki, signature) = (STANDARD.decode(RSA_SPKI).unwrap(), STANDARD.decode(RSA_SIGNATURE).unwrap());
    let stored = VerifiedKey { key: PasskeyKey::parse(PasskeyAlgorithm::Rs256, &spki).unwrap(), counter: 0 };
    let (json, data) = (Answer::GOOD.json(), Answer::GOOD.authenticator_data());
    assert_eq!(Answer::GOOD.verify(&stored, &json, &data, &signature), Ok(7));
    for at in [0, 100, 255] {
        let mut changed = signature.clone();
        changed[at] ^= 1;
        assert_eq!(Answer::GOOD.verify(&stored, &json, &data, &changed), Err(PasskeyFault::WrongSignature));
    }
    let cose = [b"\xa4\x01\x03\x03\x39\x01\x00\x20\x59\x01\x00", &spki[33..289], b"\x21\x43\x01\x00\x01"].concat();
    let answer = registration(&cose);
    let verified = register(&answer, &answer.authenticator_data(), -257, &spki);
    assert_eq!(verified, Ok(VerifiedKey { counter: 7, ..stored }));
}

#[test]
fn a_key_with_a_changed_byte_differs_or_is_refused_and_a_truncated_or_longer_key_is_refused() {
    let rsa = (PasskeyAlgorithm::Rs256, STANDARD.decode(RSA_SPKI).unwrap());
    let keys = Authenticator::all().map(|authenticator| (authenticator.algorithm, authenticator.spki()));
    for (algorithm, spki) in keys.into_iter().chain([rsa]) {
        let key = PasskeyKey::parse(algorithm, &spki).unwrap();
        assert_eq!((key.algorithm(), key.spki()), (algorithm, spki.as_slice()));
        for at in 0..spki.len() {
            let mut changed = spki.clone();
            changed[at] ^= 1;
            let changed = PasskeyKey::parse(algorithm, &changed);
            assert!(changed.is_none_or(|changed| changed.cose() != key.cose()), "{algorithm:?} {at}");
            assert_eq!(PasskeyKey::parse(algorithm, &spki[..at]), None);
        }
        assert_eq!(PasskeyKey::parse(algorithm, &[&spki[..], b"\0"].concat()), None);
    }
}

#[test]
fn passkeys_need_a_secure_context_and_a_host_name() {
    for (origin, id) in [
        ("https://jobs.example.com", "jobs.example.com"),
        ("https://jobs.example.com:8443", "jobs.example.com"),
        ("https://intranet", "intranet"),
        ("http://localhost:8080", "localhost"),
        ("http://jobs.localhost", "jobs.localhost"),
    ] {
        let expected = RelyingParty { origin: origin.to_owned(), id: id.to_owned() };
        assert_eq!(RelyingParty::of_origin(origin), Some(expected));
    }
    for origin in [
        "",
        "jobs.example.com",
        "http://jobs.example.com",
        "http://127.0.0.1:8080",
        "https://127.0.0.1",
        "https://[::1]:8443",
        "http://localhost.example.com",
    ] {
        assert_eq!(RelyingParty::of_origin(origin), None, "{origin}");
    }
}

#[test]
fn a_challenge_is_valid_for_one_purpose_browser_and_user_for_5_minutes() {
    let challenge = Challenge::new(&[0xff; 32]);
    assert_eq!(challenge.as_str(), "__________________________________________8");
    assert_eq!(Challenge::digest("abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
    let issued_at = Timestamp::from_micros(1_700_000_000_000_000);
    let stored =
        StoredChallenge { purpose: ChallengeUse::Confirm, browser: [1; 32], user_id: Some(owner()), issued_at };
    let (confirm, owner) = (ChallengeUse::Confirm, owner());
    let other = UserId::parse("user_2").unwrap();
    let micro = std::time::Duration::from_micros(1);
    let end = issued_at.plus(LIFETIME);
    for (purpose, browser, user, now, expected) in [
        (confirm, 1, Some(&owner), issued_at, Ok(())),
        (confirm, 1, Some(&owner), end.minus(micro), Ok(())),
        (confirm, 1, Some(&owner), end, Err(PasskeyFault::ExpiredChallenge)),
        (ChallengeUse::SignIn, 1, Some(&owner), issued_at, Err(PasskeyFault::ForeignChallenge)),
        (confirm, 2, Some(&owner), issued_at, Err(PasskeyFault::ForeignChallenge)),
        (confirm, 1, Some(&other), issued_at, Err(PasskeyFault::ForeignChallenge)),
        (confirm, 1, None, issued_at, Err(PasskeyFault::ForeignChallenge)),
    ] {
        assert_eq!(stored.check(purpose, &[browser; 32], user, now), expected);
    }
}
