//! Roles: the jobs that an organization recruits for, and what a hire or its reversal does to one.

use super::words::words;

/// The most positions of one role: more people than a small organization has.
pub const POSITIONS_MAX: i64 = 1_000_000;

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
    fn a_salary_goes_from_its_lower_figure_to_its_higher_one() {
        let salary = |min, max| Salary { min, max, currency: None, period: None };
        for fine in [(None, None), (Some(2.0), None), (None, Some(1.0)), (Some(1.0), Some(1.0)), (Some(1.0), Some(2.0))]
        {
            assert_eq!(salary(fine.0, fine.1).contradiction(), None, "{fine:?}");
        }
        assert!(salary(Some(1.5), Some(1.0)).contradiction().is_some());
    }
}
