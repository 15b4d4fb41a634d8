//! Compares reads during decisions with reads alone, on the same service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::company::{self, ORGANIZATIONS};
use super::decisions::{Decisions, Order};
use super::exchange::get;
use super::line::Contest;
use super::load::{self, Course};
use super::round::Round;
use super::server::Server;
use super::setup::Setup;

/// The number of connections that send decisions.
const CONNECTIONS: usize = 64;

/// The service and its requests.
pub(crate) struct AgainstItself<'a> {
    setup: &'a Setup,
    server: Server,
    portals: Arc<Vec<Vec<u8>>>,
    decisions: Decisions,
}

impl<'a> AgainstItself<'a> {
    pub(crate) fn prepare(setup: &'a Setup) -> Self {
        let server = Server::on(&setup.cores, setup.template.copy());
        let portals = (0..ORGANIZATIONS).map(|nth| get(&company::portal_path(nth), None)).collect();
        Self { setup, server, portals: Arc::new(portals), decisions: Decisions::new(Order::OfIds) }
    }
}

impl Contest for AgainstItself<'_> {
    fn limit(&mut self) -> Round {
        self.server.round(1, &self.portals, &Course::For(self.setup.lengths.reading))
    }

    /// Runs a round while decisions are made. Only the requests for portals are measured. The round ends with the last
    /// decision.
    fn service(&mut self) -> Round {
        let Self { setup, server, portals, decisions } = self;
        let decisions = decisions.take(setup.lengths.decisions).into_iter();
        let decisions: Arc<Vec<_>> = Arc::new(decisions.map(|one| one.request(&setup.template.keys)).collect());
        server.round_of(|address| {
            let ended = Arc::new(AtomicBool::new(false));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    load::run(address, CONNECTIONS, &decisions, &Course::Through);
                    ended.store(true, Ordering::Relaxed);
                });
                let load = load::run(address, 1, portals, &Course::Until(Arc::clone(&ended)));
                (load, decisions.len())
            })
        })
    }

    fn end(self: Box<Self>) {
        self.server.end();
    }
}
