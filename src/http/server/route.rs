//! A route: who may enter, what it does to the file, what it can answer, and its handler's two halves.
//!
//! `decode` reads the request before the transaction, `act` runs inside it. Who may act is in the type of `act`: one
//! that takes an [`Admin`] cannot be reached without that proof.

use std::sync::Arc;

use hyper::Method;

use super::ctx::Ctx;
use super::entry::{Entry, proven};
use super::form_rules::{FormFallback, FormRules, Precheck};
use super::reply::{Code, Reply};
use super::request::{BODY_BYTES_MAX, Request};
use super::resource::{Audience, Idempotency, Resource};
use super::response_cache::{Caching, Pool};
use super::variant::Parameter;
use crate::domain::api_key::Scope;
use crate::domain::user::{Admin, Principal};
use crate::store::{Error, Grade, Tx};

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
    /// The input of the second half.
    Input(W),
    /// The input of an answer that only reads.
    Idle(I),
}

/// A first half that may see that there is nothing to do.
type DecodeOrIdle<W, I> = fn(&Ctx, &Request) -> Result<Decoded<W, I>, Error>;

/// An answer that needs nothing but the caller.
pub(in crate::http) type FromCaller = fn(&Principal) -> Reply;

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
    /// Whether its response time is padded to a constant, against timing attacks.
    pub(in crate::http) is_constant_time: bool,
    /// Whether it can be tried with `dryRun=true`: then it only reads.
    pub takes_dry_run: bool,
    /// Whom it serves.
    pub audience: Audience,
    /// Whether it heeds an `Idempotency-Key`.
    pub idempotency: Idempotency,
    /// How its responses are cached; `None` where they are for one request.
    pub caching: Option<Caching>,
    /// Whether only one request at a time may render it, and others wait for the cached response.
    pub(in crate::http) renders_alone: bool,
    /// Whether its first half hashes a password, and so runs where it holds nobody up.
    pub hashes: bool,
    /// Everything that it can answer with, but for what any route can ([`ANYWHERE`](super::table::ANYWHERE)).
    pub answers: Vec<Answer>,
    pub(in crate::http) decode: Decode,
    /// What it answers a key, where that needs nothing but the caller.
    pub(in crate::http) from_caller: Option<FromCaller>,
}

