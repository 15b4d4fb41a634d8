//! `appliance activity`: what was done to the appliance itself, without a client.

use super::Failure;
use super::list::{ListArgs, json};
use crate::domain::id::ApiKeyId;
use crate::http::api::shown;
use crate::store;
use crate::store::activity::Activity;
use crate::store::file;
use crate::world::World;

/// The most rows of a list.
const ROWS_MAX: u32 = 100_000;

/// List platform activity, the newest first: keys, users, sign-ins, refusals, and commands on the file.
///
/// One line each, its parts between tabs: when, what, the id of the user who did it, the id of the key that was used, and
/// the facts as JSON. What was done in an organization is read over HTTP. Works while `serve` runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    list: ListArgs,

    /// The most rows to list.
    #[arg(long, env = "APPLIANCE_LIMIT", value_name = "ROWS", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(ROWS_MAX)))]
    limit: u32,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where the file cannot be read, or standard output not written.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = args.list.db.db.as_path();
    file::prepare_to_read(path)?;
    let rows_max = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let rows = store::read_alone(path, world, |tx| store::activity::platform::page(tx, None, i64::MAX, rows_max))?;
    let as_json = |row: &Activity| json(&shown::activity(row)?);
    args.list.print(&rows, parts, as_json, "nothing is on record")
}

fn parts(row: &Activity) -> Vec<String> {
    let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    vec![
        row.at.to_string(),
        row.action.clone(),
        or_dash(row.actor.as_ref().map(|actor| actor.id.as_str())),
        or_dash(row.api_key_id.as_ref().map(ApiKeyId::as_str)),
        or_dash(row.detail.as_deref()),
    ]
}
