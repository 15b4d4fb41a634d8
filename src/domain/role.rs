//! Roles: their statuses and positions, and how a hire or its reversal changes them.

use super::refusal::Refusal;
use super::words::words;

/// The maximum number of positions in an imported role: far more than any organization offers for one role.
pub const POSITIONS_MAX: i64 = 1_000_000;

/// The maximum number of positions that an HTTP request may give a role. A larger number is probably a typing error.
pub const POSITIONS_GIVEN_MAX: i64 = 10_000;

/// The maximum length of a role's `department` or `location`, in characters.
pub const TEXT_CHARACTERS_MAX: usize = 255;

/// The maximum length of the reason for closing a role, in characters.
pub const CLOSE_REASON_CHARACTERS_MAX: usize = 1_000;

/// The maximum salary figure, in units of the salary's currency: above any real salary, and exact as a floating-point
/// number.
pub const SALARY_MAX: f64 = 1e12;

words! {
    /// The status of a role.
    RoleStatus {
        /// The role is not published yet.
        Draft = "draft",
        /// The role accepts hires and, until its closing date, signups.
        Open = "open",
        /// All positions are filled.
        Filled = "filled",
        /// Staff closed the role, or the service closed it after its closing date.
        Closed = "closed",
    }
}

impl RoleStatus {
    /// Returns whether the role is filled or closed.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Filled | Self::Closed)
    }
}

words! {
    /// The place of work.
    WorkType {
        /// Anywhere.
        Remote = "remote",
        /// Partly remote, partly at the workplace.
        Hybrid = "hybrid",
        /// At the workplace.
        Onsite = "onsite",
    }
}

words! {
    /// The kind of work.
    CollarType {
        /// Office work.
        White = "white",
        /// Skilled technical work.
        Gray = "gray",
        /// Manual work.
        Blue = "blue",
    }
}

words! {
    /// The period for which a salary is paid.
    SalaryPeriod {
        /// An hour.
        Hour = "hour",
        /// A day.
        Day = "day",
        /// A week.
        Week = "week",
        /// A month.
        Month = "month",
        /// A year.
        Year = "year",
    }
}

/// The status of a role, and the numbers of its positions and hires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seats {
    pub status: RoleStatus,
    /// The number of people who can be hired for the role, at least 1.
    pub positions: i64,
    /// The number of people who have been hired for the role, at most `positions`.
    pub hired: i64,
}

impl Seats {
    /// Adds a hire. A hire for the last position makes the role `filled`.
    #[must_use]
    pub fn taken(self) -> Self {
        let hired = self.hired + 1;
        Self { status: if hired >= self.positions { RoleStatus::Filled } else { self.status }, hired, ..self }
    }

    /// Reverses a hire. A `filled` role becomes `open`; a closed role stays closed.
    #[must_use]
    pub fn freed(self) -> Self {
        let status = if self.status == RoleStatus::Filled { RoleStatus::Open } else { self.status };
        Self { status, hired: self.hired - 1, ..self }
    }

    /// Adds an imported hire, or returns `None` if no position is free. Only an open role becomes `filled`. The status
    /// of a draft or a closed role does not change.
    #[must_use]
    pub fn taken_by_import(self) -> Option<Self> {
        if self.are_all_filled() {
            return None;
        }
        let taken = self.taken();
        Some(if self.status == RoleStatus::Open { taken } else { Self { status: self.status, ..taken } })
    }

    /// `POST /api/v1/roles/{id}/open`: opens a draft that has steps. If an import has filled all positions, the role
    /// becomes `filled` instead.
    ///
    /// # Errors
    /// `conflict` if the role is not a draft or has no steps.
    pub fn opened(self, steps: usize) -> Result<Self, Refusal> {
        if self.status != RoleStatus::Draft {
            let status = self.status.as_str();
            return Err(Refusal::ConflictWith(format!("only a draft can be opened; the role is {status}")));
        }
        require_steps(steps)?;
        Ok(self.in_use())
    }

    /// `POST /api/v1/roles/{id}/close`: closes an open or filled role. Its applications do not change.
    ///
    /// # Errors
    /// `conflict` if the role is a draft or already closed.
    pub fn closed(self) -> Result<Self, Refusal> {
        match self.status {
            RoleStatus::Open | RoleStatus::Filled => Ok(Self { status: RoleStatus::Closed, ..self }),
            RoleStatus::Draft => {
                Err(Refusal::Conflict("the role is an unpublished draft; open it first, or delete it"))
            }
            RoleStatus::Closed => Err(Refusal::Conflict("the role is already closed")),
        }
    }

    /// `POST /api/v1/roles/{id}/reopen`: reopens a closed role. The role becomes open, or filled if no position is
    /// free.
    ///
    /// # Errors
    /// `conflict` if the role is not closed or has no steps.
    pub fn reopened(self, steps: usize) -> Result<Self, Refusal> {
        if self.status != RoleStatus::Closed {
            let status = self.status.as_str();
            return Err(Refusal::ConflictWith(format!(
                "only a closed role can be reopened; the role's status is {status}"
            )));
        }
        require_steps(steps)?;
        Ok(self.in_use())
    }

