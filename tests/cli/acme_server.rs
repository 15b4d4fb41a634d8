//! A certificate authority for tests, with an ACME directory (RFC 8555) and deliberate faults. It verifies signatures,
//! nonces, the challenge over a real connection, and the certificate signing request.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rcgen::CertificateSigningRequestParams;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::{PATIENCE, WorkDir, connect, read_answer};
use crate::tls_client::Authority;

pub(crate) const DOMAIN: &str = "jobs.example.com";

const DAY: Duration = Duration::from_secs(86_400);

/// A deliberate fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Each order is refused with this problem type, status and `Retry-After`.
    Refuse(&'static str, u16, &'static str),
    /// The directory is an answer that never ends.
    Endless,
    /// The directory arrives at one byte a second.
    Slow,
    /// Requests for the directory are redirected.
    Redirect,
    /// The directory is HTML, or JSON of another kind.
    Text(&'static str),
    /// The directory names URLs that are not https.
    PlainUrls,
    /// The directory has text that is not a URL in place of its URLs.
    NoUrls,
    /// The certificate names another host.
    OtherName,
    /// The certificate belongs to another key.
    OtherKey,
    /// The finalization of an order never completes.
    Hang,
}

#[derive(Default)]
struct State {
    nonces: HashSet<String>,
    /// The number of requests whose nonces are still to be refused.
    nonces_to_refuse: usize,
    /// The public key of each account, and its thumbprint.
    accounts: HashMap<String, (Vec<u8>, String)>,
    contacts: Vec<Value>,
    fault: Option<Fault>,
    validation: Option<SocketAddr>,
    order_status: &'static str,
    problem: Value,
    chain: String,
    paths: Vec<String>,
}

pub(crate) struct AcmeServer {
    pub(crate) authority: Authority,
    address: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
    tls: Arc<ServerConfig>,
}

/// An answer: status, further header fields, and body.
type Reply = (u16, Vec<(String, String)>, String);

