//! `--tls-cert` and `--tls-key`: which files `serve` refuses, and how it follows files that change.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use rcgen::{KeyPair, date_time_ymd};

use crate::support::{RunningService, WorkDir, eventually, send_to};
use crate::tls_client::{Authority, CERT, KEY, TLS, presented, write_pair};

/// The beginning of every command that must fail.
const SERVE: [&str; 5] = ["serve", "--db", "a.db", "--listen", "127.0.0.1:0"];

const DAY: Duration = Duration::from_secs(86_400);

fn pem(label: &str) -> String {
    format!("-----BEGIN {label}-----\nMAAA\n-----END {label}-----\n")
}

#[test]
fn files_that_cannot_be_used_cause_exit_status_78_before_a_database_file_is_created() {
    let authority = Authority::new();
    let (certificate, key) = authority.certify(|_| {});
    let other_key = KeyPair::generate().unwrap().serialize_pem();
    let (expired, expired_key) = authority.certify(|params| params.not_after = date_time_ymd(2020, 1, 1));
    let (later, later_key) = authority.certify(|params| params.not_before = date_time_ymd(4000, 1, 1));
    let older_encrypted = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nMAAA\n\
                           -----END RSA PRIVATE KEY-----\n";
    let large = "x".repeat(1_024 * 1_024 + 1);
    let (own, root) = certificate.split_at(certificate.rfind("-----BEGIN CERTIFICATE-----").unwrap());
    let unordered = format!("{root}{own}");
    let cases: [(&str, &str, &str); 16] = [
        ("", &key, "the certificate fullchain.pem is not PEM"),
        ("0\u{1}", &key, "openssl x509 -inform der"),
        (&key, &key, "fullchain.pem has no certificate; --tls-cert takes the file with the certificate"),
        (&pem("CERTIFICATE"), &key, "the first certificate in fullchain.pem cannot be read"),
        ("-----BEGIN CERTIFICATE-----\n", &key, "the certificate fullchain.pem is damaged"),
        (&large, &key, "the certificate fullchain.pem is larger than 1 MiB"),
        (&expired, &expired_key, "the certificate fullchain.pem expired at 2020-01-01T00:00:00.000000Z; renew it"),
        (&later, &later_key, "the certificate fullchain.pem is not valid before 4000-01-01T00:00:00.000000Z"),
        (&certificate, "", "the key privkey.pem is not PEM"),
        (&certificate, &certificate, "privkey.pem has no private key"),
        (&certificate, &pem("PRIVATE KEY"), "the key privkey.pem cannot be used"),
        (&certificate, &pem("ENCRYPTED PRIVATE KEY"), "the key privkey.pem is encrypted"),
        (&certificate, older_encrypted, "openssl pkey -in privkey.pem"),
        (&certificate, &other_key, "the key privkey.pem does not belong to the first certificate in fullchain.pem"),
        (&unordered, &key, "put the certificate of the service before those of its authorities"),
        (&certificate, &large, "the key privkey.pem is larger than 1 MiB"),
    ];
    for (certificate, key, sentence) in cases {
        let dir = WorkDir::new();
        write_pair(&dir, certificate, key);
        dir.run(&[&SERVE[..], &TLS].concat()).failed(78, sentence);
        assert_eq!(dir.names(), [CERT, KEY], "{sentence}");
    }
}

#[test]
fn missing_and_unreadable_files_cause_exit_status_78() {
    let dir = WorkDir::new();
    let serve = [&SERVE[..], &TLS].concat();
    dir.run(&serve).failed(78, "the certificate fullchain.pem does not exist; give its path with --tls-cert");
    Authority::new().write(&dir);
    std::fs::remove_file(dir.path(KEY)).unwrap();
    dir.run(&serve).failed(78, "the key privkey.pem does not exist; give its path with --tls-key");
    std::fs::create_dir(dir.path(KEY)).unwrap();
    dir.run(&serve).failed(78, "the key privkey.pem cannot be read");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let dir = WorkDir::new();
    Authority::new().write(&dir);
    dir.run(&[&SERVE[..], &TLS[..2]].concat()).misused("--tls-key");
    dir.run(&[&SERVE[..], &TLS[2..]].concat()).misused("--tls-cert");
    let plain = [&SERVE[..], &TLS, &["--base-url", "http://jobs.example.com"]].concat();
    dir.run(&plain).misused("the service speaks TLS, but --base-url is http://jobs.example.com; use an https URL");
    assert_eq!(dir.names(), [CERT, KEY]);
}

