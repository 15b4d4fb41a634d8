//! `GET /signup/{token}`: the form, and the form once more with what is wrong in it.

use hyper::header;

use super::said;
use super::visit::Visit;
use super::words::{self, Problem, Wrong};
use crate::domain::attachment;
use crate::domain::form::{ID_RANDOM_BYTES, SignedForm};
use crate::domain::invitation::LinkTarget;
use crate::domain::refusal::{FieldError, Refusal};
use crate::domain::signup::{FormField, TypedSignup};
use crate::http::pages::frame::Frame;
use crate::http::pages::texts::{self, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::attachment::StagedAttachment;
use crate::store::invitation::Invitation;
use crate::store::{Error, Tx};

pub(super) fn decode(_: &Ctx, request: &Request) -> Result<Visit, Error> {
    Visit::of(request)
}

/// `GET /signup/{token}`: the form, or for a browser that has applied where that stands.
///
/// # Errors
/// As pages: `not_found` for a link that there is none of, and while its role is not public or its organization's portal is
/// off; `gone` where it has run out or the role takes no applications any more.
pub(super) fn show(ctx: &Ctx, tx: &Tx<'_>, visit: &Visit) -> Result<Reply, Error> {
    let invitation = match visit.follow(tx)? {
        Some(invitation) if invitation.target == LinkTarget::Open => invitation,
        other => return said::no_form(visit, other.as_ref()),
    };
    if let Some(token) = visit.status_token(tx, &invitation.role_id)? {
        return said::applied(visit, &invitation, token);
    }
    let sheet = Sheet { signed: signed(ctx, visit), ..Sheet::default() };
    let page = FormPage::of(visit, &invitation, &sheet, None);
    Ok(Reply::rendered(&page)?.with(header::CACHE_CONTROL, "no-store"))
}

/// A new form for this link.
pub(super) fn signed(ctx: &Ctx, visit: &Visit) -> String {
    let mut random = [0; ID_RANDOM_BYTES];
    ctx.world.fill(&mut random);
    SignedForm::new(&random, ctx.world.now()).signed(ctx.store.form_secret(), &visit.token)
}

/// The refusal of a form that the service cannot take now.
const UNAVAILABLE: Refusal = Refusal::Unavailable {
    retry_after_s: 5,
    detail: "the service cannot take the application right now; send it again",
};

/// A form that is filled, and what is wrong with it.
#[derive(Default)]
pub(super) struct Sheet {
    /// What proves when it was made.
    pub(super) signed: String,
    pub(super) typed: TypedSignup,
    /// The file that came with it, or before.
    pub(super) attachment: Option<attachment::AttachmentToken>,
    pub(super) problem: Option<Problem>,
    pub(super) faults: Vec<(FormField, Wrong)>,
}

impl Sheet {
    pub(super) fn is_wrong(&self) -> bool {
        self.problem.is_some() || !self.faults.is_empty()
    }

    fn links(&self) -> String {
        self.typed.links.join("\n")
    }

    /// The refusal that it is answered with. The page says it in the reader's words.
    fn refusal(&self) -> Refusal {
        match self.problem {
            Some(Problem::Limited { retry_after_s }) => return Refusal::RateLimited { retry_after_s },
            Some(Problem::Unavailable) => return UNAVAILABLE,
            _ => {}
        }
        let has_fault = |fault| self.faults.contains(&(FormField::Cv, Wrong::File(fault)));
        if has_fault(attachment::AttachmentFault::TooLarge) {
            return Refusal::PayloadTooLarge(attachment::ATTACHMENT_BYTES_MAX);
        }
        if has_fault(attachment::AttachmentFault::NoRoom) {
            return attachment::NO_ROOM_FOR_FILE;
        }
        let fields = self.faults.iter().map(|(field, _)| field.as_str());
        let errors = fields.map(|field| FieldError { field: field.to_owned(), detail: String::new() });
        Refusal::Invalid(errors.collect())
    }
}

/// The form once more, with everything that was typed, and what is wrong. `staged` is the file that is kept for it.
pub(super) fn again(
    visit: &Visit,
    invitation: &Invitation,
    sheet: &Sheet,
    staged: Option<&StagedAttachment>,
) -> Result<Reply, Error> {
    let page = FormPage::of(visit, invitation, sheet, staged);
    Ok(Reply::rendered_refusal(&sheet.refusal(), &page)?.retaining_upload(staged))
}

#[derive(askama::Template)]
#[template(path = "signup.html", config = "src/http/pages/templates/askama.toml")]
struct FormPage<'a> {
    frame: Frame<'a>,
    texts: &'static texts::Signup,
    heading: String,
    lead: String,
    email_hint: String,
    consent: String,
    cv_kept: Option<String>,
    action: String,
    slug: &'a str,
    sheet: &'a Sheet,
    staged: Option<&'a StagedAttachment>,
    problem: Option<String>,
    faults: Vec<Told>,
}

/// A field that is at fault, as it is told.
struct Told {
    field: FormField,
    label: &'static str,
    words: String,
}

impl<'a> FormPage<'a> {
    fn of(visit: &Visit, invitation: &'a Invitation, sheet: &'a Sheet, staged: Option<&'a StagedAttachment>) -> Self {
        let texts = &visit.texts.signup;
        let organization = ("organization", invitation.organization_name.as_str());
        let role = ("role", invitation.role_name.as_str());
        let title = fill(texts.title, &[role, organization]);
        let title = if sheet.is_wrong() { fill(texts.title_with_errors, &[("title", &title)]) } else { title };
        let told = |(field, wrong): &(FormField, Wrong)| Told {
            field: *field,
            label: words::label(texts, *field),
            words: words::of_field(texts, *field, *wrong),
        };
        Self {
            frame: visit.frame(Some(invitation), title),
            texts,
            heading: fill(texts.heading, &[role]),
            lead: fill(texts.lead, &[organization]),
            email_hint: fill(texts.email_hint, &[organization]),
            consent: fill(texts.consent, &[organization]),
            cv_kept: staged.map(|staged| fill(texts.cv_kept, &[("file", &staged.file_name)])),
            action: visit.url(),
            slug: &invitation.slug,
            sheet,
            staged,
            problem: sheet.problem.map(|problem| words::of_problem(texts, problem)),
            faults: sheet.faults.iter().map(told).collect(),
        }
    }

    /// What is wrong with a field.
    fn wrong(&self, name: &str) -> Option<&str> {
        self.faults.iter().find(|told| told.field.as_str() == name).map(|told| told.words.as_str())
    }
}
