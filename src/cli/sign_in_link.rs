//! `appliance sign-in-link`: makes a link by which a user signs in once, and chooses a password or adds a passkey.

use clap::builder::BoolishValueParser;
use serde_json::json;

use super::base_url_arg::BaseUrlArg;
use super::db_arg::DbArg;
use super::failure::Failure;
use super::output::{act_and_print, print_message};
use super::value::parse_email;
use crate::domain::sign_in_link::LinkPurpose;
use crate::domain::text::Email;
use crate::store::file::{self, Missing, Older};
use crate::store::{self, Error};
use crate::world::World;

/// Print a link by which a user signs in once, and chooses a password or adds a passkey.
///
/// The link helps a user who is locked out, has no password yet, or has lost their second factor (--reset-factors). It
/// goes to standard output, works once, within an hour, and replaces earlier links of the user. Using the link replaces
/// the password, or removes it if the user adds a passkey, and ends the user's other sessions. Works while `serve`
/// runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The user's email address.
    #[arg(long, env = "APPLIANCE_EMAIL", value_name = "EMAIL", value_parser = parse_email)]
    email: Email,

    /// Remove the user's authenticator app, passkeys and recovery codes when the link is used. Without this flag, a
    /// user with a second factor must use that factor after choosing the password.
    #[arg(long, env = "APPLIANCE_RESET_FACTORS", value_parser = BoolishValueParser::new())]
    reset_factors: bool,

    #[command(flatten)]
    base_url: BaseUrlArg,
}

/// # Errors
/// Fails if the user does not exist or is disabled, the database cannot be used, or the link cannot be printed. After a
/// failure, there is no new link, unless the failure reports that the outcome is unknown.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    file::prepare(&args.db.db, Missing::Refuse, Older::Refuse)?;
    let found = store::read_alone(&args.db.db, world, |tx| store::user::find_by_email(tx, &args.email))?;
    let email = args.email.as_str();
    let user = found.ok_or_else(|| Failure::new(format!("there is no user with the address {email}")))?.profile;
    if !user.enabled {
        return Err(Failure::new(format!("{email} is disabled; enable the user first, with `appliance user enable`")));
    }
    act_and_print(&args.db.db, world, |tx| {
        let purpose = if args.reset_factors { LinkPurpose::FactorReset } else { LinkPurpose::Reset };
        let token = store::sign_in_link::create(tx, world, &user.id, purpose, None)?;
        let facts = json!({ "userId": user.id.as_str(), "purpose": purpose.as_str() });
        store::activity::platform::record_command(tx, world, "sign-in-link", &facts)?;
        Ok::<_, Error>(args.base_url.join_url(&token))
    })?;
    print_message(&format!("the link above signs {email} in once, within an hour"));
    Ok(())
}
