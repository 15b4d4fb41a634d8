//! `appliance user`: lists, creates, disables and enables users, without an HTTP client.

use clap::Subcommand;
use serde_json::json;

use super::db_arg::DbArg;
use super::failure::Failure;
use super::list::{ListArgs, enabled_or_disabled, to_json};
use super::output::{print_listing, print_message};
use super::value::{one_of, parse_email, parse_name, parse_new_email};
use crate::domain::id::UserId;
use crate::domain::text::Email;
use crate::domain::user::{PlatformRole, UserProfile};
use crate::http::api::list_item;
use crate::store::file::{self, Missing, Older};
use crate::store::user::User;
use crate::store::{self, Error, Tx};
use crate::world::World;

/// List, create, disable and enable users.
///
/// Works while `serve` runs. The service applies each change before its next response.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all users, oldest first.
    ///
    /// Prints one line per user: id, email, name, platform role, enabled or disabled, time of creation. The columns are
    /// aligned under headings on a terminal, and separated by tabs otherwise.
    List(ListArgs),
    Create(Create),
    /// Disable a user.
    ///
    /// The user can no longer sign in, and their API keys stop working. Their sessions end permanently. Their keys work
    /// again when the user is enabled. The last enabled admin cannot be disabled.
    Disable(ByEmail),
    /// Enable a disabled user.
    Enable(ByEmail),
}

/// Create a user, and print their id.
///
/// The user has no membership, API key or password yet: see `key create`, `set-password` and `sign-in-link`.
#[derive(Debug, clap::Args)]
struct Create {
    #[command(flatten)]
    db: DbArg,

    /// The user's email address.
    #[arg(long, env = "APPLIANCE_EMAIL", value_name = "EMAIL", value_parser = parse_new_email)]
    email: Email,

    /// The user's name.
    #[arg(long, env = "APPLIANCE_NAME", value_name = "NAME", value_parser = parse_name)]
    name: String,

    /// The user's platform role.
    #[arg(long, env = "APPLIANCE_PLATFORM_ROLE", value_name = "ROLE", default_value = "user",
        value_parser = one_of(PlatformRole::WORDS, PlatformRole::parse))]
    platform_role: PlatformRole,
}

#[derive(Debug, clap::Args)]
struct ByEmail {
    #[command(flatten)]
    db: DbArg,

    /// The user's email address.
    #[arg(value_name = "EMAIL", value_parser = parse_email)]
    email: Email,
}

/// # Errors
/// Fails if the user does not exist, the address is taken, the user is the last enabled admin, or the database or
/// standard output cannot be used.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    match &args.action {
        Action::List(args) => list(args, world),
        Action::Create(args) => create(args, world),
        Action::Disable(args) => set_enabled(args, false, world),
        Action::Enable(args) => set_enabled(args, true, world),
    }
}

fn list(args: &ListArgs, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let users = store::read_alone(path, world, store::user::all)?;
    args.print(&HEADINGS, &users, columns, |user| to_json(&list_item::user(user)), "there are no users")
}

const HEADINGS: [&str; 6] = ["ID", "EMAIL", "NAME", "PLATFORM ROLE", "STATE", "CREATED"];

fn columns(user: &User) -> Vec<String> {
    let User { profile, created_at, .. } = user;
    vec![
        profile.id.to_string(),
        profile.email.as_str().to_owned(),
        profile.name.clone(),
        profile.platform_role.as_str().to_owned(),
        enabled_or_disabled(profile.enabled),
        created_at.to_string(),
    ]
}

fn create(args: &Create, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let id: UserId = world.id();
    let user = UserProfile {
        id: id.clone(),
        email: args.email.clone(),
        name: args.name.clone(),
        platform_role: args.platform_role,
        enabled: true,
    };
    let is_new = store::act_alone(path, world, |tx| {
        let is_new = store::user::create(tx, &store::activity::stamp(world), None, &user)?;
        if is_new {
            record_command(tx, world, "user create", &user.id)?;
        }
        Ok::<_, Error>(is_new)
    });
    if !is_new? {
        return Err(Failure::new(format!("a user with the address {} already exists", args.email.as_str())));
    }
    print_listing(id.as_str())
}

fn set_enabled(args: &ByEmail, enabled: bool, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let found = store::act_alone(path, world, |tx| {
        let Some(User { profile, .. }) = store::user::find_by_email(tx, &args.email)? else { return Ok(false) };
        let after = UserProfile { enabled, ..profile.clone() };
        store::user::change(tx, &store::activity::stamp(world), None, &profile, &after)?;
        record_command(tx, world, if enabled { "user enable" } else { "user disable" }, &profile.id)?;
        Ok::<_, Error>(true)
    })?;
    let email = args.email.as_str();
    if !found {
        return Err(no_user(&args.email));
    }
    print_message(&format!("{email} is {}", enabled_or_disabled(enabled)));
    Ok(())
}

/// Records the command as platform activity.
fn record_command(tx: &Tx<'_>, world: &dyn World, command: &str, user: &UserId) -> Result<(), Error> {
    store::activity::platform::record_command(tx, world, command, &json!({ "userId": user.as_str() }))
}

pub(super) fn no_user(email: &Email) -> Failure {
    Failure::new(format!("there is no user with the address {}", email.as_str()))
}
