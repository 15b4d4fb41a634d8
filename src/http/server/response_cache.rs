//! The response cache: public responses, rendered once for each change. Rendering a page costs twenty times as much as
//! sending it.
//!
//! A cached response records the organization that it shows, and the number of the newest portal change when its data
//! was read. The store reports whether the portal of that organization has changed since then. A durable change by this
//! service is visible in the next response. A durable change by another server is visible then too, because the gate
//! compares the change numbers first (`gate::cached`). Every other change is visible within 200 ms. A response without
//! data from the database stays current for as long as the service runs.
//!
//! A path has one response, or, if its route requires it, one for each language and each combination of query
//! parameters (`cache_variant`). Each route names the pool that holds its responses, and each pool limits the bytes of
//! each organization. Therefore, page views evict no responses for programs, and feeds evict no pages. A full pool
//! evicts the responses of the organization that uses the most bytes, so no organization crowds out smaller ones.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use hyper::Uri;
use hyper::header::{self, HeaderMap};

use super::cache_variant::{self, CacheParameter, CacheVariant};
use super::cached_response::CachedResponse;
use crate::domain::id::OrganizationId;
use crate::store::change_number::PortalChanges;

/// The maximum number of cached responses of one path to requests with query parameters. At the limit, the response to
/// a new query is rendered for each request until the next change.
const QUERY_VARIANTS_MAX: usize = 64;

/// A pool that bounds the bytes of cached responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePool {
    Api,
    /// Pages for people, and their assets.
    Pages,
    /// Feeds. One feed can be as large as all pages of an organization together.
    Feeds,
}

/// How the responses of a route are cached.
#[derive(Debug, Clone, Copy)]
pub struct CachePolicy {
    /// The pool that holds the responses.
    pub pool: CachePool,
    /// The query parameters that the responses depend on, in addition to the language. `None` if the responses depend
    /// on neither.
    pub(in crate::http) parameters: Option<&'static [CacheParameter]>,
}

/// The cached responses by raw path, behind one lock.
pub(super) struct ResponseCache(RwLock<CacheState>);

struct CacheState {
    paths: HashMap<String, CachedPath>,
    pools: [PoolUse; 3],
}

/// The bytes that are used in a pool, and the pool's limits.
struct PoolUse {
    bytes: usize,
    bytes_by_organization: HashMap<Option<OrganizationId>, usize>,
    /// The maximum size of the pool. A full pool evicts the responses of the organization with the most bytes. One path
    /// can be spelled in many ways, but the responses to all spellings count towards the limit of their organization.
    bytes_max: usize,
    /// The maximum number of bytes for each organization. If another response would exceed this limit, the pool first
    /// evicts all responses of the organization.
    organization_bytes_max: usize,
}

struct CachedPath {
    organization: Option<OrganizationId>,
    caching: CachePolicy,
    plain: Vec<Option<Arc<CachedResponse>>>,
    queried: HashMap<String, Arc<CachedResponse>>,
}

/// Copies of the parts of a request that select its cached response. They outlive the request.
pub(super) struct CacheLookup {
    query: String,
    fields: HeaderMap,
}

impl Default for ResponseCache {
    /// Creates pools with a total size of at most 112 MiB.
    fn default() -> Self {
        const MIB: usize = 1_024 * 1_024;
        let pools =
            [PoolUse::new(48 * MIB, 32 * MIB), PoolUse::new(32 * MIB, 8 * MIB), PoolUse::new(32 * MIB, 16 * MIB)];
        Self(RwLock::new(CacheState { paths: HashMap::new(), pools }))
    }
}

impl ResponseCache {
    /// Returns the cached response to a request, if it is current.
    pub(in crate::http) fn get(
        &self,
        uri: &Uri,
        fields: &HeaderMap,
        portals: &PortalChanges,
    ) -> Option<Arc<CachedResponse>> {
        let cached = {
            let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let entry = entries.paths.get(uri.path())?;
            Arc::clone(entry.get(uri.query().unwrap_or_default(), fields)?)
        };
        cached.is_current(portals).then_some(cached)
    }

