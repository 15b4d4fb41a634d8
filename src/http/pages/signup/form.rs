//! `GET /signup/{token}`: the form. Also renders a submitted form again, with its errors.

use hyper::header;

use super::form_error::{self, FieldError, FormError};
use super::no_form;
use super::visit::SignupVisit;
use crate::domain::attachment::{self, AttachmentFault, AttachmentToken};
use crate::domain::form::{ID_RANDOM_BYTES, SignedForm};
use crate::domain::invitation::LinkTarget;
use crate::domain::refusal::{self, Refusal};
use crate::domain::signup::{FormField, SubmittedSignup};
use crate::http::pages::frame::Frame;
use crate::http::pages::texts::{self, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::attachment::StagedAttachment;
use crate::store::invitation::Invitation;
use crate::store::{Error, Tx};

pub(super) fn decode(_: &Ctx, request: &Request) -> Result<SignupVisit, Error> {
    SignupVisit::decode(request)
}

/// `GET /signup/{token}`: shows the form or, for a browser that has already been used to apply for the role, a link to
/// the status page. With `again`, such a browser gets the form too.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the link is unknown, if its role is a draft or not public, or if
/// the portal or the organization is disabled; `gone` if the link has expired, or if the role does not accept
/// applications.
pub(super) fn show(ctx: &Ctx, tx: &Tx<'_>, visit: &SignupVisit) -> Result<Reply, Error> {
    let invitation = match visit.invitation(ctx, tx)? {
        Some(invitation) if invitation.target == LinkTarget::Open => invitation,
        other => return no_form::link_without_form(visit, other.as_ref()),
    };
    if let Some(token) = visit.status_token(tx, &invitation.role_id)? {
        return no_form::has_applied(visit, &invitation, token);
    }
    let form = FilledForm { signature: sign_new_form(ctx, visit), ..FilledForm::default() };
    let page = FormPage::new(visit, &invitation, &form, None);
    Ok(Reply::rendered(&page)?.with(header::CACHE_CONTROL, "no-store"))
}

/// Generates and signs a new form for the link.
pub(super) fn sign_new_form(ctx: &Ctx, visit: &SignupVisit) -> String {
    let mut random = [0; ID_RANDOM_BYTES];
    ctx.world.fill(&mut random);
    SignedForm::new(&random, ctx.world.now()).signed(ctx.store.form_secret(), &visit.token)
}

const UNAVAILABLE: Refusal = Refusal::Unavailable {
    retry_after_s: 5,
    detail: "the service cannot accept the application right now; send it again",
};

/// A form with its values and errors.
#[derive(Default)]
pub(super) struct FilledForm {
    /// The text of a [`SignedForm`]. It proves when the service rendered the form.
    pub(super) signature: String,
    pub(super) typed: SubmittedSignup,
    /// The token of the file that was uploaded with this submission or an earlier one.
    pub(super) attachment: Option<AttachmentToken>,
    pub(super) form_error: Option<FormError>,
    pub(super) field_errors: Vec<(FormField, FieldError)>,
}

impl FilledForm {
    pub(super) fn has_errors(&self) -> bool {
        self.form_error.is_some() || !self.field_errors.is_empty()
    }

    fn links(&self) -> String {
        self.typed.links.join("\n")
    }

    /// Returns the refusal that determines the response's status. The page explains the errors in the reader's
    /// language.
    fn refusal(&self) -> Refusal {
        match self.form_error {
            Some(FormError::Limited { retry_after_s }) => return Refusal::RateLimited { retry_after_s },
            Some(FormError::Unavailable) => return UNAVAILABLE,
            _ => {}
        }
        let has_fault = |fault| self.field_errors.contains(&(FormField::Cv, FieldError::File(fault)));
        if has_fault(AttachmentFault::TooLarge) {
            return Refusal::PayloadTooLarge(attachment::ATTACHMENT_BYTES_MAX);
        }
        if has_fault(AttachmentFault::NoRoom) {
            return attachment::NO_ROOM_FOR_FILE;
        }
        let fields = self.field_errors.iter().map(|(field, _)| field.as_str());
        let errors = fields.map(|field| refusal::FieldError { field: field.to_owned(), detail: String::new() });
        Refusal::Invalid(errors.collect())
    }
}

/// Renders a submitted form again, with its values and errors. `staged` is the form's file, which stays staged for the
/// next submission.
pub(super) fn show_again(
    visit: &SignupVisit,
    invitation: &Invitation,
    form: &FilledForm,
    staged: Option<&StagedAttachment>,
) -> Result<Reply, Error> {
    let page = FormPage::new(visit, invitation, form, staged);
    Ok(Reply::rendered_refusal(&form.refusal(), &page)?.retaining_upload(staged))
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
    cv_uploaded: Option<String>,
    action: String,
    slug: &'a str,
    form: &'a FilledForm,
    staged: Option<&'a StagedAttachment>,
    form_error: Option<String>,
    field_errors: Vec<FieldErrorView>,
}

struct FieldErrorView {
    field: FormField,
    text: String,
    /// The line that shows this error in the list of errors.
    line: String,
}

impl<'a> FormPage<'a> {
    fn new(
        visit: &SignupVisit,
        invitation: &'a Invitation,
        form: &'a FilledForm,
        staged: Option<&'a StagedAttachment>,
    ) -> Self {
        let texts = &visit.texts.signup;
        let organization = ("organization", invitation.organization_name.as_str());
        let role = ("role", invitation.role_name.as_str());
        let title = fill(texts.title, &[role, organization]);
        let title = if form.has_errors() { fill(texts.title_with_errors, &[("title", &title)]) } else { title };
        let view = |(field, error): &(FormField, FieldError)| {
            let label = form_error::field_label(texts, *field);
            let text = form_error::field_error_text(texts, *field, *error);
            let line = fill(texts.field_error, &[("field", label), ("error", &text)]);
            FieldErrorView { field: *field, text, line }
        };
        Self {
            frame: visit.frame(Some(invitation), title),
            texts,
            heading: fill(texts.heading, &[role]),
            lead: fill(texts.lead, &[organization]),
            email_hint: fill(texts.email_hint, &[organization]),
            consent: fill(texts.consent, &[organization]),
            cv_uploaded: staged.map(|staged| fill(texts.cv_uploaded, &[("file", &staged.file_name)])),
            action: visit.form_url(),
            slug: &invitation.slug,
            form,
            staged,
            form_error: form.form_error.map(|error| form_error::form_error_text(texts, error)),
            field_errors: form.field_errors.iter().map(view).collect(),
        }
    }

    /// Returns the first error of a field.
    fn error_of(&self, name: &str) -> Option<&str> {
        self.field_errors.iter().find(|error| error.field.as_str() == name).map(|error| error.text.as_str())
    }
}
