//! What is in the files: the same organizations, keys and questions in a small one and in a big one.

use appliance::domain::api_key::KeySecret;
use appliance::domain::timestamp::Timestamp;

use crate::company::{self, id};
use crate::random::Random;

/// How much of everything a file has.
#[derive(Debug)]
pub(crate) struct Size {
    pub(crate) name: &'static str,
    /// With a portal of 30 roles, and one more role that is applied to.
    pub(crate) organizations: usize,
    /// Roles on the portal of one more organization, which has nothing else; none where there is no such one.
    pub(crate) large_portal_roles: usize,
    /// Each of a candidate of its own.
    pub(crate) applications: usize,
    /// Candidates of that one more organization, each with an application to one of its roles, and with what was done on
    /// record; in addition to the others.
    pub(crate) crowd: usize,
    pub(crate) usage_rows: usize,
}

/// A thousandth of [`BIG`], but for the roles: a portal of 30 is asked for in both.
pub(crate) static SMALL: Size =
    Size { name: "small", organizations: 1, large_portal_roles: 0, applications: 1_000, crowd: 0, usage_rows: 10_000 };

pub(crate) static BIG: Size = Size {
    name: "big",
    organizations: 258,
    large_portal_roles: 2_000,
    applications: 1_000_000,
    crowd: 0,
    usage_rows: 10_000_000,
};

/// A twentieth of [`BIG`].
pub(crate) static BIG_SHORT: Size = Size {
    name: "big-short",
    organizations: 13,
    large_portal_roles: 100,
    applications: 50_000,
    crowd: 0,
    usage_rows: 500_000,
};

/// As much as [`BIG`], of which one organization has half: its lists grow with the file.
pub(crate) static LISTS: Size = Size {
    name: "lists",
    organizations: 100,
    large_portal_roles: 6_900,
    applications: 500_000,
    crowd: 500_000,
    usage_rows: 10_000_000,
};

/// A hundredth of [`LISTS`].
pub(crate) static LISTS_HUNDREDTH: Size = Size {
    name: "lists-hundredth",
    organizations: 1,
    large_portal_roles: 69,
    applications: 5_000,
    crowd: 5_000,
    usage_rows: 100_000,
};

/// A twentieth of [`LISTS`].
pub(crate) static LISTS_SHORT: Size = Size {
    name: "lists-short",
    organizations: 5,
    large_portal_roles: 345,
    applications: 25_000,
    crowd: 25_000,
    usage_rows: 500_000,
};

/// Keys of members, in every file the same: one of each user.
pub(crate) const KEYS: usize = 1_000;

/// The key behind those of the members is an admin's.
pub(crate) const ADMIN: usize = KEYS;

/// Members of an organization that decide on its applications. Every organization has them.
const DECIDERS: usize = 3;

/// The key that the pages of the usage log are asked for has every tenth row. The others share the rest.
pub(crate) const WATCHED: usize = 0;
const WATCHED_EVERY: usize = 10;

/// Steps through all other keys, because it has no divisor in common with how many they are.
const KEY_STRIDE: usize = 617;

/// When everything was made, and the first row of the usage log: 2025-01-01. All of it is in the past.
pub(crate) const MADE_AT: i64 = 1_735_689_600_000_000;

/// Between two rows of the usage log.
const USAGE_EVERY: i64 = 1_000_000;

/// Further apart than an organization has roles.
const ROLE_NUMBERS: usize = 10_000;

impl Size {
    pub(crate) fn roles(&self) -> usize {
        self.organizations * (company::PORTAL_ROLES + 1) + self.large_portal_roles
    }

    /// Of one organization. The last one may have fewer.
    pub(crate) fn applications_of_one(&self) -> usize {
        self.applications.div_ceil(self.organizations)
    }

    /// Whose application it is.
    pub(crate) fn organization_of(&self, application: usize) -> usize {
        application / self.applications_of_one()
    }

    /// The only organization of a user, but for the admin, who is in none.
    pub(crate) fn organization_of_user(&self, user: usize) -> usize {
        user % self.organizations
    }

    /// The organization with the large portal.
    pub(crate) fn large(&self) -> usize {
        self.organizations
    }

    /// The key that decides on an application: of a member, and in each file one of a few.
    pub(crate) fn decider(&self, application: usize) -> usize {
        self.organization_of(application) + application % DECIDERS * self.organizations
    }

    /// `before` for the page that begins after this part of the rows, from the oldest on.
    pub(crate) fn before(&self, part: f64) -> String {
        let row = (self.usage_rows as f64 * part) as usize;
        Timestamp::from_micros(usage_at(row)).to_string()
    }

    /// `before` for the page that ends with a key's oldest row.
    pub(crate) fn before_last_page(rows: usize) -> String {
        Timestamp::from_micros(usage_at(rows * WATCHED_EVERY)).to_string()
    }
}

/// A role by its place: first those of the portal, then the one that is applied to.
pub(crate) fn role_id(organization: usize, nth: usize) -> String {
    id("role", organization * ROLE_NUMBERS + nth)
}

/// The role that is decided on.
pub(crate) fn decided_role_id(organization: usize) -> String {
    role_id(organization, company::PORTAL_ROLES)
}

pub(crate) fn role_step_id(organization: usize, order: usize) -> String {
    id("step", organization * 10 + order)
}

pub(crate) fn key_id(key: usize) -> String {
    id("key", key)
}

/// The file's first key is of whoever it was made by.
pub(crate) fn key_number(key: usize) -> i64 {
    key as i64 + 2
}

/// The same in every run, so that nothing has to be kept beside a file.
pub(crate) fn secret(key: usize) -> KeySecret {
    let mut random = Random::new(key as u64 * 1_000_000);
    KeySecret::generate(|bytes| bytes.fill_with(|| (random.next() >> 56) as u8))
}

/// The texts of the keys of all members.
pub(crate) fn texts() -> Vec<String> {
    (0..KEYS).map(|key| secret(key).reveal().to_owned()).collect()
}

pub(crate) fn usage_at(row: usize) -> i64 {
    MADE_AT + row as i64 * USAGE_EVERY
}

/// Whose row of the usage log it is.
pub(crate) fn usage_key(row: usize) -> usize {
    if row.is_multiple_of(WATCHED_EVERY) { WATCHED } else { 1 + row % (KEYS - 1) * KEY_STRIDE % (KEYS - 1) }
}
