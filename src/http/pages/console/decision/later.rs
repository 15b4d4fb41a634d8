//! `POST /app/{orgSlug}/applications/{id}/later`, `/take-up` and `/later/undo`: the later mark of an application.

use jiff::civil::Date;

use super::refused;
use super::scene::{Scene, Target};
use crate::domain::due_day::DueDay;
use crate::domain::later::{self, DAYS_MAX, LaterInput};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::{fields, when};
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::{self, Error, Tx};

/// A submitted form that puts an application aside.
pub(super) struct LaterForm {
    target: Target,
    input: Option<LaterInput>,
    fault: Option<Refusal>,
}

/// Reads the day from `days` or `dueOn`. Returns `None` unless the form has exactly one of these fields, with a valid
/// value.
pub(in crate::http::pages::console) fn day_field(fields: &mut BodyFields) -> Option<LaterInput> {
    let (days, due_on) = (fields.string("days"), fields.string("dueOn"));
    match (days, due_on) {
        (Some(days), None) => {
            let days = days.parse().ok().filter(|days| (1..=DAYS_MAX).contains(days));
            days.map(LaterInput::InDays)
        }
        (None, Some(day)) => DueDay::parse(&day).map(LaterInput::On),
        _ => None,
    }
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field, `lang` or `locale` is
/// repeated; `not_found` if the path has no valid id.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<LaterForm, Error> {
    let mut fields = fields::read(request)?;
    let target = Target::decode(request, &mut fields)?;
    let input = day_field(&mut fields);
    Ok(LaterForm { target, input, fault: fields.valid().err() })
}

/// `POST …/later`: puts the application aside, or changes the due day.
///
/// The function returns some refusals as replies that the browser shows: `conflict` if the application has ended, or
/// has changed since the page was shown; `validation_error` for a missing or invalid day.
///
/// # Errors
/// `not_found` if the application does not exist or the caller may not see it; `forbidden` for a plain member.
pub(super) fn put(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, form: &LaterForm) -> Result<Reply, Error> {
    let scene = load(tx, who, &form.target)?;
    let today = when::today(&scene.organization.time_zone, tx.now);
    let checked = scene.require_open_to(&form.target).and_then(|()| form.fault.clone().map_or(Ok(()), Err));
    match checked.and_then(|()| put_aside(&scene, form.input, today)) {
        Ok(day) => save(ctx, tx, who, &form.target, &scene, Some(day)),
        Err(refusal) => refused::reply(tx, who, &form.target, &scene, refusal),
    }
}

fn put_aside(scene: &Scene, input: Option<LaterInput>, today: Date) -> Result<DueDay, Refusal> {
    let input = input.ok_or_else(|| Refusal::invalid("dueOn", "must be given"))?;
    later::put_aside(scene.status(), input, today)
}

/// # Errors
/// The errors of [`decode`].
pub(super) fn decode_target(_: &Ctx, request: &Request) -> Result<Target, Error> {
    let mut fields = fields::read(request)?;
    Ok(Target::decode(request, &mut fields)?)
}

/// `POST …/take-up`: removes the later mark. Without a mark, nothing changes.
///
/// # Errors
/// `not_found` if the application does not exist or the caller may not see it; `forbidden` for a plain member.
pub(super) fn take_up(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, target: &Target) -> Result<Reply, Error> {
    let scene = load(tx, who, target)?;
    save(ctx, tx, who, target, &scene, None)
}

/// `POST …/later/undo`: undoes the caller's last change to the later mark, if the change is less than 10 minutes old.
///
/// The function returns one refusal as a reply that the browser shows: `conflict` if the application has ended, another
/// act has followed the change, or the change is too old.
///
/// # Errors
/// The errors of [`take_up`]; `forbidden` if another user made the change.
pub(super) fn undo(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, target: &Target) -> Result<Reply, Error> {
    let scene = load(tx, who, target)?;
    let last = store::later::last_change(tx, &scene.organization.id, &scene.application)?;
    match later::undo(scene.status(), last.as_ref(), &who.user_id, tx.now) {
        Ok(before) => save(ctx, tx, who, target, &scene, before),
        Err(refusal) => refused::reply(tx, who, target, &scene, refusal),
    }
}

/// # Errors
/// `not_found` if the application does not exist or the caller may not see it; `forbidden` for a plain member.
fn load(tx: &Tx<'_>, who: &Principal, target: &Target) -> Result<Scene, Error> {
    let scene = target.load(tx, who)?;
    scene.organization.caller.require_manager()?;
    Ok(scene)
}

fn save(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    target: &Target,
    scene: &Scene,
    due_on: Option<DueDay>,
) -> Result<Reply, Error> {
    let stamp = store::activity::stamp(&*ctx.world);
    store::later::save(tx, who, &scene.organization.id, &scene.application, due_on, &stamp)?;
    Ok(Reply::see_other(&target.back_when_done(scene)))
}
