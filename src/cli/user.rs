//! `appliance user`: the users, without a client.

use clap::Subcommand;
use serde_json::json;

use super::list::{ListArgs, json, state};
use super::{DbArg, Failure, email, name, new_email, print, say, word};
use crate::domain::id::UserId;
use crate::domain::text::Email;
use crate::domain::user::PlatformRole;
use crate::http::api::shown;
use crate::store::file::{self, Missing, Older};
use crate::store::user::{Record, User};
use crate::store::{self, Error, Tx};
use crate::world::World;

/// List, make, disable and enable users.
///
/// Works while `serve` runs, and counts there from its next answer on.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all users, the oldest first.
    ///
    /// One line each, its parts between tabs: id, email, name, platform role, enabled or disabled, made at.
    List(ListArgs),
    Create(Create),
    /// Disable a user.
    ///
    /// From now on no key, session or password lets them in. Their sessions end for good, keys count again once they are
    /// enabled. The last admin who is enabled cannot be disabled.
    Disable(Named),
    /// Enable a user who was disabled.
    Enable(Named),
}

/// Make a user, and print their id.
///
/// They are no member of anything yet, and have neither key nor password: see `key create` and `set-password`.
#[derive(Debug, clap::Args)]
struct Create {
    #[command(flatten)]
    db: DbArg,

    /// The user's email address.
    #[arg(long, env = "APPLIANCE_EMAIL", value_name = "EMAIL", value_parser = new_email)]
    email: Email,

    /// The user's name.
    #[arg(long, env = "APPLIANCE_NAME", value_name = "NAME", value_parser = name)]
    name: String,

    /// What the user is on the whole appliance.
    #[arg(long, env = "APPLIANCE_PLATFORM_ROLE", value_name = "ROLE", default_value = "user",
        value_parser = word(PlatformRole::WORDS, PlatformRole::parse))]
    platform_role: PlatformRole,
}

#[derive(Debug, clap::Args)]
struct Named {
    #[command(flatten)]
    db: DbArg,

    /// The user's email address.
    #[arg(value_name = "EMAIL", value_parser = email)]
    email: Email,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where there is no such user, their address is taken, they are the last enabled admin, or the file cannot
/// be used.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    match &args.what {
        What::List(args) => list(args, world),
        What::Create(args) => create(args, world),
        What::Disable(args) => switch(args, false, world),
        What::Enable(args) => switch(args, true, world),
    }
}

fn list(args: &ListArgs, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let users = store::read_alone(path, world, store::user::all)?;
    args.print(&users, parts, |user| json(&shown::user(user)), "there are no users")
}

fn parts(user: &User) -> Vec<String> {
    let User { record, created_at, .. } = user;
    vec![
        record.id.to_string(),
        record.email.as_str().to_owned(),
        record.name.clone(),
        record.platform_role.as_str().to_owned(),
        state(record.enabled),
        created_at.to_string(),
    ]
}

fn create(args: &Create, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let id: UserId = world.id();
    let user = Record {
        id: id.clone(),
        email: args.email.clone(),
        name: args.name.clone(),
        platform_role: args.platform_role,
        enabled: true,
    };
    let is_new = store::act_alone(path, world, |tx| {
        let is_new = store::user::create(tx, &store::activity::stamp(world), None, &user)?;
        if is_new {
            record(tx, world, "user create", &user.id)?;
        }
        Ok::<_, Error>(is_new)
    });
    if !is_new? {
        return Err(Failure::new(format!("a user with the address {} is there already", args.email.as_str())));
    }
    print(id.as_str())
}

fn switch(args: &Named, enabled: bool, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let found = store::act_alone(path, world, |tx| {
        let Some(User { record, .. }) = store::user::find_by_email(tx, &args.email)? else { return Ok(false) };
        let after = Record { enabled, ..record.clone() };
        store::user::change(tx, &store::activity::stamp(world), None, &record, &after)?;
        self::record(tx, world, if enabled { "user enable" } else { "user disable" }, &record.id)?;
        Ok::<_, Error>(true)
    })?;
    let email = args.email.as_str();
    if !found {
        return Err(no_user(&args.email));
    }
    say(&format!("{email} is {}", state(enabled)));
    Ok(())
}

/// Puts the command on record.
fn record(tx: &Tx<'_>, world: &dyn World, command: &str, user: &UserId) -> Result<(), Error> {
    store::activity::platform::record_command(tx, world, command, &json!({ "userId": user.as_str() }))
}

/// Says that there is no such user.
pub(super) fn no_user(email: &Email) -> Failure {
    Failure::new(format!("there is no user with the address {}", email.as_str()))
}
