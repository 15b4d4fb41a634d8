//! The permit to render a feed. The largest feed takes a second and a hundred times the memory of a page, and a change
//! of its portal invalidates it for all clients. Therefore one request renders at a time, and the requests that waited
//! use the cached response.
//!
//! All feeds share one permit, so together they take no more than the largest. A slow client does not hold the permit:
//! it is freed before anything of a body is read or sent.

use hyper::Method;
use tokio::sync::SemaphorePermit;

use crate::domain::refusal::Refusal;
use crate::http::server::ctx::Ctx;
use crate::http::server::table::RouteMatch;

/// Waits for the permit if the route renders one response at a time. Requests to other routes get no permit.
pub(super) async fn take<'a>(
    ctx: &'a Ctx,
    method: &Method,
    found: &Result<RouteMatch<'_>, Refusal>,
) -> Option<SemaphorePermit<'a>> {
    let renders_one_at_a_time = matches!(found, Ok(RouteMatch::Route(route, _)) if route.renders_one_at_a_time);
    if !renders_one_at_a_time || !matches!(*method, Method::GET | Method::HEAD) {
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
    use crate::http::server::gate::tests::{TestService, read_response};
    use crate::http::server::reply::Reply;
    use crate::http::server::resource::Audience;
    use crate::http::server::response_cache::CachePool;
    use crate::http::server::route::Route;
    use crate::store::{Error, Tx};

    const CLIENTS: usize = 8;

    /// Large enough that concurrent renderings would overlap, and small enough that all are done before a body times
    /// out.
    const BYTES: usize = 256 * 1_024;

    /// The renderings of a feed: all, running now, and the most at once.
    struct Renderings {
        all: AtomicUsize,
        now: AtomicUsize,
        most: AtomicUsize,
    }

    static CACHED: Renderings = Renderings::new();
    static UNCACHED: Renderings = Renderings::new();

    impl Renderings {
        const fn new() -> Self {
            Self { all: AtomicUsize::new(0), now: AtomicUsize::new(0), most: AtomicUsize::new(0) }
        }

        fn render(&self) -> Reply {
            self.all.fetch_add(1, Ordering::SeqCst);
            self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let reply = Reply::tagged_file("application/xml", vec![b'x'; BYTES]).compressed_if_large();
            self.now.fetch_sub(1, Ordering::SeqCst);
            reply
        }

        /// The number of all renderings, and the most at once.
        fn figures(&self) -> (usize, usize) {
            (self.all.load(Ordering::SeqCst), self.most.load(Ordering::SeqCst))
        }
    }

    fn cached(_: &Ctx, _: &Tx<'_>, (): &()) -> Result<Reply, Error> {
        Ok(CACHED.render().valid_forever())
    }

    fn uncached(_: &Ctx, _: &Tx<'_>, (): &()) -> Result<Reply, Error> {
        Ok(UNCACHED.render())
    }

    fn feed(path: &'static str, act: fn(&Ctx, &Tx<'_>, &()) -> Result<Reply, Error>) -> Route {
        Route::open(Audience::Api, Method::GET, path, |_, _| Ok(()), act)
            .cached_in(CachePool::Feeds)
            .rendered_one_at_a_time()
    }

    /// Whether a request announces a body, which it sends later.
    fn has_body(nth: usize) -> bool {
        nth % 3 == 1
    }

    fn request(nth: usize, path: &str) -> Vec<u8> {
        let fields = if has_body(nth) { "Content-Length: 1\r\n" } else { "" };
        format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
    }

    /// Sends requests while the test holds the permit. The first client hangs up while its request waits for the
    /// permit. No request waits for the body of another request.
    fn read_at_once(path: &'static str, renderings: &Renderings) {
        let service = TestService::with_routes(vec![feed("/cached.xml", cached), feed("/uncached.xml", uncached)]);
        let permit = service.ctx.render_permit.try_acquire().unwrap();
        drop(service.send(&request(0, path)));
        let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|nth| service.send(&request(nth, path))).collect();
        assert_eq!(read_response(&mut service.send(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")).0, 200);
        assert_eq!(renderings.figures(), (0, 0));
        drop(permit);
        for waits_for_body in [false, true] {
            for (_, client) in clients.iter_mut().enumerate().filter(|(nth, _)| has_body(*nth) == waits_for_body) {
                client.write_all(if waits_for_body { b"x" } else { b"" }).unwrap();
                let (status, body) = read_response(client);
                assert_eq!((status, body.len()), (200, BYTES));
            }
        }
    }

    #[test]
    fn requests_that_waited_get_the_cached_response() {
        read_at_once("/cached.xml", &CACHED);
        assert_eq!(CACHED.figures(), (1, 1));
    }

    #[test]
    fn uncached_responses_are_rendered_one_after_another() {
        read_at_once("/uncached.xml", &UNCACHED);
        let (all, most) = UNCACHED.figures();
        assert!((CLIENTS..=CLIENTS + 1).contains(&all) && most == 1, "{all} {most}");
    }
}
