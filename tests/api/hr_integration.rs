//! `…/hr-integration`: admins say where an organization's HR system listens, and try it.

use serde_json::json;

use super::support::app::{App, Hr, Options};
use super::support::{Behaviour, Receiver};

crate::tests![a_hire_is_sent_signed];

fn a_hire_is_sent_signed() {
    let app = App::with(Options { hr: Some(Hr::default()), ..Options::default() });
    let hiring = app.hiring();
    let receiver = Receiver::start();
    receiver.will([Behaviour::status(204)]);
    let path = format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id);
    let answer = app.admin().put(&path, &json!({ "url": receiver.url("/hooks?a=b") })).expect(200);
    let secret = answer.json()["data"]["secret"].as_str().unwrap().to_owned();
    app.admin().post(&hiring.hire(0), &json!({})).expect(200);
    let message = &receiver.wait_for(1)[0];
    assert_eq!(message.request_line, "POST /hooks?a=b HTTP/1.1");
    assert!(message.is_signed_with(&secret));
    assert_eq!(message.event(), "candidate.hired");
}
