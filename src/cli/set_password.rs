//! `appliance set-password`: sets a user's password.

use std::io::{IsTerminal, Read};

use serde_json::json;

use super::db_arg::DbArg;
use super::failure::Failure;
use super::output::print_message;
use super::value::parse_email;
use crate::domain::password::{self, PasswordFault};
use crate::domain::text::Email;
use crate::store;
use crate::store::file::{self, Missing, Older};
use crate::world::World;

/// The maximum number of bytes that are read from standard input. The longest valid password is shorter.
const INPUT_BYTES_MAX: u64 = 16 * 1_024;

/// Set a user's password, read from standard input.
///
/// At a terminal, asks for the password twice without showing it. Otherwise, the password is all of standard input
/// except a line break at its end. The password needs at least 12 characters. Passwords that are easy to guess are
/// refused: common words; sequences of digits, letters or adjacent keys on a keyboard; repetitions; and the user's
/// address or name. The user's sessions end.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The user's email address.
    #[arg(long, env = "APPLIANCE_EMAIL", value_name = "EMAIL", value_parser = parse_email)]
    email: Email,
}

/// # Errors
/// Fails if the password is too short, too long or easy to guess, or differs from its repetition. Also fails if the
/// user does not exist, or if standard input or the database cannot be used.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    file::prepare(&args.db.db, Missing::Refuse, Older::Refuse)?;
    let password = read_password()?;
    let refused = |fault: PasswordFault| Failure::new(fault.sentence());
    password::check_length(&password).map_err(refused)?;
    let nobody = || Failure::new(format!("there is no user with the address {}", args.email.as_str()));
    let found = store::read_alone(&args.db.db, world, |tx| store::user::find_by_email(tx, &args.email))?;
    let user = found.ok_or_else(nobody)?.profile;
    password::check(&password, &user.email, &user.name).map_err(refused)?;
    let hash = world.hash_password(&password);
    let is_set = store::act_alone(&args.db.db, world, |tx| {
        let Some(user) = store::user::find_by_email(tx, &args.email)? else { return Ok(false) };
        let facts = json!({ "userId": user.profile.id.as_str() });
        store::activity::platform::record_command(tx, world, "set-password", &facts)?;
        store::user::set_password(tx, &args.email, &hash)
    });
    if !is_set? {
        return Err(nobody());
    }
    print_message(&format!("the password for {} was set, and the user's sessions have ended", args.email.as_str()));
    Ok(())
}

fn read_password() -> Result<String, Failure> {
    let cannot_read = |error: std::io::Error| Failure::new(format!("the password cannot be read: {error}"));
    if std::io::stdin().is_terminal() {
        let password = rpassword::prompt_password("Password: ").map_err(cannot_read)?;
        let again = rpassword::prompt_password("Again: ").map_err(cannot_read)?;
        if password != again {
            return Err(Failure::new("the passwords differ; nothing was changed"));
        }
        return Ok(password);
    }
    let mut text = String::new();
    std::io::stdin().take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(cannot_read)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}
