//! Organizations: the limits on their settings, and the counts of their roles and applications.

use super::candidate_step::status::ApplicationStatus;
use super::hr_integration::{TargetUrl, URL_CHARACTERS_MAX};
use super::refusal::Refusal;
use super::role::{RoleStatus, Seats};

/// The allowed retention periods, in days. The maximum is ten years.
pub const RETENTION_DAYS: std::ops::RangeInclusive<i64> = 1..=3_650;

/// The default time zone of an organization. The time zone determines when the organization's days begin.
pub const TIME_ZONE_DEFAULT: &str = "UTC";

/// The allowed delays before a candidate sees a rejection, a hire, the reversal of a hire, or the end of a role, in
/// hours, from no delay to a year.
pub const DECISION_VISIBLE_AFTER_HOURS: std::ops::RangeInclusive<i64> = 0..=8_760;

/// The default delay, in hours. It gives staff three days to change their minds, or to call the candidate first.
pub const DECISION_VISIBLE_AFTER_HOURS_DEFAULT: i64 = 72;

/// The maximum length of a privacy notice, in characters: about eight printed pages.
pub const PRIVACY_NOTICE_CHARACTERS_MAX: usize = 20_000;

/// The maximum length of `domain`, in characters. RFC 1035 §2.3.4 limits a name to 255 octets in its wire form, so
/// every host name fits.
pub const DOMAIN_CHARACTERS_MAX: usize = 255;

/// The maximum length of `logo`, in characters. URLs of HR systems have the same maximum length.
pub const LOGO_CHARACTERS_MAX: usize = URL_CHARACTERS_MAX;

/// The maximum size of a theme as JSON, in bytes. The limit is low because the public portal API returns the theme with
/// each portal and each role.
pub const THEME_BYTES_MAX: usize = 16 * 1_024;

/// The refusal for a slug that another organization uses: both portals would have the same address.
pub const SLUG_TAKEN: Refusal =
    Refusal::Conflict("this slug is already taken by another organization; choose a different slug");

/// The counts of an organization's roles and applications. Every change to a role or application also updates the
/// stored counts, which always equal a recount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusCounts {
    /// Roles that are open.
    pub open_roles: i64,
    /// Positions of open roles, minus the people hired for them.
    pub open_positions: i64,
    /// Applications in progress.
    pub in_progress: i64,
    /// Applications that ended in a hire.
    pub hired: i64,
    /// Applications that were not selected.
    pub not_selected: i64,
    /// Applications that were withdrawn.
    pub withdrawn: i64,
}

impl StatusCounts {
    /// Returns the counts for one role.
    pub fn of_role(seats: Seats) -> Self {
        if seats.status == RoleStatus::Open {
            Self { open_roles: 1, open_positions: seats.positions - seats.hired, ..Self::default() }
        } else {
            Self::default()
        }
    }

    /// Returns the counts for one application.
    pub fn of_application(status: ApplicationStatus) -> Self {
        let mut counts = Self::default();
        match status {
            ApplicationStatus::InProgress => counts.in_progress = 1,
            ApplicationStatus::Hired => counts.hired = 1,
            ApplicationStatus::NotSelected => counts.not_selected = 1,
            ApplicationStatus::Withdrawn => counts.withdrawn = 1,
        }
        counts
    }

    /// Adds the other counts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.combine(other, |a, b| a + b)
    }

    /// Subtracts the other counts.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.combine(other, |a, b| a - b)
    }

    fn combine(self, other: Self, f: impl Fn(i64, i64) -> i64) -> Self {
        Self {
            open_roles: f(self.open_roles, other.open_roles),
            open_positions: f(self.open_positions, other.open_positions),
            in_progress: f(self.in_progress, other.in_progress),
            hired: f(self.hired, other.hired),
            not_selected: f(self.not_selected, other.not_selected),
            withdrawn: f(self.withdrawn, other.withdrawn),
        }
    }
}

/// Returns whether a portal can use a string as its logo: an http or https URL that [`TargetUrl::parse`] accepts, or an
/// empty string for no logo.
pub fn is_logo(text: &str) -> bool {
    text.is_empty() || TargetUrl::parse(text).is_some()
}

/// Returns whether a portal's theme can use a string as a colour: `#` and 3, 6 or 8 hexadecimal digits.
pub fn is_hex_color(text: &str) -> bool {
    text.strip_prefix('#')
        .is_some_and(|hex| matches!(hex.len(), 3 | 6 | 8) && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_hexadecimal() {
        for good in ["#fff", "#0f766e", "#0F766E", "#0f766eff"] {
            assert!(is_hex_color(good), "{good}");
        }
        for bad in ["", "#", "fff", "#ffff", "#ggg", "teal", "#0f766", "#0f766e;"] {
            assert!(!is_hex_color(bad), "{bad}");
        }
    }

    #[test]
    fn a_hire_for_the_last_position_changes_all_affected_counts() {
        let before = Seats { status: RoleStatus::Open, positions: 3, hired: 2 };
        let moved = StatusCounts::of_role(before.taken())
            .plus(StatusCounts::of_application(ApplicationStatus::Hired))
            .minus(StatusCounts::of_role(before))
            .minus(StatusCounts::of_application(ApplicationStatus::InProgress));
        let expected =
            StatusCounts { open_roles: -1, open_positions: -1, in_progress: -1, hired: 1, ..StatusCounts::default() };
        assert_eq!(moved, expected);
    }
}
