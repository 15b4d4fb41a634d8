//! The exchange with the authority for one order: the account, the order, the challenge, and the certificate.

use std::time::Duration;

use instant_acme::{
    Account, AuthorizationStatus, ChallengeType, Error, Identifier, NewAccount, NewOrder, Order, OrderStatus, Problem,
    RetryPolicy,
};

use super::account::StoredAccount;
use super::client::DirectoryClient;
use super::exchange::Issued;
use super::folder::AcmeFolder;
use super::orders::Orders;
use super::settings::AcmeSettings;
use crate::domain::acme::advice;
use crate::domain::text;

/// The maximum time that the authority may take for each of two steps: to validate the name, and to issue the
/// certificate. With most authorities, each step takes seconds.
const POLL: RetryPolicy = RetryPolicy::new().timeout(Duration::from_secs(90));

/// The maximum length of a text that [`one_line`] returns, in characters.
const SENTENCE_CHARACTERS_MAX: usize = 800;

/// The errors after which an account is useless: the authority has closed the account, or does not know it, for example
/// because a test environment was reset.
const ACCOUNT_ERRORS: [&str; 2] = ["accountDoesNotExist", "unauthorized"];

/// The maximum number of times that an order begins. If the authority refuses the nonce of a request, the library
/// repeats the request up to twice. RFC 8555 §6.5 sets no limit, so an order begins again after a third refusal. The
/// authority may then return the order that it already has.
const BEGINNINGS_MAX: u32 = 6;

/// The reason why there is no certificate: a sentence for operators.
enum Failure {
    /// The authority refused the nonces of a request.
    Nonce(String),
    /// The authority refused something else.
    Refused(String),
    Other(String),
}

impl Failure {
    fn into_sentence(self) -> String {
        match self {
            Self::Nonce(sentence) | Self::Refused(sentence) | Self::Other(sentence) => sentence,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match &error {
            Error::Api(problem) if kind(problem) == "badNonce" => Self::Nonce(sentence(&error)),
            Error::Api(_) => Self::Refused(sentence(&error)),
            _ => Self::Other(sentence(&error)),
        }
    }
}

impl From<String> for Failure {
    fn from(sentence: String) -> Self {
        Self::Other(sentence)
    }
}

/// Orders a certificate with the stored account, or with a new one. Each call of `client` returns a new client, because
/// each account owns its client.
///
/// # Errors
/// A sentence for operators, with advice if there is any.
pub(super) async fn order(
    settings: &AcmeSettings,
    folder: &AcmeFolder,
    orders: &Orders,
    client: impl Fn() -> DirectoryClient,
) -> Result<Issued, String> {
    let mut beginnings = 1;
    loop {
        match order_once(settings, folder, orders, &client).await {
            Err(Failure::Nonce(_)) if beginnings < BEGINNINGS_MAX => beginnings += 1,
            ended => return ended.map_err(Failure::into_sentence),
        }
    }
}

async fn order_once(
    settings: &AcmeSettings,
    folder: &AcmeFolder,
    orders: &Orders,
    client: impl Fn() -> DirectoryClient,
) -> Result<Issued, Failure> {
    let stored = StoredAccount::read(folder).filter(|account| account.directory == settings.directory);
    let known = match stored {
        Some(stored) => with_stored_account(settings, stored, folder, client()).await,
        None => None,
    };
    let (account, order) = match known {
        Some(known) => known?,
        None => with_new_account(settings, folder, client()).await?,
    };
    let issued = complete(order, orders).await;
    drop(account);
    orders.clear();
    issued
}

/// Begins an order with a stored account. Returns `None` if the account cannot be used, for example because the
/// authority no longer accepts it.
async fn with_stored_account(
    settings: &AcmeSettings,
    stored: StoredAccount,
    folder: &AcmeFolder,
    client: DirectoryClient,
) -> Option<Result<(Account, Order), Error>> {
    let begin = async {
        let serialized = serde_json::to_value(&stored.credentials)?;
        let account = Account::builder_with_http(Box::new(client)).from_credentials(stored.credentials).await?;
        if stored.contact != settings.contact {
            let contacts = contacts(settings);
            account.update_contacts(&contacts.iter().map(String::as_str).collect::<Vec<_>>()).await?;
            let credentials = serde_json::from_value(serialized)?;
            let (directory, contact) = (settings.directory.clone(), settings.contact.clone());
            // If this write fails, the next order sends the new contact again.
            let _ = StoredAccount { directory, contact, credentials }.write(folder);
        }
        let order = account.new_order(&NewOrder::new(&identifiers(settings))).await?;
        Ok((account, order))
    };
    match begin.await {
        Err(Error::Api(problem)) if ACCOUNT_ERRORS.contains(&kind(&problem)) => None,
        Err(Error::KeyRejected | Error::Json(_)) => None,
        other => Some(other),
    }
}

/// Creates an account, stores it, and begins an order.
async fn with_new_account(
    settings: &AcmeSettings,
    folder: &AcmeFolder,
    client: DirectoryClient,
) -> Result<(Account, Order), Failure> {
    let contacts = contacts(settings);
    let contacts: Vec<&str> = contacts.iter().map(String::as_str).collect();
    // By setting --acme-domain, the operator agrees to the terms of service.
    let new = NewAccount { contact: &contacts, terms_of_service_agreed: true, only_return_existing: false };
    let builder = Account::builder_with_http(Box::new(client));
    let (account, credentials) = builder.create(&new, settings.directory.clone(), None).await?;
    let (directory, contact) = (settings.directory.clone(), settings.contact.clone());
    StoredAccount { directory, contact, credentials }.write(folder).map_err(|error| {
        format!("the account cannot be stored in {}: {error}; make room on the disk", folder.path().display())
    })?;
    let order = account.new_order(&NewOrder::new(&identifiers(settings))).await?;
    Ok((account, order))
}

fn contacts(settings: &AcmeSettings) -> Vec<String> {
    settings.contact.iter().map(|email| format!("mailto:{email}")).collect()
}

fn identifiers(settings: &AcmeSettings) -> [Identifier; 1] {
    [Identifier::Dns(settings.domain.as_str().to_owned())]
}

/// Answers the challenges of an order, and waits for its certificate.
async fn complete(mut order: Order, orders: &Orders) -> Result<Issued, Failure> {
    answer_challenges(&mut order, orders).await?;
    if order.state().status != OrderStatus::Ready {
        match order.poll_ready(&POLL).await.map_err(Failure::from) {
            Ok(OrderStatus::Ready) => {}
            Err(failure @ (Failure::Nonce(_) | Failure::Other(_))) => return Err(failure),
            refused => {
                // The order shows only that it failed. The challenge shows the reason.
                let unknown = || "the authority refused the order and gave no reason".to_owned();
                let refusal = refused.err().map_or_else(unknown, Failure::into_sentence);
                return Err(Failure::Other(failed_challenge(&mut order).await.unwrap_or(refusal)));
            }
        }
    }
    let key = order.finalize().await?;
    let chain = order.poll_certificate(&POLL).await?;
    Ok(Issued { chain, key })
}

/// Publishes the answers to the challenges, and asks the authority to fetch them.
async fn answer_challenges(order: &mut Order, orders: &Orders) -> Result<(), Failure> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        match authorization.status {
            AuthorizationStatus::Valid => continue,
            AuthorizationStatus::Pending => {}
            status => {
                return Err(Failure::Other(format!(
                    "the authority answered the new order with an authorization that can no longer be used (its status is {status:?})"
                )));
            }
        }
        let none = "the authority offers no challenge by HTTP (http-01) for the name; choose another --acme-directory";
        let mut challenge = authorization.challenge(ChallengeType::Http01).ok_or_else(|| none.to_owned())?;
        orders.add(&challenge.token, challenge.key_authorization().as_str());
        challenge.set_ready().await?;
    }
    Ok(())
}

