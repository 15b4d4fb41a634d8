//! `/careers/{orgSlug}`: an organization's career portal, for people and for machines.

pub(super) mod place;
pub(super) mod posting;
pub(super) mod share;
