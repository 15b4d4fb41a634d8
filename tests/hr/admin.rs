//! What admins and staff do over HTTP.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::client::{Client, Request};
use crate::company::Application;
use crate::receiver::{Receiver, until};
use crate::setting::{Setting, path_of};

/// What every hire's note begins with.
pub(crate) const NOTE: &str = "Confidential: signed";

/// The platform admin, who may also decide.
pub(crate) struct Admin {
    address: SocketAddr,
    key: String,
}

impl Admin {
    pub(crate) fn new(setting: &Setting, address: SocketAddr) -> Self {
        Self { address, key: setting.admin_key.clone() }
    }

    /// Sends a request that is answered with this status; the answer's body.
    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Option<&Value>, status: u16) -> Value {
        let request = Request::new(method, path).with_key(&self.key);
        let request = if let Some(body) = body { request.with_body(body) } else { request };
        Client::connect(self.address).unwrap().ask(&request).unwrap().expect(status).json()
    }

    /// Gives an organization an integration at this URL; the secret, where one was made.
    pub(crate) fn save(&self, organization: &str, url: &str) -> Option<String> {
        let path = format!("/api/admin/organizations/{organization}/hr-integration");
        let answer = self.ask("PUT", &path, Some(&json!({ "url": url })), 200);
        answer["data"]["secret"].as_str().map(str::to_owned)
    }

    /// Gives all organizations an integration at this receiver; their secrets.
    pub(crate) fn connect(&self, setting: &Setting, scheme: &str, receiver: &Receiver) -> Vec<String> {
        let connect = |organization: &String| {
            let path = path_of(organization);
            let url = format!("{scheme}://localhost:{}{path}", receiver.address.port());
            let secret = self.save(organization, &url).unwrap();
            receiver.expects(&path, &secret);
            secret
        };
        setting.organizations().iter().map(connect).collect()
    }

    pub(crate) fn hire(&self, application: &Application) {
        let path = format!("/api/v1/candidate-steps/{}/hire", application.steps[1]);
        self.ask("POST", &path, Some(&json!({ "notes": NOTE })), 200);
    }

    /// A page of deliveries, newest first.
    pub(crate) fn deliveries(&self, query: &str) -> Vec<Value> {
        let path = format!("/api/admin/hr-deliveries?{query}");
        self.ask("GET", &path, None, 200)["data"].as_array().unwrap().clone()
    }

    /// The newest delivery of an application.
    #[track_caller]
    pub(crate) fn delivery_of(&self, application: &Application) -> Value {
        let found =
            self.deliveries("limit=100").into_iter().find(|one| one["applicationId"] == application.id.as_str());
        found.unwrap_or_else(|| panic!("{} has no delivery", application.id))
    }

    /// That delivery once its last attempt ended as it should.
    #[track_caller]
    pub(crate) fn wait_for(&self, application: &Application, is_so: impl Fn(&Value) -> bool) -> Value {
        let what = format!("{} is so", application.id);
        until(&what, || Some(self.delivery_of(application)).filter(|delivery| is_so(delivery)))
    }

    /// That delivery once it has arrived.
    #[track_caller]
    pub(crate) fn wait_delivered(&self, application: &Application) -> Value {
        self.wait_for(application, |delivery| delivery["state"] == "delivered")
    }

    /// Sends a delivery again.
    #[track_caller]
    pub(crate) fn retry(&self, delivery: &Value) {
        self.ask("POST", &format!("/api/admin/hr-deliveries/{}/retry", delivery["id"].as_str().unwrap()), None, 200);
    }
}
