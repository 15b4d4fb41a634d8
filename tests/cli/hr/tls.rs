//! TLS to HR systems: trusted certificates, and the error messages for other certificates.

use serde_json::Value;

use super::admin::Admin;
use super::certificate::{self, Authority};
use super::fixture::{Fixture, path_of};
use super::receiver::{Layer, Receiver};
use crate::support::{RunningService, WorkDir};

/// A service that trusts one authority, and an HR system with TLS.
struct Secure {
    fixture: Fixture,
    dir: WorkDir,
    receiver: Receiver,
    authority: Authority,
    secrets: Vec<String>,
}

impl Secure {
    fn new() -> Self {
        let (fixture, dir, receiver) = (Fixture::with(1), WorkDir::new(), Receiver::start());
        let authority = Authority::new("The authority");
        dir.write("trusted.pem", authority.pem());
        dir.write("empty.pem", "");
        receiver.set_layer(authority.certify("localhost"));
        Self { fixture, dir, receiver, authority, secrets: Vec::new() }
    }

    /// Starts the service with the authorities of this file and without automatic retries.
    fn serve(&mut self, trusted: &str, log_format: &str) -> (RunningService, Admin) {
        let path = self.dir.path(trusted);
        let fixed = ["--allow-private-hr-targets", "--hr-retry-schedule", "168h", "--hr-timeout", "6s"];
        let args = [&fixed[..], &["--db", self.fixture.db(), "--log-format", log_format]].concat();
        let service = self.dir.serve_with(&args, &[("SSL_CERT_FILE", path.to_str().unwrap())]);
        let admin = Admin::new(&self.fixture, service.address);
        if self.secrets.is_empty() {
            self.secrets = admin.connect(&self.fixture, "https", &self.receiver);
        }
        (service, admin)
    }

    /// Stops the service. Checks that its log has this many attempts and no private text.
    fn stop(&self, service: RunningService, attempts: usize) {
        let log = service.stop("TERM").succeeded().stderr;
        self.fixture.require_no_private_text(&log, &self.secrets);
        assert_eq!(log.matches("HR delivery ").count(), attempts, "{log}");
    }

    /// Hires a candidate while the receiver has this layer. Checks that the attempt fails with this reason and that
    /// nothing arrives.
    fn refused(&self, admin: &Admin, layer: Layer, reason: &str) -> Value {
        self.receiver.set_layer(layer);
        let arrived = self.receiver.arrivals().len();
        let application = self.fixture.take();
        admin.hire(&application);
        let delivery = admin.wait_for(&application, |delivery| delivery["attempts"] == 1);
        let error = delivery["lastAttempt"]["error"].as_str().unwrap();
        assert!(error.contains(reason), "{reason}: {error}");
        assert_eq!(delivery["lastAttempt"]["status"], Value::Null, "{error}");
        assert_eq!(delivery["state"], "pending", "{error}");
        assert_eq!(self.receiver.arrivals().len(), arrived, "{error}");
        delivery
    }

    /// Retries a delivery and checks that it arrives.
    fn accepted(&self, admin: &Admin, delivery: &Value) {
        let arrived = self.receiver.arrivals().len();
        admin.retry(delivery);
        let arrival = self.receiver.wait_for(arrived + 1).pop().unwrap();
        assert_eq!((arrival.message.id().as_str(), arrival.verified), (delivery["id"].as_str().unwrap(), Ok(())));
    }
}

#[test]
fn attempts_fail_with_a_reason_until_an_invalid_certificate_is_replaced() {
    let mut secure = Secure::new();
    let (service, admin) = secure.serve("trusted.pem", "json");
    let (authority, other) = (&secure.authority, Authority::new("Another authority"));
    let year = |year| rcgen::date_time_ymd(year, 1, 1);
    let cases = [
        (authority.certify("elsewhere.example"), "not valid for name"),
        (authority.certify_with("localhost", |params| params.not_after = year(2020)), "certificate expired"),
        (authority.certify_with("localhost", |params| params.not_before = year(4000)), "certificate not valid yet"),
        (certificate::self_signed("localhost"), "UnknownIssuer"),
        (other.certify("localhost"), "UnknownIssuer"),
        (Layer::NotTls, "TLS failed"),
        (Layer::Mute, "timed out after 2s while connecting"),
    ];
    let count = cases.len();
    for (layer, reason) in cases {
        let delivery = secure.refused(&admin, layer, reason);
        secure.receiver.set_layer(secure.authority.certify("localhost"));
        secure.accepted(&admin, &delivery);
    }
    secure.stop(service, 2 * count);
}

#[test]
fn a_valid_certificate_from_a_trusted_authority_is_accepted() {
    let mut secure = Secure::new();
    let (service, admin) = secure.serve("trusted.pem", "text");
    for layer in [secure.authority.certify("localhost"), secure.authority.certify_older("localhost")] {
        secure.receiver.set_layer(layer);
        let application = secure.fixture.take();
        admin.hire(&application);
        assert_eq!(admin.wait_delivered(&application)["attempts"], 1);
    }
    let verified: Vec<_> = secure.receiver.arrivals().into_iter().map(|arrival| arrival.verified).collect();
    assert_eq!(verified, [Ok(()), Ok(())]);
    secure.stop(service, 2);
}

#[test]
fn the_handshake_contains_host_names_but_no_addresses() {
    let mut secure = Secure::new();
    let (service, admin) = secure.serve("trusted.pem", "json");
    let organization = &secure.fixture.organizations()[0];
    let hosts = [("localhost", Some("localhost")), ("LocalHost", Some("localhost")), ("127.0.0.1", None)];
    for (host, _) in hosts {
        secure.receiver.set_layer(secure.authority.certify(host));
        let url = format!("https://{host}:{}{}", secure.receiver.address.port(), path_of(organization));
        admin.save(organization, &url);
        let application = secure.fixture.take();
        admin.hire(&application);
        admin.wait_delivered(&application);
    }
    // Host names are case-insensitive.
    let named = secure.receiver.names().into_iter().map(|name| name.map(|name| name.to_lowercase()));
    assert_eq!(named.collect::<Vec<_>>(), hosts.map(|(_, name)| name.map(str::to_owned)));
    secure.stop(service, hosts.len());
}

#[test]
fn an_attempt_without_trusted_authorities_fails_with_instructions() {
    let mut secure = Secure::new();
    let (service, admin) = secure.serve("empty.pem", "text");
    let instructions = "install the package ca-certificates, or set SSL_CERT_FILE and restart";
    let delivery = secure.refused(&admin, secure.authority.certify("localhost"), instructions);
    secure.stop(service, 1);
    let (service, admin) = secure.serve("trusted.pem", "text");
    secure.accepted(&admin, &delivery);
    secure.stop(service, 1);
}
