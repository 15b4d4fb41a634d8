//! The page with the form of a role, its preview, and the acts that change its status.

use askama::Template;

use super::super::field::{Control, Field};
use super::super::frame::{ConsoleFrame, NavItem};
use super::super::live::Live;
use super::super::visit::Visit;
use super::super::when::When;
use super::changes::changes_path;
use super::field::{Difference, FieldFacts};
use super::form::{RoleForm, shows_description};
use super::role_visit::path;
use crate::domain::activity::{Action, Subject};
use crate::domain::closing_day;
use crate::domain::refusal::Refusal;
use crate::domain::role::{self, CLOSE_REASON_CHARACTERS_MAX, RoleStatus, Seats};
use crate::domain::user::{Principal, may_manage};
use crate::http::api::role::act;
use crate::http::pages::console::close_out::offer::{Offer, offer};
use crate::http::pages::texts::console::role::{ROLE, RoleTexts};
use crate::http::pages::texts::console::role_field::{ROLE_FIELD, RoleFieldTexts};
use crate::http::pages::texts::fill;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::access::VisibleOrganization;
use crate::store::role::{Role, RoleRecord};
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/role.html", config = "src/http/pages/templates/askama.toml")]
struct RolePage {
    frame: ConsoleFrame,
    words: &'static RoleTexts,
    labels: &'static RoleFieldTexts,
    /// The path of the role's pages, or of the pages of a new role.
    base: String,
    /// The path of the preview that the iframe shows until the user requests another one.
    preview: String,
    may_manage: bool,
    /// The fields of the form, in its groups.
    fields: Fields,
    refused: Option<&'static str>,
    /// The pay-transparency warning.
    warning: Option<&'static str>,
    source: Source,
    conflict: Option<Conflict>,
    /// The URL at which the page of an existing role asks for changes.
    live: Option<Live>,
}

/// The fields of the form in the groups of the page.
struct Fields {
    name: Field,
    facts: Vec<Field>,
    salary: Vec<Field>,
    rest: Vec<Field>,
    /// `None` if a program wrote the description in a format other than Markdown.
    description: Option<Field>,
}

/// The role that the form creates or changes.
enum Source {
    New {
        /// The id that the new role will get. The form names this id, so a form that is submitted twice creates one
        /// role.
        id: String,
        /// The id of the role that is copied, and the note about it.
        copied: Option<(String, String)>,
    },
    Existing(Box<StatusView>),
}

/// The status of a role and the acts that change it.
struct StatusView {
    sentence: String,
    status: RoleStatus,
    version: String,
    /// The reason why the role cannot be opened now; `None` if it can, and for a role that is open or filled.
    obstacle: Option<&'static str>,
    /// Whether the role has no steps.
    lacks_steps: bool,
    /// The notice that candidates are still in progress at a role that has ended.
    close_out: Option<Offer>,
    /// The path of the public page, if the role has one.
    public_path: Option<String>,
    /// The path of the page that creates a copy.
    copy_url: String,
    /// The field for the reason for closing the role.
    close_reason: Field,
    /// Whether the form for closing the role is open, because it was refused.
    is_closing: bool,
}

/// The comparison of a role's saved version with the typed one.
struct Conflict {
    sentence: String,
    differences: Vec<Difference>,
}

/// A role page with everything that a handler can add to it.
pub(super) struct PageRequest<'a> {
    pub(super) visit: &'a Visit,
    pub(super) who: &'a Principal,
    pub(super) organization: &'a VisibleOrganization,
    /// The values in the form.
    pub(super) form: RoleForm,
    pub(super) refused: Option<Refused>,
    pub(super) notice: Option<Message>,
}

/// A sentence of the page.
pub(super) type Message = fn(&RoleTexts) -> &'static str;

/// The reason why a form of the page was refused.
pub(super) enum Refused {
    /// The values of the role. The errors are shown next to the fields.
    Values(Refusal),
    /// The reason for closing the role, as it was typed.
    Reason(Refusal, String),
    /// An act that the state of the role does not allow, or a change to a role that somebody else has changed.
    Act(Refusal, Option<Message>),
}

impl Refused {
    fn refusal(&self) -> &Refusal {
        match self {
            Self::Values(refusal) | Self::Reason(refusal, _) | Self::Act(refusal, _) => refusal,
        }
    }
}

impl<'a> PageRequest<'a> {
    pub(super) fn new(
        visit: &'a Visit,
        who: &'a Principal,
        organization: &'a VisibleOrganization,
        form: RoleForm,
    ) -> Self {
        Self { visit, who, organization, form, refused: None, notice: None }
    }

