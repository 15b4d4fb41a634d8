//! `appliance hr-deliveries`: what does not reach the HR systems.

use std::fmt::Write as _;

use super::{DbArg, Failure, print, say};
use crate::domain::hr_delivery::{self, Held, State};
use crate::store;
use crate::store::file::{self, Missing, Older};
use crate::store::hr_delivery::HrDelivery;
use crate::world::World;

/// List the deliveries to HR systems that are stuck: failed, held, or tried without success so far.
///
/// One line each, oldest first, its parts between tabs: id, organization, application, type, state, attempts, queued at,
/// next attempt at, and what came of the last attempt or what holds it. A failed delivery is sent again by
/// `POST /api/admin/hr-deliveries/{id}/retry`. Works while `serve` runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where the file cannot be read, or standard output not written.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let stuck = store::read_alone(path, world, store::hr_delivery::stuck)?;
    let mut lines = String::new();
    for delivery in &stuck {
        let _ = writeln!(lines, "{}", line(delivery));
    }
    if lines.is_empty() {
        say("nothing is stuck");
        return Ok(());
    }
    print(lines.trim_end())
}

fn line(delivery: &HrDelivery) -> String {
    let id = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let application = delivery.application_id.as_ref().map(super::super::domain::id::CandidateRoleId::as_str);
    let next = delivery.next_attempt_at.map(|at| at.to_string());
    let parts = [
        delivery.id.to_string(),
        delivery.organization_slug.clone(),
        id(application),
        delivery.event.as_str().to_owned(),
        state(delivery).to_owned(),
        delivery.attempts.to_string(),
        delivery.created_at.to_string(),
        id(next.as_deref()),
        why(delivery),
    ];
    parts.join("\t")
}

fn state(delivery: &HrDelivery) -> &'static str {
    match (delivery.standing.state, delivery.next_attempt_at) {
        (State::Pending, None) => "held",
        (state, _) => state.as_str(),
    }
}

/// What came of the last attempt, and what holds it.
fn why(delivery: &HrDelivery) -> String {
    let held = delivery.standing.held().filter(|_| delivery.next_attempt_at.is_none()).map(|held| match held {
        Held::NoIntegration => "the organization has no HR integration".to_owned(),
        Held::Disabled => "the HR integration is disabled".to_owned(),
        Held::Earlier(id) => format!("waits for {id}"),
    });
    let tried = delivery.last_attempt.as_ref();
    let tried = tried.map(|attempt| hr_delivery::outcome_words(attempt.status, attempt.error.as_deref()));
    let reasons: Vec<String> = held.into_iter().chain(tried).collect();
    // A sentence of a TLS library may have any character; a line has one line.
    reasons.join("; ").replace(|c: char| c.is_control(), " ")
}
