//! `/api/auth`: sign-in with an email address, a password and, if the account has a second factor, a code; and
//! sign-out.

use std::net::IpAddr;

use hyper::{Method, header};

use super::me;
use crate::domain::id::{self, UserId};
use crate::domain::keyed_hash::keyed_hash;
use crate::domain::refusal::Refusal;
use crate::domain::second_factor::{FactorCode, Factors};
use crate::domain::session::TOTAL_MAX;
use crate::domain::text::{self, EMAIL_CHARACTERS_MAX, Email};
use crate::domain::user::{Auth, Principal};
use crate::http::server::authentication::{cookie, cookie_digest, cookie_name};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::http::server::sign_in_throttle::SignInAttempt;
use crate::store::session::NewSession;
use crate::store::user::SignInAccount;
use crate::store::{self, Error, Grade, Refused, Tx};

/// The number of random bytes in a cookie: 256 bits, so that nobody can guess a cookie.
const COOKIE_RANDOM_BYTES: usize = 32;

/// The reason why a sign-in with the correct password but no code is refused if the account has a second factor.
const CODE_MISSING: &str = "is required, because this account has a second factor: send a code from the authenticator \
                            app, or a recovery code; accounts with only a passkey sign in at /sign-in";

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Api, Method::POST, "/api/auth/sign-in", decode_sign_in, sign_in)
            .with_body()
            .with_password_hashing()
            .writes(Grade::Vital)
            .answering(&[
                (200, ""),
                (400, "validation_error"),
                (401, "unauthorized"),
                (403, "forbidden"),
                (429, "rate_limited"),
            ]),
        // A request from another origin is forbidden.
        Route::session(Method::POST, "/api/auth/sign-out", |_, _| Ok(()), sign_out)
            .writes(Grade::Vital)
            .answering(&[(204, ""), (403, "forbidden")]),
    ]
}

/// A sign-in with a correct password, and the session that the sign-in can begin.
pub(in crate::http) struct CheckedPassword {
    pub(in crate::http) email: Email,
    pub(in crate::http) account: SignInAccount,
    /// The second factors of the account. If there is one, the password alone does not begin a session.
    pub(in crate::http) factors: Factors,
    pub(in crate::http) session: FreshSession,
}

/// A sign-in that has passed all checks before the transaction.
pub(in crate::http) struct SignInInput {
    checked: CheckedPassword,
    /// The code, if the account has a second factor.
    code: Option<FactorCode>,
}

/// A session that has not begun, with its cookie.
pub(in crate::http) struct FreshSession {
    cookie: String,
    client: IpAddr,
    user_agent: String,
}

impl FreshSession {
    /// Creates the session of the browser that sent the request.
    pub(in crate::http) fn of(ctx: &Ctx, request: &Request) -> Self {
        let mut random = [0; COOKIE_RANDOM_BYTES];
        ctx.world.fill(&mut random);
        Self { cookie: id::token(&random), client: request.client(), user_agent: request.user_agent() }
    }

    /// Returns the digest of the session's cookie.
    pub(in crate::http) fn digest(&self) -> [u8; 32] {
        cookie_digest(&self.cookie)
    }

    /// Begins the session of a user whose identity is proved, and logs the sign-in. Returns the user and the value of
    /// `Set-Cookie`.
    ///
    /// # Errors
    /// `unauthorized` if the user is disabled or does not exist.
    pub(in crate::http) fn begin(&self, ctx: &Ctx, tx: &Tx<'_>, user: &UserId) -> Result<(Principal, String), Error> {
        let digest = self.digest();
        let (address, user_agent) = (self.client.to_string(), self.user_agent.clone());
        let session = NewSession { digest, id: ctx.world.id(), user_id: user.clone(), address, user_agent };
        store::session::insert(tx, &session)?;
        let caller = store::session::principal(tx, &digest)?.ok_or(Refusal::Unauthorized { sent: true })?;
        store::session::record_sign_in(tx, &store::activity::stamp(&*ctx.world), &caller)?;
        log_outcome(ctx, "succeeded", Some(&caller.email), self.client);
        Ok((caller, set_cookie(ctx, &self.cookie, TOTAL_MAX.as_secs())))
    }
}