    /// Changes the number of positions. An open role without a free position becomes filled; a filled role with a free
    /// position becomes open. The status of a draft or a closed role does not change.
    ///
    /// # Errors
    /// `conflict` if the role would have fewer positions than hires. The message states the number of hires.
    pub fn with_positions(self, positions: i64) -> Result<Self, Refusal> {
        let hired = self.hired;
        if positions < hired {
            return Err(Refusal::ConflictWith(format!(
                "the number of people hired for the role is {hired}; the role cannot have fewer positions"
            )));
        }
        let seats = Self { positions, ..self };
        Ok(if matches!(self.status, RoleStatus::Open | RoleStatus::Filled) { seats.in_use() } else { seats })
    }

    /// Makes the role open, or filled if no position is free.
    fn in_use(self) -> Self {
        let status = if self.hired >= self.positions { RoleStatus::Filled } else { RoleStatus::Open };
        Self { status, ..self }
    }

    /// Returns whether no position is free.
    pub fn are_all_filled(self) -> bool {
        self.status == RoleStatus::Filled || self.hired >= self.positions
    }

    /// Returns the contradiction between imported facts, or `None` if they agree.
    pub fn contradiction(self) -> Option<&'static str> {
        if self.hired > self.positions {
            Some("more candidates are hired than the role has positions")
        } else if self.status == RoleStatus::Filled && self.hired < self.positions {
            Some("the role is filled but has free positions")
        } else if self.status == RoleStatus::Open && self.hired == self.positions {
            Some("the role is open but all its positions are filled; its status must be filled")
        } else {
            None
        }
    }
}

/// A role's salary. The parts that staff left out are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Salary {
    /// The lower figure, in units of the currency. It is at most `max` if both are known.
    pub min: Option<f64>,
    /// The upper figure, in units of the currency.
    pub max: Option<f64>,
    /// The currency code (ISO 4217).
    pub currency: Option<String>,
    /// The period for which the salary is paid.
    pub period: Option<SalaryPeriod>,
}

impl Salary {
    /// Returns the contradiction between the parts of a salary, or `None` if they agree.
    pub fn contradiction(&self) -> Option<&'static str> {
        match (self.min, self.max) {
            (Some(min), Some(max)) if min > max => Some("salaryMin is more than salaryMax"),
            _ => None,
        }
    }
}

fn require_steps(steps: usize) -> Result<(), Refusal> {
    if steps > 0 {
        Ok(())
    } else {
        Err(Refusal::Conflict("the role has no steps; add at least one before you open it"))
    }
}

/// `DELETE /api/v1/roles/{id}`: checks that the role is a draft without applications.
///
/// # Errors
/// `conflict` for any other role. Staff can close an open or filled role instead. They must open a draft before they
/// can close it.
pub fn require_deletable(status: RoleStatus, applications: i64) -> Result<(), Refusal> {
    if status != RoleStatus::Draft {
        return Err(Refusal::Conflict("only a draft can be deleted; an open or filled role can be closed instead"));
    }
    if applications > 0 {
        let why = "this draft has applications, so it cannot be deleted; instead, open it and then close it";
        return Err(Refusal::Conflict(why));
    }
    Ok(())
}

/// Returns the warning about a role of an organization that has pay transparency enabled, or `None` if the role is
/// not published or shows its salary.
pub fn hidden_pay(
    status: RoleStatus,
    public: bool,
    portal_shows_salary: bool,
    salary: &Salary,
) -> Option<&'static str> {
    if status != RoleStatus::Open || !public {
        None
    } else if salary.min.is_none() && salary.max.is_none() {
        Some("the role is published without a salary; give it salaryMin or salaryMax")
    } else if portal_shows_salary {
        None
    } else {
        Some("the role is published, but the portal hides its salary; set showSalary in the portal's theme")
    }
}

