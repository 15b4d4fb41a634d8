//! A role as search engines read it: a schema.org JobPosting, as JSON-LD in the role's page.
//!
//! The JobPosting contains only known facts. It has a `validThrough` only if the role has a closing date. A role
//! without a closing date is open until it is filled or closed, and the response for its page is then a 410. The
//! JobPosting has no `employmentType`, and no country unless the location names one.

use serde_json::{Map, Value, json};

use super::job_location::{self, JobLocation};
use super::url;
use crate::domain::role::{Salary, SalaryPeriod, WorkType};
use crate::http::pages::markdown;
use crate::http::server::html;
use crate::interchange::json;
use crate::store::role::RoleRecord;

/// The organization that offers a role.
#[derive(Debug, Clone, Copy)]
pub(super) struct Employer<'a> {
    pub(super) name: &'a str,
    pub(super) slug: &'a str,
    /// The organization's domain, as it was typed.
    pub(super) domain: &'a str,
    /// The URL of a logo on another site; may be empty.
    pub(super) logo: &'a str,
    /// Whether this service stores a logo for the organization. The stored logo takes precedence over `logo`.
    pub(super) has_logo: bool,
    /// Whether the portal shows salaries.
    pub(super) shows_salary: bool,
}

impl Employer<'_> {
    fn logo_url(&self, base: &str) -> Option<String> {
        let is_url = |url: &str| url.starts_with("https://") || url.starts_with("http://");
        let external = is_url(self.logo).then(|| self.logo.to_owned());
        if self.has_logo { Some(url::file_url(base, self.slug, "logo")) } else { external }
    }
}

/// The dates of a JobPosting.
#[derive(Debug, Clone, Default)]
pub(super) struct PostingDates {
    /// The day on which the role was created, in the organization's time zone. The page shows the same day.
    pub(super) posted: String,
    /// The last second in which the role accepts signups, if it has a closing date.
    pub(super) valid_through: Option<String>,
}

/// Renders a role as JSON-LD that is safe inside a `script` element.
pub(super) fn json_ld(base: &str, employer: &Employer<'_>, role: &RoleRecord, dates: &PostingDates) -> String {
    escape_for_script(&posting(base, employer, role, dates).to_string())
}

fn posting(base: &str, employer: &Employer<'_>, role: &RoleRecord, dates: &PostingDates) -> Value {
    let mut posting = json!({
        "@context": "https://schema.org",
        "@type": "JobPosting",
        "title": role.name,
        "description": description(role),
        "datePosted": dates.posted,
        "identifier": { "@type": "PropertyValue", "name": employer.name, "value": role.id.as_str() },
        "url": url::role_url(base, employer.slug, role.id.as_str()),
        "directApply": true,
        "hiringOrganization": organization(base, employer),
    });
    let members = posting.as_object_mut().expect("the literal above is an object");
    if let Some(valid_through) = &dates.valid_through {
        members.insert("validThrough".to_owned(), json!(valid_through));
    }
    insert_location(members, role);
    if let Some(salary) = Some(&role.salary).filter(|_| employer.shows_salary).and_then(salary) {
        members.insert("baseSalary".to_owned(), salary);
    }
    posting
}

/// Renders the description as HTML. Search engines require a description, so an empty one is replaced with the role's
/// name.
fn description(role: &RoleRecord) -> String {
    let html = markdown::to_html(role.description.markdown());
    if html.trim().is_empty() { format!("<p>{}</p>", html::escape(&role.name)) } else { html }
}

fn organization(base: &str, employer: &Employer<'_>) -> Value {
    let mut organization = json!({ "@type": "Organization", "name": employer.name });
    let is_host = |domain: &&str| {
        let plain = domain.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
        plain && domain.contains('.') && !domain.starts_with('.')
    };
    if let Some(domain) = Some(employer.domain.trim()).filter(is_host) {
        organization["sameAs"] = json!(format!("https://{domain}"));
    }
    if let Some(logo) = employer.logo_url(base) {
        organization["logo"] = json!(logo);
    }
    organization
}

