//! `appliance organization`: the organizations, without a client.

use clap::Subcommand;
use serde_json::json;

use super::list::{ListArgs, json, state};
use super::{DbArg, Failure, name, print, say, slug};
use crate::domain::id::OrganizationId;
use crate::domain::organization::TIME_ZONE_DEFAULT;
use crate::domain::text::Slug;
use crate::http::api::shown;
use crate::store::file::{self, Missing, Older};
use crate::store::organization::{Organization, Record};
use crate::store::{self, Error, Tx};
use crate::world::World;

/// List, make, disable and enable organizations.
///
/// Works while `serve` runs, and counts there from its next answer on; portals show it within 200 ms. Settings and members
/// are changed over HTTP, or brought by `import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all organizations, the oldest first.
    ///
    /// One line each, its parts between tabs: id, slug, name, enabled or disabled, made at.
    List(ListArgs),
    Create(Create),
    /// Switch an organization off.
    ///
    /// It has no portal then, its signup links lead nowhere, and only admins see it.
    Disable(Named),
    /// Switch an organization on again.
    Enable(Named),
}

/// Make an organization, and print its id.
///
/// Nobody is a member of it yet, and its portal is off.
#[derive(Debug, clap::Args)]
struct Create {
    #[command(flatten)]
    db: DbArg,

    /// Its slug, the address of its portal: 1 to 64 characters of a-z 0-9 -.
    #[arg(long, env = "APPLIANCE_SLUG", value_name = "SLUG", value_parser = slug)]
    slug: Slug,

    /// Its name.
    #[arg(long, env = "APPLIANCE_NAME", value_name = "NAME", value_parser = name)]
    name: String,

    /// Where its days begin: a name of the time zone database that this machine has.
    #[arg(long, env = "APPLIANCE_TIME_ZONE", value_name = "ZONE", default_value = TIME_ZONE_DEFAULT)]
    time_zone: String,
}

#[derive(Debug, clap::Args)]
struct Named {
    #[command(flatten)]
    db: DbArg,

    /// The organization's slug.
    #[arg(value_name = "SLUG", value_parser = slug)]
    slug: Slug,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where there is no such organization, its slug is taken, its time zone is not known, or the file cannot
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
    let organizations = store::read_alone(path, world, store::organization::all)?;
    let json = |organization: &Organization| json(&shown::organization(organization)?);
    args.print(&organizations, parts, json, "there are no organizations")
}

fn parts(organization: &Organization) -> Vec<String> {
    let Organization { record, created_at, .. } = organization;
    vec![
        record.id.to_string(),
        record.slug.as_str().to_owned(),
        record.name.clone(),
        state(record.enabled),
        created_at.to_string(),
    ]
}

fn create(args: &Create, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let time_zone = world.time_zone(&args.time_zone).ok_or_else(|| {
        Failure::new(format!("this machine knows no time zone {:?}; one looks like Europe/Berlin", args.time_zone))
    })?;
    let new = Record::new(world.id(), args.slug.clone(), args.name.clone());
    let organization = Record { time_zone, ..new };
    let stamp = store::activity::stamp(world);
    store::act_alone(path, world, |tx| {
        store::organization::create(tx, &stamp, None, &organization)?;
        record(tx, world, "organization create", &organization.id)
    })?;
    print(organization.id.as_str())
}

fn switch(args: &Named, enabled: bool, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let stamp = store::activity::stamp(world);
    let found = store::act_alone(path, world, |tx| {
        let Some(Organization { record, .. }) = store::organization::find_by_slug(tx, &args.slug)? else {
            return Ok(false);
        };
        let after = Record { enabled, ..record.clone() };
        store::organization::change(tx, &stamp, None, &record, &after)?;
        self::record(tx, world, if enabled { "organization enable" } else { "organization disable" }, &record.id)?;
        Ok::<_, Error>(true)
    })?;
    let slug = args.slug.as_str();
    if !found {
        return Err(Failure::new(format!("there is no organization with the slug {slug}")));
    }
    say(&format!("{slug} is {}", state(enabled)));
    Ok(())
}

/// Puts the command on record.
fn record(tx: &Tx<'_>, world: &dyn World, command: &str, organization: &OrganizationId) -> Result<(), Error> {
    let facts = json!({ "organizationId": organization.as_str() });
    store::activity::platform::record_command(tx, world, command, &facts)
}
