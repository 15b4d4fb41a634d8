//! The page with the steps of a role.

use askama::Template;

use super::super::field::{Control, Field};
use super::super::frame::{ConsoleFrame, NavItem};
use super::super::live::Live;
use super::super::visit::Visit;
use super::super::when::When;
use super::typed_step::TypedStep;
use crate::domain::activity::{Action, Subject};
use crate::domain::candidate_step::StepType;
use crate::domain::id::RoleStepId;
use crate::domain::refusal::Refusal;
use crate::domain::role::RoleStatus;
use crate::domain::role_step::{self, STEPS_MAX};
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::domain::user::{Principal, may_manage};
use crate::http::pages::console::role::{changes_path, path};
use crate::http::pages::texts::console::role::{ROLE, RoleTexts};
use crate::http::pages::texts::console::role_step::{ROLE_STEP, RoleStepTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::store::access::VisibleOrganization;
use crate::store::role::Role;
use crate::store::role_step::RoleStep;
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/role_steps.html", config = "src/http/pages/templates/askama.toml")]
pub(super) struct StepPage {
    frame: ConsoleFrame,
    words: &'static RoleStepTexts,
    /// The path of the role's pages.
    base: String,
    may_manage: bool,
    only_managers: &'static str,
    to_board: &'static str,
    refused: Option<String>,
    role_words: &'static RoleTexts,
    /// The saved and the typed versions of a step that somebody else has changed.
    conflict: Option<StepConflict>,
    steps: Vec<StepView>,
    /// The removed steps at which there are still candidates.
    removed: Vec<StepView>,
    /// The offer of the default pipeline, with the names of its steps, for a role without steps.
    default: Option<String>,
    is_draft: bool,
    is_full: bool,
    /// The id that the next step will get. The form names this id, so a form that is submitted twice adds one step.
    new_id: String,
    new_name: Field,
    new_type: Field,
    live: Live,
}

struct StepView {
    id: String,
    name: String,
    step_type: &'static str,
    type_label: &'static str,
    /// The position, counted from 1.
    order: usize,
    is_last: bool,
    /// The number of candidates at the step, such as "3 candidates are here".
    people: Option<String>,
    up: String,
    down: String,
    name_field: Field,
    type_field: Field,
    /// Whether the form of the step is open, because it was refused.
    is_open: bool,
}

/// The maximum number of changes to a role's steps, newest first, in which the page looks for the last change to one
/// step. Somebody made that change while the form was open, so it is one of the newest.
const CHANGES_MAX: usize = 100;

/// A step that somebody else has changed: who changed it, and the fields in which the saved and the typed versions
/// differ.
#[derive(Clone)]
pub(super) struct StepConflict {
    sentence: String,
    differences: Vec<StepDifference>,
}

#[derive(Clone)]
struct StepDifference {
    label: &'static str,
    saved: String,
    typed: String,
}

impl StepConflict {
    pub(super) fn new(
        tx: &Tx<'_>,
        texts: &'static Texts,
        organization: &VisibleOrganization,
        role: &Role,
        (saved, typed): (&RoleStep, &TypedStep),
    ) -> Result<Self, Error> {
        let (words, role_words) = (ROLE_STEP.of(texts), ROLE.of(texts));
        let subject = Subject::of_role(role.organization_id.clone(), role.record.id.clone());
        let changes = store::activity::page(tx, &subject, Some(Action::RoleStepChanged), i64::MAX, CHANGES_MAX)?;
        let latest = changes.into_iter().find(|change| store::role_step::is_change_of(change, &saved.id));
        let sentence = match latest.and_then(|latest| Some((latest.actor?, latest.at))) {
            Some((actor, at)) => {
                let when = When::new(texts, &organization.time_zone, at, tx.now).relative;
                fill(role_words.conflict_by, &[("name", &actor.name), ("when", &when)])
            }
            None => role_words.conflict_program.to_owned(),
        };
        let label_of = |typed: &str| StepType::parse(typed).map_or(typed, |known| type_label(words, known)).to_owned();
        let name = StepDifference { label: words.name, saved: saved.name.clone(), typed: typed.name.clone() };
        let saved_type = type_label(words, saved.step_type).to_owned();
        let step_type = StepDifference { label: words.type_, saved: saved_type, typed: label_of(&typed.step_type) };
        let differences = [name, step_type].into_iter().filter(|field| field.saved != field.typed).collect();
        Ok(Self { sentence, differences })
    }
}

/// The reason why an act on a step was refused.
pub(super) enum Fault {
    /// The step or the pipeline has changed since the form was made.
    Stale(Refusal),
    /// The typed values are invalid.
    Values(TypedStep, Refusal),
    /// Somebody else has changed the step.
    Changed(TypedStep, StepConflict, Refusal),
    /// The step is the only one of a role that is not a draft.
    Only(Refusal),
}

impl Fault {
    pub(super) fn refusal(&self) -> &Refusal {
        match self {
            Self::Stale(refusal) | Self::Values(_, refusal) | Self::Changed(_, _, refusal) | Self::Only(refusal) => {
                refusal
            }
        }
    }
}

impl StepPage {
    pub(super) fn new(
        ctx: &Ctx,
        tx: &Tx<'_>,
        who: &Principal,
        visit: &Visit,
        organization: &VisibleOrganization,
        role: &Role,
    ) -> Result<Self, Error> {
        let texts = visit.texts_for(tx, who)?;
        let words = ROLE_STEP.of(texts);
        let all = store::role_step::of_role_with_removed(tx, &role.record.id)?;
        let counts = store::role_step::candidate_counts(tx, &organization.id, &role.record.id)?;
        let count = |id: &RoleStepId| counts.iter().find(|(step, _)| step == id).map_or(0, |(_, count)| *count);
        let length = all.iter().filter(|step| step.order.is_some()).count();
        let views = all.iter().map(|step| (step.order.is_none(), view(texts, step, length, count(&step.id))));
        let (removed, steps): (Vec<_>, Vec<_>) = views.partition(|(is_removed, _)| *is_removed);
        let removed = removed.into_iter().map(|(_, view)| view).filter(|view| view.people.is_some()).collect();
        let names = role_step::default_pipeline(texts.tag).map(|(name, _)| name).join(", ");
        let title = fill(words.title, &[("role", &role.record.name)]);
        let version = store::role::version(tx, &organization.id, &role.record.id)?;
        let typed = TypedStep { name: String::new(), step_type: StepType::Other.as_str().to_owned() };
        let (new_name, new_type) = fields(words, "new", &typed, None);
        Ok(Self {
            frame: visit.frame(tx, who, Some(organization), NavItem::Roles, title)?,
            words,
            base: path(organization, &role.record.id),
            may_manage: may_manage(organization.caller.org_role, organization.caller.platform_role),
            only_managers: ROLE.of(texts).only_managers,
            to_board: ROLE.of(texts).to_board,
            refused: None,
            role_words: ROLE.of(texts),
            conflict: None,
            steps: steps.into_iter().map(|(_, view)| view).collect(),
            removed,
            default: (length == 0).then(|| fill(words.begin, &[("steps", &names)])),
            is_draft: role.record.seats.status == RoleStatus::Draft,
            is_full: length >= STEPS_MAX,
            new_id: ctx.world.id::<RoleStepId>().to_string(),
            new_name,
            new_type,
            live: Live::after(&changes_path(&path(organization, &role.record.id), "steps"), &version),
        })
    }

    /// Shows the message about the act that led to this page.
    pub(super) fn set_notice(&mut self, done: Option<&str>) {
        let words = self.words;
        self.frame.notice = match done {
            Some("created") => Some(words.done_created.to_owned()),
            Some("added") => Some(words.done_added.to_owned()),
            Some("default") => Some(words.done_default.to_owned()),
            Some("changed") => Some(words.done_changed.to_owned()),
            Some("moved") => Some(words.done_moved.to_owned()),
            Some("removed") => Some(words.done_removed.to_owned()),
            _ => None,
        };
    }

    /// Shows the form of a new step again.
    pub(super) fn refuse_new(&mut self, typed: &TypedStep, refusal: &Refusal) {
        (self.new_name, self.new_type) = fields(self.words, "new", typed, Some(refusal));
        if refusal.errors().is_empty() {
            self.refused = Some(self.full());
        }
    }

    fn full(&self) -> String {
        fill(self.words.full, &[("count", &STEPS_MAX.to_string())])
    }

    /// Shows the reason why an act on a step was refused. The form still contains the typed values, unless the step or
    /// the pipeline has changed.
    pub(super) fn refuse(&mut self, id: &RoleStepId, fault: &Fault) {
        let words = self.words;
        let (message, typed) = match fault {
            Fault::Stale(_) => (Some(words.changed_meanwhile.to_owned()), None),
            Fault::Only(_) => (Some(words.only.to_owned()), None),
            Fault::Values(typed, _) => (None, Some(typed)),
            Fault::Changed(typed, _, _) => (None, Some(typed)),
        };
        self.conflict = match fault {
            Fault::Changed(_, conflict, _) => Some(conflict.clone()),
            _ => None,
        };
        self.refused = message;
        if let (Some(typed), Some(step)) = (typed, self.steps.iter_mut().find(|step| step.id == id.as_str())) {
            (step.name_field, step.type_field) = fields(words, &step.id, typed, Some(fault.refusal()));
            step.is_open = true;
        }
    }
}

fn view(texts: &'static Texts, step: &RoleStep, length: usize, count: i64) -> StepView {
    let words = ROLE_STEP.of(texts);
    let id = step.id.to_string();
    let order = step.order.and_then(|order| usize::try_from(order).ok()).unwrap_or_default();
    let typed = TypedStep { name: step.name.clone(), step_type: step.step_type.as_str().to_owned() };
    let (name_field, type_field) = fields(words, &id, &typed, None);
    let with_name = |text| fill(text, &[("step", &step.name)]);
    StepView {
        up: with_name(words.up),
        down: with_name(words.down),
        id,
        name: step.name.clone(),
        step_type: step.step_type.as_str(),
        type_label: type_label(words, step.step_type),
        order,
        is_last: order == length,
        people: usize::try_from(count).ok().filter(|count| *count > 0).map(|count| texts.counted(&words.people, count)),
        name_field,
        type_field,
        is_open: false,
    }
}

/// Returns the fields for the name and the type of a step. `id` makes the ids of the controls unique.
fn fields(words: &RoleStepTexts, id: &str, typed: &TypedStep, refusal: Option<&Refusal>) -> (Field, Field) {
    let wrong = |name: &str, text: &str| {
        let is_wrong = refusal.is_some_and(|refusal| refusal.errors().iter().any(|error| error.field == name));
        is_wrong.then(|| text.to_owned())
    };
    let types = StepType::WORDS.iter().filter_map(|word| Some((*word, type_label(words, StepType::parse(word)?))));
    let types = types.map(|(word, label)| (word, label.to_owned())).collect();
    let name = Field::new("name", words.name, Control::Line(NAME_CHARACTERS_MAX), &typed.name)
        .required()
        .hint(words.name_hint)
        .error(wrong("name", words.name_error));
    let step_type = Field::new("stepType", words.type_, Control::Choice(types), &typed.step_type)
        .error(wrong("stepType", words.type_error));
    (Field { id: format!("name-{id}"), ..name }, Field { id: format!("type-{id}"), ..step_type })
}

fn type_label(words: &RoleStepTexts, step_type: StepType) -> &'static str {
    match step_type {
        StepType::Application => words.application,
        StepType::Screening => words.screening,
        StepType::Assessment => words.assessment,
        StepType::Interview => words.interview,
        StepType::ReferenceCheck => words.reference_check,
        StepType::Offer => words.offer,
        StepType::Other => words.other,
    }
}
