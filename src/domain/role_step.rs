//! The steps of a role's pipeline: where one is added, what order they may be put in, when one may be taken out.
//!
//! Applications have copies of the steps, so nothing here changes one that runs.

use super::id::RoleStepId;
use super::refusal::Refusal;
use super::role::RoleStatus;

/// The most steps that a pipeline is given: more than anybody goes through, and a bound on what an application copies.
pub const STEPS_MAX: usize = 50;

/// `POST /api/v1/roles/{id}/steps`: the place, from 1, of one more step in a pipeline of `steps`; the last one where
/// none is wished.
///
/// # Errors
/// `conflict` where the pipeline has all the steps that it may; `validation_error` for a place beyond its end.
pub fn new_step_order(steps: usize, wished: Option<i64>) -> Result<usize, Refusal> {
    if steps >= STEPS_MAX {
        return Err(Refusal::ConflictWith(format!("the role has {steps} steps; remove one before another is added")));
    }
    let last = steps + 1;
    match wished.map(usize::try_from) {
        None => Ok(last),
        Some(Ok(place)) if (1..=last).contains(&place) => Ok(place),
        Some(_) => Err(Refusal::invalid("order", format!("must be between 1 and {last}"))),
    }
}

/// `PUT /api/v1/roles/{id}/steps/order`: passes where the wish names every step of the pipeline once.
///
/// # Errors
/// `validation_error` that names a step which is missing, there twice, or not in the pipeline.
pub fn require_complete_order(steps: &[RoleStepId], wished: &[Option<RoleStepId>]) -> Result<Vec<RoleStepId>, Refusal> {
    let wrong = |detail: String| Refusal::invalid("stepIds", detail);
    let mut order = Vec::with_capacity(steps.len());
    for (index, step) in wished.iter().enumerate() {
        match step {
            Some(step) if order.contains(step) => return Err(wrong(format!("names the step {step} twice"))),
            Some(step) if steps.contains(step) => order.push(step.clone()),
            _ => return Err(wrong(format!("must name steps of the role's pipeline; the one at [{index}] is none"))),
        }
    }
    match steps.iter().find(|step| !order.contains(step)) {
        Some(missing) => Err(wrong(format!("must name every step of the role's pipeline; {missing} is missing"))),
        None => Ok(order),
    }
}

/// `DELETE /api/v1/roles/{id}/steps/{stepId}`: passes where a pipeline of `steps` can do without one of them.
///
/// # Errors
/// `conflict` for the last one of a role that has left its draft: nobody could apply to it.
pub fn require_removable(status: RoleStatus, steps: usize) -> Result<(), Refusal> {
    if steps <= 1 && status != RoleStatus::Draft {
        return Err(Refusal::Conflict("it is the role's last step; add another before this one is removed"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    #[test]
    fn a_step_is_added_at_any_place_up_to_one_behind_the_last() {
        assert_eq!(new_step_order(0, None), Ok(1));
        assert_eq!(new_step_order(3, None), Ok(4));
        for wished in 1..=4 {
            assert_eq!(new_step_order(3, Some(wished)), Ok(usize::try_from(wished).unwrap()));
        }
        for wished in [5, 0, -1, i64::MIN] {
            assert!(matches!(new_step_order(3, Some(wished)), Err(Refusal::Invalid(_))), "{wished}");
        }
        assert_eq!(new_step_order(STEPS_MAX - 1, None), Ok(STEPS_MAX));
        assert!(matches!(new_step_order(STEPS_MAX, Some(1)), Err(Refusal::ConflictWith(_))));
    }

    #[test]
    fn an_order_names_every_step_once() {
        let id = |text: &str| RoleStepId::parse(text).unwrap();
        let steps = [id("a"), id("b"), id("c")];
        let order = |wished: &[&str]| {
            require_complete_order(&steps, &wished.iter().map(|text| RoleStepId::parse(text)).collect::<Vec<_>>())
        };
        assert_eq!(order(&["c", "a", "b"]), Ok(vec![id("c"), id("a"), id("b")]));
        let cases: [(&[&str], &str); 5] = [
            (&["a", "b"], "c is missing"),
            (&[], "a is missing"),
            (&["a", "b", "b"], "b twice"),
            (&["a", "b", "x"], "[2]"),
            (&["a", "b", "c", "!"], "[3]"),
        ];
        for (wished, words) in cases {
            let refusal = order(wished).unwrap_err();
            assert!(refusal.sentence().contains(words), "{wished:?}: {refusal:?}");
        }
        assert_eq!(require_complete_order(&[], &[]), Ok(Vec::new()));
    }

    #[test]
    fn the_last_step_stays_unless_the_role_is_a_draft() {
        assert_eq!(require_removable(RoleStatus::Draft, 1), Ok(()));
        for status in [RoleStatus::Open, RoleStatus::Filled, RoleStatus::Closed] {
            assert!(require_removable(status, 1).is_err());
            assert_eq!(require_removable(status, 2), Ok(()));
        }
    }
}
