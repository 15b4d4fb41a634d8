//! One cached response: with its body as it is and compressed, or, where it is large, only compressed.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap};

use super::gzip;
use super::rendered::Rendered;
use super::reply::{self, Reply, Validity};
use crate::domain::encoding;
use crate::domain::id::OrganizationId;
use crate::store::change::Portals;

/// What an answer takes besides its bodies and its path.
const REST_BYTES: usize = 1_024;

/// A response that is given to more than one request.
pub(in crate::http) struct CachedResponse {
    route: &'static str,
    organization: Option<OrganizationId>,
    read_at: i64,
    /// The last change that is known not to concern it: most requests need no other look.
    current_at: AtomicI64,
    content: Content,
}

/// What an answer says.
enum Content {
    /// As it is: it is not worth compressing.
    Plain(Rendered),
    /// As it is, and compressed when that is first wanted; `None` within where that is not smaller.
    Both(Rendered, OnceLock<Option<Rendered>>),
    /// Compressed. Nearly all who read what is that large take it so; for the others it is unpacked, once for all of them who
    /// read it at the same time, so that however many they are there is one more body in memory.
    Packed { plain_but_empty: Rendered, packed: Rendered, unpacked: Mutex<Weak<Vec<u8>>> },
}

/// A body that readers share.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl CachedResponse {
    /// The response of a route, where it stays true for others. Where it comes with its body packed, only that is kept.
    pub(in crate::http) fn of(route: &'static str, reply: &Reply) -> Option<Self> {
        let (organization, read_at) = match reply.validity() {
            Validity::Once => return None,
            Validity::UntilChange(organization, read_at) => (Some(organization.clone()), *read_at),
            Validity::Forever => (None, i64::MAX),
        };
        let content = Content::of(Rendered::new(reply.clone()), reply.packed_body());
        Some(Self { route, organization, read_at, current_at: AtomicI64::new(read_at), content })
    }

    /// The organization that it shows something of.
    pub(super) fn organization(&self) -> &Option<OrganizationId> {
        &self.organization
    }

    pub(super) fn is_current(&self, portals: &Portals) -> bool {
        let newest = portals.newest();
        if self.current_at.load(Ordering::Relaxed) >= newest {
            return true;
        }
        let organization = self.organization.as_ref();
        let is_current = organization.is_none_or(|organization| portals.is_current(organization, self.read_at));
        if is_current {
            self.current_at.fetch_max(newest, Ordering::Relaxed);
        }
        is_current
    }

    /// What it takes, with its body compressed where it may be: that is never larger.
    pub(super) fn bytes(&self, path: &str) -> usize {
        let bodies = match &self.content {
            Content::Plain(rendered) => rendered.body_bytes(),
            Content::Both(rendered, _) => 2 * rendered.body_bytes(),
            Content::Packed { packed, .. } => packed.body_bytes(),
        };
        path.len() + bodies + REST_BYTES
    }

    /// The template of the route that it is from.
    pub(in crate::http) fn route(&self) -> &'static str {
        self.route
    }

    /// The answer to a request with these fields, compressed where the reader wants that.
    pub(in crate::http) fn response(&self, fields: &HeaderMap) -> Response<Full<Bytes>> {
        let response = match &self.content {
            Content::Plain(rendered) => rendered.response(),
            Content::Both(rendered, once) => {
                let once = wants_gzip(fields).then_some(once);
                let compressed = once.and_then(|once| once.get_or_init(|| rendered.compressed()).as_ref());
                compressed.unwrap_or(rendered).response()
            }
            Content::Packed { packed, .. } if wants_gzip(fields) => packed.response(),
            Content::Packed { plain_but_empty, packed, unpacked } => {
                let is_wanted = !plain_but_empty.is_had_already(fields);
                let body = if is_wanted { unpack(packed, unpacked) } else { Bytes::new() };
                plain_but_empty.response_with(body)
            }
        };
        reply::unless_matching(response, fields)
    }

    /// The same with nothing compressed for it: a response that is not cached is not worth that.
    pub(in crate::http) fn uncompressed_response(&self, fields: &HeaderMap) -> Response<Full<Bytes>> {
        match &self.content {
            Content::Plain(rendered) | Content::Both(rendered, _) => {
                reply::unless_matching(rendered.response(), fields)
            }
            Content::Packed { .. } => self.response(fields),
        }
    }
}

impl Content {
    fn of(rendered: Rendered, packed: Option<Bytes>) -> Self {
        if !rendered.is_worth_compressing() {
            return Self::Plain(rendered);
        }
        let rendered = rendered.varying_by_coding();
        match packed {
            None => Self::Both(rendered, OnceLock::new()),
            Some(body) => Self::Packed {
                packed: rendered.compressed_to(body),
                plain_but_empty: rendered.without_body(),
                unpacked: Mutex::default(),
            },
        }
    }
}

/// The body as it is: that of whoever reads it now, or unpacked anew.
fn unpack(packed: &Rendered, unpacked: &Mutex<Weak<Vec<u8>>>) -> Bytes {
    let mut unpacked = unpacked.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = unpacked.upgrade().unwrap_or_else(|| Arc::new(gzip::unpack(packed.body())));
    *unpacked = Arc::downgrade(&shared);
    Bytes::from_owner(Shared(shared))
}

fn wants_gzip(fields: &HeaderMap) -> bool {
    let values = fields.get_all(header::ACCEPT_ENCODING).iter();
    encoding::wants_gzip(values.filter_map(|value| value.to_str().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_at_the_same_time_shares_what_is_unpacked() {
        let body = vec![b'x'; 2 * 1_024 * 1_024];
        let reply = Reply::tagged_file("application/xml", body.clone()).valid_forever().packed();
        let cached = CachedResponse::of("/x", &reply).unwrap();
        let Content::Packed { packed, unpacked, .. } = &cached.content else { panic!("it is not kept packed") };
        assert!(cached.bytes("/x") < body.len() / 10);
        let (first, second) = (unpack(packed, unpacked), unpack(packed, unpacked));
        assert_eq!((first.as_ptr(), &first), (second.as_ptr(), &Bytes::from(body)));
        drop((first, second));
        assert!(unpacked.lock().unwrap().upgrade().is_none(), "nobody reads it, so nothing holds it");
    }
}
