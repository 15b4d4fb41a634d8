//! The turn of feeds. The largest takes a second and a hundred times the memory of a page, and a change of its portal makes it
//! anew for everybody who reads it: so one is made at a time, and whoever came meanwhile is given what was kept of it.
//!
//! One turn for all of them: what they take together is then what the largest takes. Nobody holds it for as long as a client
//! likes: it is over before anything is read of a body, or sent.

use hyper::Method;
use tokio::sync::SemaphorePermit;

use crate::http::server::ctx::Ctx;
use crate::http::server::response_cache::is_feed;

/// Waits for the turn where this asks for a feed; anything else has none to wait for.
pub(super) async fn take<'a>(ctx: &'a Ctx, method: &Method, path: &str) -> Option<SemaphorePermit<'a>> {
    if !is_feed(path) || !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    ctx.feed_turn.acquire().await.ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::http::server::gate::tests::{Place, answer};
    use crate::http::server::reply::Reply;
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
        Ok(KEPT.make().lasting())
    }

    fn not_kept(_: &Ctx, _: &Tx<'_>, (): &()) -> Result<Reply, Error> {
        Ok(NOT_KEPT.make())
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
        let place = Place::of(vec![
            Route::open(Method::GET, "/kept.xml", |_, _| Ok(()), kept),
            Route::open(Method::GET, "/not_kept.xml", |_, _| Ok(()), not_kept),
        ]);
        let turn = place.ctx.feed_turn.try_acquire().unwrap();
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

    #[test]
    fn feeds_have_a_turn_and_nothing_else_has() {
        let place = Place::of(Vec::new());
        let ctx = &place.ctx;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let is_taken = async |method, path| take(ctx, &method, path).await.is_some();
            for path in ["/careers/a/sitemap.xml", "/careers/a/feed.atom", "/careers/a/jobs.xml"] {
                assert!(is_taken(Method::GET, path).await && is_taken(Method::HEAD, path).await, "{path}");
                assert!(!is_taken(Method::POST, path).await, "{path}");
            }
            let _turn = ctx.feed_turn.acquire().await.unwrap();
            for path in ["/careers/a", "/careers/a/roles/1", "/api/public/portal/a", "/api/v1/jobs.xml", "/robots.txt"]
            {
                assert!(!is_taken(Method::GET, path).await, "{path}");
            }
        });
    }
}
