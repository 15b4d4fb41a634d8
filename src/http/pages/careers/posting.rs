//! A role as search engines read it: schema.org JobPosting, as JSON-LD in the role's page.
//!
//! Nothing is said that is not known: no `validThrough`, since a role is open until it is closed and its page is gone
//! then; no `employmentType`; no country for a town whose country nobody wrote.

use serde_json::{Map, Value, json};

use super::place::{self, Place};
use super::share;
use crate::domain::role::{Salary, SalaryPeriod, WorkType};
use crate::http::pages::markdown;
use crate::http::server::html;
use crate::interchange::json;
use crate::store::role::RoleRecord;

/// Who a role is with.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct Employer<'a> {
    pub(in crate::http) name: &'a str,
    pub(in crate::http) slug: &'a str,
    /// Its domain, as it was given.
    pub(in crate::http) domain: &'a str,
    /// The URL of its logo elsewhere; empty where there is none.
    pub(in crate::http) logo: &'a str,
    /// Whether it has a picture of its own here.
    pub(in crate::http) has_logo: bool,
    /// Whether its portal shows salaries.
    pub(in crate::http) shows_salary: bool,
}

impl Employer<'_> {
    /// The picture that stands for it.
    fn logo(&self, base: &str) -> Option<String> {
        let is_url = |url: &str| url.starts_with("https://") || url.starts_with("http://");
        let elsewhere = is_url(self.logo).then(|| self.logo.to_owned());
        if self.has_logo { Some(share::file_url(base, self.slug, "logo")) } else { elsewhere }
    }
}

/// A role as JSON-LD: to stand in a `script` element, as it is. `posted` is the day that the page shows, which is the
/// organization's and not that of UTC.
pub(in crate::http) fn json_ld(base: &str, employer: &Employer<'_>, role: &RoleRecord, posted: Option<&str>) -> String {
    inert(&posting(base, employer, role, posted).to_string())
}

fn posting(base: &str, employer: &Employer<'_>, role: &RoleRecord, posted: Option<&str>) -> Value {
    let mut posting = json!({
        "@context": "https://schema.org",
        "@type": "JobPosting",
        "title": role.name,
        "description": description(role),
        "datePosted": posted,
        "identifier": { "@type": "PropertyValue", "name": employer.name, "value": role.id.as_str() },
        "url": share::role_url(base, employer.slug, role.id.as_str()),
        "directApply": true,
        "hiringOrganization": organization(base, employer),
    });
    let members = posting.as_object_mut().expect("it was made as an object right here");
    insert_place(members, role);
    if let Some(salary) = Some(&role.salary).filter(|_| employer.shows_salary).and_then(salary) {
        members.insert("baseSalary".to_owned(), salary);
    }
    posting
}

/// The description as HTML; a role without one is at least named.
fn description(role: &RoleRecord) -> String {
    let html = markdown::to_html(&markdown::of_description(&role.description));
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
    if let Some(logo) = employer.logo(base) {
        organization["logo"] = json!(logo);
    }
    organization
}

/// Where the work is done. Work from anywhere has no place of its own where its line names countries: those are where
/// people may be.
fn insert_place(members: &mut Map<String, Value>, role: &RoleRecord) {
    let is_remote = role.work_type == Some(WorkType::Remote);
    let mut is_placed = true;
    if is_remote {
        members.insert("jobLocationType".to_owned(), json!("TELECOMMUTE"));
        let countries = place::countries(&role.location);
        is_placed = countries.is_empty();
        let countries: Vec<Value> =
            countries.iter().map(|country| json!({ "@type": "Country", "name": country })).collect();
        if !countries.is_empty() {
            members.insert("applicantLocationRequirements".to_owned(), json!(countries));
        }
    }
    let Some(place) = Place::read(&role.location).filter(|_| is_placed) else { return };
    let mut address = json!({ "@type": "PostalAddress" });
    let parts = [
        ("addressLocality", place.locality),
        ("addressRegion", place.region),
        ("addressCountry", place.country.unwrap_or_default()),
    ];
    for (name, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        address[name] = json!(part);
    }
    members.insert("jobLocation".to_owned(), json!({ "@type": "Place", "address": address }));
}

/// A salary that has a currency and an amount.
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
        value["unitText"] = json!(unit(period));
    }
    Some(json!({ "@type": "MonetaryAmount", "currency": currency, "value": value }))
}

/// What Google calls a period.
fn unit(period: SalaryPeriod) -> &'static str {
    match period {
        SalaryPeriod::Hour => "HOUR",
        SalaryPeriod::Day => "DAY",
        SalaryPeriod::Week => "WEEK",
        SalaryPeriod::Month => "MONTH",
        SalaryPeriod::Year => "YEAR",
    }
}

