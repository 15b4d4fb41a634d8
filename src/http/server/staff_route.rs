//! Routes of the staff console, and of the pages by which staff sign in.

use hyper::Method;

use super::access_rule::{AccessRule, authorize};
use super::ctx::Ctx;
use super::reply::Reply;
use super::request::Request;
use super::resource::Audience;
use super::route::{DecodeActOrRead, Route};
use crate::domain::user::Principal;
use crate::store::{Error, Tx};

impl Route {
    /// Creates a page by which staff sign in. It differs from a page of [`Route::page_act_or_read`] only in its
    /// audience.
    pub(in crate::http) fn staff_sign_in<W: Send + 'static, R: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: DecodeActOrRead<W, R>,
        act: fn(&Ctx, &Tx<'_>, &W) -> Result<Reply, Error>,
        read: fn(&Ctx, &Tx<'_>, &R) -> Result<Reply, Error>,
    ) -> Self {
        Self { audience: Audience::Staff, ..Self::page_act_or_read(method, path, decode, act, read) }
    }

    /// Creates a page or a form of the staff console, for sessions.
    pub(in crate::http) fn staff<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        let route = Self::new(method, path, AccessRule::Staff, decode, move |ctx, tx, who, input| {
            act(ctx, tx, &authorize(who, AccessRule::Staff)?, input)
        });
        Self { audience: Audience::Staff, requires_second_factor: true, ..route }
    }

    /// Carries the fields of the form through a sign-in although the route hashes a password, because its only
    /// passwords are confirmations, which are never carried.
    pub(in crate::http) fn carrying_form(self) -> Self {
        Self { carries_form: true, ..self }
    }

    /// Admits users who lack the second factor that they must have, because they set it up on these pages.
    pub(in crate::http) fn before_second_factor(mut self) -> Self {
        self.requires_second_factor = false;
        self
    }

    /// Does not count requests as uses of their session, because an open page repeats these requests by itself.
    pub(in crate::http) fn without_use_of_session(mut self) -> Self {
        self.uses_session = false;
        self
    }
}
