//! `GET /signup/{token}`: where a candidate's signup link leads. A plain page.

use hyper::Method;

use super::ctx::Ctx;
use super::reply::Reply;
use super::request::Request;
use super::route::Route;
use super::texts;
use crate::domain::invitation;
use crate::domain::refusal::Refusal;
use crate::store::{self, Error, Tx};

const NO_INVITATION: Refusal = Refusal::NotFound(
    "This link leads nowhere any more: it has run out, or the role is no longer open. The organization's career \
     portal shows what is open now",
);

/// The token of a link, as the path has it.
struct Token(String);

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::open(Method::GET, "/signup/{token}", decode, act)
            .for_people()
            .answering(&[(200, ""), (404, "not_found")]),
    ]
}

#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode(_: &Ctx, request: &Request) -> Result<Token, Error> {
    Ok(Token(request.param("token").to_owned()))
}

/// `GET /signup/{token}`: the role that the link is for, and for how long it leads there.
///
/// # Errors
/// `not_found` for a link that there is none of, that was ended or has run out, and while its role is not open and
/// public or its organization's portal is off.
fn act(_: &Ctx, tx: &Tx<'_>, Token(token): &Token) -> Result<Reply, Error> {
    let invitation = store::invitation::follow(tx, token)?.ok_or(NO_INVITATION)?;
    let days = invitation::days_left(invitation.expires_at, tx.now);
    let title = format!("{} at {}", invitation.role_name, invitation.organization_name);
    let paragraphs = [
        format!("You are invited to apply for this role at {}.", invitation.organization_name),
        format!(
            "Keep this link: it is yours to use for {days} more {}, for as long as the role is open.",
            if days == 1 { "day" } else { "days" }
        ),
    ];
    Reply::page(texts::of_tag("en"), &title, &paragraphs)
}
