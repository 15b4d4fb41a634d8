//! `GET /careers/{orgSlug}`: the public, open roles, newest first, 50 per page, with filters and a search.

use std::borrow::Cow;

use askama::Template;

use super::card::{RoleCard, work_type_name};
use super::visit::{PortalVisit, valid_until_change};
use super::{missing, url};
use crate::domain::careers::{Facet, Filter, ListPage, SearchResult};
use crate::domain::role::WorkType;
use crate::http::pages::frame::Frame;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::cache_variant::CacheParameter;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::{self, Error, Tx};

/// The parameters that, together with the language, select a cached response. Responses to searches are not cached,
/// because anybody can invent an unlimited number of searches.
pub(super) const PARAMETERS: &[CacheParameter] = &[
    CacheParameter {
        name: "page",
        normalize: |text| Some(page_number(text)).filter(|page| *page > 1).map(|page| page.to_string().into()),
    },
    CacheParameter { name: parameter(Facet::Department), normalize: facet_value },
    CacheParameter { name: parameter(Facet::Location), normalize: facet_value },
    CacheParameter { name: parameter(Facet::WorkType), normalize: facet_value },
];

pub(super) struct ListPageInput {
    visit: PortalVisit,
    filter: Filter,
    /// The requested page number, at least 1. If the list has fewer pages, [`ListPage`] shows the last one.
    page: usize,
}

/// # Errors
/// `validation_error` if a parameter is given twice.
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<ListPageInput, Error> {
    let department = request.query(parameter(Facet::Department))?;
    let location = request.query(parameter(Facet::Location))?;
    let work_type = request.query(parameter(Facet::WorkType))?;
    let search = request.query("q")?.unwrap_or_default();
    let page = request.query("page")?.map_or(1, |page| page_number(&page));
    Ok(ListPageInput {
        visit: super::visit::decode(ctx, request)?,
        filter: Filter::new([department, location, work_type], &search),
        page,
    })
}

/// `GET /careers/{orgSlug}`: shows a page of the list. If no organization has this slug, or if the organization or its
/// portal is disabled, the reply is a 404 page.
pub(super) fn list(
    ctx: &Ctx,
    tx: &Tx<'_>,
    ListPageInput { visit, filter, page: requested }: &ListPageInput,
) -> Result<Reply, Error> {
    let Some(organization) = visit.organization(tx)? else { return missing::portal(visit) };
    let texts = visit.texts;
    let listings = store::careers::listings(tx, &organization.id, usize::MAX)?;
    let searched = filter.searched(&listings);
    let found = searched.matching();
    let page = ListPage::of(found.len(), *requested);
    let shows_salary = organization.theme.shows_salary();
    let links = ListLinks { texts, path: url::list_path(&organization.slug) };
    let heading = fill(texts.careers.title, &[("organization", &organization.name)]);
    let title = if page.number == 1 {
        heading.clone()
    } else {
        fill(texts.careers.title_of_page, &[("title", &heading), ("page", &page.number.to_string())])
    };
    let mut frame = visit.frame(&organization, title, &links.without_language(filter, page.number));
    // Search engines may index the whole list, but not its filtered variants.
    frame.is_indexed = filter.is_empty();
    let base = &ctx.settings.base_url;
    let address = url::list_url(base, &organization.slug);
    let page_url = |number: usize| (1..=page.count).contains(&number).then(|| links.url(filter, number));
    let reply = Reply::rendered(&ListTemplate {
        canonical: if page.number > 1 { format!("{address}?page={}", page.number) } else { address },
        feed: url::file_url(base, &organization.slug, "feed.atom"),
        logo: organization.has_logo.then(|| url::file_url(base, &organization.slug, "logo")),
        heading,
        count: texts.counted(&texts.careers.count, found.len()),
        none_more: fill(texts.careers.none_more, &[("organization", &organization.name)]),
        is_empty: listings.is_empty(),
        filter,
        groups: groups(&links, filter, &searched),
        chosen: Facet::ALL.into_iter().filter_map(|facet| Some((parameter(facet), filter.chosen(facet)?))).collect(),
        all: links.url(&Filter::default(), 1),
        roles: page
            .rows(&found)
            .iter()
            .map(|role| RoleCard::new(texts, &organization.slug, shows_salary, role))
            .collect(),
        page_of: fill(texts.careers.page_of, &[("page", &page.number.to_string()), ("pages", &page.count.to_string())]),
        has_pages: page.count > 1,
        previous: page_url(page.number.wrapping_sub(1)),
        next: page_url(page.number + 1),
        path: links.path,
        frame,
    })?;
    // Responses for page numbers that do not exist, and for filters without results, are not cached, because anybody
    // can invent an unlimited number of such requests.
    let is_cacheable = page.number == *requested && (filter.is_empty() || !found.is_empty());
    if is_cacheable {
        valid_until_change(reply, texts, &organization, tx)
    } else {
        Ok(reply.in_language(texts.tag).with_tag())
    }
}

