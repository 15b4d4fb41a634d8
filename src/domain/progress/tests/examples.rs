//! Examples of histories, and the progress that the candidate sees.

use super::*;

fn stages(progress: &Progress) -> Vec<Stage> {
    progress.steps.iter().map(|(_, stage)| *stage).collect()
}

#[test]
fn a_rejection_is_visible_when_the_delay_has_passed() {
    let mut case = Case::new(&STEPS);
    let before = case.real();
    assert_eq!(stages(&before), [Stage::Done, Stage::Current, Stage::Upcoming, Stage::Upcoming]);
    assert!(case.act(ActKind::Rejected, 1, hour(10)));
    let almost = Timestamp::from_micros(hour(82).micros() - 1);
    assert_eq!(case.seen(Some(DELAY), almost), before);
    assert_eq!(case.seen(None, hour(1_000_000)), before);
    let seen = case.seen(Some(DELAY), hour(82));
    assert_eq!((seen.status, stages(&seen)), (ApplicationStatus::NotSelected, vec![Stage::Done, Stage::Ended]));
}

/// Asserts that the progress is still `before` in the last microsecond in which an act at the minute `acted_at` can be
/// undone. Returns the progress one microsecond later.
#[track_caller]
fn shown_after_undo_period(case: &Case, before: &Progress, acted_at: i64) -> Progress {
    let shown_at = minute(acted_at + 10);
    for visible_after in [Some(DELAY), Some(Duration::ZERO), None] {
        assert_eq!(case.seen(visible_after, Timestamp::from_micros(shown_at.micros() - 1)), *before);
    }
    case.seen(Some(DELAY), shown_at)
}

#[test]
fn a_decision_without_a_delay_is_visible_at_once_with_the_moves_before_it() {
    let mut case = Case::new(&STEPS);
    let before = case.real();
    assert!(case.act(ActKind::Validated, 1, minute(0)));
    assert_eq!(case.seen(Some(Duration::ZERO), minute(1)), before);
    for (act, step) in [(ActKind::Rejected, 2), (ActKind::Reopened, 2), (ActKind::Hired, 3), (ActKind::Rejected, 3)] {
        assert!(case.act(act, step, minute(1)), "{act:?}");
        assert_eq!(case.seen(Some(Duration::ZERO), minute(1)), case.real(), "{act:?}");
        assert_eq!(case.seen(Some(DELAY), minute(9)), before, "{act:?}");
    }
}

#[test]
fn the_undo_of_a_visible_rejection_hides_the_earlier_move_again() {
    let mut case = Case::new(&STEPS);
    let before = case.real();
    assert!(case.act(ActKind::Validated, 1, minute(0)) && case.act(ActKind::Rejected, 2, minute(1)));
    assert_eq!(case.seen(Some(Duration::ZERO), minute(1)).status, ApplicationStatus::NotSelected);
    assert!(case.act(ActKind::Undone, 2, minute(2)));
    assert_eq!(case.seen(Some(Duration::ZERO), minute(2)), before);
    assert_eq!(case.seen(Some(Duration::ZERO), minute(10)), case.real());
}

#[test]
fn a_move_after_a_reopening_is_visible_after_the_undo_period() {
    let mut case = Case::new(&STEPS);
    let before = case.real();
    assert!(case.act(ActKind::Rejected, 1, hour(0)) && case.act(ActKind::Reopened, 1, hour(1)));
    assert!(case.act(ActKind::Validated, 1, hour(2)));
    let seen = shown_after_undo_period(&case, &before, 2 * 60);
    assert_eq!(stages(&seen), [Stage::Done, Stage::Done, Stage::Current, Stage::Upcoming]);
    assert!(case.act(ActKind::Hired, 2, hour(3)));
    assert_eq!(case.seen(Some(DELAY), hour(3)), seen);
    assert_eq!(case.seen(Some(DELAY), hour(75)).status, ApplicationStatus::Hired);
}

