//! The facts about a role in its posting, each with its label in the reader's language.

use super::card::work_type_name;
use crate::http::pages::texts::Texts;
use crate::store::role::RoleRecord;

/// A fact about a role, with its label.
pub(super) struct RoleFact {
    pub(super) label: &'static str,
    pub(super) text: String,
}

/// Returns the facts about a role that are not blank, in the order of the page.
pub(super) fn role_facts(texts: &Texts, role: &RoleRecord, shows_salary: bool) -> Vec<RoleFact> {
    let labels = &texts.role;
    let facts = [
        (labels.department, Some(role.department.clone())),
        (labels.location, Some(role.location.clone())),
        (labels.work_type, role.work_type.map(|work_type| work_type_name(texts, work_type).to_owned())),
        (labels.salary, shows_salary.then(|| texts.salary(&role.salary)).flatten()),
    ];
    let present = facts.into_iter().filter_map(|(label, text)| Some(RoleFact { label, text: text? }));
    present.filter(|fact| !fact.text.trim().is_empty()).collect()
}
