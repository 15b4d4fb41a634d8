//! The permit to render a feed. Rendering the largest feed takes a second, and needs a hundred times as much memory as
//! rendering a page. Every change to the portal invalidates the feed for all clients. Therefore, only one request
//! renders a feed at a time, and the requests that waited use the cached response if there is one.
//!
//! All feeds share one permit, so at most one feed is rendered at a time. A slow client does not hold the permit,
//! because the gate releases the permit before it reads a request body or sends a response body.

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

    /// The size of the feed. It is large enough that concurrent renderings would overlap, and small enough that all
    /// renderings finish before a body times out.
    const BYTES: usize = 256 * 1_024;

    /// Numbers of renderings of a feed: in total, running now, and the maximum that ran at the same time.
    struct Renderings {
        total: AtomicUsize,
        running: AtomicUsize,
        running_max: AtomicUsize,
    }

    static CACHED: Renderings = Renderings::new();
    static UNCACHED: Renderings = Renderings::new();

    impl Renderings {
        const fn new() -> Self {
            Self { total: AtomicUsize::new(0), running: AtomicUsize::new(0), running_max: AtomicUsize::new(0) }
        }

        fn render(&self) -> Reply {
            self.total.fetch_add(1, Ordering::SeqCst);
            self.running_max.fetch_max(self.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let reply = Reply::tagged_file("application/xml", vec![b'x'; BYTES]).compressed_if_large();
            self.running.fetch_sub(1, Ordering::SeqCst);
            reply
        }

        /// Returns the total number of renderings, and the maximum number that ran at the same time.
        fn counts(&self) -> (usize, usize) {
            (self.total.load(Ordering::SeqCst), self.running_max.load(Ordering::SeqCst))
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

    /// Returns whether the `nth` client announces a body and sends the body later.
    fn has_body(nth: usize) -> bool {
        nth % 3 == 1
    }

    fn request(nth: usize, path: &str) -> Vec<u8> {
        let fields = if has_body(nth) { "Content-Length: 1\r\n" } else { "" };
        format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
    }

    /// Sends requests while the test holds the permit. The first client hangs up while its request waits for the
    /// permit. Checks that no request waits for the body of another request.
    fn read_at_once(path: &'static str, renderings: &Renderings) {
        let service = TestService::with_routes(vec![feed("/cached.xml", cached), feed("/uncached.xml", uncached)]);
        let permit = service.ctx.render_permit.try_acquire().unwrap();
        drop(service.send(&request(0, path)));
        let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|nth| service.send(&request(nth, path))).collect();
        assert_eq!(read_response(&mut service.send(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")).0, 200);
        assert_eq!(renderings.counts(), (0, 0));
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
        assert_eq!(CACHED.counts(), (1, 1));
    }

    #[test]
    fn uncached_responses_are_rendered_one_after_another() {
        read_at_once("/uncached.xml", &UNCACHED);
        let (total, running_max) = UNCACHED.counts();
        assert!((CLIENTS..=CLIENTS + 1).contains(&total) && running_max == 1, "{total} {running_max}");
    }
}
