//! What every line is measured with.

use std::time::Duration;

use super::cores::Cores;
use super::template::Template;

/// Where a line is measured, on what, and for how long.
pub(crate) struct Setting {
    pub(crate) cores: Cores,
    pub(crate) template: Template,
    pub(crate) lengths: Lengths,
}

/// How long it goes on.
pub(crate) struct Lengths {
    /// Rounds that count; one goes before them.
    pub(crate) rounds: usize,
    /// Of a round that reads.
    pub(crate) reading: Duration,
    /// Decisions of a round on many connections. With all rounds no more than there are applications.
    pub(crate) decisions: usize,
    /// Decisions of a round on one connection.
    pub(crate) decisions_alone: usize,
}

impl Lengths {
    pub(crate) const FULL: Self =
        Self { rounds: 7, reading: Duration::from_millis(2_500), decisions: 16_384, decisions_alone: 1_536 };

    pub(crate) const SHORT: Self =
        Self { rounds: 5, reading: Duration::from_millis(500), decisions: 4_096, decisions_alone: 256 };
}
