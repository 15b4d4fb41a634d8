//! `GET /careers/{orgSlug}`: the roles that are public and open, newest first, fifty a page, with filters and a search.

use std::borrow::Cow;

use askama::Template;

use super::visit::{Card, Visit, card, escaped, home, named, organization, valid_until_change};
use super::{missing, share};
use crate::domain::careers::{Facet, Filter, ListPage, SearchResult};
use crate::domain::role::WorkType;
use crate::http::api::portal;
use crate::http::pages::frame::Frame;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::cache_variant::CacheParameter;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::{self, Error, Tx};

/// What chooses a list that is kept, besides the language. A search is not among it: anybody can invent one.
pub(super) const PARAMETERS: &[CacheParameter] = &[
    CacheParameter {
        name: "page",
        normalize: |text| Some(page_number(text)).filter(|page| *page > 1).map(|page| page.to_string().into()),
    },
    CacheParameter { name: name(Facet::Department), normalize: chosen },
    CacheParameter { name: name(Facet::Location), normalize: chosen },
    CacheParameter { name: name(Facet::WorkType), normalize: chosen },
];

pub(super) struct ListPageInput {
    visit: Visit,
    filter: Filter,
    page: usize,
}

/// The list that is asked for. A page that is no number is the first; one beyond the last is the last.
///
/// # Errors
/// `validation_error` where a parameter is there twice.
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<ListPageInput, Error> {
    let chosen = [request.query(name(Facet::Department))?, request.query(name(Facet::Location))?];
    let [department, location] = chosen;
    let work_type = request.query(name(Facet::WorkType))?;
    let search = request.query("q")?.unwrap_or_default();
    let page = request.query("page")?.map_or(1, |page| page_number(&page));
    Ok(ListPageInput {
        visit: super::visit::decode(ctx, request)?,
        filter: Filter::new([department, location, work_type], &search),
        page,
    })
}

/// `GET /careers/{orgSlug}`
///
/// # Errors
/// `not_found`, as a page, where there is no organization with this slug, or its portal is off.
pub(super) fn list(
    ctx: &Ctx,
    tx: &Tx<'_>,
    ListPageInput { visit, filter, page: wanted }: &ListPageInput,
) -> Result<Reply, Error> {
    let Some(organization) = organization(tx, visit.slug.as_ref())? else { return missing::portal(visit) };
    let texts = visit.texts;
    let listings = store::careers::listings(tx, &organization.id, usize::MAX)?;
    let searched = filter.searched(&listings);
    let found = searched.chosen();
    let page = ListPage::of(found.len(), *wanted);
    let shows_salary = portal::shows_salary(&organization.theme)?;
    let link = Link { texts, home: home(&organization.slug) };
    let heading = fill(texts.careers.title, &[("organization", &organization.name)]);
    let title = if page.number == 1 {
        heading.clone()
    } else {
        fill(texts.careers.title_of_page, &[("title", &heading), ("page", &page.number.to_string())])
    };
    let mut frame = visit.frame(&organization, title, &link.without_language(filter, page.number));
    // A list that somebody narrowed is not for search engines: they have it whole.
    frame.is_indexed = filter.is_empty();
    let base = &ctx.settings.base_url;
    let address = share::list_url(base, &organization.slug);
    let to_page = |number: usize| (1..=page.count).contains(&number).then(|| link.to(filter, number));
    let reply = Reply::rendered(&List {
        canonical: if page.number > 1 { format!("{address}?page={}", page.number) } else { address },
        feed: share::file_url(base, &organization.slug, "feed.atom"),
        logo: organization.has_logo.then(|| share::file_url(base, &organization.slug, "logo")),
        heading,
        count: texts.counted(&texts.careers.count, found.len()),
        none_more: fill(texts.careers.none_more, &[("organization", &organization.name)]),
        is_empty: listings.is_empty(),
        filter,
        groups: groups(&link, filter, &searched),
        kept: Facet::ALL.into_iter().filter_map(|facet| Some((name(facet), filter.chosen(facet)?))).collect(),
        all: link.to(&Filter::default(), 1),
        roles: page.rows(&found).iter().map(|role| card(texts, &organization.slug, shows_salary, role)).collect(),
        page_of: fill(texts.careers.page_of, &[("page", &page.number.to_string()), ("pages", &page.count.to_string())]),
        has_pages: page.count > 1,
        previous: to_page(page.number.wrapping_sub(1)),
        next: to_page(page.number + 1),
        home: link.home,
        frame,
    })?;
    // What leads to nothing anybody could make up: there is no end of it.
    let leads_somewhere = page.number == *wanted && (filter.is_empty() || !found.is_empty());
    if leads_somewhere {
        valid_until_change(reply, texts, &organization, tx)
    } else {
        Ok(reply.in_language(texts.tag).with_tag())
    }
}

