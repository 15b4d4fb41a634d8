//! Reading while others decide, against reading alone: both on the same service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::company::{self, ORGANIZATIONS};
use super::decisions::{Decisions, Order};
use super::exchange::get;
use super::line::Contest;
use super::load::{self, Course};
use super::place::Place;
use super::round::Round;
use super::setting::Setting;

/// Of those that decide.
const CONNECTIONS: usize = 64;

/// One service, and what it is asked.
pub(crate) struct AgainstItself<'a> {
    setting: &'a Setting,
    place: Place,
    portals: Arc<Vec<Vec<u8>>>,
    decisions: Decisions,
}

impl<'a> AgainstItself<'a> {
    pub(crate) fn prepare(setting: &'a Setting) -> Self {
        let place = Place::on(&setting.cores, setting.template.copy());
        let portals = (0..ORGANIZATIONS).map(|nth| get(&company::portal_path(nth), None)).collect();
        Self { setting, place, portals: Arc::new(portals), decisions: Decisions::new(Order::OfIds) }
    }
}

impl Contest for AgainstItself<'_> {
    fn limit(&mut self) -> Round {
        self.place.round(1, &self.portals, &Course::For(self.setting.lengths.reading))
    }

    /// The round is of the portal's requests alone. It ends with the last decision.
    fn service(&mut self) -> Round {
        let Self { setting, place, portals, decisions } = self;
        let decisions = decisions.take(setting.lengths.decisions).into_iter();
        let decisions: Arc<Vec<_>> = Arc::new(decisions.map(|one| one.request(&setting.template.keys)).collect());
        place.round_of(|address| {
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
        self.place.end();
    }
}
