//! A cached response. Its body is stored in plain form, in compressed form, or in both. If the reply already contains a
//! compressed body, only that body is stored.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap};

use super::gzip;
use super::rendered_response::RenderedResponse;
use super::reply::{self, Reply, Validity};
use crate::domain::encoding;
use crate::domain::id::OrganizationId;
use crate::store::change_number::PortalChanges;

/// The estimated number of bytes that a response needs in addition to its bodies and its path.
const OVERHEAD_BYTES: usize = 1_024;

/// A response that answers several requests.
pub(super) struct CachedResponse {
    route: &'static str,
    organization: Option<OrganizationId>,
    read_at: i64,
    /// The number of the newest change after which the response was found to be current. Most requests need to check
    /// only this number.
    current_at: AtomicI64,
    content: Content,
}

/// The forms in which a body is stored.
enum Content {
    /// Only plain, because the body is not worth compressing.
    Plain(RenderedResponse),
    /// Plain, and also compressed after the first request that accepts compression. The cell contains `None` if the
    /// compressed body is not smaller.
    Both(RenderedResponse, OnceLock<Option<RenderedResponse>>),
    /// Only compressed. Nearly all clients of large responses accept compression. For other clients, the body is
    /// decompressed. Clients that read it at the same time share one plain copy, so at most one is in memory.
    Compressed { plain_head: RenderedResponse, compressed: RenderedResponse, plain_body: Mutex<Weak<Vec<u8>>> },
}

/// A plain body that concurrent requests share.
struct SharedBody(Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedBody {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl CachedResponse {
    /// Creates the cached response of a route from a reply. Returns `None` if the reply is valid for only one request.
    /// If the reply has a compressed body, only that body is stored.
    pub(super) fn of(route: &'static str, reply: &Reply) -> Option<Self> {
        let (organization, read_at) = match reply.validity() {
            Validity::Once => return None,
            Validity::UntilChange(organization, read_at) => (Some(organization.clone()), *read_at),
            Validity::Forever => (None, i64::MAX),
        };
        let content = Content::new(RenderedResponse::new(reply.clone()), reply.compressed_body());
        Some(Self { route, organization, read_at, current_at: AtomicI64::new(read_at), content })
    }

    /// Returns the organization that the response shows, if any.
    pub(super) fn organization(&self) -> &Option<OrganizationId> {
        &self.organization
    }

    pub(super) fn is_current(&self, portals: &PortalChanges) -> bool {
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

    /// Returns the number of bytes that the response can use in the cache. A body that can be compressed later is
    /// counted twice, because the compressed body is never larger than the plain body. The plain copy that requests
    /// share is not counted.
    pub(super) fn bytes(&self, path: &str) -> usize {
        let bodies = match &self.content {
            Content::Plain(rendered) => rendered.body_bytes(),
            Content::Both(rendered, _) => 2 * rendered.body_bytes(),
            Content::Compressed { compressed, .. } => compressed.body_bytes(),
        };
        path.len() + bodies + OVERHEAD_BYTES
    }

    /// Returns the path template of the route.
    pub(super) fn route(&self) -> &'static str {
        self.route
    }

    /// Returns the response to a request with these header fields, compressed if that is worthwhile and the client
    /// accepts compression.
    pub(super) fn response(&self, fields: &HeaderMap) -> Response<Full<Bytes>> {
        let response = match &self.content {
            Content::Plain(rendered) => rendered.response(),
            Content::Both(rendered, cell) => {
                let cell = wants_gzip(fields).then_some(cell);
                let compressed = cell.and_then(|cell| cell.get_or_init(|| rendered.compressed()).as_ref());
                compressed.unwrap_or(rendered).response()
            }
            Content::Compressed { compressed, .. } if wants_gzip(fields) => compressed.response(),
            Content::Compressed { plain_head, compressed, plain_body } => {
                let needs_body = !plain_head.is_not_modified(fields);
                let body = if needs_body { decompress(compressed, plain_body) } else { Bytes::new() };
                plain_head.response_with(body)
            }
        };
        reply::not_modified_if_matching(response, fields)
    }

    /// Returns the same response as [`CachedResponse::response`], but does not compress a plain body. For a response
    /// that is not stored in the cache, compression is not worthwhile.
    pub(super) fn uncompressed_response(&self, fields: &HeaderMap) -> Response<Full<Bytes>> {
        match &self.content {
            Content::Plain(rendered) | Content::Both(rendered, _) => {
                reply::not_modified_if_matching(rendered.response(), fields)
            }
            Content::Compressed { .. } => self.response(fields),
        }
    }
}

impl Content {
    fn new(rendered: RenderedResponse, compressed_body: Option<Bytes>) -> Self {
        if !rendered.is_worth_compressing() {
            return Self::Plain(rendered);
        }
        let rendered = rendered.varying_by_encoding();
        match compressed_body {
            None => Self::Both(rendered, OnceLock::new()),
            Some(body) => Self::Compressed {
                compressed: rendered.with_compressed_body(body),
                plain_head: rendered.without_body(),
                plain_body: Mutex::default(),
            },
        }
    }
}

/// Returns the plain body: the copy that concurrent requests are using, or a new one.
fn decompress(compressed: &RenderedResponse, plain_body: &Mutex<Weak<Vec<u8>>>) -> Bytes {
    let mut plain_body = plain_body.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = plain_body.upgrade().unwrap_or_else(|| Arc::new(gzip::decompress(compressed.body())));
    *plain_body = Arc::downgrade(&shared);
    Bytes::from_owner(SharedBody(shared))
}

fn wants_gzip(fields: &HeaderMap) -> bool {
    let values = fields.get_all(header::ACCEPT_ENCODING).iter();
    encoding::wants_gzip(values.filter_map(|value| value.to_str().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_requests_share_the_decompressed_body() {
        let body = vec![b'x'; 2 * 1_024 * 1_024];
        let reply = Reply::tagged_file("application/xml", body.clone()).valid_forever().compressed_if_large();
        let cached = CachedResponse::of("/x", &reply).unwrap();
        let Content::Compressed { compressed, plain_body, .. } = &cached.content else { panic!("not compressed") };
        assert!(cached.bytes("/x") < body.len() / 10);
        let (first, second) = (decompress(compressed, plain_body), decompress(compressed, plain_body));
        assert_eq!((first.as_ptr(), &first), (second.as_ptr(), &Bytes::from(body)));
        drop((first, second));
        assert!(plain_body.lock().unwrap().upgrade().is_none(), "no request holds the body any longer");
    }
}
