//! The closing date of a role: the last calendar day on which the role accepts signups.
//!
//! The day ends at midnight in the organization's time zone. Signups are refused from then on. A background job closes
//! the role soon after.

use jiff::civil::Date;

use super::refusal::Refusal;
use super::timestamp::parse_date;

/// The valid form, as the end of a sentence.
pub const CLOSING_DAY_MUST_BE: &str = "a calendar day such as 2026-12-31";

/// The last day on which a role accepts signups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClosingDay(Date);

impl ClosingDay {
    /// Parses `YYYY-MM-DD`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() == 10 { parse_date(bytes).map(Self) } else { None }
    }

    /// Returns the day as a date, to format it or to compute its end.
    pub fn date(self) -> Date {
        self.0
    }

    /// Returns whether the day has passed, where `today` is the current day in the organization's time zone.
    pub fn has_passed(self, today: Date) -> bool {
        self.0 < today
    }

    /// Returns the reason for closing that the service records when it closes the role.
    pub fn close_reason(self) -> String {
        format!("The closing date {self} has passed.")
    }
}

/// Formats as `YYYY-MM-DD`.
impl std::fmt::Display for ClosingDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// `POST /api/v1/organizations/{id}/roles` and `PATCH /api/v1/roles/{id}`: returns the closing date after a request
/// that sets it to `given`. A request may repeat a closing date that has passed, because a form sends all fields of a
/// role.
///
/// # Errors
/// `validation_error` if `given` is before `today` and differs from `before`.
pub fn changed(
    before: Option<ClosingDay>,
    given: Option<ClosingDay>,
    today: Date,
) -> Result<Option<ClosingDay>, Refusal> {
    match given {
        Some(day) if given != before && day.has_passed(today) => {
            let detail = format!("must not be in the past; today is {today} in the organization's time zone");
            Err(Refusal::invalid("closesOn", detail))
        }
        given => Ok(given),
    }
}

/// `POST /api/v1/roles/{id}/open` and `/reopen`: checks that the role's closing date has not passed. If it had passed,
/// the background job would close the role soon after.
///
/// # Errors
/// `conflict` if the closing date has passed.
pub fn require_not_passed(closes_on: Option<ClosingDay>, today: Date) -> Result<(), Refusal> {
    match closes_on {
        Some(day) if day.has_passed(today) => Err(Refusal::ConflictWith(format!(
            "the closing date {day} has passed; change or clear closesOn before you open the role"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Option<ClosingDay> {
        ClosingDay::parse(text)
    }

    fn date(text: &str) -> Date {
        day(text).unwrap().date()
    }

    #[test]
    fn only_calendar_days_are_parsed() {
        for text in ["2026-12-31", "2028-02-29", "0000-01-01", "9999-12-31"] {
            assert_eq!(day(text).map(|day| day.to_string()).as_deref(), Some(text));
        }
        for text in [
            "",
            "2026-12-32",
            "2027-02-29",
            "2026-13-01",
            "2026-1-1",
            "26-12-31",
            "2026/12/31",
            "2026-12-31Z",
            "2026-12-31T00:00:00Z",
            " 2026-12-31",
            "+2026-12-3",
            "-026-12-31",
            "20２6-12-3",
            "tomorrow!!",
        ] {
            assert_eq!(day(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_day_has_passed_when_the_next_day_begins() {
        for (today, has_passed) in [("2026-12-30", false), ("2026-12-31", false), ("2027-01-01", true)] {
            assert_eq!(day("2026-12-31").unwrap().has_passed(date(today)), has_passed, "{today}");
        }
    }

    #[test]
    fn a_new_closing_date_is_not_in_the_past() {
        let today = date("2026-11-21");
        let (past, now, future) = (day("2026-11-20"), day("2026-11-21"), day("2026-11-22"));
        for (before, given, is_accepted) in [
            (None, None, true),
            (None, past, false),
            (None, now, true),
            (None, future, true),
            (past, past, true),
            (past, None, true),
            (past, day("2026-11-19"), false),
            (future, past, false),
        ] {
            let expected = if is_accepted { Some(given) } else { None };
            assert_eq!(changed(before, given, today).ok(), expected, "{before:?} {given:?}");
        }
        let refusal = changed(None, past, today).unwrap_err();
        assert_eq!(refusal.errors()[0].field, "closesOn");
        assert!(refusal.errors()[0].detail.contains("today is 2026-11-21"));
    }

    #[test]
    fn a_role_can_be_opened_until_the_end_of_its_closing_date() {
        let today = date("2026-11-21");
        for (closes_on, opens) in [(None, true), (day("2026-11-21"), true), (day("2026-11-20"), false)] {
            assert_eq!(require_not_passed(closes_on, today).is_ok(), opens, "{closes_on:?}");
        }
        let refusal = require_not_passed(day("2026-11-20"), today).unwrap_err();
        assert!(refusal.sentence().contains("2026-11-20"));
    }
}