    pub(super) fn refused(self, refused: Refused) -> Self {
        Self { refused: Some(refused), ..self }
    }

    /// Renders the page for a new role with this id. The new role is a copy of `copied`, if given.
    pub(super) fn render_new(self, ctx: &Ctx, tx: &Tx<'_>, id: String, copied: Option<&Role>) -> Result<Reply, Error> {
        let words = ROLE.of(self.visit.texts_for(tx, self.who)?);
        let note = |role: &RoleRecord| fill(words.copies_steps, &[("role", &role.name)]);
        let copied_with_note = copied.map(|role| (role.record.id.to_string(), note(&role.record)));
        let source = Source::New { id, copied: copied_with_note };
        let draft = Seats { status: RoleStatus::Draft, positions: 1, hired: 0 };
        let record = copied.map(|role| &role.record);
        self.render(ctx, tx, draft, record, source, None)
    }

    /// Renders the page of an existing role.
    pub(super) fn render_role(self, ctx: &Ctx, tx: &Tx<'_>, role: &Role) -> Result<Reply, Error> {
        let status = self.status(ctx, tx, role)?;
        self.render(ctx, tx, role.record.seats, Some(&role.record), Source::Existing(Box::new(status)), None)
    }

    /// Renders the comparison of the saved role with the form. The form still contains the typed values.
    pub(super) fn render_conflict(self, ctx: &Ctx, tx: &Tx<'_>, role: &Role) -> Result<Reply, Error> {
        let texts = self.visit.texts_for(tx, self.who)?;
        let words = ROLE.of(texts);
        let subject = Subject::of_role(role.organization_id.clone(), role.record.id.clone());
        let saved = store::activity::page(tx, &subject, Some(Action::RoleChanged), i64::MAX, 1)?.pop();
        let sentence = match saved.and_then(|saved| Some((saved.actor?, saved.at))) {
            Some((actor, at)) => {
                let when = When::new(texts, &self.organization.time_zone, at, tx.now).relative;
                fill(words.conflict_by, &[("name", &actor.name), ("when", &when)])
            }
            None => words.conflict_program.to_owned(),
        };
        let facts = self.facts(ctx, tx, role.record.seats)?;
        let conflict = Conflict { sentence, differences: facts.differences(&RoleForm::of(&role.record), &self.form) };
        let status = self.status(ctx, tx, role)?;
        self.render(ctx, tx, role.record.seats, Some(&role.record), Source::Existing(Box::new(status)), Some(conflict))
    }

    fn facts(&self, ctx: &Ctx, tx: &Tx<'_>, seats: Seats) -> Result<FieldFacts, Error> {
        Ok(FieldFacts {
            texts: self.visit.texts_for(tx, self.who)?,
            today: act::today(ctx, tx, &self.organization.id)?,
            seats,
            has_portal: self.organization.has_portal(),
        })
    }

    fn status(&self, ctx: &Ctx, tx: &Tx<'_>, role: &Role) -> Result<StatusView, Error> {
        let reason = match &self.refused {
            Some(Refused::Reason(_, reason)) => Some(reason.as_str()),
            _ => None,
        };
        let texts = self.visit.texts_for(tx, self.who)?;
        let words = ROLE.of(texts);
        let RoleRecord { id, seats, close_reason, closes_on, public, .. } = &role.record;
        let lacks_steps = store::role_step::of_role(tx, id)?.is_empty();
        let has_passed =
            closing_day::require_not_passed(*closes_on, act::today(ctx, tx, &self.organization.id)?).is_err();
        let obstacle = match (lacks_steps, has_passed) {
            (true, _) => Some(words.no_steps),
            (false, true) => Some(words.date_passed),
            (false, false) => None,
        };
        let sentence = match seats.status {
            RoleStatus::Draft => words.draft.to_owned(),
            RoleStatus::Open => words.open.to_owned(),
            RoleStatus::Filled => words.filled.to_owned(),
            RoleStatus::Closed => fill(words.closed, &[("reason", close_reason.as_deref().unwrap_or_default())]),
        };
        let organization = self.organization;
        let is_shown = *public && seats.status == RoleStatus::Open && organization.has_portal();
        let close_reason = Control::Lines(3, Some(CLOSE_REASON_CHARACTERS_MAX));
        Ok(StatusView {
            sentence,
            status: seats.status,
            close_out: offer(tx, texts, self.organization, id, seats.status)?,
            version: store::role::version(tx, &role.organization_id, id)?,
            obstacle: obstacle.filter(|_| matches!(seats.status, RoleStatus::Draft | RoleStatus::Closed)),
            lacks_steps,
            public_path: is_shown.then(|| format!("/careers/{}/roles/{id}", organization.slug)),
            copy_url: format!("/app/{}/roles/new?copy={id}", organization.slug),
            close_reason: Field::new("reason", words.close_reason, close_reason, reason.unwrap_or_default())
                .required()
                .hint(words.close_hint)
                .error(reason.map(|_| words.close_reason_error.to_owned())),
            is_closing: reason.is_some(),
        })
    }

