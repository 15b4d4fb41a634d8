//! `/careers/{orgSlug}/jobs.xml`: an organization's roles for job boards, in the format that Indeed introduced. A
//! `source` element contains a `job` element for each role. The values in a `job` are `CDATA` sections.

use super::closing_day;
use super::job_location::JobLocation;
use super::portal_file::{self, rfc3339_seconds};
use super::url;
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

/// The maximum number of roles in the feed, which is far more than a small organization has.
const JOBS_MAX: i64 = 5_000;

pub(super) fn routes() -> Vec<Route> {
    vec![portal_file::route("/careers/{orgSlug}/jobs.xml", CachePool::Feeds, jobs).rendered_one_at_a_time()]
}

/// `GET /careers/{orgSlug}/jobs.xml`: returns the newest roles that are public and open.
///
/// # Errors
/// `not_found` if no organization has this slug, or if the organization or its portal is disabled.
fn jobs(ctx: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = portal::organization(tx, slug.as_ref())?;
    let shows_salary = organization.theme.shows_salary();
    let entries = entries(tx, &organization.id, JOBS_MAX)?;
    let base = &ctx.settings.base_url;
    let newest = entries.iter().map(|entry| entry.shown_since).max();
    let built = rfc3339_seconds(newest.unwrap_or(organization.updated_at).max(organization.updated_at));
    let jobs: String = entries.iter().map(|entry| job(ctx, &organization, entry, shows_salary)).collect();
    let document = format!(
        "{}<source>\n<publisher>{}</publisher>\n<publisherurl>{}</publisherurl>\n<lastBuildDate>{built}</lastBuildDate>\n\
         {jobs}</source>\n",
        xml::DECLARATION,
        xml::cdata(&organization.name),
        xml::cdata(&url::list_url(base, &organization.slug)),
    );
    portal_file::reply(tx, &organization, "application/xml; charset=utf-8", document)
}

fn job(
    ctx: &Ctx,
    organization: &PortalOrganization,
    FeedEntry { role, shown_since }: &FeedEntry,
    shows_salary: bool,
) -> String {
    let location = JobLocation::parse(&role.location).unwrap_or_default();
    let markdown = role.description.markdown();
    // Job boards expect these elements, even if they are empty.
    let mut elements = vec![
        ("title", role.name.clone()),
        ("date", rfc3339_seconds(role.created_at)),
        ("referencenumber", role.id.to_string()),
        ("requisitionid", role.id.to_string()),
        ("url", url::role_url(&ctx.settings.base_url, &organization.slug, role.id.as_str())),
        ("company", organization.name.clone()),
        ("sourcename", organization.name.clone()),
        ("city", location.locality.to_owned()),
        ("state", location.region.to_owned()),
        ("country", location.country.unwrap_or_default().to_owned()),
        ("description", markdown::to_html(markdown)),
        ("lastactivitydate", rfc3339_seconds(*shown_since)),
    ];
    let expiration = closing_day::last_second(ctx, organization, role);
    elements.extend(expiration.map(|expiration| ("expirationdate", expiration)));
    let category = Some(role.department.clone()).filter(|department| !department.trim().is_empty());
    elements.extend(category.map(|category| ("category", category)));
    elements.extend(salary(&role.salary).filter(|_| shows_salary).map(|salary| ("salary", salary)));
    elements.extend(remote_type(role).map(|remote| ("remotetype", remote.to_owned())));
    let elements: String =
        elements.iter().map(|(name, text)| format!("<{name}>{}</{name}>\n", xml::cdata(text))).collect();
    format!("<job>\n{elements}</job>\n")
}

/// Formats a salary, such as `60000 - 75000.5 EUR per year`. Returns `None` without a currency or an amount.
fn salary(salary: &Salary) -> Option<String> {
    let currency = salary.currency.as_deref()?;
    let amount = match (salary.min.and_then(json::number), salary.max.and_then(json::number)) {
        (Some(min), Some(max)) if min != max => format!("{min} - {max}"),
        (Some(exact), Some(_)) => exact.to_string(),
        (Some(min), None) => format!("from {min}"),
        (None, Some(max)) => format!("up to {max}"),
        (None, None) => return None,
    };
    let period = salary.period.map(|period| format!(" per {}", SalaryPeriod::as_str(period))).unwrap_or_default();
    Some(format!("{amount} {currency}{period}"))
}

/// Returns the work type in the format's vocabulary, or `None` for an on-site role or a role without a work type.
fn remote_type(role: &RoleRecord) -> Option<&'static str> {
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
    fn salaries_require_a_currency_and_an_amount() {
        let text = |min, max, currency: Option<&str>, period| {
            salary(&Salary { min, max, currency: currency.map(str::to_owned), period })
        };
        let (year, hour) = (Some(SalaryPeriod::Year), Some(SalaryPeriod::Hour));
        for (actual, expected) in [
            (text(Some(60_000.0), Some(75_000.5), Some("EUR"), year), Some("60000 - 75000.5 EUR per year")),
            (text(Some(15.5), Some(15.5), Some("USD"), hour), Some("15.5 USD per hour")),
            (text(Some(15.5), None, Some("USD"), None), Some("from 15.5 USD")),
            (text(None, Some(20.0), Some("USD"), None), Some("up to 20 USD")),
            (text(None, None, Some("USD"), hour), None),
            (text(Some(1.0), Some(2.0), None, hour), None),
        ] {
            assert_eq!(actual.as_deref(), expected);
        }
    }
}
