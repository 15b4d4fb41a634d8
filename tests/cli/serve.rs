//! `serve`: how it starts, when it refuses to start, what its options change, and how it stops.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::{WorkDir, connect, read_answer, send_to};

const APPLY: &str = r#"{"roleId":"role_1"}"#;

#[test]
fn serve_prints_its_address_when_it_accepts_requests() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    assert_ne!(service.address.port(), 0);
    assert_eq!(service.send("GET", "/healthz", &[], "").expect(200).body, "ok\n");
    assert_eq!(service.send("GET", "/readyz", &[], "").expect(200).body, "ready\n");
    let apply = service.send("POST", "/api/public/portal/acme/apply", &[], APPLY).expect(200).json();
    let invite = apply["inviteUrl"].as_str().unwrap();
    assert!(invite.starts_with(&format!("{}/signup/", service.url())), "{invite}");
    let path = invite.strip_prefix(&service.url()).unwrap();
    assert!(service.send("GET", path, &[], "").expect(200).body.contains("Engineer"));
    let url = format!("listening on {}", service.url());
    let output = service.stop("TERM").succeeded();
    assert_eq!(output.stdout, "");
    assert_eq!(output.stderr.lines().next(), Some(url.as_str()), "{output:?}");
}

#[test]
fn serve_on_a_taken_port_ends_with_exit_status_1_and_creates_no_file() {
    let dir = WorkDir::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let sentence = format!("cannot listen on {address}");
    dir.run(&["serve", "--db", "a.db", "--listen", &address]).failed(1, &sentence);
    let metrics = ["serve", "--db", "a.db", "--listen", "127.0.0.1:0", "--metrics-listen", &address];
    dir.run(&metrics).failed(1, &sentence);
    assert_eq!(dir.names(), Vec::<String>::new());
}

#[test]
fn a_second_service_on_a_file_is_refused() {
    let dir = WorkDir::new();
    let first = dir.serve(&["--db", "a.db"]);
    let second = ["serve", "--db", "a.db", "--listen", "127.0.0.1:0"];
    dir.run(&second).failed(1, "a.db is in use by another process, such as `appliance serve`");
    first.send("GET", "/readyz", &[], "").expect(200);
    // The lock is released when the process ends, even after a kill.
    assert_eq!(first.stop("KILL").code, None);
    let third = dir.serve(&["--db", "a.db"]);
    third.stop("TERM").succeeded();
    dir.serve(&["--db", "a.db"]).stop("INT").succeeded();
}

#[test]
fn a_second_service_on_a_file_is_refused_under_any_name() {
    let dir = WorkDir::new();
    dir.admin_key("a.db");
    std::os::unix::fs::symlink(dir.path("a.db"), dir.path("link.db")).unwrap();
    std::os::unix::fs::symlink("link.db", dir.path("second.db")).unwrap();
    std::fs::create_dir(dir.path("folder")).unwrap();
    std::os::unix::fs::symlink("..", dir.path("folder/up")).unwrap();
    let absolute = dir.path("a.db").to_str().unwrap().to_owned();
    let names = ["a.db", "./a.db", "link.db", "second.db", "folder/../a.db", "folder/up/link.db", &absolute];
    for first in ["a.db", "second.db"] {
        let service = dir.serve(&["--db", first]);
        for name in names {
            let second = dir.run(&["serve", "--db", name, "--listen", "127.0.0.1:0"]);
            second.failed(1, "is in use by another process, such as `appliance serve`");
        }
        service.send("GET", "/readyz", &[], "").expect(200);
        service.stop("TERM").succeeded();
    }
    let locks: Vec<String> = dir.names().into_iter().filter(|name| name.ends_with(".lock")).collect();
    assert_eq!(locks, ["a.db.lock"]);
}

#[test]
fn commands_work_while_a_service_runs() {
    let dir = WorkDir::new();
    let service = dir.serve(&["--db", "a.db"]);
    dir.imported("a.db");
    dir.admin_key("a.db");
    let password = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    dir.run_with(&password, &[], b"correct horse battery").succeeded();
    for command in [&["export"][..], &["backup", "copy.db"], &["check"], &["hr-deliveries"]] {
        dir.run(&[command, &["--db", "a.db"]].concat()).succeeded();
    }
    service.sign_in("owner@acme.example", "correct horse battery").expect(200);
}

