//! The environment in which every line is measured.

use std::time::Duration;

use super::cores::Cores;
use super::template::Template;

/// The cores, the data and the lengths of a measurement.
pub(crate) struct Setup {
    pub(crate) cores: Cores,
    pub(crate) template: Template,
    pub(crate) lengths: Lengths,
}

/// The lengths of a measurement.
pub(crate) struct Lengths {
    /// The number of measured rounds. One warm-up round precedes them.
    pub(crate) rounds: usize,
    /// The duration of a round that reads.
    pub(crate) reading: Duration,
    /// The number of decisions in a round on many connections. All rounds together must not need more decisions than
    /// there are applications.
    pub(crate) decisions: usize,
    /// The number of decisions in a round on one connection.
    pub(crate) decisions_alone: usize,
}

impl Lengths {
    pub(crate) const FULL: Self =
        Self { rounds: 7, reading: Duration::from_millis(2_500), decisions: 16_384, decisions_alone: 1_536 };

    pub(crate) const SHORT: Self =
        Self { rounds: 5, reading: Duration::from_millis(500), decisions: 4_096, decisions_alone: 256 };
}