impl Route {
    /// An endpoint for anybody, whom it serves as `audience` says.
    pub(in crate::http) fn open<W: Send + 'static>(
        audience: Audience,
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &W) -> Result<Reply, Error>,
    ) -> Self {
        let route = Self::new(method, path, Entry::Open, decode, move |ctx, tx, _, input| act(ctx, tx, input));
        Self { audience, ..route }
    }

    /// A page for anybody whose first half may see that there is nothing to do: a form with something wrong in it needs no job
    /// of the writer.
    pub(in crate::http) fn page_or_idle<W: Send + 'static, I: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: DecodeOrIdle<W, I>,
        act: fn(&Ctx, &Tx<'_>, &W) -> Result<Reply, Error>,
        look: fn(&Ctx, &Tx<'_>, &I) -> Result<Reply, Error>,
    ) -> Self {
        let decode: Decode = Arc::new(move |ctx, request| {
            Ok(match decode(ctx, request)? {
                Decoded::Input(input) => Next::Act(Box::new(move |ctx, tx, _| act(ctx, tx, &input))),
                Decoded::Idle(idle) => Next::Look(Box::new(move |ctx, tx, _| look(ctx, tx, &idle))),
            })
        });
        Self { audience: Audience::Page, ..Self::with_decode(method, path, Entry::Open, decode) }
    }

    /// An endpoint for anybody that does not touch the file.
    pub(in crate::http) fn plain(
        audience: Audience,
        method: Method,
        path: &'static str,
        reply: impl Fn(&Ctx) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let decode: Decode = Arc::new(move |ctx, _| Ok(Next::Reply(reply(ctx))));
        Self { audience, ..Self::with_decode(method, path, Entry::Open, decode) }
    }

    /// An endpoint for any key or session.
    pub(in crate::http) fn signed<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        Self::new(method, path, Entry::Signed, decode, move |ctx, tx, who, input| {
            act(ctx, tx, &proven(who, Entry::Signed)?, input)
        })
    }

    /// An endpoint for sessions.
    pub(in crate::http) fn session<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        Self::new(method, path, Entry::Session, decode, move |ctx, tx, who, input| {
            act(ctx, tx, &proven(who, Entry::Session)?, input)
        })
    }

    /// An endpoint for keys with a scope, about this resource.
    pub(in crate::http) fn scoped<W: Send + 'static>(
        resource: Resource,
        scope: Scope,
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        let entry = Entry::Scoped(scope);
        let route = Self::new(method, path, entry, decode, move |ctx, tx, who, input| {
            act(ctx, tx, &proven(who, entry)?, input)
        });
        route.idempotent_by(resource)
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
        let route = Self::new(method, path, entry, decode, move |ctx, tx, who, input| {
            let admin = Admin::prove(proven(who, entry)?, scope)?;
            act(ctx, tx, &admin, input)
        });
        route.idempotent_by(Resource::PLATFORM)
    }

    /// Every POST that needs a key heeds an `Idempotency-Key`; other methods are idempotent without.
    fn idempotent_by(mut self, resource: Resource) -> Self {
        if self.method == Method::POST {
            self.idempotency = Idempotency::ByKey(resource);
        }
        self
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
        self.form = Some(FormRules { takes_json: false, file_field: None, precheck: None, fallback: None });
        self
    }

    /// The same, reading a form in which this field may hold a file. A request is looked at before its body is read, so
    /// that nobody sends a file for nothing.
    pub(in crate::http) fn with_upload(self, file_field: &'static str, precheck: Precheck) -> Self {
        let mut route = self.with_form();
        let (file_field, precheck) = (Some(file_field), Some(precheck));
        route.form = Some(FormRules { takes_json: false, file_field, precheck, fallback: None });
        route
    }

    /// The same, showing its form again where that cannot be taken now, so that nothing that was typed is lost.
    pub(in crate::http) fn with_fallback(mut self, fallback: FormFallback) -> Self {
        self.form = self.form.map(|form| FormRules { fallback: Some(fallback), ..form });
        self
    }

    /// The same, with its response time padded to a constant.
    pub(in crate::http) fn in_constant_time(mut self) -> Self {
        self.is_constant_time = true;
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

    /// Whether pages of other origins may call it.
    pub fn cors(&self) -> bool {
        self.audience == Audience::Public
    }

    /// Whether it answers people, with pages.
    pub fn is_page(&self) -> bool {
        self.audience == Audience::Page
    }

    /// Whether it heeds an `Idempotency-Key`.
    pub fn takes_idempotency_key(&self) -> bool {
        matches!(self.idempotency, Idempotency::ByKey(_))
    }

    /// The same, with the answers that follow from its idempotency and from who may enter.
    pub(in crate::http) fn completed(mut self) -> Self {
        let mut more: Vec<Answer> = Vec::new();
        if let Idempotency::ByKey(resource) = self.idempotency {
            more.extend([(400, "validation_error"), (422, "idempotency_key_reused")]);
            more.extend(resource.names_candidate.then_some((410, "gone")));
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

    /// The same, with responses that others may be given while they are true, from this pool.
    pub(in crate::http) fn cached_in(mut self, pool: Pool) -> Self {
        self.caching = Some(Caching { pool, parameters: None });
        self
    }

    /// The same for a page, in the language that is asked for. Its cached responses depend on that (not on whether `lang` named
    /// it or the browser wants it) and on these parameters of the query alone: a response that another parameter chooses, such
    /// as a free search, is not cached.
    pub(in crate::http) fn cached_by_language(mut self, parameters: &'static [Parameter]) -> Self {
        self.caching = Some(Caching { pool: Pool::Pages, parameters: Some(parameters) });
        self
    }

    /// The same, rendered for one request at a time: it takes so long, and so much memory, that the others wait for the cached
    /// response.
    pub(in crate::http) fn rendered_alone(mut self) -> Self {
        self.renders_alone = true;
        self
    }

    /// The same, hashing a password in its first half.
    pub(in crate::http) fn with_hashing(mut self) -> Self {
        self.hashes = true;
        self
    }

    /// The same, answering a key from the caller alone, without reading the file. The usage row's transaction sees to it
    /// that the caller is still who memory says.
    pub(in crate::http) fn answered_from_caller(mut self, reply: FromCaller) -> Self {
        self.from_caller = Some(reply);
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
            let input = decode(ctx, request)?;
            Ok(Next::Act(Box::new(move |ctx, tx, who| act(ctx, tx, who, &input))))
        });
        Self::with_decode(method, path, entry, decode)
    }

    /// For programs, until its constructor says otherwise.
    fn with_decode(method: Method, path: &'static str, entry: Entry, decode: Decode) -> Self {
        let audience = Audience::Api;
        Self {
            method,
            path,
            entry,
            work: Work::Read,
            takes_body: false,
            form: None,
            is_constant_time: false,
            body_bytes_max: BODY_BYTES_MAX,
            takes_dry_run: false,
            audience,
            idempotency: Idempotency::None,
            caching: None,
            renders_alone: false,
            hashes: false,
            answers: Vec::new(),
            decode,
            from_caller: None,
        }
    }
}