impl FreshSession {
    /// Logs a failed sign-in with a passkey. `user` is `None` if the account is unknown.
    pub(in crate::http) fn log_failed(&self, ctx: &Ctx, tx: &Tx<'_>, user: Option<&UserId>) -> Result<(), Error> {
        let account = user.map(|user| store::user::find(tx, user)).transpose()?.flatten();
        log_outcome(ctx, "failed", account.as_ref().map(|user| user.profile.email.as_str()), self.client);
        Ok(())
    }
}

/// Logs the outcome of a sign-in. The log shows keyed hashes of the account's email address and the client's network
/// address, so it identifies nobody. It shows `-` for the account if there is no email address. Email addresses that
/// differ only in letter case have the same hash.
fn log_outcome(ctx: &Ctx, outcome: &str, account: Option<&str>, client: IpAddr) {
    let hash = |kind, text: &str| keyed_hash(ctx.store.form_secret(), kind, text);
    let account = account.map_or_else(|| "-".to_owned(), |address| hash("account", &address.to_lowercase()));
    let client = hash("address", &client.to_string());
    ctx.telemetry.note(ctx.world.now(), None, &format!("sign-in {outcome} account={account} address={client}"));
}

/// Reads the address, the password and the code, and checks them.
///
/// # Errors
/// `forbidden` for a request from another origin; `bad_request` if the body is not a JSON object; `validation_error`
/// without `email` or `password`, or without `code` if the account has a second factor; and the errors of
/// [`check_password`] and [`check_code`].
fn decode_sign_in(ctx: &Ctx, request: &Request) -> Result<SignInInput, Error> {
    if request.origin().is_stated() {
        request.origin().require_same(&ctx.settings.origin)?;
    }
    let mut fields = request.object()?;
    let address = fields.required_string("email");
    let password = fields.required_string("password");
    let entered = fields.string("code");
    fields.valid()?;
    let checked = check_password(ctx, request, &address.unwrap_or_default(), &password.unwrap_or_default())?;
    if checked.factors.is_empty() {
        return Ok(SignInInput { checked, code: None });
    }
    let entered = entered.ok_or_else(|| Refusal::invalid("code", CODE_MISSING))?;
    let code = check_code(ctx, request, &checked.email, &checked.account.id, &entered, checked.session.digest())?;
    Ok(SignInInput { checked, code: Some(code) })
}

/// Checks the password. A sign-in with an unknown address fails in the same way as one with a wrong password: it takes
/// as long, gets the same answer and is throttled alike. This hides which addresses have accounts.
///
/// # Errors
/// `rate_limited` after too many failures; `unauthorized` for a wrong address or password.
pub(in crate::http) fn check_password(
    ctx: &Ctx,
    request: &Request,
    address: &str,
    password: &str,
) -> Result<CheckedPassword, Error> {
    let email = Email::parse_stored(address);
    let account_key = match &email {
        Some(email) => email.key().to_owned(),
        None => text::cut(address, EMAIL_CHARACTERS_MAX).to_lowercase(),
    };
    let attempt = begin_attempt(ctx, request, &account_key)?;
    let account = match &email {
        Some(email) => {
            let found = ctx.store.read(|tx| account_and_factors(tx, email));
            found.inspect_err(|_| drop(ctx.sign_in_throttle.cancel(&attempt)))?
        }
        None => None,
    };
    let hash = account.as_ref().and_then(|(account, _)| account.password_hash.as_deref());
    let matches = ctx.password_matches(password, hash);
    let (Some(email), Some((account, factors)), true) = (email, account.as_ref(), matches) else {
        log_outcome(ctx, "failed", Some(&account_key), request.client());
        if let Some((account, _)) = account {
            ctx.store.note_refused(Refused::SignIn(account.id));
        }
        return Err(Refusal::Unauthorized { sent: true }.into());
    };
    let session = FreshSession::of(ctx, request);
    if factors.is_empty() {
        ctx.sign_in_throttle.succeed(&attempt, session.digest())?;
    } else {
        // A correct password alone is neither a failure nor a success. A success would clear the failures, and somebody
        // with the password could try any number of codes.
        ctx.sign_in_throttle.cancel(&attempt)?;
    }
    Ok(CheckedPassword { email, account: account.clone(), factors: *factors, session })
}

