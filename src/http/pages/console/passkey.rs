//! Passkeys in forms: the options for the browser's WebAuthn API with a new challenge, and the fields into which
//! `passkey.js` puts the answer of an authenticator.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::id::{self, UserId};
use crate::domain::passkey::{
    Assertion, Challenge, ChallengeUse, ClientData, LIFETIME, PasskeyAlgorithm, PasskeyFault, Registration,
    RelyingParty, StoredChallenge, VerifiedKey,
};
use crate::domain::refusal::Refusal;
use crate::http::api::session::set_cookie;
use crate::http::pages::texts::console::passkey::PasskeyTexts;
use crate::http::server::authentication::{cookie, cookie_digest};
use crate::http::server::ctx::Ctx;
use crate::http::server::form::{CONFIRMATION_PREFIX, Form};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::passkey::{Passkey, RefusedPasskey, StoredPasskey};
use crate::store::{self, Error, Tx};

/// The lifetime of the cookie that binds challenges to a browser without a session.
const BROWSER_COOKIE_MAX_AGE_S: u64 = 60 * 60;

/// The refusal if the base URL of the service rules out passkeys.
const UNAVAILABLE: Refusal =
    Refusal::Conflict("passkeys require a base URL with a host name, and with https unless the host is localhost");

/// A browser to which challenges are bound.
pub(super) struct Browser {
    /// The digest of the browser's session cookie. Without a session, the cookie has a random value.
    pub(super) digest: [u8; 32],
    /// The value of `Set-Cookie`, if the browser has no cookie yet.
    new_cookie: Option<String>,
}

impl Browser {
    fn of(ctx: &Ctx, request: &Request) -> Self {
        if let Some(digest) = cookie(ctx, request) {
            return Self { digest, new_cookie: None };
        }
        let mut random = [0; 32];
        ctx.world.fill(&mut random);
        let value = id::token(&random);
        let new_cookie = Some(set_cookie(ctx, &value, BROWSER_COOKIE_MAX_AGE_S));
        Self { digest: cookie_digest(&value), new_cookie }
    }
}

/// A request for a challenge.
pub(super) struct ChallengeRequest {
    party: RelyingParty,
    challenge: Challenge,
    browser: Browser,
}

impl ChallengeRequest {
    /// # Errors
    /// `forbidden` for a request from another origin; `conflict` if the base URL rules out passkeys.
    pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<Self, Refusal> {
        if request.origin().is_stated() {
            request.origin().require_same(&ctx.settings.origin)?;
        }
        let mut random = [0; 32];
        ctx.world.fill(&mut random);
        let party = party(ctx)?;
        Ok(Self { party, challenge: Challenge::new(&random), browser: Browser::of(ctx, request) })
    }

    /// Stores the challenge, and answers with the options for `navigator.credentials.get`. `own` contains the passkeys
    /// that the browser may offer; if `own` is empty, the browser offers all passkeys that it has for this service.
    pub(super) fn for_assertion(
        &self,
        tx: &Tx<'_>,
        purpose: ChallengeUse,
        user: Option<&UserId>,
        own: &[Passkey],
    ) -> Result<Reply, Error> {
        self.issue(tx, purpose, user)?;
        Ok(self.answer(&json!({
            "challenge": self.challenge.as_str(),
            "rpId": self.party.id,
            "timeout": timeout_ms(),
            "userVerification": "required",
            "allowCredentials": descriptors(own),
        })))
    }

    /// Stores the challenge, and answers with the options for `navigator.credentials.create`.
    ///
    /// # Errors
    /// `unauthorized` if the user no longer exists.
    pub(super) fn for_registration(&self, tx: &Tx<'_>, user: &UserId) -> Result<Reply, Error> {
        self.issue(tx, ChallengeUse::Register, Some(user))?;
        let profile = store::user::find(tx, user)?.ok_or(Refusal::Unauthorized { sent: true })?.profile;
        let own = store::passkey::of_user(tx, user)?;
        let algorithms = PasskeyAlgorithm::OFFERED.map(|(_, number)| json!({ "type": "public-key", "alg": number }));
        Ok(self.answer(&json!({
            "challenge": self.challenge.as_str(),
            "rp": { "id": self.party.id, "name": self.party.id },
            "user": {
                "id": URL_SAFE_NO_PAD.encode(user.as_str()),
                "name": profile.email.as_str(),
                "displayName": profile.name,
            },
            "pubKeyCredParams": algorithms,
            "timeout": timeout_ms(),
            "excludeCredentials": descriptors(&own),
            "authenticatorSelection": {
                "residentKey": "required", "requireResidentKey": true, "userVerification": "required",
            },
            "attestation": "none",
        })))
    }

    fn issue(&self, tx: &Tx<'_>, purpose: ChallengeUse, user: Option<&UserId>) -> Result<(), Error> {
        let facts =
            StoredChallenge { purpose, browser: self.browser.digest, user_id: user.cloned(), issued_at: tx.now };
        store::passkey::issue_challenge(tx, &self.challenge, &facts)
    }

    fn answer(&self, options: &Value) -> Reply {
        let reply = Reply::json(options);
        match &self.browser.new_cookie {
            Some(cookie) => reply.with(header::SET_COOKIE, cookie),
            None => reply,
        }
    }
}

/// # Errors
/// `conflict` if the base URL rules out passkeys.
fn party(ctx: &Ctx) -> Result<RelyingParty, Refusal> {
    RelyingParty::of_origin(&ctx.settings.origin).ok_or(UNAVAILABLE)
}

fn timeout_ms() -> u64 {
    LIFETIME.as_secs() * 1_000
}

fn descriptors(passkeys: &[Passkey]) -> Vec<Value> {
    let id = |passkey: &Passkey| URL_SAFE_NO_PAD.encode(&passkey.credential_id);
    passkeys.iter().map(|passkey| json!({ "type": "public-key", "id": id(passkey) })).collect()
}

