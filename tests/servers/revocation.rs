//! After the answer to a revocation, no server still grants the access that was revoked.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::rounds::rounds;
use crate::service::{Service, id};

/// The number of connections to each server that use the credential.
const CONNECTIONS: usize = 16;

/// The number of revocations of each kind.
const REVOCATIONS: usize = rounds(4, 20);

/// The number of requests, on all connections together, that must follow each revocation.
const LATE_MIN: usize = 4 * CONNECTIONS;

const PASSWORD: &str = "nine blue herons argue";

/// The kinds of revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Key,
    KeyByCommand,
    User,
    Membership,
    Organization,
    SignOut,
}

/// A credential, and the records to which it gives access.
struct Credential {
    organization: String,
    role: String,
    user: String,
    key_id: String,
    field: (&'static str, String),
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Key, Self::KeyByCommand, Self::User, Self::Membership, Self::Organization, Self::SignOut];

    fn credential(self, service: &Service, name: &str) -> Credential {
        let (organization, role) = service.organization(name);
        let email = format!("{name}@acme.example");
        let user = service.owner(&organization, &email);
        if self == Self::SignOut {
            service.run(&["set-password", "--email", &email], PASSWORD);
            let body = json!({ "email": email, "password": PASSWORD });
            let answer = service.anonymous(0).call("POST", "/api/auth/sign-in", &body).succeeded();
            let cookie = answer.field("set-cookie").unwrap().split(';').next().unwrap().to_owned();
            return Credential { organization, role, user, key_id: String::new(), field: ("Cookie", cookie) };
        }
        let body = json!({ "userId": user, "name": name, "scopes": ["roles:read", "roles:write"] });
        let key = service.admin(0).call("POST", "/api/admin/api-keys", &body).data();
        let field = ("Authorization", format!("Bearer {}", key["key"].as_str().unwrap()));
        Credential { organization, role, user, key_id: id(&key), field }
    }

    /// Revokes the credential on one of the servers.
    fn revoke(self, service: &Service, server: usize, credential: &Credential) {
        let mut admin = service.admin(server);
        let Credential { organization, user, key_id, .. } = credential;
        match self {
            Self::Key => drop(admin.send("DELETE", &format!("/api/admin/api-keys/{key_id}"), None).succeeded()),
            Self::KeyByCommand => drop(service.run(&["key", "revoke", key_id], "")),
            Self::User => {
                admin.call("PATCH", &format!("/api/admin/users/{user}"), &json!({ "enabled": false })).succeeded();
            }
            Self::Membership => {
                let path = format!("/api/admin/organizations/{organization}/memberships/{user}");
                admin.send("DELETE", &path, None).succeeded();
            }
            Self::Organization => {
                let path = format!("/api/admin/organizations/{organization}");
                admin.call("PATCH", &path, &json!({ "enabled": false })).succeeded();
            }
            Self::SignOut => {
                let mut client = credential.client(service, server);
                client.send("POST", "/api/auth/sign-out", Some("{}")).succeeded();
            }
        }
    }
}

impl Credential {
    fn client(&self, service: &Service, server: usize) -> Client {
        service.anonymous(server).with(self.field.0, &self.field.1).with("Sec-Fetch-Site", "same-origin")
    }

    /// Sends the request with this number: a change to the role, a read of the role or, if this kind of revocation must
    /// also prevent it, a read of `/api/v1/me`, which has a fast path for keys. Returns the status of the answer.
    fn send(&self, client: &mut Client, kind: Kind, number: usize) -> u16 {
        let path = format!("/api/v1/roles/{}", self.role);
        let shows_caller = matches!(kind, Kind::Key | Kind::KeyByCommand | Kind::User | Kind::SignOut);
        let answer = match number % 3 {
            0 => client.call("PATCH", &path, &json!({ "department": format!("D{number}") })),
            1 if shows_caller => client.get("/api/v1/me"),
            _ => client.get(&path),
        };
        answer.status
    }
}

#[test]
fn after_the_answer_to_a_revocation_no_server_grants_the_revoked_access() {
    let Some(service) = Service::start() else { return };
    for round in 0..REVOCATIONS {
        for kind in Kind::ALL {
            let name = format!("{kind:?}-{round}").to_lowercase();
            race(&service, kind, &kind.credential(&service, &name), round % 2);
        }
    }
}

/// Uses the credential on all connections, revokes it on one server, and asserts that no later request is accepted.
fn race(service: &Service, kind: Kind, credential: &Credential, server: usize) {
    let (has_ended, accepted) = (AtomicBool::new(false), AtomicUsize::new(0));
    let sent = AtomicUsize::new(0);
    let use_credential = |number: usize| {
        let mut client = credential.client(service, number % 2);
        let mut moments = Vec::new();
        for nth in number.. {
            if has_ended.load(Ordering::SeqCst) {
                break;
            }
            let begun = Instant::now();
            let status = credential.send(&mut client, kind, nth);
            accepted.fetch_add(usize::from(status == 200), Ordering::SeqCst);
            sent.fetch_add(1, Ordering::SeqCst);
            moments.push((begun, status));
        }
        moments
    };
    let (answered, moments) = std::thread::scope(|scope| {
        let use_credential = &use_credential;
        let users: Vec<_> = (0..2 * CONNECTIONS).map(|number| scope.spawn(move || use_credential(number))).collect();
        await_count(&accepted, 2 * CONNECTIONS);
        kind.revoke(service, server, credential);
        let answered = Instant::now();
        await_count(&sent, sent.load(Ordering::SeqCst) + 2 * CONNECTIONS + LATE_MIN);
        has_ended.store(true, Ordering::SeqCst);
        let moments: Vec<(Instant, u16)> = users.into_iter().flat_map(|user| user.join().unwrap()).collect();
        (answered, moments)
    });
    let late: Vec<u16> = moments.iter().filter(|(begun, _)| *begun > answered).map(|(_, status)| *status).collect();
    assert!(late.len() >= LATE_MIN, "{kind:?}: only {} requests came later", late.len());
    let are_refused = late.iter().all(|status| matches!(status, 401 | 403 | 404));
    assert!(are_refused, "{kind:?} on server {server}: {late:?}");
}

/// Waits until a count has reached a number.
fn await_count(count: &AtomicUsize, number: usize) {
    let began = Instant::now();
    while count.load(Ordering::SeqCst) < number {
        assert!(began.elapsed() < Duration::from_secs(60), "{} of {number}", count.load(Ordering::SeqCst));
        std::thread::sleep(Duration::from_millis(1));
    }
}
