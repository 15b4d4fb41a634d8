//! Name resolution of targets: one lookup per attempt. The service connects only to the addresses in the answer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::hr_guard::{guarded, with_scripted_network};
use crate::hr_send::{after_attempts, hire_for};
use crate::support::app::Hr;
use crate::support::{App, Behaviour, Receiver};

crate::tests![
    a_request_to_the_resolved_address_names_the_host_of_the_url,
    an_attempt_fails_if_the_name_resolves_to_a_special_address,
    an_answer_with_one_special_address_is_refused_as_a_whole,
    a_name_that_looks_like_an_address_is_resolved,
    the_service_connects_to_a_public_address_as_written,
    a_second_address_is_tried_when_the_first_refuses_the_connection,
    at_most_four_addresses_are_tried,
    an_address_that_hangs_leaves_time_for_the_next,
    an_attempt_fails_if_the_name_has_no_address_and_its_error_says_why,
    a_redirect_to_a_special_address_is_not_followed,
];

/// Asserts that the last attempt failed because the service refuses this address.
#[track_caller]
fn assert_refused(delivery: &Value, ip: &str) {
    let error = delivery["lastAttempt"]["error"].as_str().unwrap();
    assert!(error.starts_with(&format!("refused: the host's address {ip} is ")), "{error}");
    assert_eq!(delivery["lastAttempt"]["status"], Value::Null);
}

/// Advances the clock by the `nth` delay of the schedule, including its jitter.
fn pass_delay(app: &App, nth: usize) {
    app.pass([6, 331, 1_981][nth]);
}

fn a_request_to_the_resolved_address_names_the_host_of_the_url() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    network.redirect("8.8.8.8", Some(receiver.address));
    for (nth, (url, port, host)) in [
        ("http://hr.example.com/x", 80, "hr.example.com"),
        ("http://hr.example.com:80/x", 80, "hr.example.com:80"),
        ("http://hr.example.com:8080/x", 8_080, "hr.example.com:8080"),
        ("http://HR.example.com./x", 80, "HR.example.com."),
    ]
    .into_iter()
    .enumerate()
    {
        let name = host.split(':').next().unwrap();
        network.name(name, &[&["8.8.8.8"]]);
        assert_eq!(after_attempts(&app, &hire_for(&app, url), 1)["state"], "delivered", "{url}");
        assert_eq!(network.looked_up()[nth..], [name]);
        assert_eq!(network.connected()[nth..], [format!("8.8.8.8:{port}")]);
        assert_eq!(receiver.wait_for(nth + 1)[nth].header("host"), host);
    }
}

fn an_attempt_fails_if_the_name_resolves_to_a_special_address() {
    // Each array contains, for each attempt, the address to which the name resolves.
    for answers in
        [["8.8.8.8", "127.0.0.1", "8.8.8.8"], ["127.0.0.1", "8.8.8.8", "::1"], ["8.8.8.8", "fd00::1", "10.0.0.1"]]
    {
        let ((app, network), receiver) = (guarded(), Receiver::start());
        receiver.will([Behaviour::status(500)]);
        for ip in answers {
            network.redirect(ip, Some(receiver.address));
        }
        network.name("hr.example.com", &answers.each_ref().map(std::slice::from_ref));
        let id = hire_for(&app, "http://hr.example.com:9/");
        for (nth, ip) in answers.into_iter().enumerate() {
            let delivery = after_attempts(&app, &id, nth as u64 + 1);
            match ip {
                "8.8.8.8" => assert_eq!(delivery["lastAttempt"]["status"], 500, "{answers:?} {nth}"),
                _ => assert_refused(&delivery, ip),
            }
            assert_eq!(network.looked_up().len(), nth + 1, "one lookup per attempt");
            pass_delay(&app, nth);
        }
        after_attempts(&app, &id, 4);
        let public = answers.iter().filter(|ip| **ip == "8.8.8.8").count() + usize::from(answers[2] == "8.8.8.8");
        assert_eq!(network.connected(), vec!["8.8.8.8:9"; public]);
    }
}

fn an_answer_with_one_special_address_is_refused_as_a_whole() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    network.redirect("8.8.8.8", Some(receiver.address));
    network.redirect("127.0.0.1", Some(receiver.address));
    for (name, answer, special) in [
        ("last.example.com", &["8.8.8.8", "127.0.0.1"][..], "127.0.0.1"),
        ("first.example.com", &["127.0.0.1", "8.8.8.8"], "127.0.0.1"),
        // The answer has more addresses than the service tries.
        ("sixth.example.com", &["8.8.8.8", "8.8.8.8", "8.8.8.8", "8.8.8.8", "8.8.8.8", "10.0.0.1"], "10.0.0.1"),
        ("mapped.example.com", &["8.8.8.8", "::ffff:169.254.169.254"], "::ffff:169.254.169.254"),
        ("six.example.com", &["2001:4860:4860::8888", "::1"], "::1"),
    ] {
        network.name(name, &[answer]);
        assert_refused(&after_attempts(&app, &hire_for(&app, &format!("http://{name}/")), 1), special);
    }
    assert_eq!((network.connected(), receiver.connections()), (Vec::new(), 0));
    network.name("public.example.com", &[&["8.8.8.8", "8.8.4.4"]]);
    assert_eq!(after_attempts(&app, &hire_for(&app, "http://public.example.com/"), 1)["state"], "delivered");
}