    /// Caches a response if it is current, the request selects a variant, and there is room. Returns whether the
    /// response was cached.
    pub(in crate::http) fn put(
        &self,
        path: &str,
        caching: CachePolicy,
        lookup: &CacheLookup,
        response: &Arc<CachedResponse>,
        portals: &PortalChanges,
    ) -> bool {
        let variant = match caching.parameters {
            None => Some(CacheVariant::Only),
            Some(parameters) => cache_variant::choose(parameters, &lookup.query, &lookup.fields),
        };
        let Some(variant) = variant.filter(|_| response.is_current(portals)) else { return false };
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        entries.put(path, caching, variant, response, portals)
    }
}

impl CachePool {
    fn index(self) -> usize {
        self as usize
    }
}

impl PoolUse {
    fn new(bytes_max: usize, organization_bytes_max: usize) -> Self {
        Self { bytes: 0, bytes_by_organization: HashMap::new(), bytes_max, organization_bytes_max }
    }

    /// Returns the organization that uses the most bytes.
    fn largest(&self) -> Option<Option<OrganizationId>> {
        let largest = self.bytes_by_organization.iter().max_by_key(|(_, bytes)| **bytes);
        largest.filter(|(_, bytes)| **bytes > 0).map(|(organization, _)| organization.clone())
    }
}

impl CacheState {
    fn put(
        &mut self,
        path: &str,
        caching: CachePolicy,
        variant: CacheVariant,
        response: &Arc<CachedResponse>,
        portals: &PortalChanges,
    ) -> bool {
        let (pool, added, organization) = (caching.pool, response.bytes(path), response.organization());
        if added > self.of_pool(pool).organization_bytes_max {
            return false;
        }
        // Evict all responses of the path if its slug now belongs to another organization, or if the path has the
        // maximum number of query variants and any of its responses is outdated.
        let outdated = self.paths.get(path).filter(|entry| {
            let is_full = matches!(variant, CacheVariant::ByQuery(_)) && entry.queried.len() >= QUERY_VARIANTS_MAX;
            entry.organization != *organization || (is_full && !entry.is_current(portals))
        });
        if outdated.is_some() {
            self.remove(pool, |known, _| known == path);
        }
        let organization_bytes =
            self.of_pool(pool).bytes_by_organization.get(organization).copied().unwrap_or_default();
        if organization_bytes + added > self.of_pool(pool).organization_bytes_max {
            self.remove(pool, |_, entry| entry.organization == *organization);
        }
        while self.of_pool(pool).bytes + added > self.of_pool(pool).bytes_max {
            let Some(largest) = self.of_pool(pool).largest() else { return false };
            self.remove(pool, |_, entry| entry.organization == largest);
        }
        let entry = self.paths.entry(path.to_owned()).or_insert_with(|| CachedPath::new(response, caching));
        let Some(before) = entry.put(variant, response) else { return false };
        let removed = before.map_or(0, |before| before.bytes(path));
        let used = &mut self.pools[pool.index()];
        let organization_bytes = used.bytes_by_organization.entry(organization.clone()).or_default();
        *organization_bytes = *organization_bytes + added - removed;
        used.bytes = used.bytes + added - removed;
        true
    }

    fn of_pool(&self, pool: CachePool) -> &PoolUse {
        &self.pools[pool.index()]
    }

    /// Removes the selected paths from a pool.
    fn remove(&mut self, pool: CachePool, is_selected: impl Fn(&str, &CachedPath) -> bool) {
        let Self { paths, pools } = self;
        let used = &mut pools[pool.index()];
        paths.retain(|path, entry| {
            let is_selected = entry.caching.pool == pool && is_selected(path, entry);
            if is_selected {
                let removed: usize = entry.all().map(|response| response.bytes(path)).sum();
                used.bytes -= removed;
                if let Some(organization_bytes) = used.bytes_by_organization.get_mut(&entry.organization) {
                    *organization_bytes -= removed;
                }
            }
            !is_selected
        });
    }
}

