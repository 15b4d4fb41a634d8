//! Sending deliveries: the message, the connection to the target, and the attempt as admins see it. Answers are
//! tested in `hr_answer`, retries in `hr_retry`, and the order in `hr_order`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use appliance::hr::{DeliveryNetwork, NetworkFuture};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection};

use crate::support::app::{Hr, Options};
use crate::support::{App, Behaviour, Hiring, Receiver};

crate::tests![
    a_message_is_a_post_with_exactly_the_documented_fields,
    an_attempt_times_out_if_the_name_server_or_the_network_hangs,
    an_attempt_to_a_target_that_hangs_up_or_does_not_listen_fails_and_its_error_says_why,
    an_attempt_that_mixes_tls_and_plain_http_fails_and_its_error_says_why,
    a_hostile_answer_is_stored_as_1_kib_of_text,
];

/// The maximum time that a test waits for an expected state.
const PATIENCE: Duration = Duration::from_secs(30);

/// A timeout short enough for a test to wait for it.
pub(crate) const SHORT: Duration = Duration::from_secs(3);

/// Starts a service that delivers with these settings.
pub(crate) fn delivering(hr: Hr) -> App {
    App::with(Options { hr: Some(hr), ..Options::default() })
}

/// Saves an organization's integration, and returns the secret if one was generated.
pub(crate) fn integrate(app: &App, organization_id: &str, url: &str, enabled: bool) -> Option<String> {
    let path = format!("/api/admin/organizations/{organization_id}/hr-integration");
    let answer = app.admin().put(&path, &json!({ "url": url, "enabled": enabled })).expect(200);
    answer.json()["data"]["secret"].as_str().map(str::to_owned)
}

/// Hires a candidate and returns the id of the delivery.
pub(crate) fn hire(app: &App, hiring: &Hiring, candidate: usize) -> String {
    app.admin().post(&hiring.hire(candidate), &json!({})).expect(200);
    newest(app, hiring)
}

/// Returns the id of an organization's newest delivery.
pub(crate) fn newest(app: &App, hiring: &Hiring) -> String {
    let path = format!("/api/admin/hr-deliveries?limit=1&organizationId={}", hiring.organization_id);
    app.admin().get(&path).expect(200).json()["data"][0]["id"].as_str().unwrap().to_owned()
}

/// Polls until a delivery is as expected, and returns it as admins see it.
#[track_caller]
pub(crate) fn eventually(app: &App, id: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
    let (admin, began) = (app.admin(), Instant::now());
    loop {
        let delivery = admin.get(&format!("/api/admin/hr-deliveries/{id}")).expect(200).json()["data"].clone();
        if is_expected(&delivery) {
            return delivery;
        }
        assert!(began.elapsed() < PATIENCE, "{delivery}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a delivery has had this many attempts, and returns it.
#[track_caller]
pub(crate) fn after_attempts(app: &App, id: &str, attempts: u64) -> Value {
    eventually(app, id, |delivery| delivery["attempts"] == attempts)
}

/// Hires a candidate of a new organization whose HR system listens at this URL, and returns the id of the delivery.
pub(crate) fn hire_for(app: &App, url: &str) -> String {
    let hiring = app.hiring();
    integrate(app, &hiring.organization_id, url, true);
    hire(app, &hiring, 0)
}

/// Asserts that the last attempt failed with this status and error, and that a retry follows.
#[track_caller]
pub(crate) fn assert_failed(name: &str, delivery: &Value, status: Option<u16>, error: &str) {
    let attempt = &delivery["lastAttempt"];
    assert_eq!((&delivery["state"], &attempt["status"]), (&json!("pending"), &json!(status)), "{name}: {delivery}");
    match attempt["error"].as_str() {
        Some(words) => assert!(!error.is_empty() && words.contains(error), "{name}: {words}"),
        None => assert_eq!(error, "", "{name}"),
    }
    assert_eq!(attempt["answer"].is_null(), status.is_none(), "{name}: an answer is stored if one arrived");
    assert!(delivery["nextAttemptAt"].is_string(), "{name}");
}

fn a_message_is_a_post_with_exactly_the_documented_fields() {
    let (app, receiver) = (delivering(Hr::default()), Receiver::start());
    let id = hire_for(&app, &receiver.url("/in/box?key=a%20b#part"));
    let message = &receiver.wait_for(1)[0];
    assert_eq!(message.request_line, "POST /in/box?key=a%20b HTTP/1.1");
    let mut names: Vec<String> = message.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    let expected = ["connection", "content-length", "content-type", "host", "user-agent"];
    assert_eq!(names, [&expected[..], &["webhook-id", "webhook-signature", "webhook-timestamp"]].concat());
    assert_eq!(message.header("host"), receiver.address.to_string());
    assert_eq!(message.header("content-type"), "application/json");
    assert_eq!((message.id(), message.header("webhook-timestamp")), (id.as_str(), "1795251600"));
    assert_eq!(after_attempts(&app, &id, 1)["payload"], message.json());
}

/// A network on which either lookups or connections never finish.
struct HangingNetwork {
    knows_names: bool,
}

impl DeliveryNetwork for HangingNetwork {
    fn look_up<'a>(&'a self, _: &'a str, port: u16) -> NetworkFuture<'a, Vec<SocketAddr>> {
        if self.knows_names {
            return Box::pin(std::future::ready(Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])));
        }
        Box::pin(std::future::pending())
    }

    fn connect(&self, _: SocketAddr) -> NetworkFuture<'_, tokio::net::TcpStream> {
        Box::pin(std::future::pending())
    }
}

