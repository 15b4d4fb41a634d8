//! Pages about a missing portal, a missing role, or a role that no longer accepts signups. The pages about roles link
//! to open roles.

use askama::Template;

use super::card::RoleCard;
use super::url;
use super::visit::PortalVisit;
use crate::domain::refusal::Refusal;
use crate::http::api::portal::{NO_PORTAL, NO_ROLE};
use crate::http::pages::frame::{self, Frame};
use crate::http::pages::texts::fill;
use crate::http::server::reply::Reply;
use crate::store::portal::PortalOrganization;
use crate::store::{self, Error, Tx};

const ROLE_GONE: Refusal = Refusal::Gone("the role is no longer open");

/// The maximum number of open roles on a page about a missing or former role. The page shows the newest roles.
const OTHER_ROLES_MAX: usize = 5;

#[derive(Template)]
#[template(path = "careers_missing.html", config = "src/http/pages/templates/askama.toml")]
struct MissingPage<'a> {
    frame: Frame<'a>,
    more: &'a str,
    /// The URL and the text of the link to the portal, if there is a portal.
    home: Option<(String, String)>,
    roles: Vec<RoleCard<'a>>,
}

/// Returns the 404 page for a portal that does not exist, is disabled, or belongs to a disabled organization.
pub(super) fn portal(visit: &PortalVisit) -> Result<Reply, Error> {
    let words = &visit.texts.careers;
    let frame = Frame {
        texts: visit.texts,
        title: words.no_portal.to_owned(),
        organization: None,
        languages: frame::language_links(visit.texts, &visit.path),
        is_indexed: false,
    };
    let page = MissingPage { frame, more: words.no_portal_more, home: None, roles: Vec::new() };
    Ok(Reply::rendered_refusal(&NO_PORTAL, &page)?.in_language(visit.texts.tag))
}

/// Returns the 410 page for a role with this name that is filled or closed, or whose closing date has passed. If `name`
/// is `None`, returns the 404 page for a role that the portal does not have.
pub(super) fn role(
    tx: &Tx<'_>,
    visit: &PortalVisit,
    organization: &PortalOrganization,
    name: Option<&str>,
) -> Result<Reply, Error> {
    let texts = visit.texts;
    let words = &texts.careers;
    let (title, more, refusal) = match name {
        Some(name) => (fill(words.closed, &[("role", name)]), words.closed_more, ROLE_GONE),
        None => (words.no_role.to_owned(), words.no_role_more, NO_ROLE),
    };
    let others = store::careers::listings(tx, &organization.id, OTHER_ROLES_MAX)?;
    let shows_salary = organization.theme.shows_salary();
    let all = fill(texts.common.all_roles, &[("organization", &organization.name)]);
    // After a POST to `…/apply`, the language links lead to the role's page, because `…/apply` does not accept GET.
    let path = visit.path.strip_suffix("/apply").unwrap_or(&visit.path);
    let mut frame = visit.frame(organization, title, path);
    frame.is_indexed = false;
    let page = MissingPage {
        frame,
        more,
        home: Some((format!("{}?lang={}", url::list_path(&organization.slug), texts.tag), all)),
        roles: others.iter().map(|other| RoleCard::new(texts, &organization.slug, shows_salary, other)).collect(),
    };
    Ok(Reply::rendered_refusal(&refusal, &page)?.in_language(texts.tag))
}
