//! A line of the table: two sides measured in alternating rounds, and the ratios of their figures.

use super::round::{Figure, Round, Spread};
use super::setup::Setup;

pub(crate) struct Line {
    /// The name that selects the line on the command line.
    pub(crate) name: &'static str,
    /// A description of the limit.
    pub(crate) limit: &'static str,
    /// A description of the service's work.
    pub(crate) service: &'static str,
    /// Prepares both sides.
    pub(crate) prepare: fn(&Setup) -> Box<dyn Contest + '_>,
    /// The ratios to compute.
    pub(crate) ratios: &'static [Ratio],
}

/// The two sides of a line.
pub(crate) trait Contest {
    /// Runs a round of the limit.
    fn limit(&mut self) -> Round;

    /// Runs a round of the service.
    fn service(&mut self) -> Round;

    /// Checks the results of all rounds. Panics if a count is wrong.
    fn end(self: Box<Self>);
}

/// The ratio between the two sides for one figure.
pub(crate) struct Ratio {
    pub(crate) figure: Figure,
    pub(crate) target: Target,
}

/// The target for a ratio.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// The service must reach at least this fraction of the limit. With a ratio above 1, the service is better than the
    /// limit.
    AtLeast(f64),
    /// The service may take at most this many times as long as the limit.
    AtMost(f64),
    /// No target. The report shows the ratio for information.
    Informational,
}

/// The results of a line.
pub(crate) struct Measured {
    pub(crate) line: &'static Line,
    pub(crate) limits: Vec<Round>,
    pub(crate) services: Vec<Round>,
}

impl Line {
    /// Measures rounds of both sides in alternating order, so that other load on the machine affects both.
    pub(crate) fn measure(&'static self, setup: &Setup) -> Measured {
        let mut contest = (self.prepare)(setup);
        let rounds = setup.lengths.rounds;
        let (limits, services) = alternate(&mut *contest, rounds, Contest::limit, Contest::service);
        contest.end();
        Measured { line: self, limits, services }
    }
}

/// Runs this many rounds of each side, in alternating order.
pub(crate) fn alternate<S: ?Sized>(
    sides: &mut S,
    rounds: usize,
    first: impl Fn(&mut S) -> Round,
    second: impl Fn(&mut S) -> Round,
) -> (Vec<Round>, Vec<Round>) {
    // The first round of each side fills caches and the write-ahead log. Its figures are not used.
    first(sides);
    second(sides);
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        if round % 2 == 0 {
            firsts.push(first(sides));
            seconds.push(second(sides));
        } else {
            seconds.push(second(sides));
            firsts.push(first(sides));
        }
    }
    (firsts, seconds)
}

impl Ratio {
    /// Returns the ratios of neighbouring rounds.
    pub(crate) fn of(&self, measured: &Measured) -> Spread {
        let pairs = measured.limits.iter().zip(&measured.services);
        Spread::new(pairs.map(|(limit, service)| self.of_pair(self.figure.of(limit), self.figure.of(service))))
    }

    fn of_pair(&self, limit: f64, service: f64) -> f64 {
        match self.figure {
            // Less is better. The ratio is the CPU time of the limit divided by the CPU time of the service.
            Figure::Cpu => limit / service,
            // More is better.
            Figure::Rate => service / limit,
            // Less is better. The ratio is the time of the service divided by the time of the limit.
            Figure::P50 | Figure::P99 => service / limit,
        }
    }

    /// Returns whether the median meets its target, or `None` without a target.
    pub(crate) fn is_met(&self, measured: &Measured) -> Option<bool> {
        let median = self.of(measured).median();
        match self.target {
            Target::AtLeast(least) => Some(median >= least),
            Target::AtMost(most) => Some(median <= most),
            Target::Informational => None,
        }
    }
}
