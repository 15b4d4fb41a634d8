//! A route: its access rule, its work in the store, its possible answers, and the two halves of its handler.
//!
//! `decode` reads the request before the transaction, and `act` runs inside it. The type of `act` shows who may act: an
//! `act` with an [`Admin`] parameter cannot be called without proof that the caller is an admin.

use std::ops::ControlFlow;
use std::sync::Arc;

use hyper::Method;

use super::access_rule::{AccessRule, authorize};
use super::cache_variant::CacheParameter;
use super::ctx::Ctx;
use super::form_rules::{FormFallback, FormRules, Precheck};
use super::reply::{Code, Reply};
use super::request::{BODY_BYTES_MAX, Request};
use super::resource::{Audience, Idempotency, Resource};
use super::response_cache::{CachePolicy, CachePool};
use crate::domain::api_key::Scope;
use crate::domain::user::{Admin, Principal};
use crate::store::{Error, Grade, Tx};

/// The kind of transaction in which a route works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A read of one snapshot.
    Read,
    /// A write with this durability.
    Write(Grade),
}

/// A status that a route can answer with, and the code in the body of an error. The code of a success is empty.
pub type Answer = (u16, Code);

/// The second half of a handler, with the decoded input. The writer can run the second half more than once.
pub(in crate::http) type Act = Box<dyn FnMut(&Ctx, &Tx<'_>, Option<Principal>) -> Result<Reply, Error> + Send>;

/// The step that follows the first half of a handler.
pub(super) enum NextStep {
    /// The second half, in the route's transaction.
    Act(Act),
    /// A second half that only reads, even if the route writes.
    Read(Act),
    /// A reply that needs no transaction.
    Reply(Reply),
}

/// The input that a first half decodes, if the first half can find that there is nothing to write.
pub(in crate::http) enum DecodedInput<W, R> {
    /// The input of the handler's `act`.
    Act(W),
    /// The input of a second half that only reads.
    Read(R),
}

/// A first half that can find that there is nothing to write.
pub(super) type DecodeActOrRead<W, R> = fn(&Ctx, &Request) -> Result<DecodedInput<W, R>, Error>;

/// A first half that can create the reply without a transaction.
type DecodeReplyOrInput<W> = fn(&Ctx, &Request) -> Result<ControlFlow<Reply, W>, Error>;

/// A function that creates a reply from the caller alone.
pub(super) type ReplyFromCaller = fn(&Principal) -> Reply;

type Decode = Arc<dyn Fn(&Ctx, &Request) -> Result<NextStep, Error> + Send + Sync>;

/// One endpoint.
pub struct Route {
    /// The method. A route for `GET` also answers `HEAD`.
    pub method: Method,
    /// The path, with `{parameters}`.
    pub path: &'static str,
    pub access: AccessRule,
    /// Whether a user who must have a second factor has to set it up before using the route.
    pub requires_second_factor: bool,
    /// Whether a request counts as a use of its session. If not, the request does not keep the session alive.
    pub uses_session: bool,
    pub work: Work,
    pub accepts_body: bool,
    /// The rules for reading the body, if it is a form.
    pub(super) form: Option<FormRules>,
    pub(super) body_bytes_max: usize,
    /// Whether the time of the second half is padded to a constant, against timing attacks.
    pub(super) is_constant_time: bool,
    /// Whether `dryRun=true` turns a request into a read.
    pub accepts_dry_run: bool,
    pub audience: Audience,
    pub idempotency: Idempotency,
    /// How responses are cached; `None` if a response is for one request only.
    pub caching: Option<CachePolicy>,
    /// Whether only one request at a time may render a response, while others wait for the cached response.
    pub(in crate::http) renders_one_at_a_time: bool,
    /// Whether the first half hashes a password. If so, it runs on a blocking thread and not on a thread of the
    /// runtime.
    pub hashes_password: bool,
    /// Whether the fields of a form are carried through a sign-in. False for forms with a password other than a
    /// confirmation, because pages must not contain passwords.
    pub(super) carries_form: bool,
    /// All possible answers, except those that any route can give ([`ANYWHERE`](super::table::ANYWHERE)).
    pub answers: Vec<Answer>,
    pub(super) decode: Decode,
    /// The function that creates the reply to a request with an API key, if the reply needs nothing but the caller.
    pub(super) reply_from_caller: Option<ReplyFromCaller>,
}

impl Route {
    /// Creates an endpoint for strangers.
    pub(in crate::http) fn open<W: Send + 'static>(
        audience: Audience,
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &W) -> Result<Reply, Error>,
    ) -> Self {
        let route = Self::new(method, path, AccessRule::Open, decode, move |ctx, tx, _, input| act(ctx, tx, input));
        Self { audience, ..route }
    }

    /// Creates a page for strangers. Its first half can find that there is nothing to write: for example, an invalid
    /// form queues no job.
    pub(in crate::http) fn page_act_or_read<W: Send + 'static, R: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: DecodeActOrRead<W, R>,
        act: fn(&Ctx, &Tx<'_>, &W) -> Result<Reply, Error>,
        read: fn(&Ctx, &Tx<'_>, &R) -> Result<Reply, Error>,
    ) -> Self {
        let decode: Decode = Arc::new(move |ctx, request| {
            Ok(match decode(ctx, request)? {
                DecodedInput::Act(input) => NextStep::Act(Box::new(move |ctx, tx, _| act(ctx, tx, &input))),
                DecodedInput::Read(input) => NextStep::Read(Box::new(move |ctx, tx, _| read(ctx, tx, &input))),
            })
        });
        Self { audience: Audience::Page, ..Self::with_decode(method, path, AccessRule::Open, decode) }
    }

    /// Creates an endpoint for strangers that needs no transaction.
    pub(in crate::http) fn plain(
        audience: Audience,
        method: Method,
        path: &'static str,
        reply: impl Fn(&Ctx) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let decode: Decode = Arc::new(move |ctx, _| Ok(NextStep::Reply(reply(ctx))));
        Self { audience, ..Self::with_decode(method, path, AccessRule::Open, decode) }
    }

    /// Creates an endpoint for strangers whose first half can create the reply without a transaction.
    pub(in crate::http) fn reply_or_read<W: Send + 'static>(
        audience: Audience,
        method: Method,
        path: &'static str,
        decode: DecodeReplyOrInput<W>,
        read: fn(&Ctx, &Tx<'_>, &W) -> Result<Reply, Error>,
    ) -> Self {
        let decode: Decode = Arc::new(move |ctx, request| {
            Ok(match decode(ctx, request)? {
                ControlFlow::Break(reply) => NextStep::Reply(reply),
                ControlFlow::Continue(input) => NextStep::Act(Box::new(move |ctx, tx, _| read(ctx, tx, &input))),
            })
        });
        Self { audience, ..Self::with_decode(method, path, AccessRule::Open, decode) }
    }

    /// Creates an endpoint for any API key or session.
    pub(in crate::http) fn authenticated<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        Self::new(method, path, AccessRule::Authenticated, decode, move |ctx, tx, who, input| {
            act(ctx, tx, &authorize(who, AccessRule::Authenticated)?, input)
        })
    }

    /// Creates an endpoint for sessions.
    pub(in crate::http) fn session<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        Self::new(method, path, AccessRule::Session, decode, move |ctx, tx, who, input| {
            act(ctx, tx, &authorize(who, AccessRule::Session)?, input)
        })
    }

    /// Creates an endpoint for a resource. The endpoint requires an API key with this scope.
    pub(in crate::http) fn scoped<W: Send + 'static>(
        resource: Resource,
        scope: Scope,
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Principal, &W) -> Result<Reply, Error>,
    ) -> Self {
        let access = AccessRule::Scoped(scope);
        let route = Self::new(method, path, access, decode, move |ctx, tx, who, input| {
            act(ctx, tx, &authorize(who, access)?, input)
        });
        route.idempotent_by(resource)
    }

    /// Creates an endpoint for API keys of platform admins. A key with explicit scopes needs `admin:read` for safe
    /// methods, and `admin:write` for other methods.
    pub(in crate::http) fn admin<W: Send + 'static>(
        method: Method,
        path: &'static str,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: fn(&Ctx, &Tx<'_>, &Admin, &W) -> Result<Reply, Error>,
    ) -> Self {
        let scope = if method.is_safe() { Scope::AdminRead } else { Scope::AdminWrite };
        let access = AccessRule::Admin(scope);
        let route = Self::new(method, path, access, decode, move |ctx, tx, who, input| {
            let admin = Admin::verify(authorize(who, access)?, scope)?;
            act(ctx, tx, &admin, input)
        });
        route.idempotent_by(Resource::PLATFORM)
    }

    /// Honours an `Idempotency-Key` on POST. Other methods are idempotent without a key.
    fn idempotent_by(mut self, resource: Resource) -> Self {
        if self.method == Method::POST {
            self.idempotency = Idempotency::ByKey(resource);
        }
        self
    }

    /// Turns the route into a write with this durability.
    pub(in crate::http) fn writes(mut self, grade: Grade) -> Self {
        self.work = Work::Write(grade);
        self
    }

    pub(in crate::http) fn with_body(mut self) -> Self {
        self.accepts_body = true;
        self
    }

    /// Reads the body as a form, `multipart/form-data` or `application/x-www-form-urlencoded`. The handler finds the
    /// form in [`Request::form`].
    pub(in crate::http) fn with_form(mut self) -> Self {
        self.accepts_body = true;
        self.form = Some(FormRules { accepts_json: false, file_field: None, precheck: None, fallback: None });
        self
    }

    /// Reads the body as a form in which this field may hold a file. `precheck` runs before the body is read, so that a
    /// client does not send a file that will be refused anyway.
    pub(in crate::http) fn with_upload(self, file_field: &'static str, precheck: Precheck) -> Self {
        let mut route = self.with_form();
        let (file_field, precheck) = (Some(file_field), Some(precheck));
        route.form = Some(FormRules { accepts_json: false, file_field, precheck, fallback: None });
        route
    }

    /// Sets the function that shows a submitted form again if the service cannot process the form now, so that the
    /// person's input is not lost.
    pub(in crate::http) fn with_fallback(mut self, fallback: FormFallback) -> Self {
        self.form = self.form.map(|form| FormRules { fallback: Some(fallback), ..form });
        self
    }

    pub(in crate::http) fn in_constant_time(mut self) -> Self {
        self.is_constant_time = true;
        self
    }

    /// Accepts JSON in addition to forms. For JSON, the handler reads [`Request::object`], and [`Request::form`] is
    /// `None`.
    pub(in crate::http) fn or_json(mut self) -> Self {
        self.form = self.form.map(|form| FormRules { accepts_json: true, ..form });
        self
    }

    /// Reads a body that is not JSON and has at most this many bytes.
    pub(in crate::http) fn with_body_of(self, bytes_max: usize) -> Self {
        Self { body_bytes_max: bytes_max, ..self.with_body() }
    }

    /// Accepts `dryRun=true`. In a dry run, the handler must save nothing.
    pub(in crate::http) fn with_dry_run(mut self) -> Self {
        self.accepts_dry_run = true;
        self
    }

    /// Returns whether pages from other origins may call the route.
    pub fn cors(&self) -> bool {
        self.audience == Audience::Public
    }

    pub fn is_page(&self) -> bool {
        matches!(self.audience, Audience::Page | Audience::Staff)
    }

    pub fn accepts_idempotency_key(&self) -> bool {
        matches!(self.idempotency, Idempotency::ByKey(_))
    }

    /// Returns the kind of transaction for a request. A dry run only reads.
    pub(super) fn work_of(&self, request: &Request) -> Work {
        let is_dry_run = self.accepts_dry_run && request.is_dry_run() == Ok(true);
        if is_dry_run { Work::Read } else { self.work }
    }

    /// Caches responses in this pool.
    pub(in crate::http) fn cached_in(mut self, pool: CachePool) -> Self {
        self.caching = Some(CachePolicy { pool, parameters: None });
        self
    }

    /// Caches responses of a page in each language. The responses depend on the language, which the query or the
    /// browser chooses, and on these query parameters. A response that depends on another parameter, such as a search
    /// term, is not cached.
    pub(in crate::http) fn cached_by_language(mut self, parameters: &'static [CacheParameter]) -> Self {
        self.caching = Some(CachePolicy { pool: CachePool::Pages, parameters: Some(parameters) });
        self
    }

    /// Renders for one request at a time. Rendering takes so much time and memory that other requests wait for the
    /// cached response.
    pub(in crate::http) fn rendered_one_at_a_time(mut self) -> Self {
        self.renders_one_at_a_time = true;
        self
    }

    pub(in crate::http) fn with_password_hashing(mut self) -> Self {
        (self.hashes_password, self.carries_form) = (true, false);
        self
    }

    /// For requests with an API key, creates the reply from the caller alone, without reading the database. The
    /// transaction of the usage row checks that the caller in memory is still current.
    pub(in crate::http) fn replying_from_caller(mut self, reply: ReplyFromCaller) -> Self {
        self.reply_from_caller = Some(reply);
        self
    }

    /// Sets the answers that do not follow from the other fields of the route.
    pub(in crate::http) fn answering(mut self, answers: &'static [Answer]) -> Self {
        self.answers = answers.to_vec();
        self
    }

    pub(super) fn new<W: Send + 'static>(
        method: Method,
        path: &'static str,
        access: AccessRule,
        decode: fn(&Ctx, &Request) -> Result<W, Error>,
        act: impl Fn(&Ctx, &Tx<'_>, Option<Principal>, &W) -> Result<Reply, Error> + Copy + Send + Sync + 'static,
    ) -> Self {
        let decode: Decode = Arc::new(move |ctx, request| {
            let input = decode(ctx, request)?;
            Ok(NextStep::Act(Box::new(move |ctx, tx, who| act(ctx, tx, who, &input))))
        });
        Self::with_decode(method, path, access, decode)
    }

    /// Creates a read-only route for programs. The other constructors change its fields.
    fn with_decode(method: Method, path: &'static str, access: AccessRule, decode: Decode) -> Self {
        let audience = Audience::Api;
        Self {
            method,
            path,
            access,
            requires_second_factor: false,
            uses_session: true,
            work: Work::Read,
            accepts_body: false,
            form: None,
            is_constant_time: false,
            body_bytes_max: BODY_BYTES_MAX,
            accepts_dry_run: false,
            audience,
            idempotency: Idempotency::None,
            caching: None,
            renders_one_at_a_time: false,
            hashes_password: false,
            carries_form: true,
            answers: Vec::new(),
            decode,
            reply_from_caller: None,
        }
    }
}
