//! What name servers say of a target: it is asked for once an attempt, and the connection goes where the answer says, or
//! nowhere.

use std::time::Duration;

use serde_json::{Value, json};

use crate::hr_guard::{guarded, watched};
use crate::hr_send::{after, hire_for};
use crate::support::app::Hr;
use crate::support::{App, Behaviour, Receiver};

crate::tests![
    the_connection_goes_where_the_name_leads_and_the_request_names_the_host,
    a_name_that_turns_into_a_special_address_is_refused_at_that_attempt,
    an_answer_with_one_special_address_is_refused_whole,
    a_name_that_looks_like_an_address_is_a_name,
    a_public_address_is_connected_to_as_it_is_written,
    a_second_address_is_tried_where_the_first_takes_no_connection,
    four_addresses_are_tried_at_most,
    an_address_that_hangs_leaves_time_for_the_next,
    a_name_without_an_address_fails_with_the_reason,
    a_redirect_to_a_special_address_leads_nowhere,
];

/// What the attempt that there was so far says, and that it was refused for an address.
#[track_caller]
fn assert_refused(delivery: &Value, ip: &str) {
    let error = delivery["lastAttempt"]["error"].as_str().unwrap();
    assert!(error.starts_with(&format!("refused: the host's address {ip} is ")), "{error}");
    assert_eq!(delivery["lastAttempt"]["status"], Value::Null);
}

/// The time until the `nth` delay of the schedule is over, jitter and all.
fn pass_delay(app: &App, nth: usize) {
    app.pass([6, 331, 1_981][nth]);
}

fn the_connection_goes_where_the_name_leads_and_the_request_names_the_host() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    network.lead("8.8.8.8", Some(receiver.address));
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
        assert_eq!(after(&app, &hire_for(&app, url), 1)["state"], "delivered", "{url}");
        assert_eq!(network.looked_up()[nth..], [name]);
        assert_eq!(network.connected()[nth..], [format!("8.8.8.8:{port}")]);
        assert_eq!(receiver.wait_for(nth + 1)[nth].header("host"), host);
    }
}

fn a_name_that_turns_into_a_special_address_is_refused_at_that_attempt() {
    // What the name leads to at each attempt.
    for answers in
        [["8.8.8.8", "127.0.0.1", "8.8.8.8"], ["127.0.0.1", "8.8.8.8", "::1"], ["8.8.8.8", "fd00::1", "10.0.0.1"]]
    {
        let ((app, network), receiver) = (guarded(), Receiver::start());
        receiver.will([Behaviour::status(500)]);
        for ip in answers {
            network.lead(ip, Some(receiver.address));
        }
        network.name("hr.example.com", &answers.each_ref().map(std::slice::from_ref));
        let id = hire_for(&app, "http://hr.example.com:9/");
        for (nth, ip) in answers.into_iter().enumerate() {
            let delivery = after(&app, &id, nth as u64 + 1);
            match ip {
                "8.8.8.8" => assert_eq!(delivery["lastAttempt"]["status"], 500, "{answers:?} {nth}"),
                _ => assert_refused(&delivery, ip),
            }
            assert_eq!(network.looked_up().len(), nth + 1, "one look-up an attempt");
            pass_delay(&app, nth);
        }
        after(&app, &id, 4);
        let public = answers.iter().filter(|ip| **ip == "8.8.8.8").count() + usize::from(answers[2] == "8.8.8.8");
        assert_eq!(network.connected(), vec!["8.8.8.8:9"; public]);
    }
}

fn an_answer_with_one_special_address_is_refused_whole() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    network.lead("8.8.8.8", Some(receiver.address));
    network.lead("127.0.0.1", Some(receiver.address));
    for (name, answer, special) in [
        ("last.example.com", &["8.8.8.8", "127.0.0.1"][..], "127.0.0.1"),
        ("first.example.com", &["127.0.0.1", "8.8.8.8"], "127.0.0.1"),
        // More than are ever tried.
        ("sixth.example.com", &["8.8.8.8", "8.8.8.8", "8.8.8.8", "8.8.8.8", "8.8.8.8", "10.0.0.1"], "10.0.0.1"),
        ("mapped.example.com", &["8.8.8.8", "::ffff:169.254.169.254"], "::ffff:169.254.169.254"),
        ("six.example.com", &["2001:4860:4860::8888", "::1"], "::1"),
    ] {
        network.name(name, &[answer]);
        assert_refused(&after(&app, &hire_for(&app, &format!("http://{name}/")), 1), special);
    }
    assert_eq!((network.connected(), receiver.connections()), (Vec::new(), 0));
    network.name("public.example.com", &[&["8.8.8.8", "8.8.4.4"]]);
    assert_eq!(after(&app, &hire_for(&app, "http://public.example.com/"), 1)["state"], "delivered");
}