#[test]
fn a_key_open_to_other_users_and_a_certificate_for_another_name_cause_warnings() {
    let dir = WorkDir::new();
    Authority::new().write(&dir);
    let warnings = |args: &[&str]| {
        let output = dir.serve(&[&["--db", "a.db"], &TLS[..], args].concat()).stop("TERM").succeeded();
        output.stderr.lines().filter(|line| line.starts_with("warning: ")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(warnings(&[]), "");
    assert_eq!(warnings(&["--base-url", "https://localhost:8443"]), "");
    let warned = warnings(&["--base-url", "https://jobs.example.com"]);
    assert!(warned.contains("the certificate is not for jobs.example.com") && !warned.contains('\n'), "{warned}");
    for (mode, expected) in [(0o640, ""), (0o644, "warning: the key privkey.pem is open to every user of this machine")]
    {
        std::fs::set_permissions(dir.path(KEY), PermissionsExt::from_mode(mode)).unwrap();
        let warned = warnings(&[]);
        assert!(warned.starts_with(expected) && warned.is_empty() == expected.is_empty(), "{mode:o}: {warned}");
    }
}

/// Starts a service with TLS. Also returns a function that reads one of its metrics.
fn serve(dir: &WorkDir) -> (RunningService, impl Fn(&str) -> Option<f64>) {
    let metrics = ["--db", "a.db", "--metrics-listen", "127.0.0.1:0"];
    let mut service = dir.serve(&[&metrics[..], &TLS].concat());
    let line = service.wait_for(|line| line.starts_with("metrics on http://"));
    let address = line.strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let address = address.parse().unwrap();
    let metric = move |name: &str| {
        let text = send_to(address, "GET", "/metrics", &[], "").expect(200).body;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(|value| value.parse().unwrap())
    };
    (service, metric)
}

#[test]
fn replaced_files_are_used_for_new_connections_while_old_ones_continue() {
    let (dir, authority) = (WorkDir::new(), Authority::new());
    let in_three_days = (SystemTime::now() + 3 * DAY).into();
    let (certificate, key) = authority.certify(|params| params.not_after = in_three_days);
    write_pair(&dir, &certificate, &key);
    let (mut service, metric) = serve(&dir);
    let mut old = authority.connect(service.address).unwrap();
    let days = metric("appliance_certificate_days_left").unwrap();
    assert!((2.9..=3.0).contains(&days), "{days}");
    // The service reads replaced files even without a signal.
    authority.write(&dir);
    service.wait_for(|line| line.contains("the certificate was read again; it is valid until 4096-01-01"));
    let new = authority.connect(service.address).unwrap();
    assert_ne!(presented(&new), presented(&old));
    assert!(metric("appliance_certificate_days_left").unwrap() > 10_000.0);
    old.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut begin = [0; 15];
    old.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200 OK");
    // A signal also makes the service read the files.
    authority.write(&dir);
    service.signal("HUP");
    eventually(|| presented(&authority.connect(service.address).unwrap()) != presented(&new));
    service.stop("TERM").succeeded();
}

#[test]
fn broken_files_leave_the_certificate_in_use_and_are_reported() {
    let (dir, authority) = (WorkDir::new(), Authority::new());
    authority.write(&dir);
    let (mut service, metric) = serve(&dir);
    let first = presented(&authority.connect(service.address).unwrap());
    dir.write(KEY, KeyPair::generate().unwrap().serialize_pem());
    service.signal("HUP");
    let line = service.wait_for(|line| line.contains("the new certificate is not used"));
    assert!(line.contains("the key privkey.pem does not belong to the first certificate"), "{line}");
    assert_eq!(presented(&authority.connect(service.address).unwrap()), first);
    assert_eq!(metric("appliance_certificate_unusable"), Some(1.0));
    let ready = authority.get(service.address, "/readyz").expect(200).body;
    assert_eq!(ready, "ready\nwarning: the new certificate cannot be used; the log shows the reason\n");
    std::fs::remove_file(dir.path(CERT)).unwrap();
    service.wait_for(|line| line.contains("the certificate fullchain.pem does not exist"));
    assert_eq!(presented(&authority.connect(service.address).unwrap()), first);
    authority.write(&dir);
    service.wait_for(|line| line.contains("the certificate was read again"));
    assert_eq!(metric("appliance_certificate_unusable"), Some(0.0));
    assert_eq!(authority.get(service.address, "/readyz").expect(200).body, "ready\n");
    assert_ne!(presented(&authority.connect(service.address).unwrap()), first);
    // Each reason is logged once.
    let log = service.stop("TERM").succeeded().stderr;
    assert_eq!(log.matches("the new certificate is not used").count(), 2, "{log}");
}

#[test]
fn the_service_logs_once_that_a_certificate_expires_soon() {
    let (dir, authority) = (WorkDir::new(), Authority::new());
    let soon = (SystemTime::now() + 5 * DAY + DAY / 2).into();
    let (certificate, key) = authority.certify(|params| params.not_after = soon);
    write_pair(&dir, &certificate, &key);
    let (mut service, _) = serve(&dir);
    service.wait_for(|line| line.contains("renew the certificate: it has 5 days left"));
    service.signal("HUP");
    authority.write(&dir);
    service.wait_for(|line| line.contains("the certificate was read again"));
    let log = service.stop("TERM").succeeded().stderr;
    assert_eq!(log.matches("renew the certificate").count(), 1, "{log}");
}
