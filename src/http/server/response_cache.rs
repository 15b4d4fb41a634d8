//! The response cache: portals, their roles and their pages, rendered once a change. Rendering one each time costs twenty
//! times what sending it does.
//!
//! A cached response says of which organization it shows something, and the number of the last change of any portal when it
//! was read; the store tells whether that organization's came later. So the next answer shows what this service changes, and
//! within 100 ms what another process changes. A response that shows nothing of the file stays for good.
//!
//! A path has one response, or where its route says so one for each language and for what its query chooses (`variant`). Each
//! route names the pool that its responses take room from, and each pool bounds what one organization can take. So nobody can
//! push out another organization's responses by asking for their own, or a program's by reading pages, or pages by reading
//! feeds.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use hyper::Uri;
use hyper::header::{self, HeaderMap};

use super::cached_response::CachedResponse;
use super::variant::{self, Parameter, Variant};
use crate::domain::id::OrganizationId;
use crate::store::change::Portals;

/// Responses of one path to queries that choose something. Beyond, a query that nobody has sent since the last change is
/// rendered each time.
const QUERIED_MAX: usize = 64;

/// What a response takes its room from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// Responses for programs.
    Api,
    /// Pages for people, and the files that belong to them.
    Pages,
    /// Feeds: one can be as large as all pages of an organization together.
    Feeds,
}

/// How a route's responses are cached.
#[derive(Debug, Clone, Copy)]
pub struct Caching {
    /// The pool that they take room from.
    pub pool: Pool,
    /// The parameters of the query that they depend on, besides the language; `None` where they depend on neither.
    pub(in crate::http) parameters: Option<&'static [Parameter]>,
}

/// The responses, by raw path. One lock, so that a request that finds nothing looks once.
pub(in crate::http) struct ResponseCache(RwLock<Entries>);

struct Entries {
    paths: HashMap<String, PathEntry>,
    pools: [PoolUse; 3],
}

/// How much of a pool is taken.
struct PoolUse {
    bytes: usize,
    of_organization: HashMap<Option<OrganizationId>, usize>,
    /// The room of the pool. Past it the organization that has most begins again: one path can be spelled in many ways, and a
    /// client that tries them only spoils the cache of the organization that it reads.
    bytes_max: usize,
    /// The room of one organization in it.
    organization_bytes_max: usize,
}

/// The responses of one path.
struct PathEntry {
    organization: Option<OrganizationId>,
    caching: Caching,
    plain: Vec<Option<Arc<CachedResponse>>>,
    queried: HashMap<String, Arc<CachedResponse>>,
}

/// The parts of a request that choose its response, for as long as the request itself is elsewhere.
pub(in crate::http) struct Lookup {
    query: String,
    fields: HeaderMap,
}

impl Default for ResponseCache {
    /// At most 112 MiB together, where there is that much to cache.
    fn default() -> Self {
        const MIB: usize = 1_024 * 1_024;
        let pools =
            [PoolUse::new(48 * MIB, 32 * MIB), PoolUse::new(32 * MIB, 8 * MIB), PoolUse::new(32 * MIB, 16 * MIB)];
        Self(RwLock::new(Entries { paths: HashMap::new(), pools }))
    }
}

impl ResponseCache {
    /// The response to a request, where there is one that is still true.
    pub(in crate::http) fn get(&self, uri: &Uri, fields: &HeaderMap, portals: &Portals) -> Option<Arc<CachedResponse>> {
        let cached = {
            let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let entry = entries.paths.get(uri.path())?;
            Arc::clone(entry.get(uri.query().unwrap_or_default(), fields)?)
        };
        cached.is_current(portals).then_some(cached)
    }

    /// Caches a response, where there is room for it. Whether it did.
    pub(in crate::http) fn put(
        &self,
        path: &str,
        caching: Caching,
        lookup: &Lookup,
        response: &Arc<CachedResponse>,
        portals: &Portals,
    ) -> bool {
        let variant = match caching.parameters {
            None => Some(Variant::Only),
            Some(parameters) => variant::of(parameters, &lookup.query, &lookup.fields),
        };
        let Some(variant) = variant.filter(|_| response.is_current(portals)) else { return false };
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        entries.put(path, caching, variant, response, portals)
    }
}

impl Pool {
    /// Its position among the pools.
    fn index(self) -> usize {
        self as usize
    }
}

impl PoolUse {
    fn new(bytes_max: usize, organization_bytes_max: usize) -> Self {
        Self { bytes: 0, of_organization: HashMap::new(), bytes_max, organization_bytes_max }
    }

