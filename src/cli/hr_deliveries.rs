//! `appliance hr-deliveries`: what does not reach the HR systems.

use super::Failure;
use super::list::{ListArgs, json};
use crate::domain::hr_delivery::{self, HeldBy};
use crate::http::api::shown;
use crate::store;
use crate::store::file::{self, Missing, Older};
use crate::store::hr_delivery::HrDelivery;
use crate::world::World;

/// List the deliveries to HR systems that are stuck: failed, held, or tried without success so far. Pings are not.
///
/// One line each, oldest first, its parts between tabs: id, organization, application, type, state, attempts, queued at,
/// next attempt at, and what came of the last attempt or what holds it. A failed delivery is sent again by
/// `POST /api/admin/hr-deliveries/{id}/retry`. Works while `serve` runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    list: ListArgs,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where the file cannot be read, or standard output not written.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = args.list.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let stuck = store::read_alone(path, world, store::hr_delivery::stuck)?;
    args.list.print(&stuck, parts, |delivery| json(&shown::hr_delivery(delivery)), "nothing is stuck")
}

fn parts(delivery: &HrDelivery) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let held = delivery.standing.held();
    let next = delivery.next_attempt_at.filter(|_| held.is_none());
    vec![
        delivery.id.to_string(),
        delivery.organization_slug.clone(),
        or_dash(delivery.application_id.as_ref().map(ToString::to_string)),
        delivery.standing.event.as_str().to_owned(),
        if held.is_some() { "held" } else { delivery.standing.state.as_str() }.to_owned(),
        delivery.attempts.to_string(),
        delivery.created_at.to_string(),
        or_dash(next.map(|at| at.to_string())),
        why(delivery, held),
    ]
}

/// What holds it, and what came of the last attempt.
fn why(delivery: &HrDelivery, held: Option<HeldBy>) -> String {
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
