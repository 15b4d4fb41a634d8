//! `serve`: how it starts, what it refuses to start with, and how it stops.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::{Place, connect, read_answer, send_to};

const APPLY: &str = r#"{"roleId":"role_1"}"#;

#[test]
fn it_says_where_it_listens_once_it_answers() {
    let place = Place::new();
    place.imported("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    assert_ne!(serving.address.port(), 0);
    assert_eq!(serving.send("GET", "/healthz", &[], "").expect(200).body, "ok\n");
    assert_eq!(serving.send("GET", "/readyz", &[], "").expect(200).body, "ready\n");
    let apply = serving.send("POST", "/api/public/portal/acme/apply", &[], APPLY).expect(200).json();
    let invite = apply["inviteUrl"].as_str().unwrap();
    assert!(invite.starts_with(&format!("{}/signup/", serving.url())), "{invite}");
    let path = invite.strip_prefix(&serving.url()).unwrap();
    assert!(serving.send("GET", path, &[], "").expect(200).body.contains("Engineer"));
    let url = format!("listening on {}", serving.url());
    let ended = serving.stop("TERM").succeeded();
    assert_eq!(ended.stdout, "");
    assert_eq!(ended.stderr.lines().next(), Some(url.as_str()), "{ended:?}");
}

#[test]
fn a_port_that_is_taken_is_status_1_and_makes_no_file() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let sentence = format!("cannot listen on {address}");
    place.run(&["serve", "--db", "a.db", "--listen", &address]).failed(1, &sentence);
    let metrics = ["serve", "--db", "a.db", "--listen", "127.0.0.1:0", "--metrics-listen", &address];
    place.run(&metrics).failed(1, &sentence);
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn one_service_has_a_file() {
    let place = Place::new();
    let first = place.serve(&["--db", "a.db"]);
    let second = ["serve", "--db", "a.db", "--listen", "127.0.0.1:0"];
    place.run(&second).failed(1, "a.db is in use by another `appliance serve`");
    first.send("GET", "/readyz", &[], "").expect(200);
    // The lock ends with the process, however that ends.
    assert_eq!(first.stop("KILL").code, None);
    let third = place.serve(&["--db", "a.db"]);
    third.stop("TERM").succeeded();
    place.serve(&["--db", "a.db"]).stop("INT").succeeded();
}

#[test]
fn one_service_has_a_file_whatever_it_is_called() {
    let place = Place::new();
    place.admin_key("a.db");
    std::os::unix::fs::symlink(place.path("a.db"), place.path("link.db")).unwrap();
    std::os::unix::fs::symlink("link.db", place.path("second.db")).unwrap();
    std::fs::create_dir(place.path("folder")).unwrap();
    std::os::unix::fs::symlink("..", place.path("folder/up")).unwrap();
    let absolute = place.path("a.db").to_str().unwrap().to_owned();
    let names = ["a.db", "./a.db", "link.db", "second.db", "folder/../a.db", "folder/up/link.db", &absolute];
    for first in ["a.db", "second.db"] {
        let serving = place.serve(&["--db", first]);
        for name in names {
            let second = place.run(&["serve", "--db", name, "--listen", "127.0.0.1:0"]);
            second.failed(1, "is in use by another `appliance serve`");
        }
        serving.send("GET", "/readyz", &[], "").expect(200);
        serving.stop("TERM").succeeded();
    }
    let locks: Vec<String> = place.names().into_iter().filter(|name| name.ends_with(".lock")).collect();
    assert_eq!(locks, ["a.db.lock"]);
}

#[test]
fn every_other_command_works_beside_it() {
    let place = Place::new();
    let serving = place.serve(&["--db", "a.db"]);
    place.imported("a.db");
    place.admin_key("a.db");
    let password = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    place.run_with(&password, &[], b"correct horse battery").succeeded();
    for command in [&["export"][..], &["backup", "copy.db"], &["check"], &["hr-deliveries"]] {
        place.run(&[command, &["--db", "a.db"]].concat()).succeeded();
    }
    serving.sign_in("owner@acme.example", "correct horse battery").expect(200);
}

#[test]
fn it_stops_at_each_of_its_signals_with_everything_in_the_file() {
    for signal in ["TERM", "INT"] {
        let place = Place::new();
        place.imported("a.db");
        let key = place.admin_key("a.db");
        let serving = place.serve(&["--db", "a.db"]);
        let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
        serving.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
        let ended = serving.stop(signal).succeeded();
        assert!(ended.stderr.ends_with("\nstopped"), "{signal}: {ended:?}");
        // The one file is the whole state: nothing is left in a log beside it.
        let wal_bytes = std::fs::metadata(place.path("a.db-wal")).map_or(0, |metadata| metadata.len());
        assert_eq!(wal_bytes, 0, "{signal}");
        std::fs::copy(place.path("a.db"), place.path("alone.db")).unwrap();
        place.run(&["check", "--db", "alone.db"]).succeeded();
        let hired = "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'";
        assert_eq!(place.number("alone.db", hired), 1, "{signal}");
        assert_eq!(place.number("alone.db", "SELECT count(*) FROM api_key_usage"), 1, "{signal}");
    }
}

#[test]
fn a_request_that_has_begun_is_answered_before_it_stops() {
    let place = Place::new();
    place.imported("a.db");
    let mut serving = place.serve(&["--db", "a.db"]);
    let mut stream = connect(serving.address);
    let head = "POST /api/public/portal/acme/apply HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n";
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n", APPLY.len()).as_bytes()).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    // It waits for the body now, so the request has begun for certain.
    serving.signal("TERM");
    serving.wait_for(|line| line.starts_with("stopping"));
    stream.write_all(APPLY.as_bytes()).unwrap();
    let answer = read_answer(&mut stream).expect(200);
    assert!(answer.json()["inviteUrl"].as_str().unwrap().contains("/signup/"), "{answer:?}");
    let ended = serving.ended().succeeded();
    assert!(ended.stderr.ends_with("\nstopped"), "{ended:?}");
    assert_eq!(place.number("a.db", "SELECT count(*) FROM invitations"), 1);
}

#[test]
fn an_idle_connection_does_not_hold_up_the_stop() {
    let place = Place::new();
    let serving = place.serve(&["--db", "a.db"]);
    let mut unused = connect(serving.address);
    let mut kept = connect(serving.address);
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut begin = [0; 15];
    kept.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200 OK");
    let ended = serving.stop("TERM").succeeded();
    assert!(ended.stderr.ends_with("\nstopped"), "{ended:?}");
    let mut rest = Vec::new();
    kept.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(b"ok\n"));
    assert_eq!(unused.read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn what_was_answered_is_there_after_a_kill() {
    let place = Place::new();
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let reject = "/api/v1/candidate-steps/cstep_1_1/reject";
    serving.send("POST", reject, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    serving.get("/api/v1/me", &key).expect(200);
    serving.stop("KILL");
    let serving = place.serve(&["--db", "a.db"]);
    serving.send("POST", reject, &[("Authorization", &format!("Bearer {key}"))], "").expect(409);
    let listed = serving.get("/api/admin/api-keys", &key).expect(200).json();
    assert_eq!(listed["data"][0]["requestCount"], 3);
    serving.stop("TERM").succeeded();
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn listening_everywhere_without_a_base_url_is_warned_about() {
    let place = Place::new();
    let everywhere = ["--db", "a.db", "--listen", "0.0.0.0:0"];
    let ended = place.serve(&everywhere).stop("TERM").succeeded();
    let warning = ended.stderr.lines().find(|line| line.starts_with("warning: ")).unwrap_or_default();
    assert!(warning.contains("--base-url") && warning.contains("every interface"), "{ended:?}");
    let named = [&everywhere[..], &["--base-url", "https://jobs.example.com"]].concat();
    let ended = place.serve(&named).stop("TERM").succeeded();
    assert!(!ended.stderr.contains("warning"), "{ended:?}");
    let ended = place.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    assert!(!ended.stderr.contains("warning"), "{ended:?}");
}

#[test]
fn a_proxy_that_must_be_there_and_is_not_trusted_is_warned_about_at_the_start() {
    let place = Place::new();
    let warning = |args: &[&str]| {
        let ended = place.serve(&[&["--db", "a.db"], args].concat()).stop("TERM").succeeded();
        ended.stderr.lines().find(|line| line.starts_with("warning: ")).map(str::to_owned)
    };
    let https = ["--base-url", "https://jobs.example.com"];
    let warned = warning(&https).expect("nobody can reach it but through a proxy");
    assert!(warned.contains("--trusted-proxy 127.0.0.1/32") && warned.contains("loopback"), "{warned}");
    assert_eq!(warning(&[&https[..], &["--trusted-proxy", "10.0.0.0/8"]].concat()), None);
    assert_eq!(warning(&[&https[..], &["--listen", "0.0.0.0:0"]].concat()), None);
    assert_eq!(warning(&["--base-url", "http://127.0.0.1:8080"]), None);
}

#[test]
fn a_proxy_that_is_not_trusted_is_reported_once() {
    let place = Place::new();
    let key = place.admin_key("a.db");
    let reports = |args: &[&str], headers: &[(&str, &str)]| {
        let serving = place.serve(&[&["--db", "a.db"], args].concat());
        let authorization = format!("Bearer {key}");
        for _ in 0..3 {
            let headers = [headers, &[("Authorization", authorization.as_str())]].concat();
            for path in ["/api/v1/me", "/api/admin/api-keys"] {
                serving.send("GET", path, &headers, "").expect(200);
            }
        }
        let ended = serving.stop("TERM").succeeded();
        assert!(!ended.stderr.contains("192.0.2.7"), "{ended:?}");
        ended.stderr.lines().filter(|line| line.contains("add --trusted-proxy 127.0.0.1")).count()
    };
    for name in ["X-Forwarded-For", "Forwarded", "X-Real-IP"] {
        assert_eq!(reports(&[], &[(name, "192.0.2.7")]), 1, "{name}");
    }
    assert_eq!(reports(&[], &[]), 0);
    assert_eq!(reports(&["--trusted-proxy", "127.0.0.1/32"], &[("X-Forwarded-For", "192.0.2.7")]), 0);
}

#[test]
fn links_are_built_on_the_base_url() {
    let place = Place::new();
    place.imported("a.db");
    for (base_url, begin) in [
        ("https://jobs.example.com", "https://jobs.example.com/signup/"),
        ("https://jobs.example.com/", "https://jobs.example.com/signup/"),
        ("http://127.0.0.1:8443", "http://127.0.0.1:8443/signup/"),
    ] {
        let serving = place.serve(&["--db", "a.db", "--base-url", base_url]);
        // Not on what a client says the host is.
        let headers = [("X-Forwarded-Host", "evil.example"), ("Forwarded", "host=evil.example")];
        let apply = serving.send("POST", "/api/public/portal/acme/apply", &headers, APPLY).expect(200).json();
        let invite = apply["inviteUrl"].as_str().unwrap().to_owned();
        assert!(invite.starts_with(begin), "{invite}");
    }
}

#[test]
fn the_rate_limit_is_what_the_flag_says() {
    let place = Place::new();
    let key = place.admin_key("a.db");
    for (args, policy) in [
        (&[][..], Some("\"default\";q=1200;w=60")),
        (&["--rate-limit", "5"], Some("\"default\";q=5;w=60")),
        (&["--rate-limit", "0"], None),
    ] {
        let serving = place.serve(&[&["--db", "a.db"], args].concat());
        assert_eq!(serving.get("/api/v1/me", &key).expect(200).header("ratelimit-policy"), policy);
    }
}

#[test]
fn metrics_have_an_address_of_their_own() {
    let place = Place::new();
    let key = place.admin_key("a.db");
    let mut serving = place.serve(&["--db", "a.db", "--metrics-listen", "127.0.0.1:0"]);
    serving.get("/api/v1/me", &key).expect(200);
    serving.get("/token-in-a-path", "rpk_wrong").expect(404);
    let line = serving.wait_for(|line| line.starts_with("metrics on http://"));
    let address = line.strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let address = address.parse().unwrap();
    let metrics = send_to(address, "GET", "/metrics", &[], "").expect(200);
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for series in [
        r#"appliance_request_duration_seconds_count{method="GET",route="/api/v1/me",status="200"} 1"#,
        r#"appliance_request_duration_seconds_count{method="GET",route="-",status="404"} 1"#,
        "appliance_wal_bytes ",
        "appliance_disk_free_bytes ",
        "appliance_disk_full 0",
        "appliance_attachment_bytes 0",
        "appliance_usage_rows_owed 0",
    ] {
        assert!(metrics.body.contains(series), "{series}: {}", metrics.body);
    }
    assert!(!metrics.body.contains("token-in-a-path") && !metrics.body.contains("rpk_"), "{}", metrics.body);
    for path in ["/", "/api/v1/me", "/healthz"] {
        send_to(address, "GET", path, &[], "").expect(404);
    }
    serving.send("GET", "/metrics", &[], "").expect(404);
    let off = place.serve(&["--db", "b.db"]).stop("TERM").succeeded();
    assert!(!off.stderr.contains("metrics"), "{off:?}");
}

#[test]
fn contacts_for_security_reports_come_from_the_flag() {
    let place = Place::new();
    let path = "/.well-known/security.txt";
    place.serve(&["--db", "a.db"]).send("GET", path, &[], "").expect(404);
    let flags = ["--db", "a.db", "--security-contact", "a@example.com", "--security-contact", "https://example.com/s"];
    let text = place.serve(&flags).send("GET", path, &[], "").expect(200).body;
    let contacts: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("Contact: ")).collect();
    assert_eq!(contacts, ["mailto:a@example.com", "https://example.com/s"]);
    assert!(text.contains("\nExpires: "), "{text}");
    let variables = [("APPLIANCE_SECURITY_CONTACT", "a@example.com,tel:+1-201-555-0123")];
    let text = place.serve_with(&["--db", "a.db"], &variables).send("GET", path, &[], "").expect(200).body;
    assert!(text.starts_with("Contact: mailto:a@example.com\nContact: tel:+1-201-555-0123\nExpires: "), "{text}");
}