    /// Returns the fields of the form, with the errors of refused values.
    fn fields(&self, facts: &FieldFacts, record: Option<&RoleRecord>) -> Fields {
        let values_refusal = match &self.refused {
            Some(Refused::Values(refusal)) => Some(refusal),
            _ => None,
        };
        let field = |name| facts.field(&self.form, name, values_refusal);
        Fields {
            name: field("name"),
            facts: ["department", "location", "workType", "collarType"].map(field).into(),
            salary: ["salaryMin", "salaryMax", "salaryCurrency", "salaryPeriod"].map(field).into(),
            rest: ["positions", "closesOn", "public"].map(field).into(),
            description: record
                .is_none_or(|record| shows_description(&record.description))
                .then(|| field("description")),
        }
    }

    fn render(
        self,
        ctx: &Ctx,
        tx: &Tx<'_>,
        seats: Seats,
        record: Option<&RoleRecord>,
        source: Source,
        conflict: Option<Conflict>,
    ) -> Result<Reply, Error> {
        let facts = self.facts(ctx, tx, seats)?;
        let words = ROLE.of(facts.texts);
        let (title, base) = match (&source, record) {
            (Source::Existing(_), Some(record)) => {
                (fill(words.edit, &[("role", &record.name)]), path(self.organization, &record.id))
            }
            _ => (words.new.to_owned(), format!("/app/{}/roles/new", self.organization.slug)),
        };
        let is_copy = matches!(source, Source::New { .. }) && record.is_some();
        let preview = record.map_or_else(|| base.clone(), |record| path(self.organization, &record.id)) + "/preview";
        let preview = if is_copy { preview + "?copy=1" } else { preview };
        let mut frame = self.visit.frame(tx, self.who, Some(self.organization), NavItem::Roles, title)?;
        frame.notice = self.notice.map(|notice| notice(words).to_owned());
        let fields = self.fields(&facts, record);
        let live = match &source {
            Source::Existing(status) => Some(Live::after(&changes_path(&base, "edit"), &status.version)),
            Source::New { .. } => None,
        };
        let page = RolePage {
            words,
            labels: ROLE_FIELD.of(facts.texts),
            base,
            may_manage: may_manage(self.organization.caller.org_role, self.organization.caller.platform_role),
            refused: match &self.refused {
                Some(Refused::Values(_)) if conflict.is_none() => Some(words.wrong),
                Some(Refused::Act(_, Some(message))) => Some(message(words)),
                _ => None,
            },
            warning: warning(tx, self.organization, &self.form, ROLE_FIELD.of(facts.texts))?,
            frame,
            fields,
            preview,
            source,
            conflict,
            live,
        };
        match &self.refused {
            None => Reply::console(&page),
            Some(refused) => Reply::console_refusal(refused.refusal(), &page),
        }
    }
}

/// Returns the pay-transparency warning about the role as it would be published.
fn warning(
    tx: &Tx<'_>,
    organization: &VisibleOrganization,
    form: &RoleForm,
    words: &'static RoleFieldTexts,
) -> Result<Option<&'static str>, Error> {
    if !organization.pay_transparency || form.get("public").is_empty() {
        return Ok(None);
    }
    let shows_salary = store::organization::find(tx, &organization.id)?
        .is_some_and(|organization| organization.record.portal_theme.shows_salary());
    let amount = |name| form.get(name).parse().ok();
    let salary = role::Salary { min: amount("salaryMin"), max: amount("salaryMax"), currency: None, period: None };
    let has_amount = salary.min.is_some() || salary.max.is_some();
    let hidden = role::hidden_pay(RoleStatus::Open, true, shows_salary, &salary);
    Ok(hidden.map(|_| if has_amount { words.hidden_salary } else { words.no_salary }))
}