/// Checks a code from an authenticator app, or a recovery code. Wrong codes are throttled together with wrong
/// passwords. This function does not mark the code as used. `device` is the digest of the session cookie that the
/// browser has or receives.
///
/// # Errors
/// `rate_limited` after too many failures; `unauthorized` for a wrong code.
pub(in crate::http) fn check_code(
    ctx: &Ctx,
    request: &Request,
    email: &Email,
    user: &UserId,
    entered: &str,
    device: [u8; 32],
) -> Result<FactorCode, Error> {
    let attempt = begin_attempt(ctx, request, email.key())?;
    if let Some(code) = FactorCode::parse(entered) {
        let accepts = ctx.store.read(|tx| store::second_factor::accepts(tx, user, &code));
        if accepts.inspect_err(|_| drop(ctx.sign_in_throttle.cancel(&attempt)))? {
            ctx.sign_in_throttle.succeed(&attempt, device)?;
            return Ok(code);
        }
    }
    log_outcome(ctx, "failed", Some(email.key()), request.client());
    ctx.store.note_refused(Refused::SignIn(user.clone()));
    Err(Refusal::Unauthorized { sent: true }.into())
}

/// Begins an attempt to enter a password or a code.
///
/// # Errors
/// `rate_limited` after too many failures.
fn begin_attempt(ctx: &Ctx, request: &Request, account_key: &str) -> Result<SignInAttempt, Error> {
    let device = cookie(ctx, request);
    let attempt = ctx.sign_in_throttle.begin(account_key, request.client(), device)?;
    attempt.map_err(|retry_after_s| {
        log_outcome(ctx, "throttled", Some(account_key), request.client());
        Refusal::RateLimited { retry_after_s }.into()
    })
}

fn account_and_factors(tx: &Tx<'_>, email: &Email) -> Result<Option<(SignInAccount, Factors)>, Error> {
    let Some(account) = store::user::sign_in_account(tx, email)? else { return Ok(None) };
    let factors = store::second_factor::factors(tx, &account.id)?;
    Ok(Some((account, factors)))
}

/// `POST /api/auth/sign-in`: starts the session.
///
/// # Errors
/// The errors of [`CheckedPassword::begin_session`].
fn sign_in(ctx: &Ctx, tx: &Tx<'_>, SignInInput { checked, code }: &SignInInput) -> Result<Reply, Error> {
    let (caller, cookie) = checked.begin_session(ctx, tx, code.as_ref())?;
    Ok(Reply::json(&me::wire(&caller)).with(header::SET_COOKIE, &cookie))
}

impl CheckedPassword {
    /// Begins the session, and marks the code of the second factor as used, if there is one. Returns the user and the
    /// value of `Set-Cookie`.
    ///
    /// # Errors
    /// `unauthorized` if the account has changed since the password was checked, if the code has been used since then,
    /// or if the account had no second factor then and has one now.
    pub(in crate::http) fn begin_session(
        &self,
        ctx: &Ctx,
        tx: &Tx<'_>,
        code: Option<&FactorCode>,
    ) -> Result<(Principal, String), Error> {
        let is_unchanged = store::user::sign_in_account(tx, &self.email)?.as_ref() == Some(&self.account);
        let is_factor_satisfied = match code {
            Some(code) => store::second_factor::spend(tx, &self.account.id, code)?,
            None => store::second_factor::factors(tx, &self.account.id)?.is_empty(),
        };
        if !is_unchanged || !is_factor_satisfied {
            log_outcome(ctx, "failed", Some(self.email.key()), self.session.client);
            return Err(Refusal::Unauthorized { sent: true }.into());
        }
        let begun = self.session.begin(ctx, tx, &self.account.id)?;
        if let Some(code) = code {
            store::second_factor::record_use(tx, &store::activity::stamp(&*ctx.world), &begun.0, code)?;
        }
        Ok(begun)
    }
}

/// `POST /api/auth/sign-out`: ends the session and removes its cookie.
fn sign_out(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, (): &()) -> Result<Reply, Error> {
    let cookie = end_session(ctx, tx, caller)?;
    Ok(Reply::no_content().with(header::SET_COOKIE, &cookie))
}

/// Ends the session of the caller. Returns the value of `Set-Cookie` that removes the session's cookie.
pub(in crate::http) fn end_session(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal) -> Result<String, Error> {
    if let Auth::Session { digest } = &caller.auth {
        store::session::delete(tx, digest)?;
    }
    Ok(set_cookie(ctx, "", 0))
}

/// Returns the value of `Set-Cookie` for the session cookie.
pub(in crate::http) fn set_cookie(ctx: &Ctx, value: &str, max_age_s: u64) -> String {
    let name = cookie_name(ctx);
    let secure = if ctx.settings.is_https() { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}")
}