#[test]
fn a_move_to_any_step_is_visible_after_the_undo_period() {
    let mut case = Case::new(&STEPS);
    for (hours, (step, expected)) in (0..).zip([
        (3, [Stage::Done, Stage::Done, Stage::Skipped, Stage::Current]),
        (2, [Stage::Done, Stage::Done, Stage::Current, Stage::Upcoming]),
        (0, [Stage::Current, Stage::Upcoming, Stage::Upcoming, Stage::Upcoming]),
        (1, [Stage::Done, Stage::Current, Stage::Upcoming, Stage::Upcoming]),
    ]) {
        let before = case.real();
        assert!(case.act(ActKind::Moved, step, hour(hours)));
        let seen = shown_after_undo_period(&case, &before, hours * 60);
        assert_eq!((stages(&seen), seen), (expected.to_vec(), case.real()));
    }
}

#[test]
fn a_move_reversed_by_a_move_back_within_the_undo_period_is_never_visible() {
    let mut case = Case::new(&STEPS);
    let before = case.real();
    for (act, step, minutes) in [(ActKind::Validated, 1, 0), (ActKind::Moved, 3, 4), (ActKind::Moved, 1, 9)] {
        assert!(case.act(act, step, minute(minutes)));
    }
    assert_eq!(case.real(), before);
    for minutes in 0..30 {
        assert_eq!(case.seen(Some(DELAY), minute(minutes)), before, "{minutes}");
    }
    // A move back after the undo period is a separate move.
    assert!(case.act(ActKind::Moved, 2, hour(1)) && case.act(ActKind::Moved, 1, minute(70)));
    assert_eq!(case.seen(None, minute(69)), before);
    assert_ne!(case.seen(None, minute(70)), before);
    assert_eq!(case.seen(None, minute(80)), before);
}

/// Staff hired the candidate by mistake, and reversed the hire at a later step. The candidate sees neither the hire nor
/// the reversal. A later move appears to begin at the step that the candidate's page shows.
#[test]
fn a_move_reveals_nothing_about_hidden_decisions_before_it() {
    let mut case = Case::new(&STEPS);
    let before = case.real();
    for (act, step) in [(ActKind::Hired, 0), (ActKind::Rejected, 2), (ActKind::Reopened, 2)] {
        assert!(case.act(act, step, hour(0)));
        assert_eq!(case.seen(Some(DELAY), hour(0)), before);
    }
    assert!(case.act(ActKind::Moved, 3, hour(1)));
    assert_eq!(stages(&case.real()), [Stage::Done, Stage::Skipped, Stage::Done, Stage::Current]);
    let seen = case.seen(Some(DELAY), hour(2));
    assert_eq!(stages(&seen), [Stage::Done, Stage::Done, Stage::Skipped, Stage::Current]);
    assert!(case.act(ActKind::Moved, 1, hour(3)));
    assert_eq!(case.seen(Some(DELAY), hour(4)), before);
    assert_eq!(case.seen(Some(DELAY), hour(76)), case.real());
}

#[test]
fn the_reversal_of_a_visible_hire_is_hidden_until_the_delay_has_passed() {
    let mut case = Case::new(&STEPS);
    assert!(case.act(ActKind::Hired, 1, hour(0)) && case.act(ActKind::Rejected, 3, hour(80)));
    let seen = case.seen(Some(DELAY), hour(80));
    assert_eq!(seen.status, ApplicationStatus::Hired);
    assert_eq!(stages(&seen), [Stage::Done, Stage::Done, Stage::Skipped, Stage::Done]);
    // The reopening of a hidden reversal is also hidden.
    assert!(case.act(ActKind::Reopened, 3, hour(81)));
    assert_eq!(case.seen(Some(DELAY), hour(151)), seen);
    assert_eq!(case.seen(Some(DELAY), hour(152)).status, ApplicationStatus::InProgress);
}

