//! The data of the files. A small file and a big file have the same kinds of data, so that the bench can use the same
//! requests for both.

use appliance::domain::api_key::KeySecret;
use appliance::domain::timestamp::Timestamp;

use crate::company::{self, id};
use crate::random::Random;

/// The amounts of data in a file.
#[derive(Debug)]
pub(crate) struct Size {
    pub(crate) name: &'static str,
    /// The number of organizations that each have a portal of 30 roles, and one more role with applications.
    pub(crate) organizations: usize,
    /// The number of roles on the portal of one additional organization, or 0 without that organization. The
    /// organization has no other data, except for `crowd`.
    pub(crate) large_portal_roles: usize,
    /// The number of applications outside the additional organization. Each is from a separate candidate.
    pub(crate) applications: usize,
    /// The number of candidates of the additional organization, each with an application to one of its roles and with
    /// activity.
    pub(crate) crowd: usize,
    pub(crate) usage_rows: usize,
}

/// A thousandth of the applications and usage rows of [`BIG`]. Both files need a portal with 30 roles.
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

/// As much data as [`BIG`]. One organization has half of the candidates, so its lists grow with the file.
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

/// The number of keys of members: one per user, and the same in every file.
pub(crate) const KEYS: usize = 1_000;

/// The index of the admin's key, which comes after the keys of the members.
pub(crate) const ADMIN: usize = KEYS;

/// The number of members of each organization who decide on its applications.
const DECIDERS: usize = 3;

/// The key whose usage pages are requested. It has every tenth usage row; the other keys share the rest.
pub(crate) const WATCHED: usize = 0;
const WATCHED_EVERY: usize = 10;

/// The stride through the other keys. It reaches all of them, because it is coprime to their number.
const KEY_STRIDE: usize = 617;

/// The earliest creation time of data, and the time of the first usage row: 2025-01-01. All usage rows are in the past.
pub(crate) const MADE_AT: i64 = 1_735_689_600_000_000;

/// The interval between two usage rows.
const USAGE_EVERY: i64 = 1_000_000;

/// The distance between the first role numbers of two consecutive organizations. It is larger than the number of roles
/// of any organization.
const ROLE_NUMBERS: usize = 10_000;

impl Size {
    pub(crate) fn roles(&self) -> usize {
        self.organizations * (company::PORTAL_ROLES + 1) + self.large_portal_roles
    }

    /// Returns the number of applications in one organization. The last organization may have fewer.
    pub(crate) fn applications_of_one(&self) -> usize {
        self.applications.div_ceil(self.organizations)
    }

    /// Returns the index of an application's organization.
    pub(crate) fn organization_of(&self, application: usize) -> usize {
        application / self.applications_of_one()
    }

    /// Returns the index of the organization to which a user belongs. Some users also belong to the large organization.
    /// The admin belongs to none.
    pub(crate) fn organization_of_user(&self, user: usize) -> usize {
        user % self.organizations
    }

    /// Returns the index of the organization with the large portal.
    pub(crate) fn large(&self) -> usize {
        self.organizations
    }

    /// Returns the index of the key that decides on an application. The key belongs to one of a few members of the
    /// application's organization.
    pub(crate) fn decider(&self, application: usize) -> usize {
        self.organization_of(application) + application % DECIDERS * self.organizations
    }

    /// Returns the `before` parameter for a page: a time before which the fraction `part` of the rows lies.
    pub(crate) fn before(&self, part: f64) -> String {
        let row = (self.usage_rows as f64 * part) as usize;
        Timestamp::from_micros(usage_at(row)).to_string()
    }

    /// Returns the `before` parameter for the page that ends with the oldest row of the watched key.
    pub(crate) fn before_last_page(rows: usize) -> String {
        Timestamp::from_micros(usage_at(rows * WATCHED_EVERY)).to_string()
    }
}

/// Returns the id of a role by its index: first the roles on the portal, then the role with applications.
pub(crate) fn role_id(organization: usize, nth: usize) -> String {
    id("role", organization * ROLE_NUMBERS + nth)
}

/// Returns the id of the role with applications.
pub(crate) fn decided_role_id(organization: usize) -> String {
    role_id(organization, company::PORTAL_ROLES)
}

pub(crate) fn role_step_id(organization: usize, order: usize) -> String {
    id("step", organization * 10 + order)
}

pub(crate) fn key_id(key: usize) -> String {
    id("key", key)
}

/// Returns the key's number in the file. The first key of the file is that of the admin whom `bootstrap-admin` created.
pub(crate) fn key_number(key: usize) -> i64 {
    key as i64 + 2
}

/// Returns a secret that is the same in every run, so that it need not be stored with the file.
pub(crate) fn secret(key: usize) -> KeySecret {
    let mut random = Random::new(key as u64 * 1_000_000);
    KeySecret::generate(|bytes| bytes.fill_with(|| (random.next() >> 56) as u8))
}

/// Returns the texts of the keys of all members.
pub(crate) fn texts() -> Vec<String> {
    (0..KEYS).map(|key| secret(key).reveal().to_owned()).collect()
}

pub(crate) fn usage_at(row: usize) -> i64 {
    MADE_AT + row as i64 * USAGE_EVERY
}

/// Returns the index of the key of a usage row.
pub(crate) fn usage_key(row: usize) -> usize {
    if row.is_multiple_of(WATCHED_EVERY) { WATCHED } else { 1 + row % (KEYS - 1) * KEY_STRIDE % (KEYS - 1) }
}
