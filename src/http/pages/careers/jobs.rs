//! What job boards read: `/careers/{orgSlug}/jobs.xml`, in the shape that Indeed made common: `source`, in it a `job` for each
//! role, in that each text in a section of its own.

use super::place::Place;
use super::visit::file;
use super::{feed, share};
use crate::domain::role::{Salary, SalaryPeriod, WorkType};
use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::pages::markdown;
use crate::http::pages::xml;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::interchange::json;
use crate::store::feed::{FeedEntry, entries};
use crate::store::portal::PortalOrganization;
use crate::store::role::RoleRecord;
use crate::store::{Error, Tx};

/// Roles of the feed: far more than an organization of this size has.
const JOBS_MAX: i64 = 5_000;

pub(super) fn routes() -> Vec<Route> {
    vec![file("/careers/{orgSlug}/jobs.xml", CachePool::Feeds, jobs).rendered_one_at_a_time()]
}

/// `GET /careers/{orgSlug}/jobs.xml`: every role that is public and open.
///
/// # Errors
/// `not_found` where there is no organization with this slug, or its portal is off.
fn jobs(ctx: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = portal::organization(tx, slug.as_ref())?;
    let shows_salary = portal::shows_salary(&organization.theme)?;
    let entries = entries(tx, &organization.id, JOBS_MAX)?;
    let base = &ctx.settings.base_url;
    let newest = entries.iter().map(|entry| entry.shown_since).max();
    let built = feed::moment(newest.unwrap_or(organization.updated_at).max(organization.updated_at));
    let jobs: String = entries.iter().map(|entry| job(base, &organization, entry, shows_salary)).collect();
    let document = format!(
        "{}<source>\n<publisher>{}</publisher>\n<publisherurl>{}</publisherurl>\n<lastBuildDate>{built}</lastBuildDate>\n\
         {jobs}</source>\n",
        xml::DECLARATION,
        xml::cdata(&organization.name),
        xml::cdata(&share::list_url(base, &organization.slug)),
    );
    feed::reply(tx, &organization, "application/xml; charset=utf-8", document)
}

fn job(
    base: &str,
    organization: &PortalOrganization,
    FeedEntry { role, shown_since }: &FeedEntry,
    shows_salary: bool,
) -> String {
    let place = Place::read(&role.location).unwrap_or_default();
    let markdown = markdown::of_description(&role.description);
    // Readers expect these, with nothing in them where nothing is known.
    let mut parts = vec![
        ("title", role.name.clone()),
        ("date", feed::moment(role.created_at)),
        ("referencenumber", role.id.to_string()),
        ("requisitionid", role.id.to_string()),
        ("url", share::role_url(base, &organization.slug, role.id.as_str())),
        ("company", organization.name.clone()),
        ("sourcename", organization.name.clone()),
        ("city", place.locality.to_owned()),
        ("state", place.region.to_owned()),
        ("country", place.country.unwrap_or_default().to_owned()),
        ("description", markdown::to_html(&markdown)),
        ("lastactivitydate", feed::moment(*shown_since)),
    ];
    let category = Some(role.department.clone()).filter(|department| !department.trim().is_empty());
    parts.extend(category.map(|category| ("category", category)));
    parts.extend(salary(&role.salary).filter(|_| shows_salary).map(|salary| ("salary", salary)));
    parts.extend(remote(role).map(|remote| ("remotetype", remote.to_owned())));
    let parts: String = parts.iter().map(|(name, text)| format!("<{name}>{}</{name}>\n", xml::cdata(text))).collect();
    format!("<job>\n{parts}</job>\n")
}

/// A salary in words: `60000 - 75000.5 EUR per year`.
fn salary(salary: &Salary) -> Option<String> {
    let currency = salary.currency.as_deref()?;
    let amount = match (salary.min.and_then(json::number), salary.max.and_then(json::number)) {
        (Some(min), Some(max)) if min != max => format!("{min} - {max}"),
        (Some(one), Some(_)) => one.to_string(),
        (Some(min), None) => format!("from {min}"),
        (None, Some(max)) => format!("up to {max}"),
        (None, None) => return None,
    };
    let period = salary.period.map(|period| format!(" per {}", SalaryPeriod::as_str(period))).unwrap_or_default();
    Some(format!("{amount} {currency}{period}"))
}

/// How much of the work is done from anywhere, in the words that readers know.
fn remote(role: &RoleRecord) -> Option<&'static str> {
    match role.work_type? {
        WorkType::Remote => Some("Fully remote"),
        WorkType::Hybrid => Some("Hybrid remote"),
        WorkType::Onsite => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_salary_is_told_as_far_as_it_is_known() {
        let of = |min, max, currency: Option<&str>, period| {
            salary(&Salary { min, max, currency: currency.map(str::to_owned), period })
        };
        let (year, hour) = (Some(SalaryPeriod::Year), Some(SalaryPeriod::Hour));
        for (told, expected) in [
            (of(Some(60_000.0), Some(75_000.5), Some("EUR"), year), Some("60000 - 75000.5 EUR per year")),
            (of(Some(15.5), Some(15.5), Some("USD"), hour), Some("15.5 USD per hour")),
            (of(Some(15.5), None, Some("USD"), None), Some("from 15.5 USD")),
            (of(None, Some(20.0), Some("USD"), None), Some("up to 20 USD")),
            (of(None, None, Some("USD"), hour), None),
            (of(Some(1.0), Some(2.0), None, hour), None),
        ] {
            assert_eq!(told.as_deref(), expected);
        }
    }
}
