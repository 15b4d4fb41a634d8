//! `appliance bootstrap-admin`: creates an admin, usually the first one, and an API key with all scopes.

use serde_json::json;

use super::base_url_arg::BaseUrlArg;
use super::db_arg::DbArg;
use super::failure::Failure;
use super::output::{act_and_print, print_message};
use super::value::{parse_name, parse_new_email};
use crate::domain::api_key::{self, EXPIRES_IN_DAYS, EXPIRES_IN_DAYS_DEFAULT, Grant, KeySecret, Scope};
use crate::domain::id::UserId;
use crate::domain::sign_in_link::LinkPurpose;
use crate::domain::text::{Email, counted};
use crate::domain::user::{PlatformRole, UserProfile};
use crate::store::api_key::NewApiKey;
use crate::store::file::{self, Missing, Older};
use crate::store::{self, Error, Tx};
use crate::world::World;

/// Create an admin, and print a new API key with all scopes.
///
/// Creates the file if it does not exist. An existing user with this address becomes an admin and is enabled. The key
/// goes to standard output, on a line of its own, and is never shown again. A message shows a link by which the admin
/// can sign in to the staff console once, within a week. Works while `serve` runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The admin's email address.
    #[arg(long, env = "APPLIANCE_EMAIL", value_name = "EMAIL", value_parser = parse_new_email)]
    email: Email,

    /// The admin's name. The default is the part of the address before the @. An existing user's name does not change.
    #[arg(long, env = "APPLIANCE_NAME", value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,

    #[arg(long, env = "APPLIANCE_EXPIRES_IN_DAYS", value_name = "DAYS", default_value_t = EXPIRES_IN_DAYS_DEFAULT,
        value_parser = clap::value_parser!(i64).range(EXPIRES_IN_DAYS),
        help = format!("Days until the key expires, {} to {}", EXPIRES_IN_DAYS.start(), EXPIRES_IN_DAYS.end()))]
    expires_in_days: i64,

    #[command(flatten)]
    base_url: BaseUrlArg,
}

/// # Errors
/// Fails if the database cannot be used or the key cannot be printed. In both cases, no key is created, unless the
/// failure reports that the outcome is unknown.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    file::prepare(&args.db.db, Missing::Create, Older::Refuse)?;
    let name = args.name.as_deref();
    let mut link = String::new();
    act_and_print(&args.db.db, world, |tx| {
        let key = create_admin_with_key(tx, world, &args.email, name, "admin", args.expires_in_days)?;
        let facts = json!({ "userId": key.user_id.as_str(), "apiKeyId": key.id.as_str() });
        store::activity::platform::record_command(tx, world, "bootstrap-admin", &facts)?;
        let token = store::sign_in_link::create(tx, world, &key.user_id, LinkPurpose::Invitation, None)?;
        link = args.base_url.join_url(&token);
        Ok(key.secret.reveal().to_owned())
    })?;
    print_message(&format!(
        "{} is an admin of {}. The key above expires in {} and is not shown again.",
        args.email.as_str(),
        store::shown(&args.db.db),
        counted(args.expires_in_days, "day")
    ));
    print_message(&format!(
        "To sign in to the staff console, start `serve` and open this link, which works once: {link}"
    ));
    Ok(())
}

/// Creates an admin, or makes an existing user an admin, and creates an API key for the admin. `serve --demo` also uses
/// this function.
pub(super) fn create_admin_with_key(
    tx: &Tx<'_>,
    world: &dyn World,
    email: &Email,
    name: Option<&str>,
    key_name: &str,
    days: i64,
) -> Result<NewApiKey, Error> {
    let user_id = ensure_admin(tx, world, email, name)?;
    let secret = KeySecret::generate(|bytes| world.fill(bytes));
    let key = NewApiKey {
        id: world.id(),
        secret,
        user_id,
        name: key_name.to_owned(),
        // The grant has all scopes and is not explicit, so that it does not restrict the admin.
        grant: Grant { scopes: Scope::ALL.to_vec(), is_explicit: false },
        expires_at: api_key::expires_at(tx.now, days),
    };
    store::api_key::create(tx, &store::activity::stamp(world), None, &key)?;
    Ok(key)
}

/// Creates an admin, or makes an existing user an admin and enables the user.
pub(super) fn ensure_admin(tx: &Tx<'_>, world: &dyn World, email: &Email, name: Option<&str>) -> Result<UserId, Error> {
    let stamp = store::activity::stamp(world);
    if let Some(store::user::User { profile, .. }) = store::user::find_by_email(tx, email)? {
        let admin = UserProfile { platform_role: PlatformRole::Admin, enabled: true, ..profile.clone() };
        store::user::change(tx, &stamp, None, &profile, &admin)?;
        return Ok(profile.id);
    }
    let name = name.unwrap_or_else(|| email.as_str().split('@').next().unwrap_or_default()).to_owned();
    let id: UserId = world.id();
    let user = UserProfile { id, email: email.clone(), name, platform_role: PlatformRole::Admin, enabled: true };
    store::user::create(tx, &stamp, None, &user)?;
    Ok(user.id)
}
