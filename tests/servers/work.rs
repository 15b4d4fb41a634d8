//! Work that only one of several servers may do: requests with one idempotency key, background work, and the creation
//! of the form secret.

use std::sync::Barrier;

use serde_json::json;

use crate::postgres_server::{TestServer, USER};
use crate::service::{Server, Service, id, wait_until};

#[test]
fn a_request_that_both_servers_receive_with_one_idempotency_key_acts_once() {
    let Some(service) = Service::start() else { return };
    let (organization, _) = service.organization("acme");
    let path = format!("/api/v1/organizations/{organization}/roles");
    for round in 0..10 {
        let barrier = Barrier::new(2);
        let create = |server: usize| {
            let mut client = service.admin(server).with("Idempotency-Key", &format!("key-{round}"));
            barrier.wait();
            id(&client.call("POST", &path, &json!({ "name": format!("Role {round}") })).data())
        };
        let (create, other) = (&create, 1);
        let ids = std::thread::scope(|scope| {
            let second = scope.spawn(move || create(other));
            [create(0), second.join().unwrap()]
        });
        assert_eq!(ids[0], ids[1]);
        let sql = format!("SELECT count(*) FROM roles WHERE name = 'Role {round}'");
        assert_eq!(service.postgres.psql(&service.database, &sql), "1");
    }
}

#[test]
fn a_server_takes_over_the_background_work_of_a_server_that_was_killed() {
    let Some(mut service) = Service::start() else { return };
    let (_, role) = service.organization("acme");
    service.servers[0].kill();
    let sql = format!("UPDATE roles SET closes_on = '2020-01-01' WHERE id = '{role}'");
    service.postgres.psql(&service.database, &sql);
    let mut admin = service.admin(1);
    wait_until(|| admin.get(&format!("/api/v1/roles/{role}")).data()["status"] == "closed");
}

#[test]
fn two_servers_that_start_together_sign_forms_with_one_secret() {
    let Some(postgres) = TestServer::start(&[]) else { return };
    for _ in 0..5 {
        let database = postgres.database();
        let url = postgres.url(USER, &database, "sslmode=disable");
        let servers = [Server::spawn(&url), Server::spawn(&url)];
        let servers = servers.map(Server::await_start);
        assert_eq!(postgres.psql(&database, "SELECT count(*) FROM form_secrets"), "1");
        drop(servers);
    }
}
