//! Prepares the applications of an export for the plan: leaves out prospects, and completes jobs, stages and statuses
//! from other items.

use std::collections::{HashMap, HashSet};

use super::export::Export;
use super::model::{Application, Stage, StageMeaning};

/// Takes the applications from the export, without prospects. Completes their jobs, stages and statuses.
pub(super) fn prepare_applications(export: &mut Export, notices: &mut Vec<String>) -> Vec<Application> {
    let all = std::mem::take(&mut export.applications);
    let (prospects, mut applications): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|application| application.is_prospect);
    let applicants: HashSet<&str> = applications.iter().map(|application| application.person.as_str()).collect();
    let others = export.people.iter().filter(|person| !applicants.contains(person.id.as_str())).count();
    notices.extend(skip_notice(prospects.len(), "prospects", "they have not applied"));
    notices.extend(skip_notice(others, "candidates", "they have no application"));
    let outcomes = outcomes(&export.stages);
    let named: &[Stage] = if export.system.are_stages_named { &export.stages } else { &[] };
    let ids_by_name = ids_by_name(named);
    for application in &mut applications {
        if let Some(stage) = &mut application.stage
            && let Some(id) = ids_by_name.get(&folded(&stage.id))
        {
            stage.id.clone_from(id);
        }
        let job = export.jobs_of_applications.get(&application.id);
        application.job = application.job.take().or_else(|| job.cloned());
        export.settle(application, &outcomes);
    }
    applications
}

/// Returns the meanings of the stages that are outcomes, not steps.
fn outcomes(stages: &[Stage]) -> HashMap<String, StageMeaning> {
    let outcomes = stages.iter().filter(|stage| stage.meaning != StageMeaning::Step);
    outcomes.map(|stage| (stage.id.clone(), stage.meaning)).collect()
}

/// Returns the ids of stages by their names. A name that is also an id refers to the stage with this id.
fn ids_by_name(stages: &[Stage]) -> HashMap<String, String> {
    let names = stages.iter().map(|stage| (folded(&stage.name), stage.id.clone()));
    names.chain(stages.iter().map(|stage| (folded(&stage.id), stage.id.clone()))).collect()
}

/// Normalizes a name for comparison.
fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Returns the sentence about skipped items, if there are any.
pub(super) fn skip_notice(count: usize, items: &str, why: &str) -> Option<String> {
    (count > 0).then(|| format!("{items} skipped: {count}, because {why}"))
}
