//! The listeners in addition to the service's own: `/metrics`, and redirects from plain HTTP to https. They read no
//! request body and need no credential.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::accept::{ACCEPT_PAUSE, builder, set_unread_timeout};
use super::connection_limit::ConnectionLimit;
use super::ctx::Ctx;
use super::database_read::read_briefly;
use super::metrics::{self, StoredFacts};
use super::reply::Reply;
use crate::domain::refusal::Refusal;

/// The maximum number of open connections to the address of `/metrics`, in total and from one client.
const METRICS_CONNECTIONS_MAX: usize = 16;

/// The maximum numbers of open connections to the address that redirects, in total and from one client address or IPv6
/// /64. They are a quarter of the service's own limits. Each connection ends after one answer.
const REDIRECT_CONNECTIONS_MAX: usize = 4_096;
const CLIENT_REDIRECT_CONNECTIONS_MAX: usize = 256;

/// The answer while there is no certificate yet, and the seconds after which clients should try again. An order usually
/// takes less time.
const NO_CERTIFICATE: &str = "the service is waiting for its first certificate; try again in a minute";
const NO_CERTIFICATE_RETRY_S: u64 = 60;

/// Serves `/metrics` while the future is polled. Other paths get an empty 404.
pub async fn serve_metrics(listener: TcpListener, ctx: Arc<Ctx>) {
    let limit = ConnectionLimit::new(METRICS_CONNECTIONS_MAX, Vec::new());
    let answer = move |request: Request<Incoming>| {
        let ctx = Arc::clone(&ctx);
        async move {
            if request.uri().path() != "/metrics" {
                return Reply::metrics(String::new());
            }
            let stored = read_briefly(&ctx, |ctx| Ok(StoredFacts::read(ctx))).await;
            // If too many requests wait for the database server, the answer has only the metrics that need no database.
            Reply::metrics(metrics::exposition(&ctx, &stored.unwrap_or_default()))
        }
    };
    serve(&listener, METRICS_CONNECTIONS_MAX, limit, &builder(), answer).await;
}

/// Redirects requests to a URL below the base URL, usually with the same path and query, while the future is polled. If
/// the service orders its certificate, also answers the challenges of the authority. Until there is a certificate, the
/// other requests get a 503, because the base URL cannot be reached.
pub async fn serve_redirects(listener: TcpListener, ctx: Arc<Ctx>) {
    let limit = ConnectionLimit::new(CLIENT_REDIRECT_CONNECTIONS_MAX, ctx.settings.trusted_proxies.clone());
    let answer = move |request: Request<Incoming>| {
        let orders = ctx.tls.as_ref().and_then(|tls| tls.orders());
        std::future::ready(match orders.and_then(|orders| orders.answer(request.uri().path())) {
            Some(Some(challenge)) => Reply::text(challenge),
            Some(None) => Reply::metrics(String::new()),
            None if ctx.tls.as_ref().is_some_and(|tls| tls.period().is_none()) => {
                let refusal = Refusal::Unavailable { detail: NO_CERTIFICATE, retry_after_s: NO_CERTIFICATE_RETRY_S };
                Reply::text(format!("{NO_CERTIFICATE}\n")).refusing(&refusal)
            }
            None => Reply::moved(&target(&ctx.settings.base_url, request.uri())),
        })
    };
    let mut builder = builder();
    builder.keep_alive(false);
    serve(&listener, REDIRECT_CONNECTIONS_MAX, limit, &builder, answer).await;
}

/// Returns the URL of a request's path and query below the base URL. The host that the request names is ignored.
fn target(base_url: &str, uri: &Uri) -> String {
    // A target without a leading slash, such as `*`, would change the host of the URL. `Reply::with` leaves out a
    // field whose value is not ASCII.
    let path = uri.path_and_query().map(hyper::http::uri::PathAndQuery::as_str);
    let path = path.filter(|path| path.starts_with('/') && path.is_ascii()).unwrap_or("/");
    format!("{base_url}{path}")
}

/// Answers the requests of a listener. Connections beyond the limits wait in the listen queue or, if one client has too
/// many, are closed.
async fn serve<F, R>(
    listener: &TcpListener,
    connections_max: usize,
    limit: ConnectionLimit,
    builder: &http1::Builder,
    answer: F,
) where
    F: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Reply> + Send,
{
    let (permits, limit) = (Arc::new(Semaphore::new(connections_max)), Arc::new(limit));
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Some(connected) = limit.connect(peer.ip()) else { continue };
        let answer = answer.clone();
        let service = service_fn(move |request| {
            let reply = answer(request);
            async move { Ok::<_, Infallible>(reply.await.into_response_without_id()) }
        });
        set_unread_timeout(&stream);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            let _permits = (permit, connected);
            let _ = connection.await;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn a_redirect_preserves_the_path_and_query_but_not_the_host() {
        for (uri, expected) in [
            ("/", "/"),
            ("/careers/acme?page=2", "/careers/acme?page=2"),
            ("/a/%2e%2e//b", "/a/%2e%2e//b"),
            ("//evil.example/x", "//evil.example/x"),
            ("/\\evil.example", "/\\evil.example"),
            ("/@evil.example", "/@evil.example"),
            ("http://evil.example/x?y", "/x?y"),
            ("http://evil.example", "/"),
            ("evil.example:80", "/"),
            ("*", "/"),
            ("/ü", "/"),
        ] {
            let uri = uri.parse().unwrap_or_default();
            let expected = format!("https://jobs.example.com:8443{expected}");
            assert_eq!(target("https://jobs.example.com:8443", &uri), expected, "{uri}");
        }
    }
}