/// Returns the reason why a challenge failed.
async fn failed_challenge(order: &mut Order) -> Option<String> {
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let state = authorization.refresh().await.ok()?;
        if let Some(problem) = state.challenges.iter().find_map(|challenge| challenge.error.as_ref()) {
            return Some(refusal(problem));
        }
    }
    None
}

/// Returns the last part of the type of a problem, such as `rateLimited`.
fn kind(problem: &Problem) -> &str {
    problem.r#type.as_deref().unwrap_or_default().rsplit(':').next().unwrap_or_default()
}

/// Returns a sentence about an error, with advice if there is any.
fn sentence(error: &Error) -> String {
    match error {
        Error::Api(problem) => refusal(problem),
        Error::Timeout(_) => "the authority did not decide in time; the next attempt asks again".to_owned(),
        Error::Json(error) => one_line(&format!("the authority sent an answer that cannot be read: {error}")),
        error => one_line(&format!("the authority cannot be used: {error}")),
    }
}

/// Returns a sentence about a refusal by the authority.
fn refusal(problem: &Problem) -> String {
    let subproblem = problem.subproblems.first();
    let kind = kind(problem);
    let detail = problem.detail.as_deref().unwrap_or("no reason given");
    let more = subproblem.and_then(|problem| problem.detail.as_deref()).map(|more| format!(" ({more})"));
    let reason = format!("the authority refused ({kind}): {detail}{}", more.unwrap_or_default());
    format!("{}; {}", one_line(&reason), advice(kind))
}

/// Truncates a long sentence, and replaces control characters, such as line breaks, with spaces. The sentence can
/// contain text from the authority.
fn one_line(sentence: &str) -> String {
    text::cut(sentence, SENTENCE_CHARACTERS_MAX).replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_kind_its_reason_and_a_remedy_on_one_line() {
        for (text, expected) in [
            (
                r#"{"type": "urn:ietf:params:acme:error:dns", "detail": "NXDOMAIN\nlooking up A"}"#,
                "the authority refused (dns): NXDOMAIN looking up A; the name needs an A or AAAA record",
            ),
            (
                r#"{"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too many"}"#,
                "the authority refused (rateLimited): too many; the authority limits the number of orders",
            ),
            (r#"{"type": "a\nb"}"#, "the authority refused (a b): no reason given; if this continues"),
            ("{}", "the authority refused (): no reason given; if this continues"),
        ] {
            let problem: Problem = serde_json::from_str(text).unwrap();
            assert!(refusal(&problem).starts_with(expected), "{}", refusal(&problem));
        }
        let long = "x".repeat(10_000);
        let long = format!(r#"{{"type": "{long}", "detail": "{long}"}}"#);
        let problem: Problem = serde_json::from_str(&long).unwrap();
        assert!(refusal(&problem).len() < 1_000);
    }
}