fn a_name_that_looks_like_an_address_is_resolved() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    network.redirect("8.8.8.8", Some(receiver.address));
    for (nth, name) in ["127.0.0.1.nip.example", "10.0.0.1.example", "localhost.example.com"].into_iter().enumerate() {
        network.name(name, &[&["8.8.8.8"]]);
        assert_eq!(
            after_attempts(&app, &hire_for(&app, &format!("http://{name}/")), 1)["state"],
            "delivered",
            "{name}"
        );
        assert_eq!(receiver.wait_for(nth + 1)[nth].header("host"), name);
    }
    for (name, ip) in [("8.8.8.8.nip.example", "127.0.0.1"), ("public.example.com", "192.168.0.1")] {
        network.name(name, &[&[ip]]);
        assert_refused(&after_attempts(&app, &hire_for(&app, &format!("http://{name}/")), 1), ip);
    }
    assert_eq!(network.connected(), ["8.8.8.8:80"; 3]);
}

fn the_service_connects_to_a_public_address_as_written() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    for (nth, (host, ip)) in [
        ("8.8.8.8", "8.8.8.8"),
        ("[2001:4860:4860::8888]", "2001:4860:4860::8888"),
        ("[::ffff:8.8.8.8]", "::ffff:8.8.8.8"),
        ("[64:ff9b::8.8.8.8]", "64:ff9b::808:808"),
    ]
    .into_iter()
    .enumerate()
    {
        network.redirect(ip, Some(receiver.address));
        network.name(host.trim_matches(['[', ']']), &[&[ip]]);
        assert_eq!(
            after_attempts(&app, &hire_for(&app, &format!("http://{host}:8/")), 1)["state"],
            "delivered",
            "{host}"
        );
        let expected = if ip.contains(':') { format!("[{ip}]:8") } else { format!("{ip}:8") };
        assert_eq!(network.connected()[nth..], [expected]);
        assert_eq!(receiver.wait_for(nth + 1)[nth].header("host"), format!("{host}:8"));
    }
}

/// An address of this machine where no process listens.
const NOBODY: &str = "127.0.0.1:1";

fn a_second_address_is_tried_when_the_first_refuses_the_connection() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    network.redirect("8.8.8.8", Some(NOBODY.parse().unwrap()));
    network.redirect("8.8.4.4", Some(receiver.address));
    network.name("hr.example.com", &[&["8.8.8.8", "8.8.4.4"]]);
    assert_eq!(after_attempts(&app, &hire_for(&app, "http://hr.example.com/"), 1)["state"], "delivered");
    assert_eq!(network.connected(), ["8.8.8.8:80", "8.8.4.4:80"]);
}

fn at_most_four_addresses_are_tried() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    for ip in ["8.0.0.1", "8.0.0.2", "8.0.0.3", "8.0.0.4"] {
        network.redirect(ip, Some(NOBODY.parse().unwrap()));
    }
    network.redirect("8.0.0.5", Some(receiver.address));
    network.name("five.example.com", &[&["8.0.0.1", "8.0.0.2", "8.0.0.3", "8.0.0.4", "8.0.0.5"]]);
    network.name("four.example.com", &[&["8.0.0.1", "8.0.0.2", "8.0.0.3", "8.0.0.5"]]);
    let failed = after_attempts(&app, &hire_for(&app, "http://five.example.com/"), 1);
    let error = failed["lastAttempt"]["error"].as_str().unwrap();
    assert!(error.starts_with("no connection to 8.0.0.1:80: "), "{error}");
    assert_eq!((network.connected().len(), receiver.connections()), (4, 0));
    assert_eq!(after_attempts(&app, &hire_for(&app, "http://four.example.com/"), 1)["state"], "delivered");
}

fn an_address_that_hangs_leaves_time_for_the_next() {
    let (app, network) =
        with_scripted_network(&Hr { allow_private: false, timeout: Duration::from_secs(6), ..Hr::default() });
    let receiver = Receiver::start();
    network.redirect("8.8.8.8", None);
    network.redirect("8.8.4.4", Some(receiver.address));
    network.name("hr.example.com", &[&["8.8.8.8", "8.8.4.4"]]);
    assert_eq!(after_attempts(&app, &hire_for(&app, "http://hr.example.com/"), 1)["state"], "delivered");
    assert_eq!(network.connected(), ["8.8.8.8:80", "8.8.4.4:80"]);
}

fn an_attempt_fails_if_the_name_has_no_address_and_its_error_says_why() {
    let (app, network) = guarded();
    network.name("hr.example.com", &[&[]]);
    let failed = after_attempts(&app, &hire_for(&app, "http://hr.example.com/"), 1);
    assert_eq!(failed["lastAttempt"]["error"], json!("the host has no address"));
}

fn a_redirect_to_a_special_address_is_not_followed() {
    let ((app, network), receiver, trap) = (guarded(), Receiver::start(), Receiver::start());
    network.redirect("8.8.8.8", Some(receiver.address));
    network.name("hr.example.com", &[&["8.8.8.8"]]);
    for status in [301, 307] {
        receiver.will([Behaviour::Answer(status, vec![("Location", trap.url("/"))], Vec::new())]);
        let failed = after_attempts(&app, &hire_for(&app, "http://hr.example.com/"), 1);
        assert_eq!(failed["lastAttempt"]["status"], status);
    }
    assert_eq!((network.connected(), trap.connections()), (vec!["8.8.8.8:80".to_owned(); 2], 0));
}