impl CachedPath {
    fn new(response: &CachedResponse, caching: CachePolicy) -> Self {
        let organization = response.organization().clone();
        Self { organization, caching, plain: Vec::new(), queried: HashMap::new() }
    }

    fn get(&self, query: &str, fields: &HeaderMap) -> Option<&Arc<CachedResponse>> {
        let Some(parameters) = self.caching.parameters else { return self.plain.first()?.as_ref() };
        match cache_variant::choose(parameters, query, fields)? {
            CacheVariant::Only => self.plain.first()?.as_ref(),
            CacheVariant::ByLanguage(language) => self.plain.get(language.index())?.as_ref(),
            CacheVariant::ByQuery(key) => self.queried.get(&key),
        }
    }

    /// Adds a response. Returns the response that it replaces, if any. The outer `None` means that there is no room.
    fn put(&mut self, variant: CacheVariant, response: &Arc<CachedResponse>) -> Option<Option<Arc<CachedResponse>>> {
        let index = match variant {
            CacheVariant::Only => 0,
            CacheVariant::ByLanguage(language) => language.index(),
            CacheVariant::ByQuery(key) => {
                let has_room = self.queried.len() < QUERY_VARIANTS_MAX || self.queried.contains_key(&key);
                return has_room.then(|| self.queried.insert(key, Arc::clone(response)));
            }
        };
        let count = self.plain.len().max(index + 1);
        self.plain.resize(count, None);
        Some(self.plain[index].replace(Arc::clone(response)))
    }

    fn all(&self) -> impl Iterator<Item = &Arc<CachedResponse>> {
        self.plain.iter().flatten().chain(self.queried.values())
    }

    /// Returns whether all responses are current.
    fn is_current(&self, portals: &PortalChanges) -> bool {
        self.all().all(|response| response.is_current(portals))
    }
}

impl CacheLookup {
    /// Copies the query and the fields that the response cache reads.
    pub(in crate::http) fn of(uri: &Uri, fields: &HeaderMap) -> Self {
        let mut copied = HeaderMap::new();
        for name in [header::IF_NONE_MATCH, header::ACCEPT_ENCODING, header::ACCEPT_LANGUAGE] {
            for value in fields.get_all(&name) {
                copied.append(&name, value.clone());
            }
        }
        Self { query: uri.query().unwrap_or_default().to_owned(), fields: copied }
    }