#[derive(Template)]
#[template(path = "careers_list.html", config = "src/http/pages/templates/askama.toml")]
struct ListTemplate<'a> {
    frame: Frame<'a>,
    canonical: String,
    feed: String,
    /// The absolute URL of the uploaded logo, if the organization has one.
    logo: Option<String>,
    heading: String,
    count: String,
    none_more: String,
    /// Whether the portal has no roles at all, regardless of the filter.
    is_empty: bool,
    filter: &'a Filter,
    groups: Vec<FilterGroup>,
    /// The names and values of the chosen filters, as parameters that the search form also sends.
    chosen: Vec<(&'static str, &'a str)>,
    path: String,
    /// The URL without search and filters.
    all: String,
    roles: Vec<RoleCard<'a>>,
    page_of: String,
    has_pages: bool,
    previous: Option<String>,
    next: Option<String>,
}

/// The filter for one facet.
struct FilterGroup {
    heading: &'static str,
    /// The link that removes this filter.
    all: FilterLink,
    values: Vec<FilterLink>,
}

struct FilterLink {
    label: String,
    url: String,
    count: Option<String>,
    is_chosen: bool,
}

/// Parses a page number. An invalid number becomes page 1.
fn page_number(text: &str) -> usize {
    text.parse().map_or(1, |page: usize| page.max(1))
}

fn facet_value(text: &str) -> Option<Cow<'_, str>> {
    Filter::is_choice(text).then_some(Cow::Borrowed(text))
}

/// Returns the name of a facet's query parameter.
const fn parameter(facet: Facet) -> &'static str {
    match facet {
        Facet::Department => "department",
        Facet::Location => "location",
        Facet::WorkType => "workType",
    }
}

/// The parts that all URLs of the list share. The methods add filters, a search and a page number.
struct ListLinks {
    texts: &'static Texts,
    path: String,
}

impl ListLinks {
    /// Returns the URL without `lang`.
    fn without_language(&self, filter: &Filter, page: usize) -> String {
        let chosen = Facet::ALL.into_iter().map(|facet| (parameter(facet), filter.chosen(facet).unwrap_or_default()));
        let number = if page > 1 { page.to_string() } else { String::new() };
        let all = chosen.chain([("q", filter.search()), ("page", &number)]);
        let parts = all
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", url::escape_query_value(value)));
        let query = parts.collect::<Vec<_>>().join("&");
        if query.is_empty() { self.path.clone() } else { format!("{}?{query}", self.path) }
    }

    /// Returns the URL with `lang`, so that the linked page is in the language of this page.
    fn url(&self, filter: &Filter, page: usize) -> String {
        let url = self.without_language(filter, page);
        let join = if url.contains('?') { '&' } else { '?' };
        format!("{url}{join}lang={}", self.texts.tag)
    }
}

/// Returns the filters that the page shows: those with at least two values or with a chosen value.
fn groups(links: &ListLinks, filter: &Filter, searched: &SearchResult<'_, '_>) -> Vec<FilterGroup> {
    let (words, labels) = (&links.texts.careers, &links.texts.role);
    let groups = Facet::ALL.into_iter().filter_map(|facet| {
        let (heading, all) = match facet {
            Facet::Department => (labels.department, words.all_departments),
            Facet::Location => (labels.location, words.all_locations),
            Facet::WorkType => (labels.work_type, words.all_work_types),
        };
        let chosen = filter.chosen(facet);
        let mut values = searched.values(facet);
        if values.len() < 2 && chosen.is_none() {
            return None;
        }
        if let Some(chosen) = chosen.filter(|chosen| values.iter().all(|(value, _)| value != chosen)) {
            values.push((chosen, 0));
        }
        let value = |(value, count): (&str, usize)| FilterLink {
            label: label(links.texts, facet, value),
            url: links.url(&filter.with(facet, Some(value)), 1),
            count: Some(links.texts.number(count as f64)),
            is_chosen: chosen == Some(value),
        };
        Some(FilterGroup {
            heading,
            all: FilterLink {
                label: all.to_owned(),
                url: links.url(&filter.with(facet, None), 1),
                count: None,
                is_chosen: chosen.is_none(),
            },
            values: values.into_iter().map(value).collect(),
        })
    });
    groups.collect()
}

/// Returns the label of a value: a translated work type, or the value itself.
fn label(texts: &Texts, facet: Facet, value: &str) -> String {
    let work_type = WorkType::parse(value).filter(|_| facet == Facet::WorkType);
    work_type.map_or_else(|| value.to_owned(), |work_type| work_type_name(texts, work_type).to_owned())
}
