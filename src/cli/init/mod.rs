//! `appliance init`: sets up a service, by questions on a terminal or by flags in a script.
//!
//! All questions come first. Then the settings file is written under a temporary name, the database is changed in one
//! transaction, and the settings file gets its final name. A command that is interrupted in between can be run again.

mod answers;
mod args;
mod install;
mod question;
mod staged;
mod text;

use std::path::Path;

use self::answers::{Answers, TlsAnswer};
pub(super) use self::args::Args;
use self::staged::StagedSettings;
use super::failure::Failure;
use super::output::print_message;
use super::settings_file::Resolved;
use crate::world::World;

/// # Errors
/// Exit status 2 for missing or contradictory flags. Fails if the input ends early, or if a file cannot be used.
/// Without `--force`, also fails if the settings file has a mistake, or sets options although the service is not set
/// up.
pub(super) fn run(args: &Args, resolved: &Resolved, world: &dyn World) -> Result<(), Failure> {
    let path = args.settings.path();
    if !args.force && refuse_or_report_settings(args, path, resolved, world)? {
        return Ok(());
    }
    // These checks come first, so that nobody answers all questions in vain.
    staged::require_writable(path)?;
    install::require_directory(&args.db)?;
    let answers = Answers::collect(args, world)?;
    let text = text::settings_text(&answers)?;
    let staged = StagedSettings::write(path, &text, &answers.db)?;
    install::install(&answers, world)?;
    staged.keep()?;
    print_message(&format!("{} contains the settings, and {} contains the data", path.display(), answers.db.display()));
    if let TlsAnswer::Files(files) = &answers.tls {
        let (certificate, key) = (files.certificate.display(), files.key.display());
        print_message(&format!("The user of the service must be able to read {certificate} and {key}."));
    }
    if let TlsAnswer::Acme(acme) = &answers.tls {
        print_message(&format!(
            "The service orders its certificate when it starts. Before that, {} needs an A or AAAA record with the \
             address of this machine, and ports 80 and 443 must be open to the internet.",
            acme.domain.as_str()
        ));
    }
    let start = if path == Path::new(super::settings_file::PATH_DEFAULT) {
        "systemctl enable --now appliance".to_owned()
    } else {
        format!("appliance serve --settings {}", path.display())
    };
    print_message(&format!(
        "To start the service: {start}\nThen open the sign-in link above, which works once, within a week."
    ));
    Ok(())
}

/// Checks an existing settings file. A file that sets no option, such as a sample, counts as missing.
///
/// Returns whether the service is already set up. If so, this function has reported it.
///
/// # Errors
/// Fails if the settings file has a mistake, if it sets options although the service is not set up, or if the database
/// cannot be read.
fn refuse_or_report_settings(
    args: &Args,
    path: &Path,
    resolved: &Resolved,
    world: &dyn World,
) -> Result<bool, Failure> {
    resolved.refuse_mistakes()?;
    if resolved.in_file.is_empty() {
        return Ok(false);
    }
    let in_file = resolved.in_file.iter().find(|(name, _)| name == "db").map(|(_, value)| Path::new(value.as_str()));
    let db = in_file.unwrap_or(&args.db);
    let (path, shown) = (path.display(), db.display());
    if install::is_set_up(db, world)? {
        print_message(&format!("the service is already set up, with {path} and {shown}; nothing was changed"));
        return Ok(true);
    }
    Err(Failure::new(format!(
        "{path} has settings, but its database {shown} is not set up; to replace the settings, use --force"
    )))
}
