//! Compares decisions of the service with the same decisions in SQLite alone, on files with the same data.

use std::sync::Arc;

use super::decisions::{Decision, Decisions, Order};
use super::line::Contest;
use super::load::Course;
use super::raw::{self, Raw};
use super::round::Round;
use super::server::Server;
use super::setup::Setup;

/// The service and SQLite, each with a copy of the file and the same decisions.
pub(crate) struct AgainstRaw<'a> {
    setup: &'a Setup,
    server: Server,
    service_decisions: Decisions,
    raw: Raw,
    raw_decisions: Decisions,
    /// The number of connections to the service, and of decisions that SQLite commits in one transaction.
    connections: usize,
}

impl<'a> AgainstRaw<'a> {
    pub(crate) fn prepare(setup: &'a Setup, order: Order, connections: usize) -> Self {
        let server = Server::on(&setup.cores, setup.template.copy());
        let raw = Raw::on(&setup.template);
        let (service_decisions, raw_decisions) = (Decisions::new(order), Decisions::new(order));
        Self { setup, server, service_decisions, raw, raw_decisions, connections }
    }

    fn count(&self) -> usize {
        let lengths = &self.setup.lengths;
        if self.connections == 1 { lengths.decisions_alone } else { lengths.decisions }
    }
}

impl Contest for AgainstRaw<'_> {
    fn limit(&mut self) -> Round {
        let decisions = self.raw_decisions.take(self.count());
        let Self { setup, raw, connections, .. } = self;
        let elapsed = raw.decide(&setup.cores, &setup.template.keys, &decisions, *connections);
        Round::without_server(decisions.len(), elapsed)
    }

    fn service(&mut self) -> Round {
        let decisions = self.service_decisions.take(self.count()).into_iter();
        let request = |decision: Decision| decision.request(&self.setup.template.keys);
        let requests = Arc::new(decisions.map(request).collect());
        self.server.round_with_keys(self.connections, &requests, &Course::Through)
    }

    /// Checks that both files have the same figures.
    fn end(self: Box<Self>) {
        let service_copy = self.server.end();
        let raw_copy = self.raw.end();
        assert_eq!(
            raw::figures(&service_copy.db),
            raw::figures(&raw_copy.db),
            "the figures of the service and of SQLite alone are equal"
        );
    }
}