#[test]
fn the_reopening_of_a_visible_rejection_is_visible_at_once() {
    let mut case = Case::new(&STEPS);
    assert!(case.act(ActKind::Rejected, 1, hour(0)) && case.act(ActKind::Rejected, 2, hour(80)));
    assert_eq!(case.seen(Some(DELAY), hour(80)).status, ApplicationStatus::NotSelected);
    assert!(case.act(ActKind::Reopened, 1, hour(81)));
    assert_eq!(case.seen(Some(DELAY), hour(81)), Case::new(&STEPS).real());
}

#[test]
fn decisions_from_before_an_import_are_also_hidden_until_the_delay_has_passed() {
    let case = |status, steps: &[StepStatus]| {
        let mut case = Case::new(steps);
        case.facts.application_status = status;
        case
    };
    // `facts` sets the time of the decisions on these steps to one millisecond after the epoch.
    let rejected = case(ApplicationStatus::NotSelected, &[Validated, Rejected, Pending]);
    let seen = rejected.seen(Some(DELAY), hour(71));
    assert_eq!(seen.status, ApplicationStatus::InProgress);
    assert_eq!(stages(&seen), [Stage::Done, Stage::Current, Stage::Upcoming]);
    assert_eq!(rejected.seen(Some(DELAY), hour(73)), rejected.real());
    let hired = case(ApplicationStatus::Hired, &[Validated, Skipped, Validated]);
    assert_eq!(stages(&hired.seen(None, hour(99))), [Stage::Done, Stage::Skipped, Stage::Current]);
    assert_eq!(hired.seen(Some(DELAY), hour(73)).status, ApplicationStatus::Hired);
    let withdrawn = case(ApplicationStatus::Withdrawn, &[Validated, Rejected]);
    assert_eq!(withdrawn.seen(None, hour(73)).status, ApplicationStatus::Withdrawn);
}

#[test]
fn untouched_progress_equals_the_progress_of_an_application_without_decisions() {
    for status in [ApplicationStatus::InProgress, ApplicationStatus::Withdrawn] {
        let mut case = Case::new(&[InProgress, Pending, Pending]);
        case.facts.application_status = status;
        assert_eq!(case.real(), Progress::untouched(3, status));
    }
}

#[test]
fn every_kind_of_act_other_than_an_undo_is_possible_in_one_history() {
    let mut case = Case::new(&STEPS);
    for (hours, (act, step)) in (0..).zip([
        (ActKind::Validated, 1),
        (ActKind::Moved, 3),
        (ActKind::Moved, 2),
        (ActKind::Hired, 2),
        (ActKind::Rejected, 2),
        (ActKind::Reopened, 2),
        (ActKind::Withdrawn, 0),
    ]) {
        assert!(case.act(act, step, hour(hours)), "{act:?}");
    }
    assert_eq!(stages(&case.real()), [Stage::Done, Stage::Done, Stage::Ended]);
}

#[test]
fn a_reversed_hire_leaves_no_step_skipped_despite_hidden_acts() {
    let mut case = Case::new(&STEPS);
    for (act, step, hours) in
        [(ActKind::Hired, 0, 0), (ActKind::Rejected, 0, 0), (ActKind::Rejected, 1, 13), (ActKind::Reopened, 0, 23)]
    {
        assert!(case.act(act, step, hour(hours)));
    }
    let mut without = Case::new(&STEPS);
    for (act, step, hours) in [(ActKind::Hired, 0, 0), (ActKind::Rejected, 0, 0), (ActKind::Reopened, 0, 23)] {
        assert!(without.act(act, step, hour(hours)));
    }
    let seen = case.seen(Some(DELAY), hour(72));
    assert_eq!(seen, without.real());
    assert_eq!(stages(&seen), [Stage::Current, Stage::Upcoming, Stage::Upcoming, Stage::Upcoming]);
}
