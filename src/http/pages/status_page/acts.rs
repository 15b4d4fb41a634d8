//! `POST /status/{token}/withdraw` and `…/delete`.

use super::view;
use super::visit::{Visit, private};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::status_page::deletion::DeletionAnswer;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::status_page::{deletion, withdrawal};
use crate::store::{Error, Tx};

/// `POST …/withdraw`: the candidate takes the application back, where they see that it goes on. Either way the page shows how
/// it is. Where it was decided on and they do not see that yet, the decision stays, and staff see that they took it back.
///
/// # Errors
/// None but a 404 page where the link leads nowhere.
pub(super) fn withdraw(ctx: &Ctx, tx: &Tx<'_>, visit: &Visit) -> Result<Reply, Error> {
    let Some(found) = visit.find(tx)? else { return view::nowhere(visit) };
    if found.shown.progress(&found.page, tx.now).status == ApplicationStatus::InProgress {
        withdrawal::withdraw(tx, &*ctx.world, &found.page, &found.shown)?;
    }
    Ok(private(Reply::see_other(&visit.path())))
}

/// `POST …/delete`: what is behind the link is deleted, and the link with it. Where the organization holds the candidate's
/// data, the page says so.
///
/// # Errors
/// None but a 404 page where the link leads nowhere.
pub(super) fn delete(ctx: &Ctx, tx: &Tx<'_>, visit: &Visit) -> Result<Reply, Error> {
    let Some(found) = visit.find(tx)? else { return view::nowhere(visit) };
    match deletion::delete(tx, ctx.store.erasures(), &*ctx.world, &found.page, &found.shown)? {
        DeletionAnswer::Done => view::deleted(&found),
        DeletionAnswer::Held => Ok(private(Reply::see_other(&format!("{}#held", visit.path())))),
    }
}
