//! Rules for the steps of a pipeline: adding, reordering and removing steps.
//!
//! Applications have copies of the steps, so changes to a pipeline do not affect existing applications.

use super::candidate_step::StepType;
use super::id::RoleStepId;
use super::language;
use super::refusal::Refusal;
use super::role::RoleStatus;

/// The maximum number of steps in a pipeline: more than any recruiting process has, and a limit on the steps that each
/// application copies.
pub const STEPS_MAX: usize = 50;

/// `POST /api/v1/roles/{id}/steps`: returns the position, from 1, of a new step in a pipeline of `steps` steps. The
/// default is the end.
///
/// # Errors
/// `conflict` if the pipeline is full; `validation_error` for a position that is not between 1 and the end.
pub fn new_step_order(steps: usize, requested: Option<i64>) -> Result<usize, Refusal> {
    if steps >= STEPS_MAX {
        return Err(Refusal::ConflictWith(format!("the role has {steps} steps; remove one before you add another")));
    }
    let last = steps + 1;
    match requested.map(usize::try_from) {
        None => Ok(last),
        Some(Ok(order)) if (1..=last).contains(&order) => Ok(order),
        Some(_) => Err(Refusal::invalid("order", format!("must be between 1 and {last}"))),
    }
}

/// `PUT /api/v1/roles/{id}/steps/order`: returns the new order if the request names each step of the pipeline exactly
/// once.
///
/// # Errors
/// `validation_error`, which names a missing, duplicate or unknown step.
pub fn require_complete_order(
    steps: &[RoleStepId],
    requested: &[Option<RoleStepId>],
) -> Result<Vec<RoleStepId>, Refusal> {
    let invalid = |detail: String| Refusal::invalid("stepIds", detail);
    let mut order = Vec::with_capacity(steps.len());
    for (index, step) in requested.iter().enumerate() {
        match step {
            Some(step) if order.contains(step) => return Err(invalid(format!("names the step {step} twice"))),
            Some(step) if steps.contains(step) => order.push(step.clone()),
            _ => return Err(invalid(format!("must name steps of the role's pipeline; [{index}] is not one of them"))),
        }
    }
    match steps.iter().find(|step| !order.contains(step)) {
        Some(missing) => Err(invalid(format!("must name every step of the role's pipeline; {missing} is missing"))),
        None => Ok(order),
    }
}

/// Returns the order of a pipeline after a step has moved from one position to another, both counted from 1. Returns
/// `None` if the step is already at the position `to`.
///
/// # Errors
/// `conflict` if the step is no longer at the position `from`, or if the pipeline has no position `to`.
pub fn moved(
    steps: &[RoleStepId],
    step: &RoleStepId,
    from: usize,
    to: usize,
) -> Result<Option<Vec<RoleStepId>>, Refusal> {
    let position = steps.iter().position(|id| id == step).map_or(0, |index| index + 1);
    if position > 0 && position == to {
        return Ok(None);
    }
    if position == 0 || position != from || !(1..=steps.len()).contains(&to) {
        return Err(Refusal::Conflict("the steps have changed since the page was shown"));
    }
    let mut order: Vec<RoleStepId> = steps.iter().filter(|id| *id != step).cloned().collect();
    order.insert(to - 1, step.clone());
    Ok(Some(order))
}

/// `DELETE /api/v1/roles/{id}/steps/{stepId}`: succeeds if a step can be removed from a pipeline of `steps` steps.
///
/// # Errors
/// `conflict` for the only step of a role that is not a draft, because nobody can apply to a role without steps.
pub fn require_removable(status: RoleStatus, steps: usize) -> Result<(), Refusal> {
    if steps <= 1 && status != RoleStatus::Draft {
        return Err(Refusal::Conflict("this is the role's only step; add another before you remove it"));
    }
    Ok(())
}

/// The languages of the names in [`DEFAULT_PIPELINE`], in the same order. The first is the fallback.
const DEFAULT_LANGUAGES: [&str; 4] = ["en", "de", "fr", "es"];

/// Steps that are suitable for most roles, with their names in each language. Candidates see the names on their status
/// pages.
const DEFAULT_PIPELINE: [(StepType, [&str; 4]); 4] = [
    (StepType::Application, ["Applied", "Bewerbung", "Candidature", "Candidatura"]),
    (StepType::Screening, ["Screening", "Vorauswahl", "Présélection", "Preselección"]),
    (StepType::Interview, ["Interview", "Vorstellungsgespräch", "Entretien", "Entrevista"]),
    (StepType::Offer, ["Offer", "Angebot", "Offre", "Oferta"]),
];