/// Inserts the place of work. If the location of a remote role consists only of countries, the JobPosting requires
/// applicants to live in one of these countries and has no `jobLocation`.
fn insert_location(members: &mut Map<String, Value>, role: &RoleRecord) {
    let is_remote = role.work_type == Some(WorkType::Remote);
    let mut has_location = true;
    if is_remote {
        members.insert("jobLocationType".to_owned(), json!("TELECOMMUTE"));
        let countries = job_location::parse_countries(&role.location);
        has_location = countries.is_empty();
        let countries: Vec<Value> =
            countries.iter().map(|country| json!({ "@type": "Country", "name": country })).collect();
        if !countries.is_empty() {
            members.insert("applicantLocationRequirements".to_owned(), json!(countries));
        }
    }
    let Some(location) = JobLocation::parse(&role.location).filter(|_| has_location) else { return };
    let mut address = json!({ "@type": "PostalAddress" });
    let parts = [
        ("addressLocality", location.locality),
        ("addressRegion", location.region),
        ("addressCountry", location.country.unwrap_or_default()),
    ];
    for (name, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        address[name] = json!(part);
    }
    members.insert("jobLocation".to_owned(), json!({ "@type": "Place", "address": address }));
}

/// Returns the salary if it has a currency and an amount.
fn salary(salary: &Salary) -> Option<Value> {
    let currency = salary.currency.as_deref()?;
    let mut value = json!({ "@type": "QuantitativeValue" });
    match (salary.min.and_then(json::number), salary.max.and_then(json::number)) {
        (Some(min), Some(max)) if min == max => value["value"] = json!(min),
        (None, None) => return None,
        (min, max) => {
            for (name, amount) in [("minValue", min), ("maxValue", max)] {
                if let Some(amount) = amount {
                    value[name] = json!(amount);
                }
            }
        }
    }
    if let Some(period) = salary.period {
        value["unitText"] = json!(unit_text(period));
    }
    Some(json!({ "@type": "MonetaryAmount", "currency": currency, "value": value }))
}

/// Returns the word that Google's documentation of job postings uses for the period.
fn unit_text(period: SalaryPeriod) -> &'static str {
    match period {
        SalaryPeriod::Hour => "HOUR",
        SalaryPeriod::Day => "DAY",
        SalaryPeriod::Week => "WEEK",
        SalaryPeriod::Month => "MONTH",
        SalaryPeriod::Year => "YEAR",
    }
}

