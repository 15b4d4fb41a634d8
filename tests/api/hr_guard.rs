//! Deliveries to special addresses, in every notation, are refused unless private targets are allowed. The tests of
//! name resolution are in `hr_name_resolution`.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};

use appliance::domain::address;
use appliance::hr::{DeliveryNetwork, NetworkFuture, SystemNetwork};
use serde_json::{Value, json};

use crate::hr_send::{delivering, eventually, integrate};
use crate::support::app::Hr;
use crate::support::{App, Receiver};

crate::tests![
    special_addresses_are_refused_in_every_notation,
    a_url_that_is_invalid_or_disguises_its_host_is_refused,
    private_addresses_are_reached_when_private_targets_are_allowed,
];

/// Special addresses in the notation of URLs.
const SPECIAL: [&str; 68] = [
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.254",
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.255.255",
    "169.254.0.1",
    // The metadata services of cloud providers, which hand out credentials.
    "169.254.169.254",
    "100.100.100.200",
    "192.0.0.192",
    "0.0.0.0",
    "0.1.2.3",
    "100.64.0.1",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[0:0:0:0:0:0:0:0]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::0.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:0.0.0.0]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::127.0.0.1]",
    "[64:ff9b:1::8.8.8.8]",
    "[2002:7f00:1::]",
    "[2002:7f00:1::1]",
    "[2002:a00:1::1]",
    "[2002:a9fe:a9fe::1]",
    "[2001::1]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[100::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fdff:ffff::1]",
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[ff05::2]",
];

/// Other notations of 127.0.0.1, 0.0.0.0, 169.254.169.254 and 10.0.0.1, and names of this machine. The system resolver
/// decides which of them it understands.
const SPELLED: [&str; 32] = [
    "127.1",
    "127.0.1",
    "0177.1",
    "0177.0.0.1",
    "0177.0.0.01",
    "00000177.1",
    "017700000001",
    "0x7f.1",
    "0X7F.1",
    "0x7f.0x0.0x0.0x1",
    "0x7f000001",
    "0x000000007f000001",
    "2130706433",
    "127.0.0.01",
    "0",
    "0x0",
    "0.0",
    "0000.0.0.0",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.16689662",
    "10.1",
    "0x0a000001",
    "localhost",
    "LOCALHOST",
    "LocalHost",
    "localhost.",
    "a.localhost",
    "localhost.localdomain",
    "ip6-localhost",
    "127.0.0.1.",
];

/// A network with scripted names that records lookups and connections. The system resolves all other names.
#[derive(Default)]
pub(crate) struct ScriptedNetwork {
    /// The answers for each name, one per lookup. The last answer repeats.
    names: Mutex<HashMap<&'static str, VecDeque<Vec<IpAddr>>>>,
    /// The real targets of connections to these addresses. With `None`, the connection hangs.
    targets: Mutex<HashMap<IpAddr, Option<SocketAddr>>>,
    looked_up: Mutex<Vec<String>>,
    connected: Mutex<Vec<SocketAddr>>,
}

impl ScriptedNetwork {
    pub(crate) fn name(&self, name: &'static str, answers: &[&[&str]]) {
        let answers = answers.iter().map(|answer| answer.iter().map(|ip| ip.parse().unwrap()).collect());
        self.names.lock().unwrap().insert(name, answers.collect());
    }

    pub(crate) fn redirect(&self, ip: &str, to: Option<SocketAddr>) {
        self.targets.lock().unwrap().insert(ip.parse().unwrap(), to);
    }

    pub(crate) fn looked_up(&self) -> Vec<String> {
        self.looked_up.lock().unwrap().clone()
    }

    pub(crate) fn connected(&self) -> Vec<String> {
        self.connected.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

impl DeliveryNetwork for ScriptedNetwork {
    fn look_up<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, Vec<SocketAddr>> {
        self.looked_up.lock().unwrap().push(host.to_owned());
        let mut names = self.names.lock().unwrap();
        let Some(answers) = names.get_mut(host) else { return SystemNetwork.look_up(host, port) };
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        let answer = answer.unwrap().into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        Box::pin(std::future::ready(Ok(answer)))
    }

    fn connect(&self, address: SocketAddr) -> NetworkFuture<'_, tokio::net::TcpStream> {
        self.connected.lock().unwrap().push(address);
        match self.targets.lock().unwrap().get(&address.ip()) {
            Some(Some(to)) => SystemNetwork.connect(*to),
            Some(None) => Box::pin(std::future::pending()),
            None => SystemNetwork.connect(address),
        }
    }
}

/// Starts a service that delivers to public addresses only, on a scripted network.
pub(crate) fn guarded() -> (App, Arc<ScriptedNetwork>) {
    with_scripted_network(&Hr { allow_private: false, ..Hr::default() })
}

pub(crate) fn with_scripted_network(hr: &Hr) -> (App, Arc<ScriptedNetwork>) {
    let network = Arc::new(ScriptedNetwork::default());
    (delivering(Hr { network: Arc::clone(&network) as Arc<dyn DeliveryNetwork>, ..hr.clone() }), network)
}

/// Listens on every address of this machine, so that no connection goes unnoticed.
fn listen_everywhere() -> Receiver {
    let has_ipv6 = TcpListener::bind("[::]:0").is_ok();
    Receiver::on(if has_ipv6 { "[::]:0" } else { "0.0.0.0:0" })
}

/// Returns special addresses of this machine other than its loopback addresses.
fn own_addresses() -> Vec<String> {
    let routes = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];
    let own = routes.into_iter().filter_map(|(from, to)| {
        // Connecting a UDP socket sends nothing; it only selects the source address.
        let socket = UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|ip| address::require_public(*ip).is_err())
    });
    own.map(|ip| if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }).collect()
}

