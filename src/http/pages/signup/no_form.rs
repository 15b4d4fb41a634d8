//! Pages that explain why there is no form. Each page, except the one for an unknown link, also links to a next step.

use hyper::header;

use super::visit::SignupVisit;
use crate::domain::invitation::LinkTarget;
use crate::domain::refusal::Refusal;
use crate::http::api::signup::{LINK_EXPIRED, NO_LINK, ROLE_CLOSED};
use crate::http::pages::frame::Frame;
use crate::http::pages::texts::fill;
use crate::http::server::reply::Reply;
use crate::store::Error;
use crate::store::invitation::Invitation;

const ALREADY_APPLIED: Refusal = Refusal::Conflict("this browser has already been used to apply for this role");

#[derive(askama::Template)]
#[template(path = "signup_no_form.html", config = "src/http/pages/templates/askama.toml")]
struct NoFormPage<'a> {
    frame: Frame<'a>,
    paragraphs: Vec<String>,
    buttons: Vec<LinkButton>,
}

struct LinkButton {
    url: String,
    label: String,
    is_primary: bool,
}

impl LinkButton {
    fn primary(url: String, label: String) -> Self {
        Self { url, label, is_primary: true }
    }

    fn secondary(url: String, label: String) -> Self {
        Self { is_primary: false, ..Self::primary(url, label) }
    }
}

/// Returns the response to a GET for a link without a form: an unknown or expired link, or a link to a role that does
/// not accept applications. For an unknown link, `invitation` is `None`.
pub(super) fn link_without_form(visit: &SignupVisit, invitation: Option<&Invitation>) -> Result<Reply, Error> {
    no_form(visit, invitation, None)
}

/// Returns the response to a POST for a link without a form. Unless the link is unknown, the page also states that the
/// application was not sent.
pub(super) fn form_not_sent(visit: &SignupVisit, invitation: Option<&Invitation>) -> Result<Reply, Error> {
    no_form(visit, invitation, Some(visit.texts.signup.not_sent))
}

fn no_form(
    visit: &SignupVisit,
    invitation: Option<&Invitation>,
    first_paragraph: Option<&str>,
) -> Result<Reply, Error> {
    let texts = &visit.texts.signup;
    let Some(invitation) = invitation else {
        let page = NoFormPage {
            frame: visit.frame(None, texts.nowhere.to_owned()),
            paragraphs: vec![texts.nowhere_more.to_owned()],
            buttons: Vec::new(),
        };
        return Reply::rendered_refusal(&NO_LINK, &page);
    };
    let role = ("role", invitation.role_name.as_str());
    let (slug, tag) = (&invitation.slug, visit.texts.tag);
    let portal_url = format!("/careers/{slug}?lang={tag}");
    let all_roles = fill(visit.texts.common.all_roles, &[("organization", &invitation.organization_name)]);
    let (refusal, title, more, buttons) = if invitation.target == LinkTarget::Closed {
        let buttons = vec![LinkButton::primary(portal_url, all_roles)];
        (ROLE_CLOSED, fill(texts.closed, &[role]), texts.closed_more, buttons)
    } else {
        let role_url = format!("/careers/{slug}/roles/{}?lang={tag}", invitation.role_id);
        let to_role = LinkButton::primary(role_url, fill(texts.to_role, &[role]));
        let buttons = vec![to_role, LinkButton::secondary(portal_url, all_roles)];
        (LINK_EXPIRED, texts.expired.to_owned(), texts.expired_more, buttons)
    };
    let paragraphs = first_paragraph.into_iter().chain([more]).map(str::to_owned).collect();
    let page = NoFormPage { frame: visit.frame(Some(invitation), title), paragraphs, buttons };
    Reply::rendered_refusal(&refusal, &page)
}

/// Returns the response to a GET from a browser that has already been used to apply for the role.
pub(super) fn has_applied(visit: &SignupVisit, invitation: &Invitation, token: &str) -> Result<Reply, Error> {
    Ok(Reply::rendered(&applied_page(visit, invitation, token))?.with(header::CACHE_CONTROL, "no-store"))
}

/// Returns the response to a POST from a browser that has already been used to apply for the role with another form.
pub(super) fn applied_before(visit: &SignupVisit, invitation: &Invitation, token: &str) -> Result<Reply, Error> {
    Reply::rendered_refusal(&ALREADY_APPLIED, &applied_page(visit, invitation, token))
}

fn applied_page<'a>(visit: &SignupVisit, invitation: &'a Invitation, token: &str) -> NoFormPage<'a> {
    let texts = &visit.texts.signup;
    let title = fill(texts.already, &[("role", &invitation.role_name)]);
    let status_url = format!("/status/{token}?lang={}", visit.texts.tag);
    let again_url = format!("{}?lang={}&again=1", visit.path, visit.texts.tag);
    NoFormPage {
        frame: visit.frame(Some(invitation), title),
        paragraphs: vec![texts.already_more.to_owned()],
        buttons: vec![
            LinkButton::primary(status_url, texts.to_status.to_owned()),
            LinkButton::secondary(again_url, texts.again.to_owned()),
        ],
    }
}