/// Returns whether a string has the form of a currency code (ISO 4217): three capital letters.
pub fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(status: RoleStatus, positions: i64, hired: i64) -> Seats {
        Seats { status, positions, hired }
    }

    #[test]
    fn the_last_hire_fills_a_role_and_a_reversal_opens_it() {
        use RoleStatus::{Closed, Filled, Open};
        assert_eq!(seats(Open, 2, 0).taken(), seats(Open, 2, 1));
        assert_eq!(seats(Open, 2, 1).taken(), seats(Filled, 2, 2));
        assert_eq!(seats(Filled, 2, 2).freed(), seats(Open, 2, 1));
        assert_eq!(seats(Closed, 2, 2).freed(), seats(Closed, 2, 1));
    }

    #[test]
    fn an_imported_hire_needs_a_free_position() {
        use RoleStatus::{Closed, Draft, Filled, Open};
        assert_eq!(seats(Open, 2, 0).taken_by_import(), Some(seats(Open, 2, 1)));
        assert_eq!(seats(Open, 2, 1).taken_by_import(), Some(seats(Filled, 2, 2)));
        for status in [Draft, Closed] {
            assert_eq!(seats(status, 1, 0).taken_by_import(), Some(seats(status, 1, 1)));
            assert_eq!(seats(status, 1, 1).taken_by_import(), None);
        }
        assert_eq!(seats(Filled, 1, 1).taken_by_import(), None);
    }

    #[test]
    fn contradictions_between_the_status_and_the_positions_are_reported() {
        use RoleStatus::{Closed, Draft, Filled, Open};
        assert!(seats(Closed, 1, 2).contradiction().is_some());
        assert!(seats(Filled, 2, 1).contradiction().is_some());
        assert!(seats(Open, 1, 1).contradiction().is_some());
        for fine in [seats(Open, 2, 1), seats(Filled, 2, 2), seats(Closed, 1, 1), seats(Draft, 1, 0)] {
            assert_eq!(fine.contradiction(), None);
        }
    }

    #[test]
    fn roles_open_close_and_reopen_only_from_the_right_status() {
        use RoleStatus::{Closed, Draft, Filled, Open};
        assert_eq!(seats(Draft, 2, 0).opened(1), Ok(seats(Open, 2, 0)));
        assert_eq!(seats(Draft, 2, 2).opened(1), Ok(seats(Filled, 2, 2)));
        assert_eq!(seats(Closed, 2, 1).reopened(1), Ok(seats(Open, 2, 1)));
        assert_eq!(seats(Closed, 2, 2).reopened(1), Ok(seats(Filled, 2, 2)));
        assert_eq!(seats(Open, 2, 1).closed(), Ok(seats(Closed, 2, 1)));
        assert_eq!(seats(Filled, 2, 2).closed(), Ok(seats(Closed, 2, 2)));
        assert!(seats(Draft, 1, 0).opened(0).is_err() && seats(Closed, 1, 0).reopened(0).is_err());
        for status in [Open, Filled, Closed] {
            assert!(seats(status, 1, 0).opened(1).is_err(), "{status:?}");
        }
        for status in [Draft, Open, Filled] {
            assert!(seats(status, 1, 0).reopened(1).is_err(), "{status:?}");
        }
        for status in [Draft, Closed] {
            assert!(seats(status, 1, 0).closed().is_err(), "{status:?}");
        }
    }

    #[test]
    fn positions_never_fall_below_the_number_of_hires() {
        use RoleStatus::{Closed, Draft, Filled, Open};
        assert_eq!(seats(Open, 3, 1).with_positions(2), Ok(seats(Open, 2, 1)));
        assert_eq!(seats(Open, 3, 1).with_positions(1), Ok(seats(Filled, 1, 1)));
        assert_eq!(seats(Filled, 1, 1).with_positions(2), Ok(seats(Open, 2, 1)));
        assert_eq!(seats(Filled, 1, 1).with_positions(1), Ok(seats(Filled, 1, 1)));
        for status in [Draft, Closed] {
            assert_eq!(seats(status, 3, 1).with_positions(1), Ok(seats(status, 1, 1)));
            assert_eq!(seats(status, 1, 1).with_positions(3), Ok(seats(status, 3, 1)));
        }
        for status in [Draft, Open, Filled, Closed] {
            let refusal = seats(status, 3, 3).with_positions(2).unwrap_err();
            assert_eq!(
                refusal.sentence(),
                "the number of people hired for the role is 3; the role cannot have fewer positions"
            );
        }
    }

    #[test]
    fn only_drafts_without_applications_can_be_deleted() {
        assert_eq!(require_deletable(RoleStatus::Draft, 0), Ok(()));
        assert!(require_deletable(RoleStatus::Draft, 1).is_err());
        for status in [RoleStatus::Open, RoleStatus::Filled, RoleStatus::Closed] {
            assert!(require_deletable(status, 0).unwrap_err().sentence().contains("close"), "{status:?}");
        }
    }

    #[test]
    fn published_roles_without_a_visible_salary_get_a_warning() {
        let salary = |min, max| Salary { min, max, currency: None, period: None };
        let (none, some) = (salary(None, None), salary(None, Some(1.0)));
        for (status, public, shown, salary, is_hidden) in [
            (RoleStatus::Open, true, true, &some, false),
            (RoleStatus::Open, true, false, &some, true),
            (RoleStatus::Open, true, true, &none, true),
            (RoleStatus::Open, false, false, &none, false),
            (RoleStatus::Draft, true, false, &none, false),
            (RoleStatus::Filled, true, false, &none, false),
            (RoleStatus::Closed, true, false, &none, false),
        ] {
            assert_eq!(hidden_pay(status, public, shown, salary).is_some(), is_hidden, "{status:?} {public} {shown}");
        }
    }

    #[test]
    fn a_salary_minimum_above_its_maximum_is_a_contradiction() {
        let salary = |min, max| Salary { min, max, currency: None, period: None };
        for fine in [(None, None), (Some(2.0), None), (None, Some(1.0)), (Some(1.0), Some(1.0)), (Some(1.0), Some(2.0))]
        {
            assert_eq!(salary(fine.0, fine.1).contradiction(), None, "{fine:?}");
        }
        assert!(salary(Some(1.5), Some(1.0)).contradiction().is_some());
    }
}
