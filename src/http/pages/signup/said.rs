//! Pages that say why there is no form, and what to do instead.

use hyper::header;

use super::visit::Visit;
use crate::domain::invitation::LinkTarget;
use crate::domain::refusal::Refusal;
use crate::http::api::signup::{LINK_EXPIRED, NO_LINK, ROLE_CLOSED};
use crate::http::pages::frame::Frame;
use crate::http::pages::texts::fill;
use crate::http::server::reply::Reply;
use crate::store::Error;
use crate::store::invitation::Invitation;

const ALREADY: Refusal = Refusal::Conflict("this browser has applied to the role");

/// A page of a title, some sentences and links.
#[derive(askama::Template)]
#[template(path = "signup_said.html", config = "src/http/pages/templates/askama.toml")]
struct SaidPage<'a> {
    frame: Frame<'a>,
    paragraphs: Vec<String>,
    ways: Vec<WayOn>,
}

/// A link to go on by.
struct WayOn {
    url: String,
    words: String,
    is_first: bool,
}

impl WayOn {
    fn first(url: String, words: String) -> Self {
        Self { url, words, is_first: true }
    }

    fn other(url: String, words: String) -> Self {
        Self { is_first: false, ..Self::first(url, words) }
    }
}

/// For whoever only looks: a link that leads to no form.
pub(super) fn no_form(visit: &Visit, invitation: Option<&Invitation>) -> Result<Reply, Error> {
    say_ended(visit, invitation, None)
}

/// The same for whoever has sent one.
pub(super) fn not_sent(visit: &Visit, invitation: Option<&Invitation>) -> Result<Reply, Error> {
    say_ended(visit, invitation, Some(visit.texts.signup.not_sent))
}

fn say_ended(visit: &Visit, invitation: Option<&Invitation>, more: Option<&str>) -> Result<Reply, Error> {
    let texts = &visit.texts.signup;
    let Some(invitation) = invitation else {
        let page = SaidPage {
            frame: visit.frame(None, texts.nowhere.to_owned()),
            paragraphs: vec![texts.nowhere_more.to_owned()],
            ways: Vec::new(),
        };
        return Reply::rendered_refusal(&NO_LINK, &page);
    };
    let role = ("role", invitation.role_name.as_str());
    let (slug, tag) = (&invitation.slug, visit.texts.tag);
    let all_roles = (
        format!("/careers/{slug}?lang={tag}"),
        fill(visit.texts.common.all_roles, &[("organization", &invitation.organization_name)]),
    );
    let (refusal, title, words, ways) = if invitation.target == LinkTarget::Closed {
        (ROLE_CLOSED, fill(texts.closed, &[role]), texts.closed_more, vec![WayOn::first(all_roles.0, all_roles.1)])
    } else {
        let url = format!("/careers/{slug}/roles/{}?lang={tag}", invitation.role_id);
        let to_role = WayOn::first(url, fill(texts.to_role, &[role]));
        let ways = vec![to_role, WayOn::other(all_roles.0, all_roles.1)];
        (LINK_EXPIRED, texts.expired.to_owned(), texts.expired_more, ways)
    };
    let paragraphs = more.into_iter().chain([words]).map(str::to_owned).collect();
    let page = SaidPage { frame: visit.frame(Some(invitation), title), paragraphs, ways };
    Reply::rendered_refusal(&refusal, &page)
}

/// For a browser that only looks and has applied to the role.
pub(super) fn applied(visit: &Visit, invitation: &Invitation, token: &str) -> Result<Reply, Error> {
    Ok(Reply::rendered(&already(visit, invitation, token))?.with(header::CACHE_CONTROL, "no-store"))
}

/// For one that has sent the form once more.
pub(super) fn applied_before(visit: &Visit, invitation: &Invitation, token: &str) -> Result<Reply, Error> {
    Reply::rendered_refusal(&ALREADY, &already(visit, invitation, token))
}

fn already<'a>(visit: &Visit, invitation: &'a Invitation, token: &str) -> SaidPage<'a> {
    let texts = &visit.texts.signup;
    let title = fill(texts.already, &[("role", &invitation.role_name)]);
    let to_status = format!("/status/{token}?lang={}", visit.texts.tag);
    let again = format!("{}?lang={}&again=1", visit.path, visit.texts.tag);
    SaidPage {
        frame: visit.frame(Some(invitation), title),
        paragraphs: vec![texts.already_more.to_owned()],
        ways: vec![WayOn::first(to_status, texts.to_status.to_owned()), WayOn::other(again, texts.again.to_owned())],
    }
}