#[derive(Template)]
#[template(path = "careers_list.html", config = "src/http/pages/templates/askama.toml")]
struct List<'a> {
    frame: Frame<'a>,
    canonical: String,
    feed: String,
    /// The absolute URL of the organization's picture.
    logo: Option<String>,
    heading: String,
    count: String,
    none_more: String,
    /// Whether there is no role at all.
    is_empty: bool,
    filter: &'a Filter,
    groups: Vec<Group>,
    /// What a search keeps of the filters.
    kept: Vec<(&'static str, &'a str)>,
    home: String,
    all: String,
    roles: Vec<Card<'a>>,
    page_of: String,
    has_pages: bool,
    previous: Option<String>,
    next: Option<String>,
}

/// A filter, with the values that it can have.
struct Group {
    heading: &'static str,
    all: Choice,
    values: Vec<Choice>,
}

/// A value of a filter.
struct Choice {
    label: String,
    url: String,
    count: Option<String>,
    is_chosen: bool,
}

/// The page that is asked for by this text.
fn page_number(text: &str) -> usize {
    text.parse().map_or(1, |page: usize| page.max(1))
}

/// The value of a filter, where one is chosen.
fn chosen(text: &str) -> Option<Cow<'_, str>> {
    Filter::is_choice(text).then_some(Cow::Borrowed(text))
}

/// What a filter is called in a query.
const fn name(facet: Facet) -> &'static str {
    match facet {
        Facet::Department => "department",
        Facet::Location => "location",
        Facet::WorkType => "workType",
    }
}

/// Links to the list.
struct Link {
    texts: &'static Texts,
    home: String,
}

impl Link {
    /// Its path and query, without the language.
    fn without_language(&self, filter: &Filter, page: usize) -> String {
        let chosen = Facet::ALL.into_iter().map(|facet| (name(facet), filter.chosen(facet).unwrap_or_default()));
        let number = if page > 1 { page.to_string() } else { String::new() };
        let all = chosen.chain([("q", filter.search()), ("page", &number)]);
        let parts =
            all.filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name}={}", escaped(value)));
        let query = parts.collect::<Vec<_>>().join("&");
        if query.is_empty() { self.home.clone() } else { format!("{}?{query}", self.home) }
    }

    /// The same with it.
    fn to(&self, filter: &Filter, page: usize) -> String {
        let url = self.without_language(filter, page);
        let join = if url.contains('?') { '&' } else { '?' };
        format!("{url}{join}lang={}", self.texts.tag)
    }
}

/// The filters: each where it has something to choose from, or something was chosen.
fn groups(link: &Link, filter: &Filter, searched: &SearchResult<'_, '_>) -> Vec<Group> {
    let (words, labels) = (&link.texts.careers, &link.texts.role);
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
        let value = |(value, count): (&str, usize)| Choice {
            label: label(link.texts, facet, value),
            url: link.to(&filter.with(facet, Some(value)), 1),
            count: Some(link.texts.number(count as f64)),
            is_chosen: chosen == Some(value),
        };
        Some(Group {
            heading,
            all: Choice {
                label: all.to_owned(),
                url: link.to(&filter.with(facet, None), 1),
                count: None,
                is_chosen: chosen.is_none(),
            },
            values: values.into_iter().map(value).collect(),
        })
    });
    groups.collect()
}

/// What readers call a value: a work type by its name in their language, anything else as it is.
fn label(texts: &Texts, facet: Facet, value: &str) -> String {
    let work_type = WorkType::parse(value).filter(|_| facet == Facet::WorkType);
    work_type.map_or_else(|| value.to_owned(), |work_type| named(texts, work_type).to_owned())
}