    /// The organization that takes most of it.
    fn largest(&self) -> Option<Option<OrganizationId>> {
        let largest = self.of_organization.iter().max_by_key(|(_, bytes)| **bytes);
        largest.filter(|(_, bytes)| **bytes > 0).map(|(organization, _)| organization.clone())
    }
}

impl Entries {
    fn put(
        &mut self,
        path: &str,
        caching: Caching,
        variant: Variant,
        response: &Arc<CachedResponse>,
        portals: &Portals,
    ) -> bool {
        let (pool, more, organization) = (caching.pool, response.bytes(path), response.organization());
        if more > self.of_pool(pool).organization_bytes_max {
            return false;
        }
        // Responses of a slug that another organization has now, or from before a change, go.
        let stale = self.paths.get(path).filter(|entry| {
            let is_full = matches!(variant, Variant::Queried(_)) && entry.queried.len() >= QUERIED_MAX;
            entry.organization != *organization || (is_full && !entry.is_current(portals))
        });
        if stale.is_some() {
            self.remove(pool, |known, _| known == path);
        }
        let of_organization = self.of_pool(pool).of_organization.get(organization).copied().unwrap_or_default();
        if of_organization + more > self.of_pool(pool).organization_bytes_max {
            self.remove(pool, |_, entry| entry.organization == *organization);
        }
        while self.of_pool(pool).bytes + more > self.of_pool(pool).bytes_max {
            let Some(largest) = self.of_pool(pool).largest() else { return false };
            self.remove(pool, |_, entry| entry.organization == largest);
        }
        let entry = self.paths.entry(path.to_owned()).or_insert_with(|| PathEntry::new(response, caching));
        let Some(before) = entry.put(variant, response) else { return false };
        let less = before.map_or(0, |before| before.bytes(path));
        let of_pool = &mut self.pools[pool.index()];
        let of_organization = of_pool.of_organization.entry(organization.clone()).or_default();
        *of_organization = *of_organization + more - less;
        of_pool.bytes = of_pool.bytes + more - less;
        true
    }

    fn of_pool(&self, pool: Pool) -> &PoolUse {
        &self.pools[pool.index()]
    }

    /// Takes paths of a pool out.
    fn remove(&mut self, pool: Pool, is_meant: impl Fn(&str, &PathEntry) -> bool) {
        let Self { paths, pools } = self;
        let of_pool = &mut pools[pool.index()];
        paths.retain(|path, entry| {
            let is_meant = entry.caching.pool == pool && is_meant(path, entry);
            if is_meant {
                let less: usize = entry.all().map(|response| response.bytes(path)).sum();
                of_pool.bytes -= less;
                if let Some(of_organization) = of_pool.of_organization.get_mut(&entry.organization) {
                    *of_organization -= less;
                }
            }
            !is_meant
        });
    }
}

impl PathEntry {
    fn new(response: &CachedResponse, caching: Caching) -> Self {
        let organization = response.organization().clone();
        Self { organization, caching, plain: Vec::new(), queried: HashMap::new() }
    }

    fn get(&self, query: &str, fields: &HeaderMap) -> Option<&Arc<CachedResponse>> {
        let Some(parameters) = self.caching.parameters else { return self.plain.first()?.as_ref() };
        match variant::of(parameters, query, fields)? {
            Variant::Only => self.plain.first()?.as_ref(),
            Variant::Plain(language) => self.plain.get(language.index())?.as_ref(),
            Variant::Queried(key) => self.queried.get(&key),
        }
    }