/// Returns the name and type of each step of the default pipeline, in the language of the tag (BCP 47), or else in
/// English.
pub fn default_pipeline(language_tag: &str) -> [(&'static str, StepType); 4] {
    let index = language::find(&DEFAULT_LANGUAGES, language_tag).unwrap_or(0);
    DEFAULT_PIPELINE.map(|(step_type, names)| (names[index], step_type))
}

/// Succeeds if the default pipeline can be added to a role with `steps` steps.
///
/// # Errors
/// `conflict` if the role has steps, because the default pipeline could repeat them.
pub fn require_no_steps(steps: usize) -> Result<(), Refusal> {
    if steps > 0 {
        return Err(Refusal::Conflict("the role already has steps; add individual steps instead"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    #[test]
    fn a_step_is_added_at_any_position_up_to_the_end() {
        assert_eq!(new_step_order(0, None), Ok(1));
        assert_eq!(new_step_order(3, None), Ok(4));
        for requested in 1..=4 {
            assert_eq!(new_step_order(3, Some(requested)), Ok(usize::try_from(requested).unwrap()));
        }
        for requested in [5, 0, -1, i64::MIN] {
            assert!(matches!(new_step_order(3, Some(requested)), Err(Refusal::Invalid(_))), "{requested}");
        }
        assert_eq!(new_step_order(STEPS_MAX - 1, None), Ok(STEPS_MAX));
        assert!(matches!(new_step_order(STEPS_MAX, Some(1)), Err(Refusal::ConflictWith(_))));
    }

    #[test]
    fn a_step_moves_only_from_its_current_position_and_only_once() {
        let id = |text: &str| RoleStepId::parse(text).unwrap();
        let steps = ["a", "b", "c", "d"].map(id);
        for (step, from, to, expected) in [
            ("a", 1, 2, Some("bacd")),
            ("a", 1, 4, Some("bcda")),
            ("d", 4, 1, Some("dabc")),
            ("c", 3, 2, Some("acbd")),
            ("b", 1, 2, None),
            ("b", 9, 2, None),
        ] {
            let order = moved(&steps, &id(step), from, to).unwrap();
            let order = order.map(|order| order.iter().map(RoleStepId::as_str).collect::<String>());
            assert_eq!(order.as_deref(), expected, "{step} from {from} to {to}");
        }
        for (step, from, to) in [("a", 2, 3), ("a", 1, 0), ("a", 1, 5), ("x", 1, 2), ("x", 0, 0), ("a", 0, 2)] {
            assert!(matches!(moved(&steps, &id(step), from, to), Err(Refusal::Conflict(_))), "{step} {from} {to}");
        }
    }

    #[test]
    fn a_new_order_names_each_step_once() {
        let id = |text: &str| RoleStepId::parse(text).unwrap();
        let steps = [id("a"), id("b"), id("c")];
        let order = |requested: &[&str]| {
            require_complete_order(&steps, &requested.iter().map(|text| RoleStepId::parse(text)).collect::<Vec<_>>())
        };
        assert_eq!(order(&["c", "a", "b"]), Ok(vec![id("c"), id("a"), id("b")]));
        let cases: [(&[&str], &str); 5] = [
            (&["a", "b"], "c is missing"),
            (&[], "a is missing"),
            (&["a", "b", "b"], "b twice"),
            (&["a", "b", "x"], "[2]"),
            (&["a", "b", "c", "!"], "[3]"),
        ];
        for (requested, words) in cases {
            let refusal = order(requested).unwrap_err();
            assert!(refusal.sentence().contains(words), "{requested:?}: {refusal:?}");
        }
        assert_eq!(require_complete_order(&[], &[]), Ok(Vec::new()));
    }

    #[test]
    fn the_default_pipeline_has_four_steps_in_each_language() {
        let types = [StepType::Application, StepType::Screening, StepType::Interview, StepType::Offer];
        for (tag, expected) in [
            ("en", ["Applied", "Screening", "Interview", "Offer"]),
            ("de-CH", ["Bewerbung", "Vorauswahl", "Vorstellungsgespräch", "Angebot"]),
            ("FR", ["Candidature", "Présélection", "Entretien", "Offre"]),
            ("es", ["Candidatura", "Preselección", "Entrevista", "Oferta"]),
            ("nl", ["Applied", "Screening", "Interview", "Offer"]),
            ("", ["Applied", "Screening", "Interview", "Offer"]),
        ] {
            assert_eq!(default_pipeline(tag).map(|(name, _)| name), expected, "{tag}");
            assert_eq!(default_pipeline(tag).map(|(_, step_type)| step_type), types, "{tag}");
        }
        assert_eq!(require_no_steps(0), Ok(()));
        assert!(matches!(require_no_steps(1), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn only_drafts_may_lose_their_last_step() {
        assert_eq!(require_removable(RoleStatus::Draft, 1), Ok(()));
        for status in [RoleStatus::Open, RoleStatus::Filled, RoleStatus::Closed] {
            assert!(require_removable(status, 1).is_err());
            assert_eq!(require_removable(status, 2), Ok(()));
        }
    }
}
