//! Answers that are kept: portals, their roles and their pages, rendered once a change. Rendering one each time costs twenty
//! times what sending it does.
//!
//! An answer says of which organization it shows something, and the number of the last change of any portal when it was
//! read; the store tells whether that organization's came later. So what this service changes is shown by the next
//! answer, and what another process changes within 100 ms. One that shows nothing of the file is kept for good.
//!
//! A path has one answer, or where its route says so one for each language and for what its query chooses (`variant`); an
//! answer has its body, and the body compressed; a large feed has only that. How much is kept is bounded so that nobody can
//! push out another organization's answers by asking for their own, or a program's by reading pages, or pages by reading
//! feeds.

mod cached_response;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use hyper::Uri;
use hyper::header::{self, HeaderMap};

pub(in crate::http) use self::cached_response::Kept;
use super::variant::{self, Parameter, Variant};
use crate::domain::id::OrganizationId;
use crate::store::change::Portals;

/// Answers of one path to queries that choose something. Beyond, what nobody has asked for since the last change is rendered
/// anew each time.
const QUERIED_MAX: usize = 64;

/// The answers: those for programs, those for people and what goes with them, and feeds, of which one can be as large as all
/// pages of an organization together.
pub(in crate::http) struct KeptReplies {
    programs: RwLock<Shelf>,
    pages: RwLock<Shelf>,
    feeds: RwLock<Shelf>,
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
    parameters: Option<&'static [Parameter]>,
    plain: Vec<Option<Arc<Kept>>>,
    queried: HashMap<String, Arc<Kept>>,
}

/// What of a request says which answer it gets, for as long as the request itself is elsewhere.
pub(in crate::http) struct Asked {
    query: String,
    fields: HeaderMap,
}

impl Default for KeptReplies {
    /// At most 112 MiB together, where there is that much to keep.
    fn default() -> Self {
        const MIB: usize = 1_024 * 1_024;
        Self {
            programs: RwLock::new(Shelf::new(48 * MIB, 32 * MIB)),
            pages: RwLock::new(Shelf::new(32 * MIB, 8 * MIB)),
            feeds: RwLock::new(Shelf::new(32 * MIB, 16 * MIB)),
        }
    }
}

impl KeptReplies {
    /// The answer for a request, where there is one that is still true.
    pub(in crate::http) fn get(&self, uri: &Uri, fields: &HeaderMap, portals: &Portals) -> Option<Arc<Kept>> {
        let kept = {
            let shelf = self.shelf(uri.path()).read().unwrap_or_else(PoisonError::into_inner);
            let place = shelf.places.get(uri.path())?;
            Arc::clone(place.get(uri.query().unwrap_or_default(), fields)?)
        };
        kept.is_current(portals).then_some(kept)
    }

    /// Keeps an answer, where there is room for what was asked. Whether it is kept.
    pub(in crate::http) fn keep(
        &self,
        path: &str,
        parameters: Option<&'static [Parameter]>,
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
        if path.starts_with("/api/") {
            &self.programs
        } else if is_feed(path) {
            &self.feeds
        } else {
            &self.pages
        }
    }
}

/// Whether a path is that of a feed, or looks like one.
pub(in crate::http) fn is_feed(path: &str) -> bool {
    !path.starts_with("/api/") && (path.ends_with(".xml") || path.ends_with(".atom"))
}

impl Shelf {
    fn new(bytes_max: usize, organization_bytes_max: usize) -> Self {
        let (places, of_organization) = (HashMap::new(), HashMap::new());
        Self { places, bytes: 0, of_organization, bytes_max, organization_bytes_max }
    }

    fn put(
        &mut self,
        path: &str,
        parameters: Option<&'static [Parameter]>,
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
    fn new(kept: &Kept, parameters: Option<&'static [Parameter]>) -> Self {
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

impl Asked {
    /// What a request asks for by its query and its fields.
    pub(in crate::http) fn of(uri: &Uri, fields: &HeaderMap) -> Self {
        let mut copied = HeaderMap::new();
        for name in [header::IF_NONE_MATCH, header::ACCEPT_ENCODING, header::ACCEPT_LANGUAGE] {
            for value in fields.get_all(&name) {
                copied.append(&name, value.clone());
            }
        }
        Self { query: uri.query().unwrap_or_default().to_owned(), fields: copied }
    }

    /// The fields of it that say which answer it gets, and whether it has that already.
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

    #[test]
    fn feeds_take_no_room_from_pages_nor_pages_from_feeds() {
        let replies = KeptReplies::default();
        let page = kept("org_1", 1_024 * 1_024);
        let whole = Reply::tagged_file("application/xml", vec![b'x'; 20 * 1_024 * 1_024]).packed();
        let feed = Arc::new(whole.shown(OrganizationId::parse("org_1").unwrap(), 0).to_keep("/jobs.xml").unwrap());
        for _ in 0..2 {
            for nth in 0..3 {
                assert!(keep(&replies, &format!("/careers/a/{nth}"), &page));
            }
            for (name, feed) in [("jobs.xml", &feed), ("sitemap.xml", &page), ("feed.atom", &page)] {
                assert!(keep(&replies, &format!("/careers/a/{name}"), feed));
            }
        }
        assert!((0..3).all(|nth| has(&replies, &format!("/careers/a/{nth}"))));
        assert!(
            ["jobs.xml", "sitemap.xml", "feed.atom"].iter().all(|name| has(&replies, &format!("/careers/a/{name}")))
        );
        assert!(feed.bytes("/jobs.xml") < 1_024 * 1_024, "what is large is kept compressed");
    }

    fn sum(path: &str, place: &Place) -> usize {
        place.all().map(|kept| kept.bytes(path)).sum()
    }
}
