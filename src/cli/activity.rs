//! `appliance activity`: lists platform activity, without an HTTP client.

use super::failure::Failure;
use super::list::{ListArgs, to_json};
use crate::domain::id::ApiKeyId;
use crate::http::api::list_item;
use crate::store;
use crate::store::activity::Activity;
use crate::store::file;
use crate::world::World;

/// The maximum number of rows in a list. The command holds all of them in memory, at about 300 bytes each.
const ROWS_MAX: u32 = 100_000;

/// List platform activity, newest first. Examples are changes to keys and users, sign-ins, refused keys, and commands
/// that were run on the database.
///
/// Prints one line per activity row: time, action, user id, API key id, details as JSON. The columns are aligned under
/// headings on a terminal, and separated by tabs otherwise. The activity of an organization is available over HTTP.
/// Works while `serve` runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    list: ListArgs,

    /// The maximum number of rows.
    #[arg(long, env = "APPLIANCE_LIMIT", value_name = "ROWS", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(ROWS_MAX)))]
    limit: u32,
}

/// # Errors
/// Fails if the database cannot be read, or standard output cannot be written to.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = args.list.db.db.as_path();
    file::prepare_to_read(path)?;
    let rows_max = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let rows = store::read_alone(path, world, |tx| store::activity::platform::page(tx, None, i64::MAX, rows_max))?;
    let as_json = |row: &Activity| to_json(&list_item::activity(row));
    args.list.print(&HEADINGS, &rows, columns, as_json, "there is no activity")
}

const HEADINGS: [&str; 5] = ["TIME", "ACTION", "USER", "API KEY", "DETAILS"];

fn columns(row: &Activity) -> Vec<String> {
    let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    vec![
        row.at.to_string(),
        row.action.clone(),
        or_dash(row.actor.as_ref().map(|actor| actor.id.as_str())),
        or_dash(row.api_key_id.as_ref().map(ApiKeyId::as_str)),
        or_dash(row.detail.as_deref()),
    ]
}