impl AcmeServer {
    pub(crate) fn start() -> Arc<Self> {
        let authority = Authority::new();
        let (chain, key) = authority.certify(|_| {});
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let tls = Arc::new(builder.with_single_cert(chain, key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Mutex::new(State { order_status: "pending", ..State::default() });
        let server = Arc::new(Self { authority, address, state, changed: Condvar::new(), tls });
        let accepting = Arc::clone(&server);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let server = Arc::clone(&accepting);
                // A client that ends a connection early makes this thread panic, which affects no other connection.
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    pub(crate) fn directory(&self) -> String {
        format!("https://localhost:{}/directory", self.address.port())
    }

    /// Sets or clears the fault.
    pub(crate) fn set_fault(&self, fault: Option<Fault>) {
        self.state.lock().unwrap().fault = fault;
    }

    /// Refuses the nonces of the next `count` requests.
    pub(crate) fn refuse_nonces(&self, count: usize) {
        self.state.lock().unwrap().nonces_to_refuse = count;
    }

    /// Sets the address at which names are validated.
    pub(crate) fn validate_at(&self, address: SocketAddr) {
        self.state.lock().unwrap().validation = Some(address);
        self.changed.notify_all();
    }

    /// Returns the number of requests to a path.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.state.lock().unwrap().paths.iter().filter(|seen| *seen == path).count()
    }

    pub(crate) fn contacts(&self) -> Vec<Value> {
        self.state.lock().unwrap().contacts.clone()
    }

    /// Waits until a request to this path has arrived.
    pub(crate) fn wait_for(&self, path: &str) {
        let state = self.state.lock().unwrap();
        let is_unseen = |state: &mut State| !state.paths.iter().any(|seen| seen == path);
        let (_state, waited) = self.changed.wait_timeout_while(state, PATIENCE, is_unseen).unwrap();
        assert!(!waited.timed_out(), "{path} got no request");
    }

    /// Stores a certificate from the authority in the certificate folder of the database `a.db`.
    pub(crate) fn store(&self, dir: &WorkDir, name: &str, not_before: SystemTime, not_after: SystemTime) {
        let (chain, key) = self.authority.certify(|params| {
            params.subject_alt_names = vec![rcgen::SanType::DnsName(name.try_into().unwrap())];
            (params.not_before, params.not_after) = (not_before.into(), not_after.into());
        });
        make_folder(dir);
        dir.write("a.db.acme/certificate.pem", key + &chain);
    }

    fn serve(&self, stream: TcpStream) {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&self.tls)).unwrap(), stream);
        let (method, path, body) = read_request(&mut stream);
        let mut state = self.state.lock().unwrap();
        state.paths.push(path.clone());
        let fault = state.fault;
        drop(state);
        self.changed.notify_all();
        let (status, fields, text) = match (path.as_str(), fault) {
            ("/directory", Some(fault)) if self.spoil_directory(fault, &mut stream) => {
                stream.conn.send_close_notify();
                let _ = stream.conn.complete_io(&mut stream.sock);
                return;
            }
            ("/directory", fault) => (200, Vec::new(), self.directory_text(fault)),
            ("/nonce", _) => (200, Vec::new(), String::new()),
            _ => self.answer(&path, &body),
        };
        let text = if method == "HEAD" { String::new() } else { text };
        let nonce = self.nonce();
        let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nReplay-Nonce: {nonce}\r\n", text.len());
        fields.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}Connection: close\r\n\r\n{text}").as_bytes()).unwrap();
        stream.conn.send_close_notify();
        let _ = stream.conn.complete_io(&mut stream.sock);
    }

    /// Sends a bad answer in place of the directory, if the fault requires one. Returns whether it has sent one.
    fn spoil_directory(&self, fault: Fault, stream: &mut impl Write) -> bool {
        let begin = |status| format!("HTTP/1.1 {status} X\r\nConnection: close\r\n");
        match fault {
            Fault::Endless => {
                let _ = stream.write_all((begin(200) + "\r\n").as_bytes());
                while stream.write_all(&[b' '; 65_536]).is_ok() {}
            }
            Fault::Slow => {
                let _ = stream.write_all((begin(200) + "\r\n").as_bytes());
                while stream.write_all(b" ").and_then(|()| stream.flush()).is_ok() {
                    std::thread::sleep(Duration::from_secs(1));
                }
            }
            Fault::Redirect => {
                let _ = stream.write_all((begin(302) + "Location: https://localhost/\r\n\r\n").as_bytes());
            }
            Fault::Text(text) => drop(stream.write_all((begin(200) + "\r\n" + text).as_bytes())),
            _ => return false,
        }
        let _ = stream.flush();
        true
    }

    fn directory_text(&self, fault: Option<Fault>) -> String {
        let url = |path: &str| match fault {
            Some(Fault::PlainUrls) => format!("http://localhost:{}{path}", self.address.port()),
            Some(Fault::NoUrls) => "no url\n".to_owned(),
            _ => self.url(path),
        };
        json!({ "newNonce": url("/nonce"), "newAccount": url("/account"), "newOrder": url("/order") }).to_string()
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    fn nonce(&self) -> String {
        let mut random = [0; 16];
        getrandom::fill(&mut random).unwrap();
        let nonce = BASE64_URL_SAFE_NO_PAD.encode(random);
        self.state.lock().unwrap().nonces.insert(nonce.clone());
        nonce
    }

    /// Uses up the nonce of a request. Returns whether the authority accepts the nonce.
    fn take_nonce(&self, nonce: &str) -> bool {
        let mut state = self.state.lock().unwrap();
        let is_refused = state.nonces_to_refuse > 0;
        state.nonces_to_refuse = state.nonces_to_refuse.saturating_sub(1);
        state.nonces.remove(nonce) && !is_refused
    }

    /// Verifies a signed request and answers it.
    fn answer(&self, path: &str, body: &[u8]) -> Reply {
        let outer: Value = serde_json::from_slice(body).unwrap();
        let part = |name: &str| outer[name].as_str().unwrap();
        let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
        let protected: Value = serde_json::from_slice(&decode(part("protected"))).unwrap();
        assert_eq!((protected["alg"].as_str(), protected["url"].as_str()), (Some("ES256"), Some(&*self.url(path))));
        if !self.take_nonce(protected["nonce"].as_str().unwrap()) {
            return problem(400, "badNonce", "this nonce is unknown");
        }
        let (key, thumbprint) = match protected["kid"].as_str() {
            None => public_key(&protected["jwk"]),
            Some(id) => match self.state.lock().unwrap().accounts.get(id).cloned() {
                Some(known) => known,
                None => return problem(400, "accountDoesNotExist", "there is no such account"),
            },
        };
        let signed = format!("{}.{}", part("protected"), part("payload"));
        let verified = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &key);
        verified.verify(signed.as_bytes(), &decode(part("signature"))).expect("the signature is valid");
        let payload = serde_json::from_slice(&decode(part("payload"))).unwrap_or(Value::Null);
        self.act(path, &payload, key, &thumbprint)
    }

    fn act(&self, path: &str, payload: &Value, key: Vec<u8>, thumbprint: &str) -> Reply {
        let fault = self.state.lock().unwrap().fault;
        match path {
            "/account" => {
                assert_eq!(payload["termsOfServiceAgreed"], true);
                let id = self.url("/account/1");
                let mut state = self.state.lock().unwrap();
                state.accounts.insert(id.clone(), (key, thumbprint.to_owned()));
                state.contacts.push(payload["contact"].clone());
                (201, vec![("Location".to_owned(), id)], json!({ "status": "valid" }).to_string())
            }
            "/account/1" => {
                self.state.lock().unwrap().contacts.push(payload["contact"].clone());
                (200, Vec::new(), json!({ "status": "valid" }).to_string())
            }
            "/order" => match fault {
                Some(Fault::Refuse(kind, status, wait)) => {
                    let (status, mut fields, text) = problem(status, kind, "a reason\nof two lines");
                    fields.push(("Retry-After".to_owned(), wait.to_owned()));
                    (status, fields, text)
                }
                _ => {
                    assert_eq!(payload["identifiers"], json!([{ "type": "dns", "value": DOMAIN }]));
                    self.state.lock().unwrap().order_status = "pending";
                    (201, vec![("Location".to_owned(), self.url("/order/1"))], self.order())
                }
            },
            "/order/1" => (200, Vec::new(), self.order()),
            "/authorization" => (200, Vec::new(), self.authorization()),
            "/challenge" => {
                let problem = self.validate(thumbprint);
                let mut state = self.state.lock().unwrap();
                (state.order_status, state.problem) = match problem {
                    Value::Null => ("ready", Value::Null),
                    problem => ("invalid", problem),
                };
                let answer =
                    json!({ "type": "http-01", "url": self.url("/challenge"), "status": "processing", "token": "tok" });
                (200, Vec::new(), answer.to_string())
            }
            "/finalize" => {
                while fault == Some(Fault::Hang) {
                    std::thread::park();
                }
                let chain = self.issue(payload, fault);
                let mut state = self.state.lock().unwrap();
                (state.order_status, state.chain) = ("valid", chain);
                drop(state);
                (200, Vec::new(), self.order())
            }
            "/certificate" => (200, Vec::new(), self.state.lock().unwrap().chain.clone()),
            _ => problem(404, "malformed", "there is no such resource"),
        }
    }

    fn order(&self) -> String {
        let status = self.state.lock().unwrap().order_status;
        let (authorizations, finalize) = ([self.url("/authorization")], self.url("/finalize"));
        let certificate = self.url("/certificate");
        json!({
            "status": status, "authorizations": authorizations, "finalize": finalize, "certificate": certificate,
            "identifiers": [{ "type": "dns", "value": DOMAIN }],
        })
        .to_string()
    }

    fn authorization(&self) -> String {
        let state = self.state.lock().unwrap();
        let status = if state.order_status == "invalid" { "invalid" } else { "pending" };
        let mut challenge =
            json!({ "type": "http-01", "url": self.url("/challenge"), "status": status, "token": "tok" });
        if !state.problem.is_null() {
            challenge["error"] = state.problem.clone();
        }
        let identifier = json!({ "type": "dns", "value": DOMAIN });
        json!({ "status": status, "identifier": identifier, "challenges": [challenge] }).to_string()
    }

    /// Requests the answer to the challenge (RFC 8555 §8.3). Returns the problem, or null.
    fn validate(&self, thumbprint: &str) -> Value {
        let state = self.state.lock().unwrap();
        let is_unknown = |state: &mut State| state.validation.is_none();
        let (state, _) = self.changed.wait_timeout_while(state, PATIENCE, is_unknown).unwrap();
        let address = state.validation.unwrap();
        drop(state);
        let Ok(probe) = TcpStream::connect(address) else { return problem_json("connection", "refused") };
        drop(probe);
        let mut stream = connect(address);
        let path = "/.well-known/acme-challenge/tok";
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {DOMAIN}\r\nConnection: close\r\n\r\n").unwrap();
        let answer = read_answer(&mut stream);
        if answer.status == 200 && answer.body == format!("tok.{thumbprint}") {
            return Value::Null;
        }
        problem_json("unauthorized", "another answer")
    }

    /// Verifies the certificate signing request, and returns the chain.
    fn issue(&self, payload: &Value, fault: Option<Fault>) -> String {
        let der = BASE64_URL_SAFE_NO_PAD.decode(payload["csr"].as_str().unwrap()).unwrap();
        let mut request = CertificateSigningRequestParams::from_der(&der.into()).expect("the signature is valid");
        let names = [rcgen::SanType::DnsName(DOMAIN.try_into().unwrap())];
        assert_eq!(request.params.subject_alt_names, names);
        if fault == Some(Fault::OtherName) {
            request.params.subject_alt_names = vec![rcgen::SanType::DnsName("a.example".try_into().unwrap())];
        }
        let now = SystemTime::now();
        (request.params.not_before, request.params.not_after) = ((now - DAY / 24).into(), (now + 90 * DAY).into());
        if fault == Some(Fault::OtherKey) {
            let names = request.params.subject_alt_names.clone();
            return self.authority.certify(|params| params.subject_alt_names = names).0;
        }
        self.authority.sign(&request)
    }
}

