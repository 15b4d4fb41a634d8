//! The permit to render a feed. The largest feed takes a second and a hundred times the memory of a page, and a change of its
//! portal invalidates it for all readers. So one request renders at a time, and those that waited take the cached response.
//!
//! One permit for all feeds: together they then take what the largest takes. A slow client does not hold the permit: it is free
//! before anything is read of a body, or sent.

use hyper::Method;
use tokio::sync::SemaphorePermit;

use crate::domain::refusal::Refusal;
use crate::http::server::ctx::Ctx;
use crate::http::server::table::RouteMatch;

/// Waits for the permit where the route renders alone; other requests have none to wait for.
pub(super) async fn take<'a>(
    ctx: &'a Ctx,
    method: &Method,
    found: &Result<RouteMatch<'_>, Refusal>,
) -> Option<SemaphorePermit<'a>> {
    let renders_alone = matches!(found, Ok(RouteMatch::Route(route, _)) if route.renders_alone);
    if !renders_alone || !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    ctx.render_permit.acquire().await.ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::http::server::gate::tests::{TestService, answer};
    use crate::http::server::reply::Reply;
    use crate::http::server::resource::Audience;
    use crate::http::server::response_cache::Pool;
    use crate::http::server::route::Route;
    use crate::store::{Error, Tx};

    const READERS: usize = 8;

    /// Enough that two who are made at once meet, few enough that all are made long before a body is not waited for any more.
    const BYTES: usize = 256 * 1_024;

    /// How often a feed was made, how many are being made, and how many were at once.
    struct Count {
        all: AtomicUsize,
        now: AtomicUsize,
        most: AtomicUsize,
    }

    static KEPT: Count = Count::new();
    static NOT_KEPT: Count = Count::new();

    impl Count {
        const fn new() -> Self {
            Self { all: AtomicUsize::new(0), now: AtomicUsize::new(0), most: AtomicUsize::new(0) }
        }

        fn make(&self) -> Reply {
            self.all.fetch_add(1, Ordering::SeqCst);
            self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let reply = Reply::tagged_file("application/xml", vec![b'x'; BYTES]).packed();
            self.now.fetch_sub(1, Ordering::SeqCst);
            reply
        }

        /// All, and at once.
        fn told(&self) -> (usize, usize) {
            (self.all.load(Ordering::SeqCst), self.most.load(Ordering::SeqCst))
        }
    }

    fn kept(_: &Ctx, _: &Tx<'_>, (): &()) -> Result<Reply, Error> {
        Ok(KEPT.make().valid_forever())
    }

    fn not_kept(_: &Ctx, _: &Tx<'_>, (): &()) -> Result<Reply, Error> {
        Ok(NOT_KEPT.make())
    }

    fn feed(path: &'static str, act: fn(&Ctx, &Tx<'_>, &()) -> Result<Reply, Error>) -> Route {
        Route::open(Audience::Api, Method::GET, path, |_, _| Ok(()), act).cached_in(Pool::Feeds).rendered_alone()
    }

    /// Whether a reader announces a body, which comes later.
    fn has_body(nth: usize) -> bool {
        nth % 3 == 1
    }

    fn request(nth: usize, path: &str) -> Vec<u8> {
        let fields = if has_body(nth) { "Content-Length: 1\r\n" } else { "" };
        format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
    }

    /// Readers who all come while somebody else has the turn, the first of whom is gone before it is theirs. Nobody waits for
    /// another's body.
    fn read_at_once(path: &'static str, count: &Count) {
        let place = TestService::of(vec![feed("/kept.xml", kept), feed("/not_kept.xml", not_kept)]);
        let turn = place.ctx.render_permit.try_acquire().unwrap();
        drop(place.send(&request(0, path)));
        let mut readers: Vec<TcpStream> = (0..READERS).map(|nth| place.send(&request(nth, path))).collect();
        assert_eq!(answer(&mut place.send(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")).0, 200);
        assert_eq!(count.told(), (0, 0));
        drop(turn);
        for waits_for_body in [false, true] {
            for (_, reader) in readers.iter_mut().enumerate().filter(|(nth, _)| has_body(*nth) == waits_for_body) {
                reader.write_all(if waits_for_body { b"x" } else { b"" }).unwrap();
                let (status, body) = answer(reader);
                assert_eq!((status, body.len()), (200, BYTES));
            }
        }
    }

    #[test]
    fn who_waited_is_given_what_was_kept_meanwhile() {
        read_at_once("/kept.xml", &KEPT);
        assert_eq!(KEPT.told(), (1, 1));
    }

    #[test]
    fn what_is_not_kept_is_made_one_after_another() {
        read_at_once("/not_kept.xml", &NOT_KEPT);
        let (all, most) = NOT_KEPT.told();
        assert!((READERS..=READERS + 1).contains(&all) && most == 1, "{all} {most}");
    }
}