    /// Puts a response in, where there is room. The response that was there before.
    fn put(&mut self, variant: Variant, response: &Arc<CachedResponse>) -> Option<Option<Arc<CachedResponse>>> {
        let index = match variant {
            Variant::Only => 0,
            Variant::Plain(language) => language.index(),
            Variant::Queried(key) => {
                let has_room = self.queried.len() < QUERIED_MAX || self.queried.contains_key(&key);
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

    /// Whether all that it has is still true.
    fn is_current(&self, portals: &Portals) -> bool {
        self.all().all(|response| response.is_current(portals))
    }
}

impl Lookup {
    /// The query of a request, and the fields that choose its response.
    pub(in crate::http) fn of(uri: &Uri, fields: &HeaderMap) -> Self {
        let mut copied = HeaderMap::new();
        for name in [header::IF_NONE_MATCH, header::ACCEPT_ENCODING, header::ACCEPT_LANGUAGE] {
            for value in fields.get_all(&name) {
                copied.append(&name, value.clone());
            }
        }
        Self { query: uri.query().unwrap_or_default().to_owned(), fields: copied }
    }

    /// The fields that choose the response, and say whether the client has it already.
    pub(in crate::http) fn fields(&self) -> &HeaderMap {
        &self.fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Id;
    use crate::http::server::reply::Reply;

    const PARAMETERS: &[Parameter] = &[Parameter { name: "page", read: |text| Some(text.into()) }];

    fn response(organization: &str, bytes: usize) -> Arc<CachedResponse> {
        let organization = OrganizationId::parse(organization).unwrap();
        let reply = Reply::tagged_file("text/html", vec![b'x'; bytes]).valid_until_change(organization, 0);
        Arc::new(CachedResponse::of("/careers/{orgSlug}", &reply).unwrap())
    }

    fn lookup(query: &str) -> Lookup {
        Lookup { query: query.to_owned(), fields: HeaderMap::new() }
    }

    fn has(cache: &ResponseCache, target: &str) -> bool {
        cache.get(&target.parse().unwrap(), &HeaderMap::new(), &Portals::default()).is_some()
    }

    fn pool_of(path: &str) -> Pool {
        if path.contains('.') { Pool::Feeds } else { Pool::Pages }
    }

    fn put(cache: &ResponseCache, target: &str, response: &Arc<CachedResponse>) -> bool {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        cache.put(
            path,
            Caching { pool: pool_of(path), parameters: Some(PARAMETERS) },
            &lookup(query),
            response,
            &Portals::default(),
        )
    }

    #[test]
    fn queries_are_kept_up_to_a_number_and_push_nothing_out() {
        let (cache, page) = (ResponseCache::default(), response("org_1", 100));
        assert!(put(&cache, "/careers/a", &page));
        for nth in 0..QUERIED_MAX {
            assert!(put(&cache, &format!("/careers/a?page={nth}"), &page));
        }
        assert!(!put(&cache, "/careers/a?page=more", &page) && !has(&cache, "/careers/a?page=more"));
        assert!(put(&cache, "/careers/a?page=0", &page), "one that is there is renewed");
        assert!(put(&cache, "/careers/a/roles/1?page=1", &page), "another path has room of its own");
        assert!(has(&cache, "/careers/a") && has(&cache, "/careers/a?page=63"));
        assert!(!put(&cache, "/careers/a?q=x", &page) && !has(&cache, "/careers/a?q=x"));
    }

    #[test]
    fn one_organization_takes_no_room_from_another() {
        let (cache, page) = (ResponseCache::default(), response("org_1", 200 * 1_024));
        let other = response("org_2", 1_000);
        assert!(put(&cache, "/careers/other", &other));
        for nth in 0..1_000 {
            assert!(put(&cache, &format!("/careers/a/{nth}"), &page));
            let entries = cache.0.read().unwrap();
            let pages = entries.of_pool(Pool::Pages);
            assert!(pages.of_organization.values().all(|bytes| *bytes <= pages.organization_bytes_max));
            assert_eq!(pages.bytes, entries.paths.iter().map(|(path, entry)| sum(path, entry)).sum::<usize>());
        }
        assert!(has(&cache, "/careers/other") && has(&cache, "/careers/a/999") && !has(&cache, "/careers/a/0"));
    }

    #[test]
    fn where_there_is_no_room_the_largest_goes() {
        let cache = ResponseCache::default();
        let small = response("org_small", 2_000);
        assert!(put(&cache, "/careers/small", &small));
        for nth in 0..100 {
            let organization = format!("org_{}", nth % 10);
            assert!(put(&cache, &format!("/careers/{organization}/{nth}"), &response(&organization, 1_024 * 1_024)));
            assert!(cache.0.read().unwrap().of_pool(Pool::Pages).bytes <= 32 * 1_024 * 1_024);
        }
        assert!(has(&cache, "/careers/small"));
        assert!(!put(&cache, "/careers/huge", &response("org_huge", 5 * 1_024 * 1_024)), "with its body compressed");
        assert!(has(&cache, "/careers/small"));
    }

    #[test]
    fn feeds_take_no_room_from_pages_nor_pages_from_feeds() {
        let cache = ResponseCache::default();
        let page = response("org_1", 1_024 * 1_024);
        let whole = Reply::tagged_file("application/xml", vec![b'x'; 20 * 1_024 * 1_024]).packed();
        let feed = whole.valid_until_change(OrganizationId::parse("org_1").unwrap(), 0);
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
        assert!(feed.bytes("/jobs.xml") < 1_024 * 1_024, "what is large is kept compressed");
    }

    fn sum(path: &str, entry: &PathEntry) -> usize {
        entry.all().map(|response| response.bytes(path)).sum()
    }
}
