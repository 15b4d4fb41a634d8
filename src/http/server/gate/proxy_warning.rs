//! The warning about an untrusted proxy, behind which all clients share the limits of one address.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use hyper::header::HeaderMap;

use crate::http::server::ctx::Ctx;
use crate::http::server::request;

/// Logs a warning if an untrusted peer sends the addresses of clients. A process logs the warning only once.
pub(super) fn report(ctx: &Ctx, peer: SocketAddr, headers: &HeaderMap) {
    if ctx.has_reported_proxy.load(Ordering::Relaxed)
        || !request::is_forwarded_by_untrusted_peer(peer, headers, &ctx.settings.trusted_proxies)
        || ctx.has_reported_proxy.swap(true, Ordering::Relaxed)
    {
        return;
    }
    let ip = peer.ip().to_canonical();
    let why = format!(
        "{ip} sends X-Forwarded-For, Forwarded or X-Real-IP but is not trusted, so all its clients share the limits of \
         one address. If {ip} is your proxy, add --trusted-proxy {ip}; otherwise a client is forging its address"
    );
    ctx.telemetry.warn(ctx.world.now(), &why);
}