fn a_name_that_looks_like_an_address_is_a_name() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    network.lead("8.8.8.8", Some(receiver.address));
    for (nth, name) in ["127.0.0.1.nip.example", "10.0.0.1.example", "localhost.example.com"].into_iter().enumerate() {
        network.name(name, &[&["8.8.8.8"]]);
        assert_eq!(after(&app, &hire_for(&app, &format!("http://{name}/")), 1)["state"], "delivered", "{name}");
        assert_eq!(receiver.wait_for(nth + 1)[nth].header("host"), name);
    }
    for (name, ip) in [("8.8.8.8.nip.example", "127.0.0.1"), ("public.example.com", "192.168.0.1")] {
        network.name(name, &[&[ip]]);
        assert_refused(&after(&app, &hire_for(&app, &format!("http://{name}/")), 1), ip);
    }
    assert_eq!(network.connected(), ["8.8.8.8:80"; 3]);
}

fn a_public_address_is_connected_to_as_it_is_written() {
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
        network.lead(ip, Some(receiver.address));
        network.name(host.trim_matches(['[', ']']), &[&[ip]]);
        assert_eq!(after(&app, &hire_for(&app, &format!("http://{host}:8/")), 1)["state"], "delivered", "{host}");
        let expected = if ip.contains(':') { format!("[{ip}]:8") } else { format!("{ip}:8") };
        assert_eq!(network.connected()[nth..], [expected]);
        assert_eq!(receiver.wait_for(nth + 1)[nth].header("host"), format!("{host}:8"));
    }
}

/// An address of this machine on which nobody listens.
const NOBODY: &str = "127.0.0.1:1";

fn a_second_address_is_tried_where_the_first_takes_no_connection() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    network.lead("8.8.8.8", Some(NOBODY.parse().unwrap()));
    network.lead("8.8.4.4", Some(receiver.address));
    network.name("hr.example.com", &[&["8.8.8.8", "8.8.4.4"]]);
    assert_eq!(after(&app, &hire_for(&app, "http://hr.example.com/"), 1)["state"], "delivered");
    assert_eq!(network.connected(), ["8.8.8.8:80", "8.8.4.4:80"]);
}

fn four_addresses_are_tried_at_most() {
    let ((app, network), receiver) = (guarded(), Receiver::start());
    for ip in ["8.0.0.1", "8.0.0.2", "8.0.0.3", "8.0.0.4"] {
        network.lead(ip, Some(NOBODY.parse().unwrap()));
    }
    network.lead("8.0.0.5", Some(receiver.address));
    network.name("five.example.com", &[&["8.0.0.1", "8.0.0.2", "8.0.0.3", "8.0.0.4", "8.0.0.5"]]);
    network.name("four.example.com", &[&["8.0.0.1", "8.0.0.2", "8.0.0.3", "8.0.0.5"]]);
    let failed = after(&app, &hire_for(&app, "http://five.example.com/"), 1);
    let error = failed["lastAttempt"]["error"].as_str().unwrap();
    assert!(error.starts_with("no connection to 8.0.0.1:80: "), "{error}");
    assert_eq!((network.connected().len(), receiver.connections()), (4, 0));
    assert_eq!(after(&app, &hire_for(&app, "http://four.example.com/"), 1)["state"], "delivered");
}

fn an_address_that_hangs_leaves_time_for_the_next() {
    let (app, network) = watched(&Hr { allow_private: false, timeout: Duration::from_secs(6), ..Hr::default() });
    let receiver = Receiver::start();
    network.lead("8.8.8.8", None);
    network.lead("8.8.4.4", Some(receiver.address));
    network.name("hr.example.com", &[&["8.8.8.8", "8.8.4.4"]]);
    assert_eq!(after(&app, &hire_for(&app, "http://hr.example.com/"), 1)["state"], "delivered");
    assert_eq!(network.connected(), ["8.8.8.8:80", "8.8.4.4:80"]);
}

fn a_name_without_an_address_fails_with_the_reason() {
    let (app, network) = guarded();
    network.name("hr.example.com", &[&[]]);
    let failed = after(&app, &hire_for(&app, "http://hr.example.com/"), 1);
    assert_eq!(failed["lastAttempt"]["error"], json!("the host has no address"));
}

fn a_redirect_to_a_special_address_leads_nowhere() {
    let ((app, network), receiver, trap) = (guarded(), Receiver::start(), Receiver::start());
    network.lead("8.8.8.8", Some(receiver.address));
    network.name("hr.example.com", &[&["8.8.8.8"]]);
    for status in [301, 307] {
        receiver.will([Behaviour::Answer(status, vec![("Location", trap.url("/"))], Vec::new())]);
        let failed = after(&app, &hire_for(&app, "http://hr.example.com/"), 1);
        assert_eq!(failed["lastAttempt"]["status"], status);
    }
    assert_eq!((network.connected(), trap.connections()), (vec!["8.8.8.8:80".to_owned(); 2], 0));
}
