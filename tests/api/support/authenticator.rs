//! A WebAuthn authenticator in software, with one passkey.

use std::cell::Cell;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData as _, SigningKey as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::console::SAME_ORIGIN;
use super::{Answer, App, Client};

/// The origin of the service in tests of passkeys. Browsers offer no passkeys at an IP address.
pub(crate) const ORIGIN: &str = "http://localhost:8080";

/// The user is present and verified (WebAuthn §6.1).
pub(crate) const VERIFIED: u8 = 0x05;
/// The user is present, but not verified.
pub(crate) const PRESENT: u8 = 0x01;
const HAS_CREDENTIAL: u8 = 0x40;

/// The algorithm ES256 in COSE.
const ES256: &str = "-7";

pub(crate) struct Authenticator {
    pair: KeyPair,
    pub(crate) credential_id: Vec<u8>,
    /// The counter of the last signature.
    pub(crate) counter: Cell<u32>,
    pub(crate) flags: Cell<u8>,
    /// The origin that the browser states.
    pub(crate) origin: Cell<&'static str>,
}

/// The fields of a form that contain the answer of an authenticator.
pub(crate) struct PasskeyFields(Vec<(&'static str, String)>);

impl PasskeyFields {
    /// Returns the fields together with other fields of the form.
    pub(crate) fn and<'a>(&'a self, other: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str())).chain(other.iter().copied()).collect()
    }

    /// Changes the last byte of a field.
    pub(crate) fn with_changed(mut self, name: &str) -> Self {
        let (_, value) = self.0.iter_mut().find(|(field, _)| *field == name).unwrap();
        let mut bytes = URL_SAFE_NO_PAD.decode(&*value).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        *value = URL_SAFE_NO_PAD.encode(bytes);
        self
    }
}

impl Authenticator {
    pub(crate) fn new(credential_id: &str) -> Self {
        Self {
            pair: KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap(),
            credential_id: credential_id.as_bytes().to_vec(),
            counter: Cell::new(0),
            flags: Cell::new(VERIFIED),
            origin: Cell::new(ORIGIN),
        }
    }

    /// Answers the options of a registration.
    pub(crate) fn create(&self, options: &Value) -> PasskeyFields {
        let raw = self.pair.public_key_raw();
        let cose = [b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20", &raw[1..33], b"\x22\x58\x20", &raw[33..65]].concat();
        let length = u16::try_from(self.credential_id.len()).unwrap().to_be_bytes();
        let credential = [&[0; 16][..], &length, &self.credential_id, &cose].concat();
        let party = options["rp"]["id"].as_str().unwrap();
        let data = self.data(party, self.flags.get() | HAS_CREDENTIAL, &credential);
        PasskeyFields(vec![
            ("confirmation.credential_id", URL_SAFE_NO_PAD.encode(&self.credential_id)),
            ("confirmation.client_data", URL_SAFE_NO_PAD.encode(self.client_data("webauthn.create", options))),
            ("confirmation.authenticator_data", URL_SAFE_NO_PAD.encode(data)),
            ("confirmation.public_key", URL_SAFE_NO_PAD.encode(self.pair.subject_public_key_info())),
            ("confirmation.algorithm", ES256.to_owned()),
        ])
    }

    /// Answers the options of an assertion, with a higher counter.
    pub(crate) fn get(&self, options: &Value) -> PasskeyFields {
        self.counter.set(self.counter.get() + 1);
        let client_data = self.client_data("webauthn.get", options);
        let data = self.data(options["rpId"].as_str().unwrap(), self.flags.get(), &[]);
        let signature = self.pair.sign(&[&data[..], &Sha256::digest(&client_data)].concat()).unwrap();
        PasskeyFields(vec![
            ("confirmation.credential_id", URL_SAFE_NO_PAD.encode(&self.credential_id)),
            ("confirmation.client_data", URL_SAFE_NO_PAD.encode(client_data)),
            ("confirmation.authenticator_data", URL_SAFE_NO_PAD.encode(data)),
            ("confirmation.signature", URL_SAFE_NO_PAD.encode(signature)),
        ])
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({ "type": kind, "challenge": options["challenge"], "origin": self.origin.get() });
        data.to_string().into_bytes()
    }

    fn data(&self, party: &str, flags: u8, rest: &[u8]) -> Vec<u8> {
        [&Sha256::digest(party)[..], &[flags], &self.counter.get().to_be_bytes(), rest].concat()
    }
}

/// Adds the authenticator's passkey to the account of the user who is signed in with this browser.
pub(crate) fn add_passkey(browser: &Client, authenticator: &Authenticator) -> Answer {
    let options = browser.submit("/app/me/passkeys/options", &[]).expect(200).json();
    browser.submit("/app/me/passkeys", &authenticator.create(&options).and(&[("name", "Test key")]))
}

impl App {
    /// Returns a browser that has signed in with this passkey.
    pub(crate) fn browser_with_passkey(&self, authenticator: &Authenticator) -> Client {
        let browser = self.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
        let session = |answer: &Answer| {
            let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
            browser.with_header("Cookie", cookie)
        };
        let options = browser.submit("/sign-in/passkey-options", &[]).expect(200);
        let fields = authenticator.get(&options.json());
        session(&session(&options).submit("/sign-in/passkey", &fields.and(&[])).expect(303))
    }
}
