//! A route: who may enter, what it does to the file, what it can answer, and its handler's two halves.
//!
//! `decode` reads the request before the transaction, `act` runs inside it. Who may act is in the type of `act`: one
//! that takes an [`Admin`] cannot be reached without that proof.

use std::sync::Arc;

use hyper::Method;

use super::ctx::Ctx;
use super::form::{FormRules, LookFirst, ShowAgain};
use super::reply::{Code, Reply};
use super::request::{BODY_BYTES_MAX, Request};
use super::table;
use super::variant::Parameter;
use crate::domain::api_key::Scope;
use crate::domain::refusal::Refusal;
use crate::domain::user::{Admin, Auth, Principal};
use crate::store::{Error, Grade, Tx};

/// Who may enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Anybody; no credential is looked at.
    Open,
    /// Any key or session.
    Signed,
    /// A session.
    Session,
    /// A key with the scope.
    Scoped(Scope),
    /// A key of a platform admin. One that was made with explicit scopes needs this one among them.
    Admin(Scope),
}

impl Entry {
    /// Whether the kind of the caller's credential counts here.
    ///
    /// # Errors
    /// `unauthorized` for a session where a key is asked for, and the other way round.
    pub(in crate::http) fn accept(self, who: &Principal) -> Result<(), Refusal> {
        let by_key = matches!(who.auth, Auth::ApiKey { .. });
        let counts = match self {
            Self::Open | Self::Signed => true,
            Self::Session => !by_key,
            Self::Scoped(_) | Self::Admin(_) => by_key,
        };
        if counts { Ok(()) } else { Err(Refusal::Unauthorized { sent: true }) }
    }

    /// Whether a caller whose credential counts may enter.
    ///
    /// # Errors
    /// `insufficient_scope`, `forbidden`.
    pub(in crate::http) fn admit(self, who: &Principal) -> Result<(), Refusal> {
        match self {
            Self::Open | Self::Signed | Self::Session => Ok(()),
            Self::Scoped(scope) => who.require_scope(scope),
            Self::Admin(scope) => Admin::prove(who.clone(), scope).map(|_| ()),
        }
    }
}

/// What a route does to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Reads one snapshot.
    Read,
    /// Writes in one transaction, of this durability.
    Write(Grade),
}

/// A status that a route can answer with, and the code in the body of an error.
pub type Answer = (u16, Code);

