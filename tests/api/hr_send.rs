//! Deliveries on their way: what is sent, how targets are reached, and what of it an admin reads. What targets
//! answer is in `hr_answer`, when it is tried again in `hr_retry`, in what order in `hr_order`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use appliance::hr::{Later, Network};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection};

use crate::support::app::{Hr, Options};
use crate::support::{App, Behaviour, Hiring, Receiver};

crate::tests![
    a_message_is_a_post_with_these_fields_and_no_other,
    a_name_server_or_a_network_that_hangs_is_cut_off,
    who_hangs_up_at_once_or_does_not_listen_fails_with_the_reason,
    tls_and_plain_http_do_not_meet,
    a_hostile_answer_is_kept_as_1_kib_of_text,
];

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A time so short that a test can wait until it is up.
pub(crate) const SHORT: Duration = Duration::from_secs(3);

/// A service that delivers like this.
pub(crate) fn delivering(hr: Hr) -> App {
    App::with(Options { hr: Some(hr), ..Options::default() })
}

/// Saves where an organization's HR system listens; its secret, where one was made for it.
pub(crate) fn integrate(app: &App, organization_id: &str, url: &str, enabled: bool) -> Option<String> {
    let path = format!("/api/admin/organizations/{organization_id}/hr-integration");
    let answer = app.admin().put(&path, &json!({ "url": url, "enabled": enabled })).expect(200);
    answer.json()["data"]["secret"].as_str().map(str::to_owned)
}

/// Hires a candidate; the id of the delivery.
pub(crate) fn hire(app: &App, hiring: &Hiring, candidate: usize) -> String {
    app.admin().post(&hiring.hire(candidate), &json!({})).expect(200);
    newest(app, hiring)
}

/// The id of an organization's newest delivery.
pub(crate) fn newest(app: &App, hiring: &Hiring) -> String {
    let path = format!("/api/admin/hr-deliveries?limit=1&organizationId={}", hiring.organization_id);
    app.admin().get(&path).expect(200).json()["data"][0]["id"].as_str().unwrap().to_owned()
}

/// A delivery as admins see it, once it is as `wanted`.
#[track_caller]
pub(crate) fn eventually(app: &App, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let (admin, began) = (app.admin(), Instant::now());
    loop {
        let delivery = admin.get(&format!("/api/admin/hr-deliveries/{id}")).expect(200).json()["data"].clone();
        if wanted(&delivery) {
            return delivery;
        }
        assert!(began.elapsed() < PATIENCE, "{delivery}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A delivery once there were so many attempts.
#[track_caller]
pub(crate) fn after(app: &App, id: &str, attempts: u64) -> Value {
    eventually(app, id, |delivery| delivery["attempts"] == attempts)
}

/// Hires at a new organization whose HR system listens there; the delivery's id.
pub(crate) fn hire_for(app: &App, url: &str) -> String {
    let hiring = app.hiring();
    integrate(app, &hiring.organization_id, url, true);
    hire(app, &hiring, 0)
}

/// The one attempt so far failed like this, and there will be another.
#[track_caller]
pub(crate) fn assert_failed(name: &str, delivery: &Value, status: Option<u16>, error: &str) {
    let attempt = &delivery["lastAttempt"];
    assert_eq!((&delivery["state"], &attempt["status"]), (&json!("pending"), &json!(status)), "{name}: {delivery}");
    match attempt["error"].as_str() {
        Some(words) => assert!(!error.is_empty() && words.contains(error), "{name}: {words}"),
        None => assert_eq!(error, "", "{name}"),
    }
    assert_eq!(attempt["answer"].is_null(), status.is_none(), "{name}: an answer is kept where one came");
    assert!(delivery["nextAttemptAt"].is_string(), "{name}");
}

fn a_message_is_a_post_with_these_fields_and_no_other() {
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
    assert_eq!(after(&app, &id, 1)["payload"], message.json());
}

/// A network on which looking up never ends, or else connecting.
struct Stuck {
    knows_names: bool,
}

impl Network for Stuck {
    fn look_up<'a>(&'a self, _: &'a str, port: u16) -> Later<'a, Vec<SocketAddr>> {
        if self.knows_names {
            return Box::pin(std::future::ready(Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])));
        }
        Box::pin(std::future::pending())
    }

    fn connect(&self, _: SocketAddr) -> Later<'_, tokio::net::TcpStream> {
        Box::pin(std::future::pending())
    }
}

