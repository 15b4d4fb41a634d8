//! Answers that are kept: portals, their roles and their pages, rendered once a change. Rendering one each time costs twenty
//! times what sending it does.
//!
//! An answer says of which organization it shows something, and the number of the last change of any portal when it was
//! read; the store tells whether that organization's came later. So what this service changes is shown by the next
//! answer, and what another process changes within 100 ms. One that shows nothing of the file is kept for good.
//!
//! A path has one answer, or where its route says so one for each language and for what its query chooses (`variant`); an
//! answer has its body, and the body compressed. How much is kept is bounded so that nobody can push out another
//! organization's answers by asking for their own, or a program's by reading pages.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap};
use hyper::{Response, Uri};

use super::rendered::Rendered;
use super::reply;
use super::variant::{self, Variant};
use crate::domain::encoding;
use crate::domain::id::OrganizationId;
use crate::store::change::Portals;

/// Answers of one path to queries that choose something. Beyond, what nobody has asked for since the last change is rendered
/// anew each time.
const QUERIED_MAX: usize = 64;

/// What an answer takes besides its bodies and its path.
const REST_BYTES: usize = 1_024;

/// The answers: those for programs, and those for people and what goes with them.
pub(super) struct KeptReplies {
    programs: RwLock<Shelf>,
    pages: RwLock<Shelf>,
}

/// Answers by raw path.
struct Shelf {
    places: HashMap<String, Place>,
    bytes: usize,
    of_organization: HashMap<Option<OrganizationId>, usize>,
    /// Bytes that are kept. Past it the organization that has most begins anew: one path can be spelled in many ways, and
    /// whoever tries them only spoils the pleasure of those whom they read.
    bytes_max: usize,
    /// The same of one organization.
    organization_bytes_max: usize,
}

/// The answers of one path.
struct Place {
    organization: Option<OrganizationId>,
    /// The parameters that count in a query; `None` where the path has one answer.
    parameters: Option<&'static [&'static str]>,
    plain: Vec<Option<Arc<Kept>>>,
    queried: HashMap<String, Arc<Kept>>,
}

/// An answer that is kept.
pub(super) struct Kept {
    route: &'static str,
    organization: Option<OrganizationId>,
    read_at: i64,
    /// The last change that is known not to concern it: most requests need no other look.
    current_at: AtomicI64,
    rendered: Rendered,
    /// The same compressed, made when it is first wanted; `None` within where that is not smaller.
    compressed: Option<OnceLock<Option<Rendered>>>,
}

/// What of a request says which answer it gets, for as long as the request itself is elsewhere.
pub(super) struct Asked {
    query: String,
    fields: HeaderMap,
}

impl Default for KeptReplies {
    fn default() -> Self {
        const MIB: usize = 1_024 * 1_024;
        Self {
            programs: RwLock::new(Shelf::new(48 * MIB, 32 * MIB)),
            pages: RwLock::new(Shelf::new(32 * MIB, 8 * MIB)),
        }
    }
}

impl KeptReplies {
    /// The answer for a request, where there is one that is still true.
    pub(super) fn get(&self, uri: &Uri, fields: &HeaderMap, portals: &Portals) -> Option<Arc<Kept>> {
        let kept = {
            let shelf = self.shelf(uri.path()).read().unwrap_or_else(PoisonError::into_inner);
            let place = shelf.places.get(uri.path())?;
            Arc::clone(place.get(uri.query().unwrap_or_default(), fields)?)
        };
        kept.is_current(portals).then_some(kept)
    }

    /// Keeps an answer, where there is room for what was asked. Whether it is kept.
    pub(super) fn keep(
        &self,
        path: &str,
        parameters: Option<&'static [&'static str]>,
        asked: &Asked,
        kept: &Arc<Kept>,
        portals: &Portals,
    ) -> bool {
        let variant = match parameters {
            None => Some(Variant::Plain(0)),
            Some(parameters) => variant::of(parameters, &asked.query, &asked.fields),
        };
        let Some(variant) = variant.filter(|_| kept.is_current(portals)) else { return false };
        let mut shelf = self.shelf(path).write().unwrap_or_else(PoisonError::into_inner);
        shelf.put(path, parameters, variant, kept, portals)
    }

    fn shelf(&self, path: &str) -> &RwLock<Shelf> {
        if path.starts_with("/api/") { &self.programs } else { &self.pages }
    }
}

impl Shelf {
    fn new(bytes_max: usize, organization_bytes_max: usize) -> Self {
        let (places, of_organization) = (HashMap::new(), HashMap::new());
        Self { places, bytes: 0, of_organization, bytes_max, organization_bytes_max }
    }

