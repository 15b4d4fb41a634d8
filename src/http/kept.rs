//! Answers that are kept: portals and their roles, rendered once a change. Rendering one each time costs twenty times what
//! sending it does.
//!
//! An answer says of which organization it shows something, and the number of the last change of any portal when it was
//! read; the store tells whether that organization's came later. So what this service changes is shown by the next
//! answer, and what another process changes within 100 ms.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::HeaderMap;

use super::rendered::Rendered;
use super::reply::{self, Reply};
use crate::domain::id::OrganizationId;
use crate::store::change::Portals;

/// Bytes of bodies that are kept, with some for each answer besides. Past it everything is rendered anew: the portals of
/// an appliance are far fewer, and whoever asks for others only spoils their own pleasure.
const BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// What an answer takes besides its body and path.
const REST_BYTES: usize = 1_024;

/// The answers, by the raw path that they were given to.
#[derive(Default)]
pub(super) struct KeptReplies(RwLock<Inner>);

#[derive(Default)]
struct Inner {
    bytes: usize,
    replies: HashMap<String, Arc<Kept>>,
}

/// An answer that is kept.
pub(super) struct Kept {
    route: &'static str,
    organization: OrganizationId,
    read_at: i64,
    /// The last change that is known not to concern it: most requests need no other look.
    current_at: AtomicI64,
    rendered: Rendered,
}

impl KeptReplies {
    /// The answer for this path, where there is one that is still true.
    pub(super) fn get(&self, path: &str, portals: &Portals) -> Option<Arc<Kept>> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner).replies.get(path).cloned()?;
        kept.is_current(portals).then_some(kept)
    }

    /// Keeps an answer that can be kept.
    pub(super) fn keep(&self, path: &str, route: &'static str, reply: &Reply, portals: &Portals) {
        let Some(kept) = reply.to_keep(route).filter(|kept| kept.is_current(portals)) else { return };
        let bytes = |path: &str, kept: &Kept| path.len() + kept.rendered.body_bytes() + REST_BYTES;
        let more = bytes(path, &kept);
        let mut inner = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if inner.bytes + more > BYTES_MAX {
            *inner = Inner::default();
        }
        if more <= BYTES_MAX {
            let before = inner.replies.insert(path.to_owned(), Arc::new(kept));
            inner.bytes = inner.bytes + more - before.map_or(0, |before| bytes(path, &before));
        }
    }
}

impl Kept {
    pub(super) fn new(route: &'static str, organization: OrganizationId, read_at: i64, rendered: Rendered) -> Self {
        Self { route, organization, read_at, current_at: AtomicI64::new(read_at), rendered }
    }

    fn is_current(&self, portals: &Portals) -> bool {
        let newest = portals.newest();
        if self.current_at.load(Ordering::Relaxed) >= newest {
            return true;
        }
        let is_current = portals.is_current(&self.organization, self.read_at);
        if is_current {
            self.current_at.fetch_max(newest, Ordering::Relaxed);
        }
        is_current
    }

    /// The template of the route that it is from.
    pub(super) fn route(&self) -> &'static str {
        self.route
    }

    /// The answer to a request with these fields.
    pub(super) fn reply(&self, fields: &HeaderMap) -> Response<Full<Bytes>> {
        reply::unless_matching(self.rendered.response(), fields)
    }
}
