//! `POST /status/{token}/withdraw` and `POST /status/{token}/delete`.

use super::view;
use super::visit::{StatusVisit, with_robots_disallowed};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::status_page::deletion::DeletionAnswer;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::status_page::{deletion, withdrawal};
use crate::store::{Error, Tx};

/// `POST /status/{token}/withdraw`: withdraws the application if the candidate sees it as in progress. In either case,
/// redirects to the page. If staff have already made a decision that the candidate cannot see yet, the decision stands,
/// and staff see that the candidate withdrew. On the page of a later signup, the application stays as it is, and staff
/// see the withdrawal at that signup.
///
/// # Errors
/// `not_found`, as a page, if the link is unknown or spent.
pub(super) fn withdraw(ctx: &Ctx, tx: &Tx<'_>, visit: &StatusVisit) -> Result<Reply, Error> {
    let Some(found) = visit.find(tx)? else { return view::not_found(visit) };
    if found.view.progress(&found.page, tx.now).status == ApplicationStatus::InProgress {
        withdrawal::withdraw(tx, &*ctx.world, &found.page, &found.view)?;
    }
    Ok(with_robots_disallowed(Reply::see_other(&visit.path())))
}

/// `POST /status/{token}/delete`: deletes the data behind the link, and removes the page. If the candidate is under a
/// legal hold, a trusted page (see `StatusPage::is_trusted`) stays and explains the hold. Any other page is removed as
/// it would be without the hold, but the candidate's data stays. A hidden hire defers the deletion of the data too, but
/// the page is always removed, so that the answer does not reveal the hire.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the link is unknown or spent; `unavailable` if the erasure list
/// cannot be read or written.
pub(super) fn delete(ctx: &Ctx, tx: &Tx<'_>, visit: &StatusVisit) -> Result<Reply, Error> {
    let Some(found) = visit.find(tx)? else { return view::not_found(visit) };
    match deletion::delete(tx, ctx.store.erasures(), &*ctx.world, &found.page, &found.view)? {
        DeletionAnswer::Done => view::deleted(&found),
        DeletionAnswer::Held => Ok(with_robots_disallowed(Reply::see_other(&format!("{}#held", visit.path())))),
    }
}
