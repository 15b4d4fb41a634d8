//! `/app/{orgSlug}/applications/{id}/hire`: the page with the form that hires a candidate. The page says what the hire
//! will do, according to a dry run of the rule.

use askama::Template;

use super::act;
use super::done::decision_shown;
use super::refused;
use super::scene::{Scene, Target};
use crate::domain::activity::Action;
use crate::domain::candidate_step::{
    self, ApplicationStatus, Decision, HireInput, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX, StepFacts, StepStatus,
    state_name,
};
use crate::domain::refusal::Refusal;
use crate::domain::role::RoleStatus;
use crate::domain::user::Principal;
use crate::http::pages::console::fields;
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::texts::console::hire::{HIRE, HireTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/decision/hire.html", config = "src/http/pages/templates/askama.toml")]
struct HirePage {
    frame: ConsoleFrame,
    words: &'static HireTexts,
    action: String,
    back: String,
    seen: String,
    effects: Vec<String>,
    /// The reason why the hire is not possible. `None` if it is possible.
    obstacle: Option<&'static str>,
    button: String,
    requires_position_id: bool,
    notes_max: usize,
    typed: Typed,
    faults: Faults,
}

/// The text of the form's fields.
#[derive(Default)]
struct Typed {
    hired_date: String,
    offer_accepted_date: String,
    external_position_id: String,
    notes: String,
}

/// The faults of the form's fields.
#[derive(Default)]
struct Faults {
    hired_date: Option<&'static str>,
    offer_accepted_date: Option<&'static str>,
    external_position_id: Option<&'static str>,
    notes: Option<&'static str>,
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if `back`, `lang` or `locale` is repeated.
pub(super) fn decode_page(_: &Ctx, request: &Request) -> Result<Target, Error> {
    Ok(Target::decode_page(request)?)
}

/// `GET …/hire`: shows what a hire will do, and the form.
///
/// # Errors
/// `not_found` if the application does not exist or has no steps, or the caller may not see it; `forbidden` for a plain
/// member.
pub(super) fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, target: &Target) -> Result<Reply, Error> {
    let scene = target.load(tx, who)?;
    scene.organization.caller.require_manager()?;
    Reply::console(&page(tx, who, target, &scene, Typed::default(), None)?)
}

/// A submitted form.
pub(super) struct HireForm {
    target: Target,
    input: HireInput,
    typed: HireTyped,
    fault: Option<Refusal>,
}

type HireTyped = [String; 4];

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field, `lang` or `locale` is
/// repeated; `not_found` if the path has no valid id.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<HireForm, Error> {
    let mut fields = fields::read(request)?;
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let text = |name| Ok::<_, Refusal>(form.text(name)?.unwrap_or_default().to_owned());
    let typed = [text("hiredDate")?, text("offerAcceptedDate")?, text("externalPositionId")?, text("notes")?];
    let target = Target::decode(request, &mut fields)?;
    let input = HireInput {
        notes: fields.lines("notes", NOTES_CHARACTERS_MAX),
        hired_date: fields.timestamp("hiredDate"),
        offer_accepted_date: fields.timestamp("offerAcceptedDate"),
        external_position_id: fields.text("externalPositionId", OUTCOME_CHARACTERS_MAX),
    };
    Ok(HireForm { target, input, typed, fault: fields.valid().err() })
}

/// `POST …/hire`: hires the candidate. The decision applies to the current step or, without one, to the final step.
///
/// The function returns some refusals as replies that the browser shows: `conflict` if the application has ended, or
/// has changed since the page was shown; `bad_request` if the role has no free position or is not open, or if a required
/// position code is missing; `validation_error` for an invalid field.
///
/// # Errors
/// `not_found` if the application does not exist or has no steps, or the caller may not see it; `forbidden` for a plain
/// member.
pub(super) fn hire(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, form: &HireForm) -> Result<Reply, Error> {
    let target = &form.target;
    let scene = target.load(tx, who)?;
    if let Err(refusal) = scene.require_open_to(target) {
        return refused::reply(tx, who, target, &scene, refusal);
    }
    let facts = scene.facts_here(tx, who)?;
    let refusal = match form.fault.clone().map_or_else(|| candidate_step::hire(&facts, &form.input, tx.now), Err) {
        Ok(decision) => return act::save(ctx, tx, who, Action::Hired, target, &scene, &facts, &decision),
        Err(refusal) => refusal,
    };
    match &refusal {
        Refusal::Invalid(_) | Refusal::BadRequest(..) => {
            let [hired_date, offer_accepted_date, external_position_id, notes] = form.typed.clone();
            let typed = Typed { hired_date, offer_accepted_date, external_position_id, notes };
            Reply::console_refusal(&refusal, &page(tx, who, target, &scene, typed, Some(&refusal))?)
        }
        _ => refused::reply(tx, who, target, &scene, refusal),
    }
}

