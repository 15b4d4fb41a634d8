//! The answers that follow from the fields of a route. An endpoint declares only the remaining answers
//! ([`Route::answering`]).

use super::access_rule::AccessRule;
use super::resource::{Audience, Idempotency};
use super::route::{Answer, Route};

impl Route {
    /// Adds the answers that follow from the other fields of the route.
    pub(super) fn completed(mut self) -> Self {
        let implied = [access_answers(&self), body_answers(&self), idempotency_answers(&self), console_answers(&self)];
        for answer in implied.concat() {
            if !self.answers.contains(&answer) {
                self.answers.push(answer);
            }
        }
        self
    }
}

fn access_answers(route: &Route) -> Vec<Answer> {
    let credential = [(401, "unauthorized"), (429, "rate_limited")];
    match route.access {
        AccessRule::Open => Vec::new(),
        AccessRule::Authenticated | AccessRule::Session | AccessRule::Staff => credential.to_vec(),
        AccessRule::Scoped(_) => [&credential[..], &[(403, "insufficient_scope")]].concat(),
        AccessRule::Admin(_) => [&credential[..], &[(403, "forbidden"), (403, "insufficient_scope")]].concat(),
    }
}

fn body_answers(route: &Route) -> Vec<Answer> {
    let size_and_type = [(413, "payload_too_large"), (415, "unsupported_media_type")];
    match (route.accepts_body, &route.form) {
        (false, _) => Vec::new(),
        (true, None) => [&[(400, "bad_request")][..], &size_and_type].concat(),
        // The other forms declare these answers themselves, because some show a page of their own.
        (true, Some(_)) if route.audience == Audience::Staff => size_and_type.to_vec(),
        (true, Some(_)) => Vec::new(),
    }
}

fn idempotency_answers(route: &Route) -> Vec<Answer> {
    let Idempotency::ByKey(resource) = route.idempotency else { return Vec::new() };
    let mut answers = vec![(400, "validation_error"), (422, "idempotency_key_reused")];
    answers.extend(resource.names_candidate.then_some((410, "gone")));
    answers
}

/// Returns the answers of a page or form in the console: a 400 for a repeated `lang`; for a page, a 303 to the sign-in
/// page if there is no session; for a form, a 403 if it comes from another origin; and, if the path has a parameter, a
/// 404 for a resource that does not exist or that the caller may not see.
fn console_answers(route: &Route) -> Vec<Answer> {
    if route.access != AccessRule::Staff {
        return Vec::new();
    }
    let mut answers = vec![(400, "validation_error")];
    answers.push(if route.method.is_safe() { (303, "") } else { (403, "forbidden") });
    answers.extend(route.path.contains('{').then_some((404, "not_found")));
    answers
}