/// Escapes the characters that HTML or scripts treat specially: `</script` would end the element, and `<!--` could make
/// browsers ignore its end tag. In JSON, these characters occur only in strings, so the escapes do not change the
/// meaning.
fn escape_for_script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len() + json.len() / 8);
    for c in json.chars() {
        match c {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{Id, RoleId};
    use crate::domain::role::{RoleStatus, Seats};
    use crate::domain::timestamp::Timestamp;
    use crate::store::description::Description;

    const BASE: &str = "https://jobs.example.com";

    fn employer() -> Employer<'static> {
        let logo = "https://acme.example/logo.svg";
        Employer { name: "Acme", slug: "acme", domain: "acme.example", logo, has_logo: false, shows_salary: true }
    }

    fn role(location: &str, work_type: Option<WorkType>) -> RoleRecord {
        let salary = |min, max| Salary { min, max, currency: Some("EUR".to_owned()), period: Some(SalaryPeriod::Year) };
        RoleRecord {
            id: RoleId::parse("role_1").unwrap(),
            name: "Engineer".to_owned(),
            description: Description::of_markdown("# You\n\nbuild.".to_owned()),
            department: "Engineering".to_owned(),
            location: location.to_owned(),
            work_type,
            collar_type: None,
            salary: salary(Some(60_000.0), Some(75_000.5)),
            seats: Seats { status: RoleStatus::Open, positions: 1, hired: 0 },
            public: true,
            close_reason: None,
            closes_on: None,
            created_at: Timestamp::from_micros(1_790_000_000_000_000),
        }
    }

    #[test]
    fn a_posting_contains_all_known_facts() {
        let expected = json!({
            "@context": "https://schema.org",
            "@type": "JobPosting",
            "title": "Engineer",
            "description": "<h2>You</h2>\n<p>build.</p>\n",
            "datePosted": "2026-09-21",
            "validThrough": "2026-11-30T22:59:59Z",
            "identifier": { "@type": "PropertyValue", "name": "Acme", "value": "role_1" },
            "url": "https://jobs.example.com/careers/acme/roles/role_1",
            "directApply": true,
            "hiringOrganization": {
                "@type": "Organization",
                "name": "Acme",
                "sameAs": "https://acme.example",
                "logo": "https://acme.example/logo.svg",
            },
            "jobLocation": {
                "@type": "Place",
                "address": { "@type": "PostalAddress", "addressLocality": "Rostock", "addressCountry": "DE" },
            },
            "baseSalary": {
                "@type": "MonetaryAmount",
                "currency": "EUR",
                "value": { "@type": "QuantitativeValue", "minValue": 60000, "maxValue": 75000.5, "unitText": "YEAR" },
            },
        });
        let role = role("Rostock, Germany", Some(WorkType::Hybrid));
        let valid_through = Some("2026-11-30T22:59:59Z".to_owned());
        let dates = PostingDates { posted: "2026-09-21".to_owned(), valid_through };
        assert_eq!(posting(BASE, &employer(), &role, &dates), expected);
        assert_eq!(serde_json::from_str::<Value>(&json_ld(BASE, &employer(), &role, &dates)).unwrap(), expected);
        let without = posting(BASE, &employer(), &role, &PostingDates { valid_through: None, ..dates });
        assert!(without.get("validThrough").is_none());
    }

    #[test]
    fn a_remote_role_limits_applicants_to_the_countries_in_its_location() {
        let remote =
            |location| posting(BASE, &employer(), &role(location, Some(WorkType::Remote)), &PostingDates::default());
        let countries = json!([{ "@type": "Country", "name": "DE" }, { "@type": "Country", "name": "AT" }]);
        let germany = remote("Germany / Austria");
        assert_eq!(germany["jobLocationType"], "TELECOMMUTE");
        assert_eq!(germany["applicantLocationRequirements"], countries);
        assert!(germany.get("jobLocation").is_none());
        let bremen = remote("Bremen");
        assert_eq!(bremen["jobLocation"]["address"]["addressLocality"], "Bremen");
        assert!(bremen.get("applicantLocationRequirements").is_none());
        for nowhere in ["", "Remote"] {
            let posting = remote(nowhere);
            assert_eq!(posting["jobLocationType"], "TELECOMMUTE");
            assert!(posting.get("jobLocation").is_none());
        }
        let onsite = posting(BASE, &employer(), &role("Germany", Some(WorkType::Onsite)), &PostingDates::default());
        assert!(onsite.get("jobLocationType").is_none());
        assert_eq!(onsite["jobLocation"]["address"]["addressCountry"], "DE");
    }

    #[test]
    fn salaries_are_included_if_they_are_shown_and_have_a_currency_and_an_amount() {
        let salary = |employer: &Employer<'_>, change: &dyn Fn(&mut Salary)| {
            let mut role = role("", None);
            change(&mut role.salary);
            posting(BASE, employer, &role, &PostingDates::default())["baseSalary"].clone()
        };
        let hidden = Employer { shows_salary: false, ..employer() };
        assert_eq!(salary(&hidden, &|_| {}), Value::Null);
        assert_eq!(salary(&employer(), &|salary| salary.currency = None), Value::Null);
        assert_eq!(salary(&employer(), &|salary| (salary.min, salary.max) = (None, None)), Value::Null);
        let same = salary(&employer(), &|salary| salary.max = salary.min);
        assert_eq!(same["value"], json!({ "@type": "QuantitativeValue", "value": 60000, "unitText": "YEAR" }));
        let from = salary(&employer(), &|salary| (salary.max, salary.period) = (None, None));
        assert_eq!(from["value"], json!({ "@type": "QuantitativeValue", "minValue": 60000 }));
        let to = salary(&employer(), &|salary| (salary.min, salary.period) = (None, Some(SalaryPeriod::Hour)));
        assert_eq!(to["value"], json!({ "@type": "QuantitativeValue", "maxValue": 75000.5, "unitText": "HOUR" }));
    }

    #[test]
    fn no_string_can_end_the_script_element() {
        let mut role = role("</script>", None);
        role.name = "</script><!-- & \u{2028}".to_owned();
        role.description = Description::of_markdown("</script><script>alert(1)</script>".to_owned());
        let name = "<!--<script>";
        let employer = Employer { name, domain: "javascript:x", logo: "data:x", ..employer() };
        let json = json_ld(BASE, &employer, &role, &PostingDates::default());
        assert!(!json.contains(['<', '>', '&', '\u{2028}']), "{json}");
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&read["title"], &read["hiringOrganization"]["name"]), (&json!(role.name), &json!(name)));
        assert_eq!(read["hiringOrganization"], json!({ "@type": "Organization", "name": name }));
    }

    #[test]
    fn a_stored_logo_replaces_a_logo_url_and_the_role_name_replaces_an_empty_description() {
        let employer = Employer { has_logo: true, ..employer() };
        let mut role = role("", None);
        role.description = Description::default();
        let posting = posting(BASE, &employer, &role, &PostingDates::default());
        assert_eq!(posting["hiringOrganization"]["logo"], "https://jobs.example.com/careers/acme/logo");
        assert_eq!(posting["description"], "<p>Engineer</p>");
    }
}