fn page(
    tx: &Tx<'_>,
    who: &Principal,
    target: &Target,
    scene: &Scene,
    typed: Typed,
    refusal: Option<&Refusal>,
) -> Result<HirePage, Error> {
    let texts = target.visit.texts_for(tx, who)?;
    let words = HIRE.of(texts);
    let facts = scene.facts_here(tx, who)?;
    let (effects, obstacle) = match dry_run(&facts, tx) {
        Ok(decision) => (effects(tx, texts, scene, &facts, &decision)?, None),
        Err(_) => (Vec::new(), Some(obstacle(words, &facts))),
    };
    let name = [("name", scene.candidate.name.as_str())];
    let organization = &scene.organization;
    let title = fill(words.title, &name);
    Ok(HirePage {
        frame: target.visit.frame(tx, who, Some(organization), NavItem::Candidates, title)?,
        words,
        action: format!("/app/{}/applications/{}/hire", organization.slug, scene.application.record.id),
        back: target.back(scene),
        seen: state_name(scene.status(), &scene.steps).to_owned(),
        effects,
        obstacle,
        button: fill(words.button, &name),
        requires_position_id: facts.require_external_position_id,
        notes_max: NOTES_CHARACTERS_MAX,
        typed,
        faults: faults(words, refusal),
    })
}

/// Applies the rule without saving anything. The input contains a position code, because the form can ask for one.
fn dry_run(facts: &StepFacts, tx: &Tx<'_>) -> Result<Decision, Refusal> {
    let input = HireInput { external_position_id: Some("-".to_owned()), ..HireInput::default() };
    candidate_step::hire(facts, &input, tx.now)
}

fn obstacle(words: &'static HireTexts, facts: &StepFacts) -> &'static str {
    match facts.application_status {
        ApplicationStatus::InProgress if facts.seats.are_all_filled() => words.full,
        ApplicationStatus::InProgress if facts.seats.status != RoleStatus::Open => words.not_open,
        _ => words.ended,
    }
}

/// Returns the sentences that say what the hire will do.
fn effects(
    tx: &Tx<'_>,
    texts: &'static Texts,
    scene: &Scene,
    facts: &StepFacts,
    decision: &Decision,
) -> Result<Vec<String>, Error> {
    let words = HIRE.of(texts);
    let number = |count: i64| texts.number(count as f64);
    let (position, positions) = (number(decision.seats.hired), number(facts.seats.positions));
    let role_name = scene.application.role_name.as_str();
    let mut effects =
        vec![fill(words.takes, &[("position", &position), ("positions", &positions), ("role", role_name)])];
    if decision.seats.status == RoleStatus::Filled {
        let role = store::role::find(tx, &facts.organization_id, &facts.role_id)?;
        let is_public = role.is_some_and(|role| role.record.public) && scene.organization.has_portal();
        effects.push(if is_public { words.fills_public } else { words.fills }.to_owned());
    }
    let skipped = decision.steps.iter().filter(|step| step.status == StepStatus::Skipped);
    let skipped: Vec<&str> = skipped.map(|step| step.name.as_str()).collect();
    if !skipped.is_empty() {
        effects.push(fill(words.skips, &[("steps", &skipped.join(", "))]));
    }
    let integration = store::hr_integration::find(tx, &facts.organization_id)?;
    effects.push(match integration {
        Some((integration, _)) if integration.enabled => words.hr_notified.to_owned(),
        Some(_) => words.hr_held.to_owned(),
        None => words.hr_none.to_owned(),
    });
    let id = &scene.application.record.id;
    effects.push(decision_shown(tx, texts, &scene.organization, id, tx.now)?);
    Ok(effects)
}

/// Returns the faults of the fields that a refusal names.
fn faults(words: &'static HireTexts, refusal: Option<&Refusal>) -> Faults {
    let (Some(Refusal::Invalid(errors)) | Some(Refusal::BadRequest(_, errors))) = refusal else {
        return Faults::default();
    };
    let is_missing = matches!(refusal, Some(Refusal::BadRequest(..)));
    let fault = |name: &str, text| errors.iter().any(|error| error.field == name).then_some(text);
    let position_fault = if is_missing { words.external_position_id_missing } else { words.not_text };
    Faults {
        hired_date: fault("hiredDate", words.not_a_date),
        offer_accepted_date: fault("offerAcceptedDate", words.not_a_date),
        external_position_id: fault("externalPositionId", position_fault),
        notes: fault("notes", words.not_text),
    }
}
