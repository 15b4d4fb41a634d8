//! Roles: the jobs that an organization recruits for, and what a hire or its reversal does to one.

use super::refusal::Refusal;
use super::words::words;

/// The most positions of one role: more people than a small organization has.
pub const POSITIONS_MAX: i64 = 1_000_000;

/// The most positions that a role is given over HTTP, where a mistyped figure is likelier than so many people.
pub const POSITIONS_GIVEN_MAX: i64 = 10_000;

/// The longest `department` or `location`, in characters.
pub const TEXT_CHARACTERS_MAX: usize = 255;

/// The longest reason for closing a role, in characters.
pub const CLOSE_REASON_CHARACTERS_MAX: usize = 1_000;

/// The largest salary figure, in whole units of its currency: far over any, and exact as a binary number.
pub const SALARY_MAX: f64 = 1e12;

words! {
    /// Where a role is in its life.
    RoleStatus {
        /// Not published yet.
        Draft = "draft",
        /// Accepts applications, and hires.
        Open = "open",
        /// Every position is taken.
        Filled = "filled",
        /// Closed by hand.
        Closed = "closed",
    }
}

words! {
    /// Where the work is done.
    WorkType {
        /// From anywhere.
        Remote = "remote",
        /// In part from anywhere.
        Hybrid = "hybrid",
        /// At the place of work.
        Onsite = "onsite",
    }
}

words! {
    /// What kind of work it is.
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
    /// What a salary is paid for.
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

/// A role's seats: how many there are, how many are taken, and what that makes of its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seats {
    /// Where the role is in its life.
    pub status: RoleStatus,
    /// How many people it can hire, at least 1.
    pub positions: i64,
    /// How many it has hired, at most its positions.
    pub hired: i64,
}

impl Seats {
    /// With one more person hired: the last position makes the role `filled`.
    #[must_use]
    pub fn taken(self) -> Self {
        let hired = self.hired + 1;
        Self { status: if hired >= self.positions { RoleStatus::Filled } else { self.status }, hired, ..self }
    }

    /// With one hire reversed: a `filled` role is `open` again, one closed by hand stays closed.
    #[must_use]
    pub fn freed(self) -> Self {
        let status = if self.status == RoleStatus::Filled { RoleStatus::Open } else { self.status };
        Self { status, hired: self.hired - 1, ..self }
    }

    /// With one more person who was hired elsewhere; `None` where no position is left for them. Only a role that is open
    /// is filled by it: a draft or a closed one stays what it is.
    #[must_use]
    pub fn taken_elsewhere(self) -> Option<Self> {
        if self.are_full() {
            return None;
        }
        let taken = self.taken();
        Some(if self.status == RoleStatus::Open { taken } else { Self { status: self.status, ..taken } })
    }

    /// `POST /api/v1/roles/{id}/open`: a draft that has steps accepts applications; one whose positions are taken already
    /// (an import may say so) is filled at once.
    ///
    /// # Errors
    /// `conflict` where the role is no draft, or has no steps.
    pub fn opened(self, steps: usize) -> Result<Self, Refusal> {
        if self.status != RoleStatus::Draft {
            let status = self.status.as_str();
            return Err(Refusal::ConflictWith(format!("only a draft can be opened; the role is {status}")));
        }
        require_steps(steps)?;
        Ok(self.in_use())
    }

    /// `POST /api/v1/roles/{id}/close`: an open or filled role is closed by hand; its applications stay as they are.
    ///
    /// # Errors
    /// `conflict` where the role is a draft, or closed.
    pub fn closed(self) -> Result<Self, Refusal> {
        match self.status {
            RoleStatus::Open | RoleStatus::Filled => Ok(Self { status: RoleStatus::Closed, ..self }),
            RoleStatus::Draft => {
                Err(Refusal::Conflict("the role is a draft and not published; open it first, or delete it"))
            }
            RoleStatus::Closed => Err(Refusal::Conflict("the role is already closed")),
        }
    }

    /// `POST /api/v1/roles/{id}/reopen`: a closed role is open again, or filled where its positions are taken.
    ///
    /// # Errors
    /// `conflict` where the role is not closed, or has no steps.
    pub fn reopened(self, steps: usize) -> Result<Self, Refusal> {
        if self.status != RoleStatus::Closed {
            let status = self.status.as_str();
            return Err(Refusal::ConflictWith(format!("only a closed role can be reopened; the role is {status}")));
        }
        require_steps(steps)?;
        Ok(self.in_use())
    }

    /// With so many positions: more of them open a filled role, as many as are hired fill an open one. A draft or a
    /// closed role stays what it is.
    ///
    /// # Errors
    /// `conflict` for fewer than are hired, which the refusal tells.
    pub fn with_positions(self, positions: i64) -> Result<Self, Refusal> {
        let hired = self.hired;
        if positions < hired {
            return Err(Refusal::ConflictWith(format!("the role has hired {hired}; it cannot have fewer positions")));
        }
        let seats = Self { positions, ..self };
        Ok(if matches!(self.status, RoleStatus::Open | RoleStatus::Filled) { seats.in_use() } else { seats })
    }

    /// Open, or filled where no position is left.
    fn in_use(self) -> Self {
        let status = if self.hired >= self.positions { RoleStatus::Filled } else { RoleStatus::Open };
        Self { status, ..self }
    }

