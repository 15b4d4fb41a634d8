//! `appliance key`: the API keys, without a client.

use clap::Subcommand;
use serde_json::json;

use super::list::{ListArgs, json};
use super::user::no_user;
use super::{DbArg, Failure, act_and_print, email, name, say, word};
use crate::domain::api_key::{self, EXPIRES_IN_DAYS, EXPIRES_IN_DAYS_DEFAULT, Grant, KeySecret, Scope};
use crate::domain::id::{ApiKeyId, Id};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::http::api::shown;
use crate::store::api_key::{ApiKey, NewApiKey};
use crate::store::file::{self, Missing, Older};
use crate::store::{self, Error};
use crate::world::World;

/// List, make and revoke API keys.
///
/// Works while `serve` runs, and counts there from its next answer on.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all keys, the newest first, the revoked and expired ones too.
    ///
    /// One line each, its parts between tabs: id, first characters, name, the email of whom it acts as, enabled, revoked or
    /// expired, scopes, ends at, last used at, how often it was used.
    List(ListArgs),
    Create(Create),
    Revoke(Revoke),
}

/// Make a key that acts as a user, and print it.
///
/// The key is printed to standard output, alone on its line, and never shown again.
#[derive(Debug, clap::Args)]
struct Create {
    #[command(flatten)]
    db: DbArg,

    /// The email address of the user it acts as.
    #[arg(long, env = "APPLIANCE_USER", value_name = "EMAIL", value_parser = email)]
    user: Email,

    /// What it is for, in your own words.
    #[arg(long, env = "APPLIANCE_NAME", value_name = "NAME", value_parser = name)]
    name: String,

    #[arg(long, env = "APPLIANCE_EXPIRES_IN_DAYS", value_name = "DAYS", default_value_t = EXPIRES_IN_DAYS_DEFAULT,
        value_parser = clap::value_parser!(i64).range(EXPIRES_IN_DAYS),
        help = format!("Days until the key ends, {} to {}", EXPIRES_IN_DAYS.start(), EXPIRES_IN_DAYS.end()))]
    expires_in_days: i64,

    /// What it may be used for; several between commas, or the flag again.
    ///
    /// Without this flag the key has candidates:read, roles:read and pipeline:write, and an admin's key enters /api/admin.
    /// With it an admin's key enters /api/admin only with admin:read (GET and HEAD) or admin:write (the rest).
    #[arg(long, visible_alias = "scopes", env = "APPLIANCE_SCOPE", value_name = "SCOPE", value_delimiter = ',',
        value_parser = word(Scope::WORDS, Scope::parse))]
    scope: Option<Vec<Scope>>,
}

/// Revoke a key for good.
///
/// A service that runs refuses it from its next answer on. Its row and its usage stay. A second time is no mistake.
#[derive(Debug, clap::Args)]
struct Revoke {
    #[command(flatten)]
    db: DbArg,

    /// The key's id, as `key list` tells it.
    #[arg(value_name = "ID", value_parser = id)]
    id: ApiKeyId,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where there is no such key or user, the file cannot be used, or the key cannot be printed; then there is
/// none.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    match &args.what {
        What::List(args) => list(args, world),
        What::Create(args) => create(args, world),
        What::Revoke(args) => revoke(args, world),
    }
}

fn list(args: &ListArgs, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let (keys, now) = store::read_alone(path, world, |tx| Ok((store::api_key::list(tx)?, tx.now)))?;
    args.print(&keys, |key| parts(key, now), |key| json(&shown::api_key(key)), "there are no keys")
}

fn parts(key: &ApiKey, now: Timestamp) -> Vec<String> {
    let or_dash = |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
    let state = match key.enabled {
        false => "revoked",
        true if api_key::is_alive(true, key.expires_at, now) => "enabled",
        true => "expired",
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
    let user = store::read_alone(path, world, |tx| store::user::find_by_email(tx, &args.user))?;
    let user = user.ok_or_else(|| no_user(&args.user))?.record;
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
    say(&format!(
        "The key above acts as {} with {} for {} days and is not shown again.",
        user.email.as_str(),
        scopes.join(", "),
        args.expires_in_days
    ));
    if !user.enabled {
        say(&format!("{} is disabled: the key counts once they are enabled.", user.email.as_str()));
    }
    Ok(())
}

fn revoke(args: &Revoke, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let is_there = store::act_alone(path, world, |tx| {
        let is_there = store::api_key::revoke(tx, &store::activity::stamp(world), None, &args.id)?;
        if is_there {
            let facts = json!({ "apiKeyId": args.id.as_str() });
            store::activity::platform::record_command(tx, world, "key revoke", &facts)?;
        }
        Ok::<_, Error>(is_there)
    });
    if !is_there? {
        return Err(Failure::new(format!("there is no key with the id {}", args.id)));
    }
    say(&format!("{} is revoked", args.id));
    Ok(())
}

fn id(text: &str) -> Result<ApiKeyId, String> {
    ApiKeyId::parse(text).ok_or_else(|| "an id looks like key_01kbj8v6crfqnrs7r2wz5m6d3e".to_owned())
}