/// Pings each URL as the HR system of a separate organization, and returns the pings when all are done.
fn ping_all(app: &App, urls: &[String]) -> Vec<Value> {
    let ids: Vec<String> = (0..urls.len()).map(|nth| format!("guarded_{nth}")).collect();
    let organizations = ids.iter().map(|id| json!({ "id": id, "slug": id.replace('_', "-"), "name": "G" }));
    app.import(&json!({ "organizations": organizations.collect::<Vec<Value>>() }));
    let mut pings = Vec::new();
    for (id, url) in ids.iter().zip(urls) {
        integrate(app, id, url, true);
        let answer = app.admin().post_empty(&format!("/api/admin/organizations/{id}/hr-integration/test"));
        pings.push(answer.expect(202).json()["data"]["id"].as_str().unwrap().to_owned());
    }
    pings.iter().map(|id| eventually(app, id, |ping| ping["state"] != "pending")).collect()
}

fn special_addresses_are_refused_in_every_notation() {
    let ((app, network), receiver) = (guarded(), listen_everywhere());
    let port = receiver.address.port();
    let own = own_addresses();
    let literal = SPECIAL.into_iter().chain(own.iter().map(String::as_str));
    let mut urls: Vec<String> = literal.clone().map(|host| format!("http://{host}:{port}/")).collect();
    urls.extend(["127.0.0.1", "[::1]"].map(|host| format!("HTTPS://{host}:{port}/")));
    for rest in ["#@8.8.8.8/", "?@8.8.8.8/", "/@8.8.8.8/", "/..//8.8.8.8", "/?http://8.8.8.8"] {
        urls.push(format!("http://127.0.0.1:{port}{rest}"));
    }
    let literals = urls.len();
    urls.extend(SPELLED.map(|host| format!("http://{host}:{port}/")));
    for (nth, (ping, url)) in ping_all(&app, &urls).iter().zip(&urls).enumerate() {
        let error = ping["lastAttempt"]["error"].as_str().unwrap();
        let refused =
            error.starts_with("refused: the host's address ") && error.ends_with("--allow-private-hr-targets");
        let unknown = error.starts_with("the host cannot be looked up: ") || error.ends_with(" while connecting");
        assert!(refused || (nth >= literals && unknown), "{url}: {error}");
        assert_eq!((&ping["state"], &ping["lastAttempt"]["status"]), (&json!("failed"), &Value::Null), "{url}");
    }
    assert_eq!((network.looked_up().len(), network.connected()), (urls.len(), Vec::new()));
    assert_eq!(receiver.connections(), 0);
}

fn a_url_that_is_invalid_or_disguises_its_host_is_refused() {
    let (app, network) = guarded();
    let hiring = app.hiring();
    let path = format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id);
    for url in [
        "http://8.8.8.8@127.0.0.1/",
        "http://8.8.8.8:80@127.0.0.1/",
        "http://user:word@127.0.0.1/",
        "http://@127.0.0.1/",
        "http://127.0.0.1\\@8.8.8.8/",
        "http://8.8.8.8\\@127.0.0.1/",
        "http://127.0.0.1\t/",
        "http://127.0.0.1 /",
        " http://127.0.0.1/",
        "http://127.0.0.1\r\nHost: 8.8.8.8/",
        "http://127.0.0.1\0.example/",
        "http://%31%32%37.0.0.1/",
        "http://127%2e0.0.1/",
        "http://127。0。0。1/",
        "http://①②⑦.⓪.⓪.①/",
        "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
        "http://[::1%25lo]/",
        "http://[fe80::1%eth0]/",
        "http://[::1",
        "http://::1/",
        "http://[127.0.0.1]/",
        "http://[::ffff:0x7f.1]/",
        "http://[::1].example/",
        "http://[v1.::1]/",
        "http://127.0.0.1:80:80/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:65616/",
        "http:127.0.0.1/",
        "http:/127.0.0.1/",
        "http:///127.0.0.1/",
        "http:\\\\127.0.0.1/",
        "//127.0.0.1/",
        "127.0.0.1",
        "file:///etc/passwd",
        "file://127.0.0.1/etc/passwd",
        "ftp://127.0.0.1/",
        "gopher://127.0.0.1:25/_MAIL",
        "dict://127.0.0.1:11211/stats",
        "unix:/run/docker.sock",
        "http+unix://%2Frun%2Fdocker.sock/",
        "ws://127.0.0.1/",
        "javascript://127.0.0.1/",
        "jar:http://127.0.0.1!/",
        "",
    ] {
        let answer = app.admin().put(&path, &json!({ "url": url })).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["url"], "{url}");
    }
    app.admin().get(&path).refused(404, "not_found");
    assert_eq!(network.looked_up(), [] as [String; 0]);
}

fn private_addresses_are_reached_when_private_targets_are_allowed() {
    let ((app, network), receiver) = (with_scripted_network(&Hr::default()), listen_everywhere());
    let port = receiver.address.port();
    let mut hosts = vec!["127.0.0.1".to_owned(), "0.0.0.0".to_owned()];
    hosts.extend(["127.1", "0x7f.1", "2130706433"].map(str::to_owned));
    if receiver.address.is_ipv6() {
        hosts.extend(["[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"].map(str::to_owned));
    }
    hosts.extend(own_addresses());
    let urls: Vec<String> = hosts.iter().map(|host| format!("http://{host}:{port}/")).collect();
    for (ping, url) in ping_all(&app, &urls).iter().zip(&urls) {
        assert_eq!(ping["state"], "delivered", "{url}: {}", ping["lastAttempt"]);
    }
    assert_eq!((receiver.connections(), network.connected().len()), (urls.len(), urls.len()));
}
