//! What is not there, as pages that lead on: no portal, no such role, a role that is no longer open.

use askama::Template;

use super::visit::{Card, Visit, card, home};
use crate::domain::refusal::Refusal;
use crate::http::api::portal::{self, NO_PORTAL, NO_ROLE};
use crate::http::pages::frame::{self, Frame};
use crate::http::pages::texts::fill;
use crate::http::server::reply::Reply;
use crate::store::portal::PortalOrganization;
use crate::store::{self, Error, Tx};

const ROLE_GONE: Refusal = Refusal::Gone("the role is no longer open");

/// Other roles that are shown instead: the newest.
const OTHERS_MAX: usize = 5;

#[derive(Template)]
#[template(path = "careers_missing.html", config = "src/http/pages/templates/askama.toml")]
struct Missing<'a> {
    frame: Frame<'a>,
    more: &'a str,
    /// The portal: its path, and the words of the link to it.
    home: Option<(String, String)>,
    roles: Vec<Card<'a>>,
}

/// 404: there is no such portal, or it is off.
pub(super) fn portal(visit: &Visit) -> Result<Reply, Error> {
    let words = &visit.texts.careers;
    let frame = Frame {
        texts: visit.texts,
        title: words.no_portal.to_owned(),
        organization: None,
        choices: frame::choices(visit.texts, &visit.path),
        is_indexed: false,
    };
    let page = Missing { frame, more: words.no_portal_more, home: None, roles: Vec::new() };
    Ok(Reply::rendered_refusal(&NO_PORTAL, &page)?.in_language(visit.texts.tag))
}

/// 404: the portal has no such role. 410: it had it once; `name` is what it was called.
pub(super) fn role(
    tx: &Tx<'_>,
    visit: &Visit,
    organization: &PortalOrganization,
    name: Option<&str>,
) -> Result<Reply, Error> {
    let texts = visit.texts;
    let words = &texts.careers;
    let (title, more, refusal) = match name {
        Some(name) => (fill(words.closed, &[("role", name)]), words.closed_more, ROLE_GONE),
        None => (words.no_role.to_owned(), words.no_role_more, NO_ROLE),
    };
    let others = store::careers::listings(tx, &organization.id, OTHERS_MAX)?;
    let shows_salary = portal::shows_salary(&organization.theme)?;
    let all = fill(texts.common.all_roles, &[("organization", &organization.name)]);
    // Whoever came by the button that applies is led back to the role's own page.
    let path = visit.path.strip_suffix("/apply").unwrap_or(&visit.path);
    let mut frame = visit.frame(organization, title, path);
    frame.is_indexed = false;
    let page = Missing {
        frame,
        more,
        home: Some((format!("{}?lang={}", home(&organization.slug), texts.tag), all)),
        roles: others.iter().map(|other| card(texts, &organization.slug, shows_salary, other)).collect(),
    };
    Ok(Reply::rendered_refusal(&refusal, &page)?.in_language(texts.tag))
}
