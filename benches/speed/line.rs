//! A line: two things side by side, in rounds that take turns, and the ratios that are made of them.

use super::round::{Figure, Round, Spread};
use super::setting::Setting;

/// One comparison.
pub(crate) struct Line {
    /// By which it is picked.
    pub(crate) name: &'static str,
    /// What the limit is.
    pub(crate) limit: &'static str,
    /// What the service does.
    pub(crate) service: &'static str,
    /// Prepares both sides.
    pub(crate) prepare: fn(&Setting) -> Box<dyn Contest + '_>,
    /// What is made of the rounds.
    pub(crate) ratios: &'static [Ratio],
}

/// The two sides of a line.
pub(crate) trait Contest {
    /// A round of the limit.
    fn limit(&mut self) -> Round;

    /// A round of the service.
    fn service(&mut self) -> Round;

    /// Looks at what all rounds left behind; panics where a count is wrong.
    fn end(self: Box<Self>);
}

/// A figure of the one side against that of the other.
pub(crate) struct Ratio {
    pub(crate) figure: Figure,
    pub(crate) wanted: Wanted,
}

/// What a ratio is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    /// The service reaches at least this part of the limit. Above 1 it is better than the limit.
    AtLeast(f64),
    /// The service takes at most this many times what the limit takes.
    AtMost(f64),
    /// Nothing: told beside another one.
    Witness,
}

/// What came of a line.
pub(crate) struct Measured {
    pub(crate) line: &'static Line,
    pub(crate) limits: Vec<Round>,
    pub(crate) services: Vec<Round>,
}

impl Line {
    /// Round after round of both sides, each time in the other order, so that what slows the machine slows both.
    pub(crate) fn measure(&'static self, setting: &Setting) -> Measured {
        let mut contest = (self.prepare)(setting);
        let rounds = setting.lengths.rounds;
        let (limits, services) = in_turns(&mut *contest, rounds, Contest::limit, Contest::service);
        contest.end();
        Measured { line: self, limits, services }
    }
}

/// This many rounds of each of two sides, each time in the other order.
pub(crate) fn in_turns<S: ?Sized>(
    sides: &mut S,
    rounds: usize,
    first: impl Fn(&mut S) -> Round,
    second: impl Fn(&mut S) -> Round,
) -> (Vec<Round>, Vec<Round>) {
    // Fills caches and the write-ahead log, and does not count.
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
    /// Of each pair of rounds, which were beside each other.
    pub(crate) fn of(&self, measured: &Measured) -> Spread {
        let pairs = measured.limits.iter().zip(&measured.services);
        Spread::new(pairs.map(|(limit, service)| self.of_pair(self.figure.of(limit), self.figure.of(service))))
    }

    fn of_pair(&self, limit: f64, service: f64) -> f64 {
        match self.figure {
            // Less is better, and it is told how much of the limit is reached.
            Figure::Cpu => limit / service,
            // More is better.
            Figure::Rate => service / limit,
            // Less is better, and it is told how many times as long it takes.
            Figure::P50 | Figure::P99 => service / limit,
        }
    }

    /// Whether the median is as wanted; `None` where nothing is.
    pub(crate) fn is_reached(&self, measured: &Measured) -> Option<bool> {
        let median = self.of(measured).median();
        match self.wanted {
            Wanted::AtLeast(least) => Some(median >= least),
            Wanted::AtMost(most) => Some(median <= most),
            Wanted::Witness => None,
        }
    }
}
