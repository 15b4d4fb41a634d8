//! The limits on requests that apply to all servers together: failed sign-ins, signups, passkey challenges, and the
//! requests of a key.

use std::time::Instant;

use serde_json::json;

use crate::client::Answer;
use crate::service::Service;

const PASSWORD: &str = "nine blue herons argue";

/// Creates a user with a password. Returns the email address.
fn user(service: &Service, name: &str) -> String {
    let email = format!("{name}@acme.example");
    let body = json!({ "email": email, "name": "U" });
    service.admin(0).call("POST", "/api/admin/users", &body).succeeded();
    service.run(&["set-password", "--email", &email], PASSWORD);
    email
}

fn sign_in(service: &Service, server: usize, email: &str, password: &str) -> Answer {
    let body = json!({ "email": email, "password": password });
    service.anonymous(server).call("POST", "/api/auth/sign-in", &body)
}

/// Sends a sign-in with a wrong password to each of these servers, in this order.
fn fail(service: &Service, email: &str, servers: &[usize]) -> Vec<Answer> {
    servers.iter().map(|server| sign_in(service, *server, email, "a wrong password")).collect()
}

fn statuses(answers: &[Answer]) -> Vec<u16> {
    answers.iter().map(|answer| answer.status).collect()
}

fn retry_after_s(answer: &Answer) -> u64 {
    assert_eq!(answer.status, 429, "{}", answer.text);
    answer.field("retry-after").unwrap().parse().unwrap()
}

#[test]
fn failed_sign_ins_on_two_servers_reach_the_limit_together() {
    let Some(service) = Service::start() else { return };
    let email = user(&service, "ada");
    let answers = fail(&service, &email, &[0, 1, 0, 1, 0, 1, 0, 1, 0]);
    let (checked, refused): (Vec<Answer>, Vec<Answer>) = answers.into_iter().partition(|answer| answer.status == 401);
    // The wait after the fifth failure is 1 s, and each further failure doubles the wait. On a busy machine, a wait can
    // end before the next attempt, so the servers may check a few more passwords.
    assert!((5..9).contains(&checked.len()), "{} passwords were checked", checked.len());
    assert!(refused.iter().all(|answer| (1..=8).contains(&retry_after_s(answer))));
}

#[test]
fn a_sign_in_on_one_server_clears_the_failed_sign_ins_on_the_other() {
    let Some(service) = Service::start() else { return };
    let email = user(&service, "bob");
    for (failing, other) in [(1, 0), (0, 1), (0, 1)] {
        assert_eq!(statuses(&fail(&service, &email, &[failing; 4])), [401; 4]);
        sign_in(&service, other, &email, PASSWORD).succeeded();
    }
}

#[test]
fn two_servers_share_the_count_of_signups_from_a_network_and_killing_one_does_not_reset_it() {
    let Some(mut service) = Service::start_with(&["--signup-limit", "3"]) else { return };
    let (_, role) = service.organization("acme");
    let link = |server: usize| {
        let apply = "/api/public/portal/acme/apply";
        let answer = service.anonymous(server).call("POST", apply, &json!({ "roleId": role })).succeeded();
        let url = serde_json::from_str::<serde_json::Value>(&answer.text).unwrap()["inviteUrl"].clone();
        let url = url.as_str().unwrap().to_owned();
        format!("/api/public{}", url[url.find("/signup/").unwrap()..].split('?').next().unwrap())
    };
    let path = link(0);
    let send = |service: &Service, server: usize, path: &str| service.anonymous(server).call("POST", path, &json!({}));
    for server in [0, 1, 0] {
        assert_eq!(send(&service, server, &path).status, 400, "a form with errors counts too");
    }
    for server in [1, 0] {
        let wait_s = retry_after_s(&send(&service, server, &path));
        assert!((3_400..=3_600).contains(&wait_s), "{wait_s}");
    }
    service.servers[0].kill();
    retry_after_s(&send(&service, 1, &path));
    let rows = "SELECT count(*) || ' ' || max(uses) FROM engine_counts";
    assert_eq!(service.postgres.psql(&service.database, rows), "1 3");
}

#[test]
fn passkey_challenges_of_two_servers_empty_one_bucket() {
    let options = ["--base-url", "http://localhost:8080", "--rate-limit", "0"];
    let Some(service) = Service::start_with(&options) else { return };
    let began = Instant::now();
    let mut strangers = [0, 1].map(|server| service.anonymous(server).with("Sec-Fetch-Site", "same-origin"));
    let mut answers = (0..).map(|number| strangers[number % 2].submit("/sign-in/passkey-options"));
    let issued = answers.by_ref().take(120).take_while(|answer| answer.status == 200).count();
    assert!((60..=61 + began.elapsed().as_secs() as usize).contains(&issued), "{issued}");
}

#[test]
fn requests_with_one_key_on_two_servers_empty_one_bucket() {
    let Some(service) = Service::start_with(&["--rate-limit", "60"]) else { return };
    let began = Instant::now();
    let mut admins = [service.admin(0), service.admin(1)];
    let mut answers = (0..).map(|number| admins[number % 2].get("/api/v1/me"));
    let accepted = answers.by_ref().take(120).take_while(|answer| answer.status == 200).count();
    // A server counts requests on the other server only when it logs its own next request.
    assert!((59..=62 + began.elapsed().as_secs() as usize).contains(&accepted), "{accepted}");
}