fn a_name_server_or_a_network_that_hangs_is_cut_off() {
    for knows_names in [false, true] {
        let app = delivering(Hr { network: Arc::new(Stuck { knows_names }), timeout: SHORT, ..Hr::default() });
        let attempt = after(&app, &hire_for(&app, "http://hr.example.com"), 1)["lastAttempt"].clone();
        let error = attempt["error"].as_str().unwrap();
        assert!(error.contains(" 1s") && error.contains("connect"), "{error}");
        assert_eq!(app.sql("SELECT timed_out FROM hr_integrations"), ["1"], "it is one of those that hang");
    }
}

/// A target that does this with each connection.
fn target(act: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().for_each(|stream| act(stream.unwrap())));
    address
}

/// Why the first attempt to this URL failed, without an answer. The message arrives when the organization has saved
/// another one.
fn fault_of(app: &App, url: &str) -> String {
    let (hiring, healthy) = (app.hiring(), Receiver::start());
    integrate(app, &hiring.organization_id, url, true);
    let id = hire(app, &hiring, 0);
    let failed = after(app, &id, 1);
    assert_eq!((&failed["state"], &failed["lastAttempt"]["status"]), (&json!("pending"), &Value::Null), "{url}");
    integrate(app, &hiring.organization_id, &healthy.url("/"), true);
    assert_eq!(after(app, &id, 2)["state"], "delivered", "{url}");
    assert_eq!(healthy.wait_for(1)[0].id(), id);
    failed["lastAttempt"]["error"].as_str().unwrap().to_owned()
}

fn who_hangs_up_at_once_or_does_not_listen_fails_with_the_reason() {
    let app = delivering(Hr::default());
    let hangs_up = target(drop);
    let fault = fault_of(&app, &format!("http://{hangs_up}/"));
    assert!(fault.starts_with("no answer: "), "{fault}");
    // Bound and not listening, so that nobody else gets the port meanwhile.
    let deaf = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    deaf.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = deaf.local_addr().unwrap().as_socket().unwrap();
    let fault = fault_of(&app, &format!("http://{address}/"));
    assert!(fault.starts_with(&format!("no connection to {address}: ")), "{fault}");
    let fault = fault_of(&app, "http://nobody.invalid/");
    // Where there is no name server, asking one may take too long.
    assert!(fault.starts_with("the host cannot be looked up: ") || fault.ends_with(" while connecting"), "{fault}");
}

/// Speaks TLS, with a certificate that nobody has signed.
fn speak_tls(mut stream: TcpStream) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![made.cert.der().clone()], key.into()).unwrap();
    let _ = ServerConnection::new(Arc::new(config)).unwrap().complete_io(&mut stream);
}

fn tls_and_plain_http_do_not_meet() {
    let app = delivering(Hr::default());
    let plain = target(|mut stream| {
        let _ = stream.read(&mut [0; 4_096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let fault = fault_of(&app, &format!("https://{plain}/"));
    // A machine may trust no authority at all, and then it does not get so far.
    assert!(fault.starts_with("TLS failed: ") || fault.contains("no certificate authority"), "{fault}");
    let fault = fault_of(&app, &format!("http://{}/", target(speak_tls)));
    assert!(fault.starts_with("no answer: "), "{fault}");
}

fn a_hostile_answer_is_kept_as_1_kib_of_text() {
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
        let answer = after(&app, id, 1)["lastAttempt"]["answer"].as_str().unwrap().to_owned();
        let whole = String::from_utf8_lossy(body).replace('\0', " ");
        assert!(whole.starts_with(&answer) && (1_021..=1_024).contains(&answer.len()), "{answer:?} of {whole:?}");
    }
    let list = app.admin().get("/api/admin/hr-deliveries").expect(200);
    assert_eq!(list.json()["data"].as_array().unwrap().len(), sent.len());
    assert!(list.body.iter().all(|byte| *byte >= b' '), "control characters are escaped");
}
