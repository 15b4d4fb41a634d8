//! TLS to HR systems: who is trusted, and what an admin is told where nobody is.

use serde_json::Value;

use crate::admin::Admin;
use crate::certificate::{self, Authority};
use crate::receiver::{Layer, Receiver};
use crate::setting::{Setting, path_of};
use crate::support::{Place, Serving};

/// A service that trusts one authority, and an HR system behind TLS.
struct Secure {
    setting: Setting,
    place: Place,
    receiver: Receiver,
    authority: Authority,
    secrets: Vec<String>,
}

impl Secure {
    fn new() -> Self {
        let (setting, place, receiver) = (Setting::with(1), Place::new(), Receiver::start());
        let authority = Authority::new("The authority");
        place.write("trusted.pem", authority.pem());
        place.write("empty.pem", "");
        receiver.speaks(authority.certify("localhost"));
        Self { setting, place, receiver, authority, secrets: Vec::new() }
    }

    /// Starts the service with the authorities of this file. After a failure nothing is tried again by itself.
    fn serve(&mut self, trusted: &str, log_format: &str) -> (Serving, Admin) {
        let path = self.place.path(trusted);
        let fixed = ["--allow-private-hr-targets", "--hr-retry-schedule", "168h", "--hr-timeout", "6s"];
        let args = [&fixed[..], &["--db", self.setting.db(), "--log-format", log_format]].concat();
        let serving = self.place.serve_with(&args, &[("SSL_CERT_FILE", path.to_str().unwrap())]);
        let admin = Admin::new(&self.setting, serving.address);
        if self.secrets.is_empty() {
            self.secrets = admin.connect(&self.setting, "https", &self.receiver);
        }
        (serving, admin)
    }

    /// Stops the service. Its log has told nothing that it must not, and has so many attempts.
    fn stop(&self, serving: Serving, attempts: usize) {
        let log = serving.stop("TERM").succeeded().stderr;
        self.setting.require_discreet(&log, &self.secrets);
        assert_eq!(log.matches("HR delivery ").count(), attempts, "{log}");
    }

    /// Hires somebody while the receiver is like this: the attempt fails with this reason, and nothing arrives.
    fn refused(&self, admin: &Admin, layer: Layer, reason: &str) -> Value {
        self.receiver.speaks(layer);
        let came = self.receiver.arrivals().len();
        let application = self.setting.take();
        admin.hire(&application);
        let delivery = admin.wait_for(&application, |delivery| delivery["attempts"] == 1);
        let error = delivery["lastAttempt"]["error"].as_str().unwrap();
        assert!(error.contains(reason), "{reason}: {error}");
        assert_eq!(delivery["lastAttempt"]["status"], Value::Null, "{error}");
        assert_eq!(delivery["state"], "pending", "{error}");
        assert_eq!(self.receiver.arrivals().len(), came, "{error}");
        delivery
    }

    /// Sends a delivery again, which arrives.
    fn accepted(&self, admin: &Admin, delivery: &Value) {
        let came = self.receiver.arrivals().len();
        admin.retry(delivery);
        let arrival = self.receiver.wait_for(came + 1).pop().unwrap();
        assert_eq!((arrival.message.id().as_str(), arrival.verified), (delivery["id"].as_str().unwrap(), Ok(())));
    }
}

#[test]
fn a_certificate_that_is_not_good_fails_the_attempt_and_says_why_until_it_is_repaired() {
    let mut secure = Secure::new();
    let (serving, admin) = secure.serve("trusted.pem", "json");
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
        secure.receiver.speaks(secure.authority.certify("localhost"));
        secure.accepted(&admin, &delivery);
    }
    secure.stop(serving, 2 * count);
}

#[test]
fn a_good_certificate_of_an_authority_that_is_trusted_is_enough() {
    let mut secure = Secure::new();
    let (serving, admin) = secure.serve("trusted.pem", "text");
    for layer in [secure.authority.certify("localhost"), secure.authority.certify_old("localhost")] {
        secure.receiver.speaks(layer);
        let application = secure.setting.take();
        admin.hire(&application);
        assert_eq!(admin.wait_delivered(&application)["attempts"], 1);
    }
    let verified: Vec<_> = secure.receiver.arrivals().into_iter().map(|arrival| arrival.verified).collect();
    assert_eq!(verified, [Ok(()), Ok(())]);
    secure.stop(serving, 2);
}

#[test]
fn the_handshake_names_the_host_of_the_url_and_no_address() {
    let mut secure = Secure::new();
    let (serving, admin) = secure.serve("trusted.pem", "json");
    let organization = &secure.setting.organizations()[0];
    let hosts = [("localhost", Some("localhost")), ("LocalHost", Some("localhost")), ("127.0.0.1", None)];
    for (host, _) in hosts {
        secure.receiver.speaks(secure.authority.certify(host));
        let url = format!("https://{host}:{}{}", secure.receiver.address.port(), path_of(organization));
        admin.save(organization, &url);
        let application = secure.setting.take();
        admin.hire(&application);
        admin.wait_delivered(&application);
    }
    // Names are compared without regard to case.
    let named = secure.receiver.names().into_iter().map(|name| name.map(|name| name.to_lowercase()));
    assert_eq!(named.collect::<Vec<_>>(), hosts.map(|(_, name)| name.map(str::to_owned)));
    secure.stop(serving, hosts.len());
}

#[test]
fn without_any_authority_an_attempt_says_what_to_do_and_after_that_it_works() {
    let mut secure = Secure::new();
    let (serving, admin) = secure.serve("empty.pem", "text");
    let told = "install its ca-certificates, or name a file of them in SSL_CERT_FILE before the start";
    let delivery = secure.refused(&admin, secure.authority.certify("localhost"), told);
    secure.stop(serving, 1);
    let (serving, admin) = secure.serve("trusted.pem", "text");
    secure.accepted(&admin, &delivery);
    secure.stop(serving, 1);
}