    fn put(
        &mut self,
        path: &str,
        parameters: Option<&'static [&'static str]>,
        variant: Variant,
        kept: &Arc<Kept>,
        portals: &Portals,
    ) -> bool {
        let more = kept.bytes(path);
        if more > self.organization_bytes_max {
            return false;
        }
        // What was said of a slug that another organization has now, or before a change, goes.
        let stale = self.places.get(path).filter(|place| {
            let is_full = matches!(variant, Variant::Queried(_)) && place.queried.len() >= QUERIED_MAX;
            place.organization != kept.organization || (is_full && !place.is_current(portals))
        });
        if stale.is_some() {
            self.remove(|known, _| known == path);
        }
        let of_organization = self.of_organization.get(&kept.organization).copied().unwrap_or_default();
        if of_organization + more > self.organization_bytes_max {
            self.remove(|_, place| place.organization == kept.organization);
        }
        while self.bytes + more > self.bytes_max {
            let most = self.of_organization.iter().max_by_key(|(_, bytes)| **bytes);
            let Some((most, _)) = most.map(|(most, bytes)| (most.clone(), *bytes)).filter(|(_, bytes)| *bytes > 0)
            else {
                return false;
            };
            self.remove(|_, place| place.organization == most);
        }
        let place = self.places.entry(path.to_owned()).or_insert_with(|| Place::new(kept, parameters));
        let Some(before) = place.put(variant, kept) else { return false };
        let less = before.map_or(0, |before| before.bytes(path));
        let of_organization = self.of_organization.entry(kept.organization.clone()).or_default();
        *of_organization = *of_organization + more - less;
        self.bytes = self.bytes + more - less;
        true
    }

    /// Takes paths out.
    fn remove(&mut self, is_meant: impl Fn(&str, &Place) -> bool) {
        let Self { places, bytes, of_organization, .. } = self;
        places.retain(|path, place| {
            let is_meant = is_meant(path, place);
            if is_meant {
                let less: usize = place.all().map(|kept| kept.bytes(path)).sum();
                *bytes -= less;
                if let Some(of_organization) = of_organization.get_mut(&place.organization) {
                    *of_organization -= less;
                }
            }
            !is_meant
        });
    }
}

