//! `appliance hr-deliveries`: lists the deliveries that have failed, are held, or have been attempted without success.

use super::failure::Failure;
use super::list::{ListArgs, to_json};
use crate::domain::hr_delivery::{self, HeldBy};
use crate::http::api::list_item;
use crate::store;
use crate::store::file::{self, Missing, Older};
use crate::store::hr_delivery::HrDelivery;
use crate::world::World;

/// List the HR deliveries that have failed, are held, or have been attempted without success. Pings are not listed.
///
/// Prints one line per delivery, oldest first: id, organization, application, type, state, number of attempts, time of
/// creation, time of the next attempt, reason. The reason states why a held delivery is held, and the result of the
/// last attempt, if there was one. The columns are aligned under headings on a terminal, and separated by tabs
/// otherwise. Works while `serve` runs. `POST /api/admin/hr-deliveries/{id}/retry` sends a failed delivery again.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    list: ListArgs,
}

/// # Errors
/// Fails if the database cannot be read, or standard output cannot be written to.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = args.list.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let stuck = store::read_alone(path, world, store::hr_delivery::stuck)?;
    let as_json = |delivery: &HrDelivery| to_json(&list_item::hr_delivery(delivery));
    args.list.print(&HEADINGS, &stuck, columns, as_json, "no delivery is stuck")
}

const HEADINGS: [&str; 9] =
    ["ID", "ORGANIZATION", "APPLICATION", "TYPE", "STATE", "ATTEMPTS", "CREATED", "NEXT ATTEMPT", "REASON"];

fn columns(delivery: &HrDelivery) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let held = delivery.facts.held();
    let next = delivery.next_attempt_at.filter(|_| held.is_none());
    vec![
        delivery.id.to_string(),
        delivery.organization_slug.clone(),
        or_dash(delivery.application_id.as_ref().map(ToString::to_string)),
        delivery.facts.event.as_str().to_owned(),
        if held.is_some() { "held" } else { delivery.facts.state.as_str() }.to_owned(),
        delivery.attempts.to_string(),
        delivery.created_at.to_string(),
        or_dash(next.map(|at| at.to_string())),
        reason(delivery, held),
    ]
}

/// Returns why the delivery is held, if it is, and the result of its last attempt, if there was one.
fn reason(delivery: &HrDelivery, held: Option<HeldBy>) -> String {
    let held = held.map(|held| match held {
        HeldBy::NoIntegration => "the organization has no HR integration".to_owned(),
        HeldBy::Disabled => "the HR integration is disabled".to_owned(),
        HeldBy::Earlier(id) => format!("waits for {id}"),
    });
    let tried = delivery.last_attempt.as_ref();
    let tried = tried.map(|attempt| hr_delivery::describe_outcome(attempt.status, attempt.error.as_deref()));
    let reasons: Vec<String> = held.into_iter().chain(tried).collect();
    reasons.join("; ")
}