#[test]
fn serve_stops_on_each_signal_with_all_changes_in_the_file() {
    for signal in ["TERM", "INT"] {
        let dir = WorkDir::new();
        dir.imported("a.db");
        let key = dir.admin_key("a.db");
        let service = dir.serve(&["--db", "a.db"]);
        let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
        service.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
        let output = service.stop(signal).succeeded();
        assert!(output.stderr.ends_with("\nstopped"), "{signal}: {output:?}");
        // The write-ahead log is empty, so the file alone is the complete state.
        let wal_bytes = std::fs::metadata(dir.path("a.db-wal")).map_or(0, |metadata| metadata.len());
        assert_eq!(wal_bytes, 0, "{signal}");
        std::fs::copy(dir.path("a.db"), dir.path("alone.db")).unwrap();
        dir.run(&["check", "--db", "alone.db"]).succeeded();
        let hired = "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'";
        assert_eq!(dir.number("alone.db", hired), 1, "{signal}");
        assert_eq!(dir.number("alone.db", "SELECT count(*) FROM api_key_usage"), 1, "{signal}");
    }
}

#[test]
fn serve_answers_running_requests_before_it_stops() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let mut service = dir.serve(&["--db", "a.db"]);
    let mut stream = connect(service.address);
    let head = "POST /api/public/portal/acme/apply HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n";
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n", APPLY.len()).as_bytes()).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    // The service now waits for the body, so it has begun to handle the request.
    service.signal("TERM");
    service.wait_for(|line| line.starts_with("stopping"));
    stream.write_all(APPLY.as_bytes()).unwrap();
    let answer = read_answer(&mut stream).expect(200);
    assert!(answer.json()["inviteUrl"].as_str().unwrap().contains("/signup/"), "{answer:?}");
    let output = service.wait().succeeded();
    assert!(output.stderr.ends_with("\nstopped"), "{output:?}");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM invitations"), 1);
}

