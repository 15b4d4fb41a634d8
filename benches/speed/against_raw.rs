//! Deciding, against SQLite alone on a file with the same data.

use std::sync::Arc;

use super::decisions::{Decision, Decisions, Order};
use super::line::Contest;
use super::load::Course;
use super::place::Place;
use super::raw::{self, Raw};
use super::round::Round;
use super::setting::Setting;

/// The service and SQLite, each on a copy of the file and with the same decisions to make.
pub(crate) struct AgainstRaw<'a> {
    setting: &'a Setting,
    place: Place,
    of_service: Decisions,
    raw: Raw,
    of_raw: Decisions,
    /// Of the service; and as many decisions does SQLite commit at once.
    connections: usize,
}

impl<'a> AgainstRaw<'a> {
    pub(crate) fn prepare(setting: &'a Setting, order: Order, connections: usize) -> Self {
        let place = Place::on(&setting.cores, setting.template.copy());
        let raw = Raw::on(&setting.template);
        let (of_service, of_raw) = (Decisions::new(order), Decisions::new(order));
        Self { setting, place, of_service, raw, of_raw, connections }
    }

    fn count(&self) -> usize {
        let lengths = &self.setting.lengths;
        if self.connections == 1 { lengths.decisions_alone } else { lengths.decisions }
    }
}

impl Contest for AgainstRaw<'_> {
    fn limit(&mut self) -> Round {
        let decisions = self.of_raw.take(self.count());
        let Self { setting, raw, connections, .. } = self;
        let elapsed = raw.decide(&setting.cores, &setting.template.keys, &decisions, *connections);
        Round::without_server(decisions.len(), elapsed)
    }

    fn service(&mut self) -> Round {
        let decisions = self.of_service.take(self.count()).into_iter();
        let request = |decision: Decision| decision.request(&self.setting.template.keys);
        let requests = Arc::new(decisions.map(request).collect());
        self.place.round_with_keys(self.connections, &requests, &Course::Through)
    }

    /// Both files have the same figures, or one of the two did something else.
    fn end(self: Box<Self>) {
        let of_service = self.place.end();
        let of_raw = self.raw.end();
        assert_eq!(raw::figures(&of_service.db), raw::figures(&of_raw.db), "the service, and SQLite alone");
    }
}
