//! Later marks: staff put an application in progress aside until a due day. On that day, the application comes back to
//! the inbox. Any decision on the application except an undo removes the mark, and so does the end of the application.

use jiff::ToSpan;
use jiff::civil::Date;

use super::candidate_step::{ApplicationStatus, UNDO_PERIOD};
use super::due_day::DueDay;
use super::id::UserId;
use super::refusal::Refusal;
use super::timestamp::Timestamp;

/// The maximum number of days from today to the due day, so that every application that is put aside comes back within
/// a year.
pub const DAYS_MAX: i64 = 365;

/// The due day as staff choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaterInput {
    /// This many days from today, 1 to [`DAYS_MAX`].
    InDays(i64),
    /// On this day.
    On(DueDay),
}

/// `PUT /api/v1/candidate-roles/{id}/later`: returns the due day of an application with this status. `today` is the
/// current day in the organization's time zone.
///
/// # Errors
/// `conflict` if the application has ended; the error of [`due_day`].
pub fn put_aside(status: ApplicationStatus, input: LaterInput, today: Date) -> Result<DueDay, Refusal> {
    if status != ApplicationStatus::InProgress {
        return Err(Refusal::ConflictWith(format!(
            "the application is {}; only an application in progress can be put aside",
            status.as_str()
        )));
    }
    due_day(input, today)
}

/// Returns the day that staff chose. A number of days must be from 1 to [`DAYS_MAX`]; the caller checks this.
///
/// # Errors
/// `validation_error` unless a chosen day is after `today` and at most [`DAYS_MAX`] days from it.
pub fn due_day(input: LaterInput, today: Date) -> Result<DueDay, Refusal> {
    let last = today.checked_add(DAYS_MAX.days()).unwrap_or(Date::MAX);
    match input {
        LaterInput::InDays(days) => Ok(DueDay(today.checked_add(days.days()).unwrap_or(last))),
        LaterInput::On(DueDay(day)) if day > today && day <= last => Ok(DueDay(day)),
        LaterInput::On(_) => {
            let detail = format!(
                "must be after today and at most {DAYS_MAX} days from today; today is {today} in the organization's time \
                 zone"
            );
            Err(Refusal::invalid("dueOn", detail))
        }
    }
}

/// A change to the later mark of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkChange {
    /// The mark before the change.
    pub before: Option<DueDay>,
    /// The time of the change.
    pub at: Timestamp,
    /// The user who changed the mark.
    pub by: UserId,
}

/// The undo of a change to a later mark: returns the mark before the change. The day of that mark may have passed,
/// because the application may have come back before the change. `last` is the change, or `None` if another act has
/// followed it.
///
/// # Errors
/// `conflict` if the application has ended, an act has followed the change, or the change is at least [`UNDO_PERIOD`]
/// old; `forbidden` if another user made the change.
pub fn undo(
    status: ApplicationStatus,
    last: Option<&MarkChange>,
    caller: &UserId,
    now: Timestamp,
) -> Result<Option<DueDay>, Refusal> {
    let last = last.filter(|_| status == ApplicationStatus::InProgress);
    let last = last.ok_or(Refusal::Conflict("another act has followed the change to the later mark"))?;
    if last.by != *caller {
        return Err(Refusal::Forbidden("only the person who changed the later mark can undo the change"));
    }
    if now.since(last.at) >= UNDO_PERIOD {
        return Err(Refusal::Conflict("the change to the later mark is at least 10 minutes old"));
    }
    Ok(last.before)
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    fn day(text: &str) -> DueDay {
        DueDay::parse(text).unwrap()
    }

    fn aside(input: LaterInput) -> Result<DueDay, Refusal> {
        put_aside(ApplicationStatus::InProgress, input, day("2026-11-21").0)
    }

    #[test]
    fn only_calendar_days_are_parsed() {
        assert_eq!(day("2028-02-29").to_string(), "2028-02-29");
        for text in ["", "2027-02-29", "2026-1-1", "2026-12-31Z", " 2026-12-31", "+2026-12-3", "tomorrow!!"] {
            assert_eq!(DueDay::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_number_of_days_counts_from_today() {
        for (days, expected) in [(1, "2026-11-22"), (3, "2026-11-24"), (7, "2026-11-28"), (DAYS_MAX, "2027-11-21")] {
            assert_eq!(aside(LaterInput::InDays(days)), Ok(day(expected)), "{days}");
        }
    }

    #[test]
    fn a_due_day_is_after_today_and_within_a_year() {
        for (text, is_accepted) in [
            ("2026-11-20", false),
            ("2026-11-21", false),
            ("2026-11-22", true),
            ("2027-11-21", true),
            ("2027-11-22", false),
            ("9999-12-31", false),
        ] {
            assert_eq!(aside(LaterInput::On(day(text))).is_ok(), is_accepted, "{text}");
        }
        let refused = aside(LaterInput::On(day("2026-11-21"))).unwrap_err();
        assert_eq!(refused.errors()[0].field, "dueOn");
        assert!(refused.errors()[0].detail.contains("today is 2026-11-21"));
    }

    #[test]
    fn days_after_the_last_day_of_the_calendar_do_not_overflow() {
        let put = |days| put_aside(ApplicationStatus::InProgress, LaterInput::InDays(days), Date::MAX);
        assert_eq!(put(1), Ok(DueDay(Date::MAX)));
    }

    #[test]
    fn the_user_who_made_a_change_can_undo_it_for_ten_minutes() {
        const AT: Timestamp = Timestamp::from_micros(1_000_000_000);
        let user = |id: &str| UserId::parse(id).unwrap();
        let (own, foreign) = (user("user_1"), user("user_2"));
        let change = |before| MarkChange { before, at: AT, by: own.clone() };
        let last_moment = Timestamp::from_micros(AT.plus(UNDO_PERIOD).micros() - 1);
        for before in [None, Some(day("2026-11-01"))] {
            let undone = undo(ApplicationStatus::InProgress, Some(&change(before)), &own, last_moment);
            assert_eq!(undone, Ok(before), "a mark that is already due is restored too");
        }
        let last = change(None);
        for (status, last, caller, now, code) in [
            (ApplicationStatus::InProgress, None, &own, AT, "conflict"),
            (ApplicationStatus::NotSelected, Some(&last), &own, AT, "conflict"),
            (ApplicationStatus::InProgress, Some(&last), &own, AT.plus(UNDO_PERIOD), "conflict"),
            (ApplicationStatus::InProgress, Some(&last), &foreign, AT, "forbidden"),
        ] {
            let refused = undo(status, last, caller, now).unwrap_err();
            assert_eq!(matches!(refused, Refusal::Forbidden(_)), code == "forbidden", "{refused:?}");
        }
        let late = undo(ApplicationStatus::InProgress, Some(&last), &own, AT.plus(UNDO_PERIOD)).unwrap_err();
        assert!(late.sentence().ends_with("is at least 10 minutes old"), "{late:?}");
    }

    #[test]
    fn an_application_that_has_ended_is_not_put_aside() {
        for status in [ApplicationStatus::NotSelected, ApplicationStatus::Hired, ApplicationStatus::Withdrawn] {
            let refused = put_aside(status, LaterInput::InDays(1), day("2026-11-21").0).unwrap_err();
            assert!(refused.sentence().starts_with(&format!("the application is {}", status.as_str())), "{refused:?}");
        }
    }
}
