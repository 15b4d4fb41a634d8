//! `appliance key`: lists, creates and revokes API keys, without an HTTP client.

use clap::Subcommand;
use serde_json::json;

use super::db_arg::DbArg;
use super::failure::Failure;
use super::list::{ListArgs, to_json};
use super::output::{act_and_print, print_message};
use super::user::no_user;
use super::value::{one_of, parse_email, parse_name};
use crate::domain::api_key::{self, EXPIRES_IN_DAYS, EXPIRES_IN_DAYS_DEFAULT, Grant, KeySecret, Scope};
use crate::domain::id::{ApiKeyId, Id};
use crate::domain::text::{Email, counted};
use crate::domain::timestamp::Timestamp;
use crate::http::api::list_item;
use crate::store::api_key::{ApiKey, NewApiKey};
use crate::store::file::{self, Missing, Older};
use crate::store::{self, Error};
use crate::world::World;

/// List, create and revoke API keys.
///
/// Works while `serve` runs. The service applies each change before its next response.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all API keys, newest first, including revoked and expired ones.
    ///
    /// Prints one line per key: id, first characters, name, email of the user, state (enabled, revoked or expired),
    /// scopes, time of expiry, time of the last use, number of requests. The columns are aligned under headings on a
    /// terminal, and separated by tabs otherwise.
    List(ListArgs),
    Create(Create),
    Revoke(Revoke),
}

/// Create an API key that acts as a user, and print it.
///
/// The key goes to standard output, on a line of its own, and is never shown again.
#[derive(Debug, clap::Args)]
struct Create {
    #[command(flatten)]
    db: DbArg,

    /// The email address of the user that the key acts as.
    #[arg(long, env = "APPLIANCE_EMAIL", value_name = "EMAIL", value_parser = parse_email)]
    email: Email,

    /// The purpose of the key, in your own words.
    #[arg(long, env = "APPLIANCE_NAME", value_name = "NAME", value_parser = parse_name)]
    name: String,

    #[arg(long, env = "APPLIANCE_EXPIRES_IN_DAYS", value_name = "DAYS", default_value_t = EXPIRES_IN_DAYS_DEFAULT,
        value_parser = clap::value_parser!(i64).range(EXPIRES_IN_DAYS),
        help = format!("Days until the key expires, {} to {}", EXPIRES_IN_DAYS.start(), EXPIRES_IN_DAYS.end()))]
    expires_in_days: i64,

    /// The scopes of the key, separated by commas. The flag can also be repeated.
    ///
    /// Without this flag, the key has candidates:read, roles:read and pipeline:write, and an admin's key may use
    /// /api/admin. With this flag, an admin's key may use /api/admin only with admin:read (GET and HEAD) or admin:write
    /// (other methods).
    #[arg(long, env = "APPLIANCE_SCOPE", value_name = "SCOPE", value_delimiter = ',',
        value_parser = one_of(Scope::WORDS, Scope::parse))]
    scope: Option<Vec<Scope>>,
}

/// Revoke an API key permanently.
///
/// A running service stops accepting the key before its next response. The key's row and usage remain. Revoking a
/// revoked key succeeds.
#[derive(Debug, clap::Args)]
struct Revoke {
    #[command(flatten)]
    db: DbArg,

    /// The key's id, as `key list` shows it.
    #[arg(value_name = "ID", value_parser = parse_id)]
    id: ApiKeyId,
}

/// # Errors
/// Fails if the key or user does not exist, the database cannot be used, or standard output cannot be written to. A
/// command that fails creates no key, unless the failure reports that the outcome is unknown.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    match &args.action {
        Action::List(args) => list(args, world),
        Action::Create(args) => create(args, world),
        Action::Revoke(args) => revoke(args, world),
    }
}

fn list(args: &ListArgs, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let (keys, now) = store::read_alone(path, world, |tx| Ok((store::api_key::list(tx)?, tx.now)))?;
    let as_json = |key: &ApiKey| to_json(&list_item::api_key(key));
    args.print(&HEADINGS, &keys, |key| columns(key, now), as_json, "there are no keys")
}

const HEADINGS: [&str; 9] = ["ID", "START", "NAME", "EMAIL", "STATE", "SCOPES", "EXPIRES", "LAST REQUEST", "REQUESTS"];

fn columns(key: &ApiKey, now: Timestamp) -> Vec<String> {
    let or_dash = |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
    let state = match key.enabled {
        false => "revoked",
        true if api_key::is_expired(key.expires_at, now) => "expired",
        true => "enabled",
    };
    let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    vec![
        key.id.to_string(),
        key.start.clone(),
        key.name.clone().unwrap_or_default(),
        key.owner.email.clone(),
        state.to_owned(),
        scopes.join(","),
        or_dash(key.expires_at),
        or_dash(key.last_request),
        key.request_count.to_string(),
    ]
}

fn create(args: &Create, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let user = store::read_alone(path, world, |tx| store::user::find_by_email(tx, &args.email))?;
    let user = user.ok_or_else(|| no_user(&args.email))?.profile;
    let secret = KeySecret::generate(|bytes| world.fill(bytes));
    let mut grant = Grant::of(args.scope.clone());
    grant.scopes.sort_by_key(|scope| Scope::WORDS.iter().position(|word| *word == scope.as_str()));
    grant.scopes.dedup();
    act_and_print(path, world, |tx| {
        let key = NewApiKey {
            id: world.id(),
            secret: secret.clone(),
            user_id: user.id.clone(),
            name: args.name.clone(),
            grant: grant.clone(),
            expires_at: api_key::expires_at(tx.now, args.expires_in_days),
        };
        store::api_key::create(tx, &store::activity::stamp(world), None, &key)?;
        let facts = json!({ "apiKeyId": key.id.as_str() });
        store::activity::platform::record_command(tx, world, "key create", &facts)?;
        Ok(secret.reveal().to_owned())
    })?;
    let scopes: Vec<&str> = grant.scopes.iter().map(|scope| scope.as_str()).collect();
    print_message(&format!(
        "The key above acts as {}, has the scopes {}, expires in {} and is not shown again.",
        user.email.as_str(),
        scopes.join(", "),
        counted(args.expires_in_days, "day")
    ));
    if !user.enabled {
        print_message(&format!("{} is disabled. The key will work when this user is enabled.", user.email.as_str()));
    }
    Ok(())
}

fn revoke(args: &Revoke, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let exists = store::act_alone(path, world, |tx| {
        let exists = store::api_key::revoke(tx, &store::activity::stamp(world), None, &args.id)?;
        if exists {
            let facts = json!({ "apiKeyId": args.id.as_str() });
            store::activity::platform::record_command(tx, world, "key revoke", &facts)?;
        }
        Ok::<_, Error>(exists)
    });
    if !exists? {
        return Err(Failure::new(format!("there is no key with the id {}", args.id)));
    }
    print_message(&format!("{} is revoked", args.id));
    Ok(())
}

fn parse_id(text: &str) -> Result<ApiKeyId, String> {
    ApiKeyId::parse(text).ok_or_else(|| "an id looks like key_01kbj8v6crfqnrs7r2wz5m6d3e".to_owned())
}