/// The same JSON without a character that HTML could read: `</script` and `<!--` would end or hide what follows. All of
/// them stand in strings.
fn inert(json: &str) -> String {
    let mut inert = String::with_capacity(json.len() + json.len() / 8);
    for c in json.chars() {
        match c {
            '<' => inert.push_str("\\u003c"),
            '>' => inert.push_str("\\u003e"),
            '&' => inert.push_str("\\u0026"),
            '\u{2028}' => inert.push_str("\\u2028"),
            '\u{2029}' => inert.push_str("\\u2029"),
            c => inert.push(c),
        }
    }
    inert
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{Id, RoleId};
    use crate::domain::role::{RoleStatus, Seats};
    use crate::domain::timestamp::Timestamp;

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
            description: r##"{"format":"markdown","body":"# You\n\nbuild."}"##.to_owned(),
            department: "Engineering".to_owned(),
            location: location.to_owned(),
            work_type,
            collar_type: None,
            salary: salary(Some(60_000.0), Some(75_000.5)),
            seats: Seats { status: RoleStatus::Open, positions: 1, hired: 0 },
            public: true,
            close_reason: None,
            created_at: Timestamp::from_micros(1_790_000_000_000_000),
        }
    }

    #[test]
    fn a_posting_says_what_is_known() {
        let expected = json!({
            "@context": "https://schema.org",
            "@type": "JobPosting",
            "title": "Engineer",
            "description": "<h2>You</h2>\n<p>build.</p>\n",
            "datePosted": "2026-09-21",
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
        assert_eq!(posting(BASE, &employer(), &role, Some("2026-09-21")), expected);
        assert_eq!(
            serde_json::from_str::<Value>(&json_ld(BASE, &employer(), &role, Some("2026-09-21"))).unwrap(),
            expected
        );
    }

    #[test]
    fn work_from_anywhere_says_from_where_it_is_known() {
        let of = |location| posting(BASE, &employer(), &role(location, Some(WorkType::Remote)), None);
        let countries = json!([{ "@type": "Country", "name": "DE" }, { "@type": "Country", "name": "AT" }]);
        let germany = of("Germany / Austria");
        assert_eq!(germany["jobLocationType"], "TELECOMMUTE");
        assert_eq!(germany["applicantLocationRequirements"], countries);
        assert!(germany.get("jobLocation").is_none());
        let bremen = of("Bremen");
        assert_eq!(bremen["jobLocation"]["address"]["addressLocality"], "Bremen");
        assert!(bremen.get("applicantLocationRequirements").is_none());
        for nowhere in ["", "Remote"] {
            let nowhere = of(nowhere);
            assert_eq!(nowhere["jobLocationType"], "TELECOMMUTE");
            assert!(nowhere.get("jobLocation").is_none());
        }
        let onsite = posting(BASE, &employer(), &role("Germany", Some(WorkType::Onsite)), None);
        assert!(onsite.get("jobLocationType").is_none());
        assert_eq!(onsite["jobLocation"]["address"]["addressCountry"], "DE");
    }

    #[test]
    fn a_salary_is_there_where_it_is_shown_and_whole() {
        let of = |employer: &Employer<'_>, change: &dyn Fn(&mut Salary)| {
            let mut role = role("", None);
            change(&mut role.salary);
            posting(BASE, employer, &role, None)["baseSalary"].clone()
        };
        let hidden = Employer { shows_salary: false, ..employer() };
        assert_eq!(of(&hidden, &|_| {}), Value::Null);
        assert_eq!(of(&employer(), &|salary| salary.currency = None), Value::Null);
        assert_eq!(of(&employer(), &|salary| (salary.min, salary.max) = (None, None)), Value::Null);
        let same = of(&employer(), &|salary| salary.max = salary.min);
        assert_eq!(same["value"], json!({ "@type": "QuantitativeValue", "value": 60000, "unitText": "YEAR" }));
        let from = of(&employer(), &|salary| (salary.max, salary.period) = (None, None));
        assert_eq!(from["value"], json!({ "@type": "QuantitativeValue", "minValue": 60000 }));
        let to = of(&employer(), &|salary| (salary.min, salary.period) = (None, Some(SalaryPeriod::Hour)));
        assert_eq!(to["value"], json!({ "@type": "QuantitativeValue", "maxValue": 75000.5, "unitText": "HOUR" }));
    }

    #[test]
    fn nothing_in_it_ends_its_element() {
        let mut role = role("</script>", None);
        role.name = "</script><!-- & \u{2028}".to_owned();
        role.description = r#"{"format":"markdown","body":"</script><script>alert(1)</script>"}"#.to_owned();
        let name = "<!--<script>";
        let employer = Employer { name, domain: "javascript:x", logo: "data:x", ..employer() };
        let json = json_ld(BASE, &employer, &role, None);
        assert!(!json.contains(['<', '>', '&', '\u{2028}']), "{json}");
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&read["title"], &read["hiringOrganization"]["name"]), (&json!(role.name), &json!(name)));
        assert_eq!(read["hiringOrganization"], json!({ "@type": "Organization", "name": name }));
    }

    #[test]
    fn a_picture_here_goes_before_one_elsewhere_and_a_role_without_a_description_is_named() {
        let employer = Employer { has_logo: true, ..employer() };
        let mut role = role("", None);
        role.description = "{}".to_owned();
        let posting = posting(BASE, &employer, &role, None);
        assert_eq!(posting["hiringOrganization"]["logo"], "https://jobs.example.com/careers/acme/logo");
        assert_eq!(posting["description"], "<p>Engineer</p>");
    }
}
