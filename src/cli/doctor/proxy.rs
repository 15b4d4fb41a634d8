//! The base URL and the proxy in front of the service: whether the base URL leads to the service of this file, and
//! whether `--trusted-proxy` trusts everybody, or is missing although a proxy must be in front of the service.

use super::patient::Patient;
use super::probe::{Unreached, get};
use super::report::{Report, Urgency};
use crate::cli::tls_args::is_https;
use crate::domain::timestamp::Timestamp;
use crate::http;
use crate::store;

const AREA: &str = "proxy";

pub(super) fn examine(patient: &Patient<'_>, report: &mut Report) {
    let args = patient.args;
    if let Some(network) = args.trusted_proxy.iter().find(|network| network.prefix_len() == 0) {
        report.add(
            Urgency::Now,
            AREA,
            format!("--trusted-proxy {network} trusts everybody, so clients can forge their addresses"),
            format!("ss -tn state established '( sport = :{} )'", args.listen.port()),
        );
    }
    let Some(base_url) = args.base_url.as_deref() else {
        return report.skip("the base URL, because --base-url is not given");
    };
    let is_behind_proxy = is_https(base_url) && !args.tls.is_set();
    if is_behind_proxy && args.listen.ip().to_canonical().is_loopback() && args.trusted_proxy.is_empty() {
        report.add(
            Urgency::Now,
            AREA,
            "no proxy is trusted, so all clients share one address and its limits; add --trusted-proxy 127.0.0.1/32",
            format!("ss -tnp dst {}", args.listen),
        );
    }
    if patient.is_running {
        examine_answer(patient, base_url, report);
    } else {
        report.skip("the base URL, because no service uses the file");
    }
}

/// Requests `/readyz` through the base URL. The service stores the time of each request for `/readyz` in its file. An
/// answer with the status 200 counts as an answer of this service if that time has changed. A request by monitoring at
/// the same moment also changes the time. An answer with the status 503 is not checked, because a service that is not
/// ready may be unable to write the time.
fn examine_answer(patient: &Patient<'_>, base_url: &str, report: &mut Report) {
    let url = format!("{base_url}/readyz");
    let curl = format!("curl -i {url}");
    let before = touched_at(patient);
    let answer = match get(base_url, "/readyz") {
        Ok(answer) => answer,
        Err(unreached) => {
            let (area, command) = match unreached {
                Unreached::NoAddress(_) => (AREA, format!("getent hosts {}", http::host(base_url).unwrap_or_default())),
                Unreached::NoConnection(_) => (AREA, format!("curl -v {url}")),
                Unreached::Untrusted(_) => ("TLS", format!("curl -v {url}")),
            };
            return report.add(Urgency::Now, area, format!("{base_url} {unreached}"), command);
        }
    };
    let is_ours = touched_at(patient) != before;
    match answer.status {
        200 if is_ours => warnings(&answer.body, report),
        503 => report.add(
            Urgency::Now,
            "service",
            format!("{url} answers that the service is not ready"),
            "journalctl -u appliance -p warning --since -1h",
        ),
        200 => report.add(
            Urgency::Now,
            AREA,
            format!("{base_url} answers, but the answer does not come from the service of this file"),
            curl,
        ),
        status => report.add(Urgency::Now, AREA, format!("{url} answers with the status {status}"), curl),
    }
}

/// Reports the warnings of a service that is ready.
fn warnings(body: &str, report: &mut Report) {
    for warning in body.lines().filter_map(|line| line.strip_prefix("warning: ")) {
        report.add(Urgency::Soon, "service", warning, "journalctl -u appliance -p warning --since -1d");
    }
}

/// Returns the time that the last request to `/readyz` wrote to the file.
fn touched_at(patient: &Patient<'_>) -> Option<Timestamp> {
    store::read_unchanged(&patient.path, patient.world, store::health::touched_at).ok().flatten()
}