fn an_attempt_times_out_if_the_name_server_or_the_network_hangs() {
    for knows_names in [false, true] {
        let app = delivering(Hr { network: Arc::new(HangingNetwork { knows_names }), timeout: SHORT, ..Hr::default() });
        let attempt = after_attempts(&app, &hire_for(&app, "http://hr.example.com"), 1)["lastAttempt"].clone();
        let error = attempt["error"].as_str().unwrap();
        assert!(error.contains(" 1s") && error.contains("connect"), "{error}");
        assert_eq!(app.sql("SELECT timed_out FROM hr_integrations"), ["1"], "the HR system is suspect");
    }
}

/// Starts a target that handles each connection with `act`.
fn target(act: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().for_each(|stream| act(stream.unwrap())));
    address
}

/// Returns the error of the first attempt to this URL. An admin then saves another URL, at which the message arrives.
fn first_error(app: &App, url: &str) -> String {
    let (hiring, healthy) = (app.hiring(), Receiver::start());
    integrate(app, &hiring.organization_id, url, true);
    let id = hire(app, &hiring, 0);
    let failed = after_attempts(app, &id, 1);
    assert_eq!((&failed["state"], &failed["lastAttempt"]["status"]), (&json!("pending"), &Value::Null), "{url}");
    integrate(app, &hiring.organization_id, &healthy.url("/"), true);
    assert_eq!(after_attempts(app, &id, 2)["state"], "delivered", "{url}");
    assert_eq!(healthy.wait_for(1)[0].id(), id);
    failed["lastAttempt"]["error"].as_str().unwrap().to_owned()
}

fn an_attempt_to_a_target_that_hangs_up_or_does_not_listen_fails_and_its_error_says_why() {
    let app = delivering(Hr::default());
    let hangs_up = target(drop);
    let error = first_error(&app, &format!("http://{hangs_up}/"));
    assert!(error.starts_with("no response: "), "{error}");
    // This socket is bound, so no other process can use the port, but it does not listen.
    let deaf = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    deaf.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = deaf.local_addr().unwrap().as_socket().unwrap();
    let error = first_error(&app, &format!("http://{address}/"));
    assert!(error.starts_with(&format!("no connection to {address}: ")), "{error}");
    let error = first_error(&app, "http://nobody.invalid/");
    // Without a name server, the lookup can time out instead.
    assert!(error.starts_with("the host cannot be looked up: ") || error.ends_with(" while connecting"), "{error}");
}

/// Speaks TLS with a self-signed certificate.
fn speak_tls(mut stream: TcpStream) {
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.cert.der().clone()], key.into()).unwrap();
    let _ = ServerConnection::new(Arc::new(config)).unwrap().complete_io(&mut stream);
}

fn an_attempt_that_mixes_tls_and_plain_http_fails_and_its_error_says_why() {
    let app = delivering(Hr::default());
    let plain = target(|mut stream| {
        let _ = stream.read(&mut [0; 4_096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = first_error(&app, &format!("https://{plain}/"));
    // On a machine without trusted certificate authorities, the attempt fails earlier.
    assert!(error.starts_with("TLS failed: ") || error.contains("no certificate authority"), "{error}");
    let error = first_error(&app, &format!("http://{}/", target(speak_tls)));
    assert!(error.starts_with("no response: "), "{error}");
}

fn a_hostile_answer_is_stored_as_1_kib_of_text() {
    let app = delivering(Hr::default());
    let bodies = [
        (0..=255).collect::<Vec<u8>>().repeat(8),
        vec![0; 5_000],
        vec![0xff; 5_000],
        "\u{1b}[2J\r\n\u{7f}\u{85}\u{202e}\"\\</script>".repeat(100).into_bytes(),
        format!("x{}", "ä".repeat(1_000)).into_bytes(),
        format!("xx{}", "😀".repeat(1_000)).into_bytes(),
        "\\u0000\\ud800\"".repeat(80_000).into_bytes(),
    ];
    let mut sent = Vec::new();
    for body in bodies {
        let receiver = Receiver::start();
        receiver.will([Behaviour::Answer(500, Vec::new(), body.clone())]);
        sent.push((hire_for(&app, &receiver.url("/")), body, receiver));
    }
    for (id, body, _) in &sent {
        let answer = after_attempts(&app, id, 1)["lastAttempt"]["answer"].as_str().unwrap().to_owned();
        let whole = String::from_utf8_lossy(body).replace('\0', " ");
        assert!(whole.starts_with(&answer) && (1_021..=1_024).contains(&answer.len()), "{answer:?} of {whole:?}");
    }
    let list = app.admin().get("/api/admin/hr-deliveries").expect(200);
    assert_eq!(list.json()["data"].as_array().unwrap().len(), sent.len());
    assert!(list.body.iter().all(|byte| *byte >= b' '), "control characters are escaped");
}
