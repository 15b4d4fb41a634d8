//! `appliance set-password`: lets a user sign in.

use std::io::{IsTerminal, Read};

use super::{DbArg, Failure, email, say};
use crate::domain::text::{self, Email};
use crate::domain::user::{PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN};
use crate::store;
use crate::store::file::{self, Missing, Older};
use crate::world::World;

/// What is read of standard input at most: more than the longest password.
const INPUT_BYTES_MAX: u64 = 16 * 1_024;

/// Set a user's password, read from standard input.
///
/// At a terminal it is asked for twice, and not shown. Otherwise standard input is the password; a line end behind it
/// does not count. It has 12 characters or more. The user's sessions end.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The user's email address.
    #[arg(long, env = "APPLIANCE_EMAIL", value_name = "EMAIL", value_parser = email)]
    email: Email,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where the password is too short or too long, there is no such user, or the file cannot be used.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    file::prepare(&args.db.db, Missing::Refuse, Older::Refuse)?;
    let password = read()?;
    let characters = text::characters(&password);
    if !(PASSWORD_CHARACTERS_MIN..=PASSWORD_CHARACTERS_MAX).contains(&characters) {
        return Err(Failure::new(format!(
            "a password has {PASSWORD_CHARACTERS_MIN} to {PASSWORD_CHARACTERS_MAX} characters, this one has {characters}"
        )));
    }
    let hash = world.hash_password(&password);
    if !store::act_alone(&args.db.db, world, |tx| store::user::set_password(tx, &args.email, &hash))? {
        return Err(Failure::new(format!("there is no user with the address {}", args.email.as_str())));
    }
    say(&format!("the password of {} is set, their sessions have ended", args.email.as_str()));
    Ok(())
}

fn read() -> Result<String, Failure> {
    let cannot = |error: std::io::Error| Failure::new(format!("the password cannot be read: {error}"));
    if std::io::stdin().is_terminal() {
        let password = rpassword::prompt_password("Password: ").map_err(cannot)?;
        let again = rpassword::prompt_password("Again: ").map_err(cannot)?;
        if password != again {
            return Err(Failure::new("the two are not the same; nothing was changed"));
        }
        return Ok(password);
    }
    let mut text = String::new();
    std::io::stdin().take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(cannot)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}
