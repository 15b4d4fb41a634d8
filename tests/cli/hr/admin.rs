//! The requests of admins and staff.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::client::{Client, Request};
use super::company::Application;
use super::fixture::{Fixture, path_of};
use super::receiver::{Receiver, wait_until};

/// The beginning of the note of every hire.
pub(crate) const NOTE: &str = "Confidential: signed";

/// An admin, who can also decide on applications.
pub(crate) struct Admin {
    address: SocketAddr,
    key: String,
}

impl Admin {
    pub(crate) fn new(fixture: &Fixture, address: SocketAddr) -> Self {
        Self { address, key: fixture.admin_key.clone() }
    }

    /// Sends a request, checks that the answer has this status, and returns its body.
    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Option<&Value>, status: u16) -> Value {
        let request = Request::new(method, path).with_key(&self.key);
        let request = if let Some(body) = body { request.with_body(body) } else { request };
        Client::connect(self.address).unwrap().ask(&request).unwrap().expect(status).json()
    }

    /// Saves an HR integration with this URL. Returns the secret if this request created one.
    pub(crate) fn save(&self, organization: &str, url: &str) -> Option<String> {
        let path = format!("/api/admin/organizations/{organization}/hr-integration");
        let answer = self.ask("PUT", &path, Some(&json!({ "url": url })), 200);
        answer["data"]["secret"].as_str().map(str::to_owned)
    }

    /// Connects all organizations to this receiver and returns their secrets.
    pub(crate) fn connect(&self, fixture: &Fixture, scheme: &str, receiver: &Receiver) -> Vec<String> {
        let connect = |organization: &String| {
            let path = path_of(organization);
            let url = format!("{scheme}://localhost:{}{path}", receiver.address.port());
            let secret = self.save(organization, &url).unwrap();
            receiver.expect_secret(&path, &secret);
            secret
        };
        fixture.organizations().iter().map(connect).collect()
    }

    pub(crate) fn hire(&self, application: &Application) {
        let path = format!("/api/v1/candidate-steps/{}/hire", application.steps[1]);
        self.ask("POST", &path, Some(&json!({ "notes": NOTE })), 200);
    }

    /// Returns a page of deliveries, newest first.
    pub(crate) fn deliveries(&self, query: &str) -> Vec<Value> {
        let path = format!("/api/admin/hr-deliveries?{query}");
        self.ask("GET", &path, None, 200)["data"].as_array().unwrap().clone()
    }

    /// Returns the newest delivery of an application.
    #[track_caller]
    pub(crate) fn delivery_of(&self, application: &Application) -> Value {
        let found =
            self.deliveries("limit=100").into_iter().find(|one| one["applicationId"] == application.id.as_str());
        found.unwrap_or_else(|| panic!("{} has no delivery", application.id))
    }

    /// Waits until `matches` is true for the newest delivery of an application, and returns the delivery.
    #[track_caller]
    pub(crate) fn wait_for(&self, application: &Application, matches: impl Fn(&Value) -> bool) -> Value {
        let awaited = format!("the delivery of {} matches", application.id);
        wait_until(&awaited, || Some(self.delivery_of(application)).filter(|delivery| matches(delivery)))
    }

    /// Waits until the newest delivery of an application has arrived, and returns it.
    #[track_caller]
    pub(crate) fn wait_delivered(&self, application: &Application) -> Value {
        self.wait_for(application, |delivery| delivery["state"] == "delivered")
    }

    #[track_caller]
    pub(crate) fn retry(&self, delivery: &Value) {
        self.ask("POST", &format!("/api/admin/hr-deliveries/{}/retry", delivery["id"].as_str().unwrap()), None, 200);
    }
}