/// The second half of a handler with everything that the first one decoded. It may run twice.
pub(in crate::http) type Act = Box<dyn FnMut(&Ctx, &Tx<'_>, Option<Principal>) -> Result<Reply, Error> + Send>;

/// What the first half of a handler leads to.
pub(in crate::http) enum Next {
    /// The second half, in a transaction.
    Act(Act),
    /// The second half where it only reads, whatever the route does.
    Look(Act),
    /// The answer: it needs nothing of the file.
    Reply(Reply),
}

/// What the first half of a handler makes of a request, where there may be nothing to do.
pub(in crate::http) enum Decoded<W, I> {
    /// What the second half is to do.
    Wish(W),
    /// What the answer is made of, with a look at the file.
    Idle(I),
}

/// A first half that may see that there is nothing to do.
type DecodeOrIdle<W, I> = fn(&Ctx, &Request) -> Result<Decoded<W, I>, Error>;

/// An answer that needs nothing but the caller.
pub(in crate::http) type OfCaller = fn(&Principal) -> Reply;

type Decode = Arc<dyn Fn(&Ctx, &Request) -> Result<Next, Error> + Send + Sync>;

/// One endpoint.
pub struct Route {
    /// Its method. `HEAD` is answered wherever `GET` is.
    pub method: Method,
    /// Its path, with `{parameters}`.
    pub path: &'static str,
    /// Who may enter.
    pub entry: Entry,
    /// What it does to the file.
    pub work: Work,
    /// Whether it reads a body.
    pub takes_body: bool,
    /// How it reads a form, where its body is one.
    pub(in crate::http) form: Option<FormRules>,
    /// The most bytes of it.
    pub(in crate::http) body_bytes_max: usize,
    /// Whether its time tells nothing: carried out sooner than that, it is answered a fixed time after it was begun.
    pub(in crate::http) is_even: bool,
    /// Whether it can be tried with `dryRun=true`: then it only reads.
    pub takes_dry_run: bool,
    /// Whether pages of other origins may call it: all that is public, by its path.
    pub cors: bool,
    /// Whether it answers people, with pages.
    pub page: bool,
    /// Whether its first half hashes a password, and so runs where it holds nobody up.
    pub hashes: bool,
    /// Everything that it can answer with, but for what any route can ([`super::table::ANYWHERE`]).
    pub answers: Vec<Answer>,
    /// The parameters of the query that its pages depend on, besides the language; `None` where it depends on neither.
    pub(in crate::http) parameters: Option<&'static [Parameter]>,
    pub(in crate::http) decode: Decode,
    /// What it answers a key, where that needs nothing but the caller.
    pub(in crate::http) of_caller: Option<OfCaller>,
}

impl Route {
    /// An endpoint for anybody.
    pub(in crate::http) fn open<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &W) -> Result<Reply, Error>,
    ) -> Self {
        Self::new(method, path, Entry::Open, decode, move |ctx, tx, _, wish| act(ctx, tx, wish))
    }

    /// An endpoint for anybody whose first half may see that there is nothing to do: a form with something wrong in it needs
    /// no turn of the writer.
    pub(in crate::http) fn open_or_idle<W: Send + 'static, I: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: DecodeOrIdle<W, I>,
        act: fn(&Ctx, &Tx<'_>, &W) -> Result<Reply, Error>,
        look: fn(&Ctx, &Tx<'_>, &I) -> Result<Reply, Error>,
    ) -> Self {
        let decode: Decode = Arc::new(move |ctx, request| {
            Ok(match decode(ctx, request)? {
                Decoded::Wish(wish) => Next::Act(Box::new(move |ctx, tx, _| act(ctx, tx, &wish))),
                Decoded::Idle(idle) => Next::Look(Box::new(move |ctx, tx, _| look(ctx, tx, &idle))),
            })
        });
        Self::with_decode(method, path, Entry::Open, decode)
    }

    /// An endpoint for anybody that does not touch the file.
    pub(in crate::http) fn plain(method: Method, path: &'static str, reply: fn(&Ctx) -> Reply) -> Self {
        let decode: Decode = Arc::new(move |ctx, _| Ok(Next::Reply(reply(ctx))));
        Self::with_decode(method, path, Entry::Open, decode)
    }

    /// An endpoint for any key or session.
    pub(in crate::http) fn signed<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        Self::new(method, path, Entry::Signed, decode, move |ctx, tx, who, wish| {
            act(ctx, tx, &proven(who, Entry::Signed)?, wish)
        })
    }

    /// An endpoint for sessions.
    pub(in crate::http) fn session<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        Self::new(method, path, Entry::Session, decode, move |ctx, tx, who, wish| {
            act(ctx, tx, &proven(who, Entry::Session)?, wish)
        })
    }

    /// An endpoint for keys with a scope.
    pub(in crate::http) fn scoped<W: Send + 'static>(
        scope: Scope,
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        let entry = Entry::Scoped(scope);
        Self::new(method, path, entry, decode, move |ctx, tx, who, wish| act(ctx, tx, &proven(who, entry)?, wish))
    }

    /// An endpoint for keys of platform admins: `admin:read` for what is safe, `admin:write` for the rest.
    pub(in crate::http) fn admin<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Admin, &W) -> Result<Reply, Error>,
    ) -> Self {
        let scope = if method.is_safe() { Scope::AdminRead } else { Scope::AdminWrite };
        let entry = Entry::Admin(scope);
        Self::new(method, path, entry, decode, move |ctx, tx, who, wish| {
            let admin = Admin::prove(proven(who, entry)?, scope)?;
            act(ctx, tx, &admin, wish)
        })
    }

    /// The same, writing.
    pub(in crate::http) fn writes(mut self, grade: Grade) -> Self {
        self.work = Work::Write(grade);
        self
    }

    /// The same, reading a body.
    pub(in crate::http) fn with_body(mut self) -> Self {
        self.takes_body = true;
        self
    }

    /// The same, reading a form: `multipart/form-data` or `application/x-www-form-urlencoded`. The handler finds it in
    /// [`Request::form`].
    pub(in crate::http) fn with_form(mut self) -> Self {
        self.takes_body = true;
        self.form = Some(FormRules { takes_json: false, file_field: None, look_first: None, show_again: None });
        self
    }

    /// The same, reading a form in which this field may hold a file. A request is looked at before its body is read, so
    /// that nobody sends a file for nothing.
    pub(in crate::http) fn with_upload(self, file_field: &'static str, look_first: LookFirst) -> Self {
        let mut route = self.with_form();
        let (file_field, look_first) = (Some(file_field), Some(look_first));
        route.form = Some(FormRules { takes_json: false, file_field, look_first, show_again: None });
        route
    }

    /// The same, showing its form again where that cannot be taken now, so that nothing that was typed is lost.
    pub(in crate::http) fn showing_again(mut self, show_again: ShowAgain) -> Self {
        self.form = self.form.map(|form| FormRules { show_again: Some(show_again), ..form });
        self
    }

    /// The same, taking the same time whatever it finds.
    pub(in crate::http) fn evenly(mut self) -> Self {
        self.is_even = true;
        self
    }

    /// The same, reading JSON as well where it reads a form: then there is no [`Request::form`], but [`Request::object`].
    pub(in crate::http) fn or_json(mut self) -> Self {
        self.form = self.form.map(|form| FormRules { takes_json: true, ..form });
        self
    }

    /// The same, reading a body of at most so many bytes, which is no JSON.
    pub(in crate::http) fn with_body_of(self, bytes_max: usize) -> Self {
        Self { body_bytes_max: bytes_max, ..self.with_body() }
    }

    /// The same, to be tried with `dryRun=true`. The handler sees to it that nothing is saved then.
    pub(in crate::http) fn with_dry_run(mut self) -> Self {
        self.takes_dry_run = true;
        self
    }

    /// Whether it heeds an `Idempotency-Key`: every POST of v1 and admin.
    pub fn takes_idempotency_key(&self) -> bool {
        let is_of_keys = self.path.starts_with("/api/v1/") || self.path.starts_with("/api/admin/");
        is_of_keys && self.method == Method::POST
    }

    /// The same, with the answers that follow from its path, its method and who may enter.
    pub(in crate::http) fn completed(mut self) -> Self {
        let mut more: Vec<Answer> = Vec::new();
        if self.takes_idempotency_key() {
            more.extend([(400, "validation_error"), (422, "idempotency_key_reused")]);
            // What is kept about a candidate is erased with them.
            more.extend(self.path.contains("/candidate").then_some((410, "gone")));
        }
        if matches!(self.entry, Entry::Admin(_)) {
            more.push((403, "insufficient_scope"));
        }
        more.retain(|answer| !self.answers.contains(answer));
        self.answers.extend(more);
        self
    }

    /// What a request is to do to the file: a try only reads.
    pub(in crate::http) fn work_of(&self, request: &Request) -> Work {
        let is_dry_run = self.takes_dry_run && request.is_dry_run() == Ok(true);
        if is_dry_run { Work::Read } else { self.work }
    }

    /// The same, for people.
    pub(in crate::http) fn for_people(mut self) -> Self {
        self.page = true;
        self
    }

    /// The same, speaking the language that is asked for. What it answers, and is kept, depends on that (not on whether it was
    /// named by `lang` or wanted by the browser) and on these parameters of the query alone: what another one chooses, such
    /// as a free search, is not kept.
    pub(in crate::http) fn in_languages(mut self, parameters: &'static [Parameter]) -> Self {
        self.parameters = Some(parameters);
        self
    }

    /// The same, hashing a password in its first half.
    pub(in crate::http) fn with_hashing(mut self) -> Self {
        self.hashes = true;
        self
    }

    /// The same, answering a key from the caller alone, without reading the file. The usage row's transaction sees to it
    /// that the caller is still who memory says.
    pub(in crate::http) fn of_caller(mut self, reply: OfCaller) -> Self {
        self.of_caller = Some(reply);
        self
    }

    /// The same, with what it can answer.
    pub(in crate::http) fn answering(mut self, answers: &'static [Answer]) -> Self {
        self.answers = answers.to_vec();
        self
    }

    fn new<W: Send + 'static>(
        method: Method,
        path: &'static str,
        entry: Entry,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: impl Fn(&Ctx, &Tx<'_>, Option<Principal>, &W) -> Result<Reply, Error> + Copy + Send + Sync + 'static,
    ) -> Self {
        let decode: Decode = Arc::new(move |ctx, request| {
            let wish = decode(ctx, request)?;
            Ok(Next::Act(Box::new(move |ctx, tx, who| act(ctx, tx, who, &wish))))
        });
        Self::with_decode(method, path, entry, decode)
    }

    fn with_decode(method: Method, path: &'static str, entry: Entry, decode: Decode) -> Self {
        Self {
            method,
            path,
            entry,
            work: Work::Read,
            takes_body: false,
            form: None,
            is_even: false,
            body_bytes_max: BODY_BYTES_MAX,
            takes_dry_run: false,
            cors: table::is_public(path),
            page: false,
            hashes: false,
            answers: Vec::new(),
            parameters: None,
            decode,
            of_caller: None,
        }
    }
}

/// The caller, seen in this very transaction, where they may enter.
fn proven(who: Option<Principal>, entry: Entry) -> Result<Principal, Refusal> {
    let who = who.ok_or(Refusal::Unauthorized { sent: false })?;
    entry.accept(&who)?;
    entry.admit(&who)?;
    Ok(who)
}
