//! The comparisons of the bench and their limits.

use super::against_bare::{AgainstBare, Reading};
use super::against_itself::AgainstItself;
use super::against_raw::AgainstRaw;
use super::decisions::Order;
use super::line::{Line, Ratio, Target};
use super::round::Figure;

/// All lines, in the order of the table.
pub(crate) static LINES: &[Line] = &[
    Line {
        name: "a",
        limit: "a bare hyper server that sends the same bytes",
        service: "portals at random, one of 200 changed each second, 64 connections",
        prepare: |setup| Box::new(AgainstBare::prepare(setup, Reading::Portals, 64)),
        ratios: &[cpu(0.95), RATE],
    },
    Line {
        name: "pages",
        limit: "a bare hyper server that sends the same bytes",
        service: "career pages with 30 roles each, at random, one of 200 changed each second, 64 connections",
        prepare: |setup| Box::new(AgainstBare::prepare(setup, Reading::Pages, 64)),
        ratios: &[rate(0.60), CPU],
    },
    Line {
        name: "pagesgzip",
        limit: "a bare hyper server that sends the same bytes",
        service: "compressed career pages with 30 roles, at random, one of 200 changed each second, 64 connections",
        prepare: |setup| Box::new(AgainstBare::prepare(setup, Reading::PagesCompressed, 64)),
        ratios: &[rate(0.60), CPU],
    },
    Line {
        name: "b64",
        limit: "a bare hyper server that sends the same bytes",
        service: "GET /api/v1/me with 1,000 keys at random, 64 connections",
        prepare: |setup| Box::new(AgainstBare::prepare(setup, Reading::Me, 64)),
        ratios: &[cpu(0.75), RATE, p99(2.5)],
    },
    Line {
        name: "b256",
        limit: "a bare hyper server that sends the same bytes",
        service: "GET /api/v1/me with 1,000 keys at random, 256 connections",
        prepare: |setup| Box::new(AgainstBare::prepare(setup, Reading::Me, 256)),
        ratios: &[cpu(0.75), RATE],
    },
    Line {
        name: "b64hot",
        limit: "a bare hyper server that sends the same bytes",
        service: "GET /api/v1/me with one key, 64 connections",
        prepare: |setup| Box::new(AgainstBare::prepare(setup, Reading::MeHot, 64)),
        ratios: &[cpu(0.75), RATE, p99(2.5)],
    },
    Line {
        name: "b256hot",
        limit: "a bare hyper server that sends the same bytes",
        service: "GET /api/v1/me with one key, 256 connections",
        prepare: |setup| Box::new(AgainstBare::prepare(setup, Reading::MeHot, 256)),
        ratios: &[cpu(0.75), RATE],
    },
    Line {
        name: "b1",
        limit: "a bare hyper server that sends the same bytes",
        service: "GET /api/v1/me with 1,000 keys at random, 1 connection",
        prepare: |setup| Box::new(AgainstBare::prepare(setup, Reading::Me, 1)),
        ratios: &[rate(0.80)],
    },
    Line {
        name: "c64",
        limit: "the write statements of the service in SQLite, 64 decisions per transaction",
        service: "reject and hire alternately, in id order, 64 connections",
        prepare: |setup| Box::new(AgainstRaw::prepare(setup, Order::OfIds, 64)),
        ratios: &[rate(0.52)],
    },
    Line {
        name: "c256",
        limit: "the write statements of the service in SQLite, 256 decisions per transaction",
        service: "reject and hire alternately, in id order, 256 connections",
        prepare: |setup| Box::new(AgainstRaw::prepare(setup, Order::OfIds, 256)),
        ratios: &[rate(0.45)],
    },
    Line {
        name: "c64scattered",
        limit: "the write statements of the service in SQLite, 64 decisions per transaction",
        service: "reject and hire alternately, at random over 200,000 applications, 64 connections",
        prepare: |setup| Box::new(AgainstRaw::prepare(setup, Order::Scattered, 64)),
        ratios: &[rate(0.70)],
    },
    Line {
        name: "c1",
        limit: "the write statements of the service in SQLite, one decision per transaction",
        service: "reject and hire alternately, in id order, 1 connection",
        prepare: |setup| Box::new(AgainstRaw::prepare(setup, Order::OfIds, 1)),
        ratios: &[rate(0.66)],
    },
    Line {
        name: "d",
        limit: "portals at random, 1 connection, alone",
        service: "portals at random, 1 connection, while 64 other connections reject and hire",
        prepare: |setup| Box::new(AgainstItself::prepare(setup)),
        ratios: &[Ratio { figure: Figure::P50, target: Target::AtMost(1.5) }],
    },
];

/// Requests per second, for information.
const RATE: Ratio = Ratio { figure: Figure::Rate, target: Target::Informational };

/// The CPU time, for information.
const CPU: Ratio = Ratio { figure: Figure::Cpu, target: Target::Informational };

const fn cpu(least: f64) -> Ratio {
    Ratio { figure: Figure::Cpu, target: Target::AtLeast(least) }
}

const fn rate(least: f64) -> Ratio {
    Ratio { figure: Figure::Rate, target: Target::AtLeast(least) }
}

const fn p99(most: f64) -> Ratio {
    Ratio { figure: Figure::P99, target: Target::AtMost(most) }
}