    /// Whether no position is left.
    pub fn are_full(self) -> bool {
        self.status == RoleStatus::Filled || self.hired >= self.positions
    }

    /// What is wrong with these seats as facts from elsewhere; `None` where they agree with each other.
    pub fn contradiction(self) -> Option<&'static str> {
        if self.hired > self.positions {
            Some("more candidates are hired than the role has positions")
        } else if self.status == RoleStatus::Filled && self.hired < self.positions {
            Some("the role is filled but has positions left")
        } else if self.status == RoleStatus::Open && self.hired == self.positions {
            Some("the role is open but all its positions are taken; a role like that is filled")
        } else {
            None
        }
    }
}

/// A role's salary. Parts that the role does not have are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Salary {
    /// From, in units of the currency; at most `max`.
    pub min: Option<f64>,
    /// To, in units of the currency.
    pub max: Option<f64>,
    /// ISO 4217.
    pub currency: Option<String>,
    /// What it is paid for.
    pub period: Option<SalaryPeriod>,
}

impl Salary {
    /// What is wrong with a salary from elsewhere; `None` where its parts agree with each other.
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
        Err(Refusal::Conflict("the role has no steps; add one before it accepts applications"))
    }
}

/// `DELETE /api/v1/roles/{id}`: passes for a draft that nobody has applied to.
///
/// # Errors
/// `conflict` for any other, which can be closed.
pub fn require_deletable(status: RoleStatus, applications: i64) -> Result<(), Refusal> {
    if status != RoleStatus::Draft {
        return Err(Refusal::Conflict("only a draft can be deleted; close the role instead"));
    }
    if applications > 0 {
        let why = "candidates have applied to this draft, so it cannot be deleted; open it, then close it instead";
        return Err(Refusal::Conflict(why));
    }
    Ok(())
}

/// Why an organization that asks for pay transparency is warned about a role; `None` where the role is not published or
/// its salary is shown.
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

/// Whether a text is in the form of a currency code (ISO 4217): three capital letters.
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
    fn the_last_position_fills_the_role_and_a_reversal_opens_it() {
        use RoleStatus::{Closed, Filled, Open};
        assert_eq!(seats(Open, 2, 0).taken(), seats(Open, 2, 1));
        assert_eq!(seats(Open, 2, 1).taken(), seats(Filled, 2, 2));
        assert_eq!(seats(Filled, 2, 2).freed(), seats(Open, 2, 1));
        assert_eq!(seats(Closed, 2, 2).freed(), seats(Closed, 2, 1));
    }

    #[test]
    fn a_hire_from_elsewhere_takes_a_position_where_there_is_one() {
        use RoleStatus::{Closed, Draft, Filled, Open};
        assert_eq!(seats(Open, 2, 0).taken_elsewhere(), Some(seats(Open, 2, 1)));
        assert_eq!(seats(Open, 2, 1).taken_elsewhere(), Some(seats(Filled, 2, 2)));
        for status in [Draft, Closed] {
            assert_eq!(seats(status, 1, 0).taken_elsewhere(), Some(seats(status, 1, 1)));
            assert_eq!(seats(status, 1, 1).taken_elsewhere(), None);
        }
        assert_eq!(seats(Filled, 1, 1).taken_elsewhere(), None);
    }

    #[test]
    fn seats_that_contradict_themselves_are_named() {
        use RoleStatus::{Closed, Draft, Filled, Open};
        assert!(seats(Closed, 1, 2).contradiction().is_some());
        assert!(seats(Filled, 2, 1).contradiction().is_some());
        assert!(seats(Open, 1, 1).contradiction().is_some());
        for fine in [seats(Open, 2, 1), seats(Filled, 2, 2), seats(Closed, 1, 1), seats(Draft, 1, 0)] {
            assert_eq!(fine.contradiction(), None);
        }
    }

    #[test]
    fn a_role_is_opened_closed_and_reopened_each_from_where_it_can_be() {
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
    fn positions_go_down_to_the_number_hired_and_no_further() {
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
            assert_eq!(refusal.sentence(), "the role has hired 3; it cannot have fewer positions");
        }
    }

    #[test]
    fn only_a_draft_that_nobody_applied_to_is_deleted() {
        assert_eq!(require_deletable(RoleStatus::Draft, 0), Ok(()));
        assert!(require_deletable(RoleStatus::Draft, 1).is_err());
        for status in [RoleStatus::Open, RoleStatus::Filled, RoleStatus::Closed] {
            assert!(require_deletable(status, 0).unwrap_err().sentence().contains("close"), "{status:?}");
        }
    }

    #[test]
    fn pay_is_hidden_where_a_published_role_shows_no_figure() {
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
    fn a_salary_goes_from_its_lower_figure_to_its_higher_one() {
        let salary = |min, max| Salary { min, max, currency: None, period: None };
        for fine in [(None, None), (Some(2.0), None), (None, Some(1.0)), (Some(1.0), Some(1.0)), (Some(1.0), Some(2.0))]
        {
            assert_eq!(salary(fine.0, fine.1).contradiction(), None, "{fine:?}");
        }
        assert!(salary(Some(1.5), Some(1.0)).contradiction().is_some());
    }
}
