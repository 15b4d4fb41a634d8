//! Passkeys (WebAuthn level 3): verification of a registration (§7.1) and of an assertion (§7.2), without attestation.
//!
//! A passkey counts as both factors, because the authenticator verifies the user. The caller decodes base64 and the
//! JSON of the client data. Extensions are neither requested nor read.

mod challenge;
mod fault;
mod public_key;
#[cfg(test)]
mod tests;

use sha2::{Digest as _, Sha256};

pub use self::challenge::{Challenge, ChallengeUse, LIFETIME, STRANGERS_RATE, StoredChallenge};
pub use self::fault::PasskeyFault;
pub use self::public_key::{PasskeyAlgorithm, PasskeyKey};
use super::id::UserId;

/// The maximum number of passkeys of one user: several devices and spares.
pub const PASSKEYS_MAX: usize = 20;

/// The maximum length of a credential id, in bytes (WebAuthn §6.5.1).
const CREDENTIAL_ID_BYTES_MAX: usize = 1_023;

/// The bits of the flags in authenticator data (WebAuthn §6.1).
const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const HAS_CREDENTIAL: u8 = 0x40;
const HAS_EXTENSIONS: u8 = 0x80;

/// The service as browsers and authenticators know it: the origin of its pages, and the host in that origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// The origin, as browsers write it.
    pub origin: String,
    /// The host of the origin.
    pub id: String,
}

impl RelyingParty {
    /// Returns the relying party of an origin. Returns `None` if browsers offer no passkeys there: the origin is not a
    /// secure context (https, or `localhost`), or its host is an IP address.
    pub fn of_origin(origin: &str) -> Option<Self> {
        let (scheme, authority) = origin.split_once("://")?;
        let host = authority.split(':').next()?;
        let last_label = host.rsplit('.').next()?;
        let is_name = last_label.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_secure = scheme == "https" || (scheme == "http" && last_label == "localhost");
        (is_name && is_secure).then(|| Self { origin: origin.to_owned(), id: host.to_owned() })
    }
}

/// The client data of a browser (WebAuthn §5.8.1): its members, and the bytes from which they were decoded.
#[derive(Debug, Clone)]
pub struct ClientData<'a> {
    pub json: &'a [u8],
    pub kind: String,
    pub challenge: String,
    pub origin: String,
    pub cross_origin: bool,
    /// Whether the client data names the origin of an outer page.
    pub has_top_origin: bool,
}

/// A browser's answer to `navigator.credentials.create`.
#[derive(Debug, Clone)]
pub struct Registration<'a> {
    pub credential_id: &'a [u8],
    pub client_data: ClientData<'a>,
    pub authenticator_data: &'a [u8],
    /// The algorithm's number in COSE.
    pub algorithm: i64,
    pub spki: &'a [u8],
}

/// A verified passkey: its key and its signature counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedKey {
    pub key: PasskeyKey,
    pub counter: u32,
}

/// A browser's answer to `navigator.credentials.get`.
#[derive(Debug, Clone)]
pub struct Assertion<'a> {
    pub client_data: ClientData<'a>,
    pub authenticator_data: &'a [u8],
    pub signature: &'a [u8],
    /// The user id that the authenticator stored with the passkey. Some authenticators omit it.
    pub user_handle: Option<&'a [u8]>,
}