/// The client data of a browser (WebAuthn §5.8.1).
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct WireClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    #[serde(default)]
    top_origin: Option<Value>,
}

/// The answer of an authenticator.
pub(super) struct PasskeyAnswer {
    party: RelyingParty,
    browser: [u8; 32],
    pub(super) credential_id: Vec<u8>,
    client_data_json: Vec<u8>,
    client_data: WireClientData,
    authenticator_data: Vec<u8>,
    signature: Vec<u8>,
    user_handle: Option<Vec<u8>>,
    public_key: Vec<u8>,
    algorithm: i64,
}

impl PasskeyAnswer {
    /// Returns whether the form has the answer of an authenticator.
    pub(super) fn is_in(form: &Form) -> bool {
        form.texts(&field("client_data")).next().is_some()
    }

    /// Decodes the fields of a form. A registration and an assertion have different fields. A missing field becomes
    /// empty, except that the client data is required. An algorithm that is not a number becomes 0.
    ///
    /// # Errors
    /// `unsupported_media_type` for a body that is not a form; `conflict` if the base URL rules out passkeys;
    /// `validation_error` if a field is repeated, if the client data is missing, or if a field other than the algorithm
    /// cannot be decoded.
    pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<Self, Refusal> {
        let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
        let bytes = |name| -> Result<Option<Vec<u8>>, Refusal> {
            let Some(text) = form.text(&field(name))? else { return Ok(None) };
            let invalid = |_| Refusal::invalid(&field(name), "must be base64url");
            Ok(Some(URL_SAFE_NO_PAD.decode(text).map_err(invalid)?))
        };
        let client_data_json = bytes("client_data")?.unwrap_or_default();
        let client_data = serde_json::from_slice(&client_data_json)
            .map_err(|_| Refusal::invalid(&field("client_data"), "must be the client data of a browser"))?;
        let algorithm = form.text(&field("algorithm"))?.map(str::parse::<i64>);
        Ok(Self {
            party: party(ctx)?,
            // Without the cookie, the digest is all zeros. No challenge is bound to that digest.
            browser: cookie(ctx, request).unwrap_or_default(),
            credential_id: bytes("credential_id")?.unwrap_or_default(),
            client_data_json,
            client_data,
            authenticator_data: bytes("authenticator_data")?.unwrap_or_default(),
            signature: bytes("signature")?.unwrap_or_default(),
            user_handle: bytes("user_handle")?,
            public_key: bytes("public_key")?.unwrap_or_default(),
            algorithm: algorithm.and_then(Result::ok).unwrap_or_default(),
        })
    }

    /// Spends the challenge and verifies the registration of a passkey for this user.
    pub(super) fn register(&self, tx: &Tx<'_>, user: &UserId) -> Result<Result<VerifiedKey, PasskeyFault>, Error> {
        if let Err(fault) = self.spend_challenge(tx, ChallengeUse::Register, Some(user))? {
            return Ok(Err(fault));
        }
        let registration = Registration {
            credential_id: &self.credential_id,
            client_data: self.client_data(),
            authenticator_data: &self.authenticator_data,
            algorithm: self.algorithm,
            spki: &self.public_key,
        };
        Ok(registration.verify(&self.party))
    }

    /// Spends the challenge and verifies the assertion. If `user` is given, accepts only a passkey of this user.
    pub(super) fn accept(
        &self,
        ctx: &Ctx,
        tx: &Tx<'_>,
        purpose: ChallengeUse,
        user: Option<&UserId>,
    ) -> Result<Result<StoredPasskey, RefusedPasskey>, Error> {
        if let Err(fault) = self.spend_challenge(tx, purpose, user)? {
            return Ok(Err(RefusedPasskey { fault, user_id: None }));
        }
        let assertion = Assertion {
            client_data: self.client_data(),
            authenticator_data: &self.authenticator_data,
            signature: &self.signature,
            user_handle: self.user_handle.as_deref(),
        };
        let stamp = store::activity::stamp(&*ctx.world);
        store::passkey::accept(tx, &stamp, &self.party, &self.credential_id, user, &assertion)
    }

    fn spend_challenge(
        &self,
        tx: &Tx<'_>,
        purpose: ChallengeUse,
        user: Option<&UserId>,
    ) -> Result<Result<(), PasskeyFault>, Error> {
        store::passkey::spend_challenge(tx, &self.client_data.challenge, purpose, &self.browser, user)
    }

    fn client_data(&self) -> ClientData<'_> {
        let WireClientData { kind, challenge, origin, cross_origin, top_origin } = &self.client_data;
        ClientData {
            json: &self.client_data_json,
            kind: kind.clone(),
            challenge: challenge.clone(),
            origin: origin.clone(),
            cross_origin: *cross_origin,
            has_top_origin: top_origin.is_some(),
        }
    }
}

/// Returns the name of a field of the answer.
fn field(name: &str) -> String {
    format!("{CONFIRMATION_PREFIX}{name}")
}

/// Returns the reason why a passkey is refused, in the language of the page.
pub(super) fn fault_text(words: &PasskeyTexts, fault: PasskeyFault) -> &'static str {
    match fault {
        PasskeyFault::UnknownChallenge | PasskeyFault::ForeignChallenge | PasskeyFault::ExpiredChallenge => {
            words.too_late
        }
        PasskeyFault::UnknownPasskey => words.unknown,
        PasskeyFault::Cloned => words.cloned,
        PasskeyFault::UserNotVerified => words.not_verified,
        PasskeyFault::WrongOrigin | PasskeyFault::WrongRelyingParty => words.unavailable,
        _ => words.refused,
    }
}