impl Place {
    fn new(kept: &Kept, parameters: Option<&'static [&'static str]>) -> Self {
        Self { organization: kept.organization.clone(), parameters, plain: Vec::new(), queried: HashMap::new() }
    }

    fn get(&self, query: &str, fields: &HeaderMap) -> Option<&Arc<Kept>> {
        let Some(parameters) = self.parameters else { return self.plain.first()?.as_ref() };
        match variant::of(parameters, query, fields)? {
            Variant::Plain(language) => self.plain.get(language)?.as_ref(),
            Variant::Queried(key) => self.queried.get(&key),
        }
    }

    /// Puts an answer in its place, where there is room. What was there before.
    fn put(&mut self, variant: Variant, kept: &Arc<Kept>) -> Option<Option<Arc<Kept>>> {
        match variant {
            Variant::Plain(language) => {
                let count = self.plain.len().max(language + 1);
                self.plain.resize(count, None);
                Some(self.plain[language].replace(Arc::clone(kept)))
            }
            Variant::Queried(key) => {
                let has_room = self.queried.len() < QUERIED_MAX || self.queried.contains_key(&key);
                has_room.then(|| self.queried.insert(key, Arc::clone(kept)))
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Kept>> {
        self.plain.iter().flatten().chain(self.queried.values())
    }

    /// Whether all that it has is still true.
    fn is_current(&self, portals: &Portals) -> bool {
        self.all().all(|kept| kept.is_current(portals))
    }
}

impl Kept {
    /// An answer of a route, which shows something of an organization as it was at a change, or nothing of any.
    pub(super) fn new(route: &'static str, shown: Option<(OrganizationId, i64)>, rendered: Rendered) -> Self {
        let is_worth = rendered.is_worth_compressing();
        let rendered = if is_worth { rendered.varying_by_coding() } else { rendered };
        let (organization, read_at) = shown.unzip();
        let read_at = read_at.unwrap_or(i64::MAX);
        let compressed = is_worth.then(OnceLock::new);
        Self { route, organization, read_at, current_at: AtomicI64::new(read_at), rendered, compressed }
    }

    fn is_current(&self, portals: &Portals) -> bool {
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

    /// What it takes, with its body compressed: that is never larger.
    fn bytes(&self, path: &str) -> usize {
        let bodies = 1 + usize::from(self.compressed.is_some());
        path.len() + bodies * self.rendered.body_bytes() + REST_BYTES
    }

    /// The template of the route that it is from.
    pub(super) fn route(&self) -> &'static str {
        self.route
    }

    /// The answer to a request with these fields, compressed where the reader wants that.
    pub(super) fn reply(&self, fields: &HeaderMap) -> Response<Full<Bytes>> {
        let compressed = self.compressed.as_ref().filter(|_| wants_gzip(fields));
        let compressed = compressed.and_then(|once| once.get_or_init(|| self.rendered.compressed()).as_ref());
        reply::unless_matching(compressed.unwrap_or(&self.rendered).response(), fields)
    }

    /// The same as it is: one that is not kept is not worth compressing for once.
    pub(super) fn plain_reply(&self, fields: &HeaderMap) -> Response<Full<Bytes>> {
        reply::unless_matching(self.rendered.response(), fields)
    }
}

impl Asked {
    /// What a request asks for by its query and its fields.
    pub(super) fn of(uri: &Uri, fields: &HeaderMap) -> Self {
        let mut copied = HeaderMap::new();
        for name in [header::IF_NONE_MATCH, header::ACCEPT_ENCODING, header::ACCEPT_LANGUAGE] {
            for value in fields.get_all(&name) {
                copied.append(&name, value.clone());
            }
        }
        Self { query: uri.query().unwrap_or_default().to_owned(), fields: copied }
    }

    /// The fields of it that say which answer it gets, and whether it has that already.
    pub(super) fn fields(&self) -> &HeaderMap {
        &self.fields
    }
}

fn wants_gzip(fields: &HeaderMap) -> bool {
    let values = fields.get_all(header::ACCEPT_ENCODING).iter();
    encoding::wants_gzip(values.filter_map(|value| value.to_str().ok()))
}

#[cfg(test)]
mod tests {
    use super::super::reply::Reply;
    use super::*;
    use crate::domain::id::Id;

    const PARAMETERS: &[&str] = &["page"];

    fn kept(organization: &str, bytes: usize) -> Arc<Kept> {
        let organization = OrganizationId::parse(organization).unwrap();
        let reply = Reply::tagged_file("text/html", vec![b'x'; bytes]).shown(organization, 0);
        Arc::new(reply.to_keep("/careers/{orgSlug}").unwrap())
    }

    fn asked(query: &str) -> Asked {
        Asked { query: query.to_owned(), fields: HeaderMap::new() }
    }

    fn has(replies: &KeptReplies, target: &str) -> bool {
        replies.get(&target.parse().unwrap(), &HeaderMap::new(), &Portals::default()).is_some()
    }

    fn keep(replies: &KeptReplies, target: &str, kept: &Arc<Kept>) -> bool {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        replies.keep(path, Some(PARAMETERS), &asked(query), kept, &Portals::default())
    }

    #[test]
    fn queries_are_kept_up_to_a_number_and_push_nothing_out() {
        let (replies, page) = (KeptReplies::default(), kept("org_1", 100));
        assert!(keep(&replies, "/careers/a", &page));
        for nth in 0..QUERIED_MAX {
            assert!(keep(&replies, &format!("/careers/a?page={nth}"), &page));
        }
        assert!(!keep(&replies, "/careers/a?page=more", &page) && !has(&replies, "/careers/a?page=more"));
        assert!(keep(&replies, "/careers/a?page=0", &page), "one that is there is renewed");
        assert!(keep(&replies, "/careers/a/roles/1?page=1", &page), "another path has room of its own");
        assert!(has(&replies, "/careers/a") && has(&replies, "/careers/a?page=63"));
        assert!(!keep(&replies, "/careers/a?q=x", &page) && !has(&replies, "/careers/a?q=x"));
    }

    #[test]
    fn one_organization_takes_no_room_from_another() {
        let (replies, page) = (KeptReplies::default(), kept("org_1", 200 * 1_024));
        let other = kept("org_2", 1_000);
        assert!(keep(&replies, "/careers/other", &other));
        for nth in 0..1_000 {
            assert!(keep(&replies, &format!("/careers/a/{nth}"), &page));
            let shelf = replies.pages.read().unwrap();
            assert!(shelf.of_organization.values().all(|bytes| *bytes <= shelf.organization_bytes_max));
            assert_eq!(shelf.bytes, shelf.places.iter().map(|(path, place)| sum(path, place)).sum::<usize>());
        }
        assert!(has(&replies, "/careers/other") && has(&replies, "/careers/a/999") && !has(&replies, "/careers/a/0"));
    }

    #[test]
    fn where_there_is_no_room_the_largest_goes() {
        let replies = KeptReplies::default();
        let small = kept("org_small", 2_000);
        assert!(keep(&replies, "/careers/small", &small));
        for nth in 0..100 {
            let organization = format!("org_{}", nth % 10);
            assert!(keep(&replies, &format!("/careers/{organization}/{nth}"), &kept(&organization, 1_024 * 1_024)));
            assert!(replies.pages.read().unwrap().bytes <= 32 * 1_024 * 1_024);
        }
        assert!(has(&replies, "/careers/small"));
        assert!(!keep(&replies, "/careers/huge", &kept("org_huge", 5 * 1_024 * 1_024)), "with its body compressed");
        assert!(has(&replies, "/careers/small"));
    }

    fn sum(path: &str, place: &Place) -> usize {
        place.all().map(|kept| kept.bytes(path)).sum()
    }
}