impl Registration<'_> {
    /// Verifies everything except the challenge, which [`StoredChallenge::check`] verifies.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn verify(&self, party: &RelyingParty) -> Result<VerifiedKey, PasskeyFault> {
        let data = AuthenticatorData::parse(self.authenticator_data).ok_or(PasskeyFault::Malformed)?;
        check(party, "webauthn.create", &self.client_data, &data)?;
        let key =
            PasskeyAlgorithm::of_cose(self.algorithm).and_then(|algorithm| PasskeyKey::parse(algorithm, self.spki));
        let key = key.ok_or(PasskeyFault::WrongKey)?;
        let (credential_id, after_id) = data.credential().ok_or(PasskeyFault::Malformed)?;
        if credential_id != self.credential_id {
            return Err(PasskeyFault::Malformed);
        }
        match key.cose().and_then(|cose| after_id.strip_prefix(cose.as_slice())) {
            None => Err(PasskeyFault::WrongKey),
            Some(extensions) if extensions.is_empty() == data.has(HAS_EXTENSIONS) => Err(PasskeyFault::Malformed),
            Some(_) => Ok(VerifiedKey { key, counter: data.counter }),
        }
    }
}

impl Assertion<'_> {
    /// Verifies everything except the challenge, which [`StoredChallenge::check`] verifies. Returns the new counter.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn verify(&self, party: &RelyingParty, owner: &UserId, stored: &VerifiedKey) -> Result<u32, PasskeyFault> {
        let data = AuthenticatorData::parse(self.authenticator_data).ok_or(PasskeyFault::Malformed)?;
        check(party, "webauthn.get", &self.client_data, &data)?;
        if data.rest.is_empty() == (data.has(HAS_CREDENTIAL) || data.has(HAS_EXTENSIONS)) {
            return Err(PasskeyFault::Malformed);
        }
        if self.user_handle.is_some_and(|handle| handle != owner.as_str().as_bytes()) {
            return Err(PasskeyFault::WrongUser);
        }
        let message = [self.authenticator_data, &Sha256::digest(self.client_data.json)].concat();
        if !stored.key.is_signature(&message, self.signature) {
            return Err(PasskeyFault::WrongSignature);
        }
        // The counter of a passkey that is synchronized between devices is always 0.
        let counts = data.counter > 0 || stored.counter > 0;
        if counts && data.counter <= stored.counter { Err(PasskeyFault::Cloned) } else { Ok(data.counter) }
    }
}

/// The parts of authenticator data (WebAuthn §6.1).
struct AuthenticatorData<'a> {
    party_hash: &'a [u8],
    flags: u8,
    counter: u32,
    /// The credential of a registration, and extensions.
    rest: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (party_hash, rest) = bytes.split_at_checked(32)?;
        let (flags, rest) = rest.split_first()?;
        let (counter, rest) = rest.split_first_chunk()?;
        Some(Self { party_hash, flags: *flags, counter: u32::from_be_bytes(*counter), rest })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the credential id and the bytes after it. The authenticator's model (AAGUID), which precedes them, is
    /// not used.
    fn credential(&self) -> Option<(&'a [u8], &'a [u8])> {
        let (_model, rest) = self.rest.split_at_checked(16).filter(|_| self.has(HAS_CREDENTIAL))?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes(*length));
        rest.split_at_checked(length).filter(|_| (1..=CREDENTIAL_ID_BYTES_MAX).contains(&length))
    }
}

/// Verifies the parts that registrations and assertions share.
fn check(
    party: &RelyingParty,
    kind: &str,
    client_data: &ClientData<'_>,
    data: &AuthenticatorData<'_>,
) -> Result<(), PasskeyFault> {
    match () {
        () if client_data.kind != kind => Err(PasskeyFault::WrongType),
        () if client_data.origin != party.origin => Err(PasskeyFault::WrongOrigin),
        () if client_data.cross_origin || client_data.has_top_origin => Err(PasskeyFault::CrossOrigin),
        () if data.party_hash != Sha256::digest(&party.id).as_slice() => Err(PasskeyFault::WrongRelyingParty),
        () if !data.has(USER_PRESENT) => Err(PasskeyFault::UserNotPresent),
        () if !data.has(USER_VERIFIED) => Err(PasskeyFault::UserNotVerified),
        () if data.has(BACKED_UP) && !data.has(BACKUP_ELIGIBLE) => Err(PasskeyFault::Malformed),
        () => Ok(()),
    }
}