#[test]
fn an_idle_connection_does_not_delay_the_stop() {
    let dir = WorkDir::new();
    let service = dir.serve(&["--db", "a.db"]);
    let mut unused = connect(service.address);
    let mut used = connect(service.address);
    used.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut begin = [0; 15];
    used.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200 OK");
    let output = service.stop("TERM").succeeded();
    assert!(output.stderr.ends_with("\nstopped"), "{output:?}");
    let mut rest = Vec::new();
    used.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(b"ok\n"));
    assert_eq!(unused.read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn answered_changes_survive_a_kill() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let reject = "/api/v1/candidate-steps/cstep_1_1/reject";
    service.send("POST", reject, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    service.get("/api/v1/me", &key).expect(200);
    service.stop("KILL");
    let service = dir.serve(&["--db", "a.db"]);
    service.send("POST", reject, &[("Authorization", &format!("Bearer {key}"))], "").expect(409);
    let listed = service.get("/api/admin/api-keys", &key).expect(200).json();
    assert_eq!(listed["data"][0]["requestCount"], 3);
    service.stop("TERM").succeeded();
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn listening_on_all_interfaces_without_a_base_url_causes_a_warning() {
    let dir = WorkDir::new();
    let everywhere = ["--db", "a.db", "--listen", "0.0.0.0:0"];
    let output = dir.serve(&everywhere).stop("TERM").succeeded();
    let warning = output.stderr.lines().find(|line| line.starts_with("warning: ")).unwrap_or_default();
    assert!(warning.contains("--base-url") && warning.contains("every interface"), "{output:?}");
    let named = [&everywhere[..], &["--base-url", "https://jobs.example.com"]].concat();
    let output = dir.serve(&named).stop("TERM").succeeded();
    assert!(!output.stderr.contains("warning"), "{output:?}");
    let output = dir.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    assert!(!output.stderr.contains("warning"), "{output:?}");
}

#[test]
fn a_required_proxy_that_is_not_trusted_causes_a_warning_at_the_start() {
    let dir = WorkDir::new();
    let warning = |args: &[&str]| {
        let output = dir.serve(&[&["--db", "a.db"], args].concat()).stop("TERM").succeeded();
        output.stderr.lines().find(|line| line.starts_with("warning: ")).map(str::to_owned)
    };
    let https = ["--base-url", "https://jobs.example.com"];
    let warned = warning(&https).expect("the service warns, because only a proxy can reach it");
    assert!(warned.contains("--trusted-proxy 127.0.0.1/32") && warned.contains("loopback"), "{warned}");
    assert_eq!(warning(&[&https[..], &["--trusted-proxy", "10.0.0.0/8"]].concat()), None);
    assert_eq!(warning(&[&https[..], &["--listen", "0.0.0.0:0"]].concat()), None);
    assert_eq!(warning(&["--base-url", "http://127.0.0.1:8080"]), None);
}

#[test]
fn an_untrusted_proxy_is_logged_once() {
    let dir = WorkDir::new();
    let key = dir.admin_key("a.db");
    let reports = |args: &[&str], headers: &[(&str, &str)]| {
        let service = dir.serve(&[&["--db", "a.db"], args].concat());
        let authorization = format!("Bearer {key}");
        for _ in 0..3 {
            let headers = [headers, &[("Authorization", authorization.as_str())]].concat();
            for path in ["/api/v1/me", "/api/admin/api-keys"] {
                service.send("GET", path, &headers, "").expect(200);
            }
        }
        let output = service.stop("TERM").succeeded();
        assert!(!output.stderr.contains("192.0.2.7"), "{output:?}");
        output.stderr.lines().filter(|line| line.contains("add --trusted-proxy 127.0.0.1")).count()
    };
    for name in ["X-Forwarded-For", "Forwarded", "X-Real-IP"] {
        assert_eq!(reports(&[], &[(name, "192.0.2.7")]), 1, "{name}");
    }
    assert_eq!(reports(&[], &[]), 0);
    assert_eq!(reports(&["--trusted-proxy", "127.0.0.1/32"], &[("X-Forwarded-For", "192.0.2.7")]), 0);
}

#[test]
fn links_begin_with_the_base_url() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    for (base_url, begin) in [
        ("https://jobs.example.com", "https://jobs.example.com/signup/"),
        ("https://jobs.example.com/", "https://jobs.example.com/signup/"),
        ("http://127.0.0.1:8443", "http://127.0.0.1:8443/signup/"),
    ] {
        let service = dir.serve(&["--db", "a.db", "--base-url", base_url]);
        // Header fields of the client do not change the host.
        let headers = [("X-Forwarded-Host", "evil.example"), ("Forwarded", "host=evil.example")];
        let apply = service.send("POST", "/api/public/portal/acme/apply", &headers, APPLY).expect(200).json();
        let invite = apply["inviteUrl"].as_str().unwrap().to_owned();
        assert!(invite.starts_with(begin), "{invite}");
    }
}

#[test]
fn the_flag_sets_the_rate_limit() {
    let dir = WorkDir::new();
    let key = dir.admin_key("a.db");
    for (args, policy) in [
        (&[][..], Some("\"default\";q=1200;w=60")),
        (&["--rate-limit", "5"], Some("\"default\";q=5;w=60")),
        (&["--rate-limit", "0"], None),
    ] {
        let service = dir.serve(&[&["--db", "a.db"], args].concat());
        assert_eq!(service.get("/api/v1/me", &key).expect(200).header("ratelimit-policy"), policy);
    }
}

#[test]
fn metrics_have_their_own_address() {
    let dir = WorkDir::new();
    let key = dir.admin_key("a.db");
    let mut service = dir.serve(&["--db", "a.db", "--metrics-listen", "127.0.0.1:0"]);
    service.get("/api/v1/me", &key).expect(200);
    service.get("/token-in-a-path", "rpk_wrong").expect(404);
    let line = service.wait_for(|line| line.starts_with("metrics on http://"));
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
    service.send("GET", "/metrics", &[], "").expect(404);
    let off = dir.serve(&["--db", "b.db"]).stop("TERM").succeeded();
    assert!(!off.stderr.contains("metrics"), "{off:?}");
}

#[test]
fn contacts_for_security_reports_come_from_the_flag_or_its_variable() {
    let dir = WorkDir::new();
    let path = "/.well-known/security.txt";
    dir.serve(&["--db", "a.db"]).send("GET", path, &[], "").expect(404);
    let flags = ["--db", "a.db", "--security-contact", "a@example.com", "--security-contact", "https://example.com/s"];
    let text = dir.serve(&flags).send("GET", path, &[], "").expect(200).body;
    let contacts: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("Contact: ")).collect();
    assert_eq!(contacts, ["mailto:a@example.com", "https://example.com/s"]);
    assert!(text.contains("\nExpires: "), "{text}");
    let variables = [("APPLIANCE_SECURITY_CONTACT", "a@example.com,tel:+1-201-555-0123")];
    let text = dir.serve_with(&["--db", "a.db"], &variables).send("GET", path, &[], "").expect(200).body;
    assert!(text.starts_with("Contact: mailto:a@example.com\nContact: tel:+1-201-555-0123\nExpires: "), "{text}");
}

#[test]
fn sighup_without_a_certificate_does_not_end_the_service() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let mut service = dir.serve(&["--db", "a.db"]);
    for _ in 0..2 {
        service.signal("HUP");
        service.wait_for(|line| line.contains("SIGHUP has no effect, because the service has no certificate"));
        service.send("GET", "/readyz", &[], "").expect(200);
    }
    service.stop("TERM").succeeded();
}
