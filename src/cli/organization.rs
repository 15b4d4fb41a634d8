//! `appliance organization`: lists, creates, disables and enables organizations, without an HTTP client.

use clap::Subcommand;
use serde_json::json;

use super::db_arg::DbArg;
use super::failure::Failure;
use super::list::{ListArgs, enabled_or_disabled, to_json};
use super::output::{print_listing, print_message};
use super::value::{parse_name, parse_slug};
use crate::domain::id::OrganizationId;
use crate::domain::organization::TIME_ZONE_DEFAULT;
use crate::domain::text::Slug;
use crate::http::api::list_item;
use crate::store::file::{self, Missing, Older};
use crate::store::organization::{Organization, OrganizationRecord};
use crate::store::{self, Error, Tx};
use crate::world::World;

/// List, create, disable and enable organizations.
///
/// Works while `serve` runs. The API and the staff console apply each change at once, and portals show the change
/// within 200 ms. Settings and members are changed over the HTTP API. Members, and the setting that requires a second
/// factor, can also be changed in the staff console. `import` can create an organization with its settings and members.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all organizations, oldest first.
    ///
    /// Prints one line per organization: id, slug, name, enabled or disabled, time of creation. The columns are aligned
    /// under headings on a terminal, and separated by tabs otherwise.
    List(ListArgs),
    Create(Create),
    /// Disable an organization.
    ///
    /// Its portal and signup links stop working. Only admins see a disabled organization.
    Disable(BySlug),
    /// Enable a disabled organization.
    Enable(BySlug),
}

/// Create an organization, and print its id.
///
/// The new organization has no members, and its portal is off.
#[derive(Debug, clap::Args)]
struct Create {
    #[command(flatten)]
    db: DbArg,

    /// The slug, which is part of the portal's address: 1 to 64 letters from a to z, digits and hyphens. Upper and
    /// lower case are preserved, but make no difference.
    #[arg(long, env = "APPLIANCE_SLUG", value_name = "SLUG", value_parser = parse_slug)]
    slug: Slug,

    /// The organization's name.
    #[arg(long, env = "APPLIANCE_NAME", value_name = "NAME", value_parser = parse_name)]
    name: String,

    /// The time zone of the organization's dates: a name from the system's time zone database.
    #[arg(long, env = "APPLIANCE_TIME_ZONE", value_name = "ZONE", default_value = TIME_ZONE_DEFAULT)]
    time_zone: String,
}

#[derive(Debug, clap::Args)]
struct BySlug {
    #[command(flatten)]
    db: DbArg,

    /// The organization's slug.
    #[arg(value_name = "SLUG", value_parser = parse_slug)]
    slug: Slug,
}

/// # Errors
/// Fails if the organization does not exist, the slug is taken, the time zone is unknown, the database cannot be used,
/// or standard output cannot be written to.
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
    let organizations = store::read_alone(path, world, store::organization::all)?;
    let as_json = |organization: &Organization| to_json(&list_item::organization(organization)?);
    args.print(&HEADINGS, &organizations, columns, as_json, "there are no organizations")
}

const HEADINGS: [&str; 5] = ["ID", "SLUG", "NAME", "STATE", "CREATED"];

fn columns(organization: &Organization) -> Vec<String> {
    let Organization { record, created_at, .. } = organization;
    vec![
        record.id.to_string(),
        record.slug.as_str().to_owned(),
        record.name.clone(),
        enabled_or_disabled(record.enabled),
        created_at.to_string(),
    ]
}

fn create(args: &Create, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let time_zone = world.time_zone(&args.time_zone).ok_or_else(|| {
        Failure::new(format!("this system has no time zone {:?}; names look like Europe/Berlin", args.time_zone))
    })?;
    let new = OrganizationRecord::new(world.id(), args.slug.clone(), args.name.clone());
    let organization = OrganizationRecord { time_zone, ..new };
    let stamp = store::activity::stamp(world);
    store::act_alone(path, world, |tx| {
        store::organization::create(tx, &stamp, None, &organization)?;
        record_command(tx, world, "organization create", &organization.id)
    })?;
    print_listing(organization.id.as_str())
}

fn set_enabled(args: &BySlug, enabled: bool, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let stamp = store::activity::stamp(world);
    let found = store::act_alone(path, world, |tx| {
        let Some(Organization { record, .. }) = store::organization::find_by_slug(tx, &args.slug)? else {
            return Ok(false);
        };
        let after = OrganizationRecord { enabled, ..record.clone() };
        store::organization::change(tx, &stamp, None, &record, &after)?;
        record_command(tx, world, if enabled { "organization enable" } else { "organization disable" }, &record.id)?;
        Ok::<_, Error>(true)
    })?;
    let slug = args.slug.as_str();
    if !found {
        return Err(Failure::new(format!("there is no organization with the slug {slug}")));
    }
    print_message(&format!("{slug} is {}", enabled_or_disabled(enabled)));
    Ok(())
}

/// Records the command as platform activity.
fn record_command(tx: &Tx<'_>, world: &dyn World, command: &str, organization: &OrganizationId) -> Result<(), Error> {
    let facts = json!({ "organizationId": organization.as_str() });
    store::activity::platform::record_command(tx, world, command, &facts)
}