/// Creates the folder for the certificate, as the service does.
pub(crate) fn make_folder(dir: &WorkDir) {
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    if std::fs::create_dir(dir.path("a.db.acme")).is_ok() {
        std::fs::set_permissions(dir.path("a.db.acme"), private).unwrap();
    }
}

/// Reads a request. Returns its method, path and body.
fn read_request(stream: &mut impl Read) -> (String, String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut words = first.split(' ').map(str::to_owned);
    (words.next().unwrap(), words.next().unwrap(), body)
}

/// Returns a public key as ring expects it, and its thumbprint (RFC 7638).
fn public_key(jwk: &Value) -> (Vec<u8>, String) {
    let (x, y) = (jwk["x"].as_str().unwrap(), jwk["y"].as_str().unwrap());
    let point = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
    let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
    let thumbprint = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(canonical));
    ([vec![4], point(x), point(y)].concat(), thumbprint)
}

fn problem_json(kind: &str, detail: &str) -> Value {
    json!({ "type": format!("urn:ietf:params:acme:error:{kind}"), "detail": detail })
}

fn problem(status: u16, kind: &str, detail: &str) -> Reply {
    let field = ("Content-Type".to_owned(), "application/problem+json".to_owned());
    (status, vec![field], problem_json(kind, detail).to_string())
}
