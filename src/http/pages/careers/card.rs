//! A role as a list of roles shows it: in the portal's list, and on a page about a missing or former role.

use super::url;
use crate::domain::careers::Listing;
use crate::domain::closing_day::ClosingDay;
use crate::domain::role::WorkType;
use crate::http::pages::texts::Texts;

pub(super) struct RoleCard<'a> {
    pub(super) url: String,
    pub(super) name: &'a str,
    pub(super) facts: Vec<String>,
}

impl<'a> RoleCard<'a> {
    pub(super) fn new(texts: &Texts, slug: &str, shows_salary: bool, listing: &'a Listing) -> Self {
        let salary = shows_salary.then(|| texts.salary(&listing.salary)).flatten();
        let apply_until = |day: ClosingDay| format!("{} {}", texts.role.apply_until, texts.day(day.date()));
        let facts = [
            Some(listing.department.clone()),
            Some(listing.location.clone()),
            listing.work_type.map(|work_type| work_type_name(texts, work_type).to_owned()),
            salary,
            listing.closes_on.map(apply_until),
        ];
        Self {
            url: format!("{}?lang={}", url::role_path(slug, listing.id.as_str()), texts.tag),
            name: &listing.name,
            facts: facts.into_iter().flatten().filter(|fact| !fact.trim().is_empty()).collect(),
        }
    }
}

pub(super) fn work_type_name(texts: &Texts, work_type: WorkType) -> &'static str {
    match work_type {
        WorkType::Remote => texts.careers.remote,
        WorkType::Hybrid => texts.careers.hybrid,
        WorkType::Onsite => texts.careers.onsite,
    }
}
