//! The mixed load: mostly portals, some `GET /api/v1/me`, and a few decisions.

use super::data::{self, KEYS, Size};
use crate::company;
use crate::decisions::Decision;
use crate::exchange::get;
use crate::random::Random;

/// The number of keys that the load does not use, so that they can be revoked.
pub(crate) const SPARE_KEYS: usize = 10;

/// The numbers of requests for portals and for `me` in a hundred requests. The rest are decisions.
const PORTALS: usize = 90;
const ME: usize = 8;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Portal,
    Me,
    Decision,
}

/// A request and its kind.
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) request: Vec<u8>,
}

/// A supply of requests that lasts as long as there are undecided applications.
pub(crate) struct Mix {
    size: &'static Size,
    random: Random,
    keys: Vec<String>,
    applications: std::vec::IntoIter<usize>,
    /// Requests that were prepared but not sent.
    left: Vec<Request>,
    is_hire: bool,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Portal, Self::Me, Self::Decision];

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Portal => "portals",
            Self::Me => "me",
            Self::Decision => "decisions",
        }
    }

    pub(crate) fn has_key(self) -> bool {
        self != Self::Portal
    }
}

impl Mix {
    pub(crate) fn of(size: &'static Size) -> Self {
        let mut applications: Vec<usize> = (0..size.applications).collect();
        let mut random = Random::new(4);
        random.shuffle(&mut applications);
        // Decisions must not use keys that the bench revokes.
        applications.retain(|application| size.decider(*application) < KEYS - SPARE_KEYS);
        Self {
            size,
            random,
            keys: data::texts(),
            applications: applications.into_iter(),
            left: Vec::new(),
            is_hire: false,
        }
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<Request> {
        let mut taken: Vec<_> = self.left.drain(..count.min(self.left.len())).collect();
        while taken.len() < count {
            taken.push(self.next());
        }
        taken
    }

    /// Puts back unsent requests.
    pub(crate) fn put_back(&mut self, rest: Vec<Request>) {
        self.left.extend(rest);
    }

    /// Returns requests for `me`, one for each key of the load. These requests can be repeated.
    pub(crate) fn me(&self) -> Vec<Vec<u8>> {
        self.keys[..KEYS - SPARE_KEYS].iter().map(|key| get("/api/v1/me", Some(key))).collect()
    }

    fn next(&mut self) -> Request {
        let kind = match self.random.below(100) {
            part if part < PORTALS => Kind::Portal,
            part if part < PORTALS + ME => Kind::Me,
            _ => Kind::Decision,
        };
        let request = match kind {
            Kind::Portal => get(&company::portal_path(self.random.below(self.size.organizations)), None),
            Kind::Me => get("/api/v1/me", Some(&self.keys[self.random.below(KEYS - SPARE_KEYS)])),
            Kind::Decision => self.decision(),
        };
        Request { kind, request }
    }

    fn decision(&mut self) -> Vec<u8> {
        let application = self.applications.next().expect("enough applications are undecided");
        self.is_hire = !self.is_hire;
        let decision = Decision { application, is_hire: self.is_hire };
        decision.request_with(&self.keys[self.size.decider(application)])
    }
}