    /// Returns the fields that select the response and that show whether the client already has the response.
    pub(in crate::http) fn fields(&self) -> &HeaderMap {
        &self.fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Id;
    use crate::http::server::reply::Reply;

    const PARAMETERS: &[CacheParameter] = &[CacheParameter { name: "page", normalize: |text| Some(text.into()) }];

    fn response(organization: &str, bytes: usize) -> Arc<CachedResponse> {
        let organization = OrganizationId::parse(organization).unwrap();
        let reply = Reply::tagged_file("text/html", vec![b'x'; bytes]).valid_until_change(organization, 0);
        Arc::new(CachedResponse::of("/careers/{orgSlug}", &reply).unwrap())
    }

    fn lookup(query: &str) -> CacheLookup {
        CacheLookup { query: query.to_owned(), fields: HeaderMap::new() }
    }

    fn has(cache: &ResponseCache, target: &str) -> bool {
        cache.get(&target.parse().unwrap(), &HeaderMap::new(), &PortalChanges::default()).is_some()
    }

    fn pool_of(path: &str) -> CachePool {
        if path.contains('.') { CachePool::Feeds } else { CachePool::Pages }
    }

    fn put(cache: &ResponseCache, target: &str, response: &Arc<CachedResponse>) -> bool {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        cache.put(
            path,
            CachePolicy { pool: pool_of(path), parameters: Some(PARAMETERS) },
            &lookup(query),
            response,
            &PortalChanges::default(),
        )
    }

    #[test]
    fn query_variants_are_bounded_and_evict_nothing() {
        let (cache, page) = (ResponseCache::default(), response("org_1", 100));
        assert!(put(&cache, "/careers/a", &page));
        for nth in 0..QUERY_VARIANTS_MAX {
            assert!(put(&cache, &format!("/careers/a?page={nth}"), &page));
        }
        assert!(!put(&cache, "/careers/a?page=more", &page) && !has(&cache, "/careers/a?page=more"));
        assert!(put(&cache, "/careers/a?page=0", &page), "a cached variant is replaced");
        assert!(put(&cache, "/careers/a/roles/1?page=1", &page), "each path has its own limit");
        assert!(has(&cache, "/careers/a") && has(&cache, "/careers/a?page=63"));
        assert!(!put(&cache, "/careers/a?q=x", &page) && !has(&cache, "/careers/a?q=x"));
    }

    #[test]
    fn an_organization_at_its_limit_evicts_only_its_own_responses() {
        let (cache, page) = (ResponseCache::default(), response("org_1", 200 * 1_024));
        let other = response("org_2", 1_000);
        assert!(put(&cache, "/careers/other", &other));
        for nth in 0..1_000 {
            assert!(put(&cache, &format!("/careers/a/{nth}"), &page));
            let entries = cache.0.read().unwrap();
            let pages = entries.of_pool(CachePool::Pages);
            assert!(pages.bytes_by_organization.values().all(|bytes| *bytes <= pages.organization_bytes_max));
            assert_eq!(pages.bytes, entries.paths.iter().map(|(path, entry)| sum(path, entry)).sum::<usize>());
        }
        assert!(has(&cache, "/careers/other") && has(&cache, "/careers/a/999") && !has(&cache, "/careers/a/0"));
    }

    #[test]
    fn a_full_pool_evicts_the_responses_of_the_largest_organization() {
        let cache = ResponseCache::default();
        let small = response("org_small", 2_000);
        assert!(put(&cache, "/careers/small", &small));
        for nth in 0..100 {
            let organization = format!("org_{}", nth % 10);
            assert!(put(&cache, &format!("/careers/{organization}/{nth}"), &response(&organization, 1_024 * 1_024)));
            assert!(cache.0.read().unwrap().of_pool(CachePool::Pages).bytes <= 32 * 1_024 * 1_024);
        }
        assert!(has(&cache, "/careers/small"));
        assert!(
            !put(&cache, "/careers/huge", &response("org_huge", 5 * 1_024 * 1_024)),
            "the size includes the compressed body"
        );
        assert!(has(&cache, "/careers/small"));
    }

    #[test]
    fn feeds_and_pages_do_not_evict_each_other() {
        let cache = ResponseCache::default();
        let page = response("org_1", 1_024 * 1_024);
        let reply = Reply::tagged_file("application/xml", vec![b'x'; 20 * 1_024 * 1_024]).compressed_if_large();
        let feed = reply.valid_until_change(OrganizationId::parse("org_1").unwrap(), 0);
        let feed = Arc::new(CachedResponse::of("/jobs.xml", &feed).unwrap());
        for _ in 0..2 {
            for nth in 0..3 {
                assert!(put(&cache, &format!("/careers/a/{nth}"), &page));
            }
            for (name, feed) in [("jobs.xml", &feed), ("sitemap.xml", &page), ("feed.atom", &page)] {
                assert!(put(&cache, &format!("/careers/a/{name}"), feed));
            }
        }
        assert!((0..3).all(|nth| has(&cache, &format!("/careers/a/{nth}"))));
        assert!(["jobs.xml", "sitemap.xml", "feed.atom"].iter().all(|name| has(&cache, &format!("/careers/a/{name}"))));
        assert!(feed.bytes("/jobs.xml") < 1_024 * 1_024, "a large body is cached compressed");
    }

    fn sum(path: &str, entry: &CachedPath) -> usize {
        entry.all().map(|response| response.bytes(path)).sum()
    }
}
