//! `POST /api/auth/sign-in` while strangers guess passwords: the number of guesses is limited, and the user of the
//! account can still sign in from a known network or browser.

use serde_json::json;

use crate::support::app::Options;
use crate::support::{Answer, App, Client};

crate::tests![
    a_guessing_stranger_does_not_lock_the_owner_out,
    strangers_get_a_hundred_guesses_an_hour_at_one_account,
    the_owner_can_sign_in_from_a_known_network_or_browser_while_strangers_guess,
    guesses_at_known_and_unknown_accounts_are_limited_alike,
    ipv6_networks_of_one_subscriber_share_their_limits,
    the_owner_can_sign_in_from_a_known_browser_at_the_address_of_a_guessing_stranger,
];

const PASSWORD: &str = "correct horse battery";
const SIGN_IN: &str = "/api/auth/sign-in";

/// Starts a service behind a proxy and returns it with the email address of an owner who has a password.
fn start() -> (App, String) {
    let app = App::with(Options { trusted_proxies: vec!["127.0.0.0/8"], ..Options::default() });
    let owner = app.hiring().email("owner");
    app.set_password(&owner, PASSWORD);
    (app, owner)
}

fn from(app: &App, address: &str) -> Client {
    app.anonymous().with_header("X-Forwarded-For", address)
}

fn try_from(client: &Client, email: &str, password: &str) -> Answer {
    client.post(SIGN_IN, &json!({ "email": email, "password": password }))
}

/// Sends a wrong password `times` times, and returns how many of these guesses the service checks.
fn guesses(app: &App, address: &str, email: &str, times: usize) -> usize {
    let client = from(app, address);
    let statuses = (0..times).map(|_| try_from(&client, email, "a wrong password").status);
    statuses.filter(|status| *status == 401).count()
}

fn retry_after(answer: &Answer) -> u64 {
    answer.header("retry-after").unwrap().parse().unwrap()
}

fn a_guessing_stranger_does_not_lock_the_owner_out() {
    let (app, owner) = start();
    assert_eq!(guesses(&app, "198.51.100.1", &owner, 60), 5);
    for _ in 0..60 {
        try_from(&from(&app, "203.0.113.1"), &owner, PASSWORD).expect(200);
    }
    try_from(&from(&app, "198.51.100.1"), &owner, PASSWORD).refused(429, "rate_limited");
}

fn strangers_get_a_hundred_guesses_an_hour_at_one_account() {
    let (app, owner) = start();
    let checked: usize = (0..40).map(|number| guesses(&app, &format!("198.51.100.{number}"), &owner, 6)).sum();
    assert_eq!(checked, 100);
    let answer = try_from(&from(&app, "203.0.113.1"), &owner, PASSWORD).refused(429, "rate_limited");
    assert_eq!(retry_after(&answer), 3_600);
    app.pass(3_599);
    try_from(&from(&app, "203.0.113.1"), &owner, PASSWORD).refused(429, "rate_limited");
    app.pass(1);
    try_from(&from(&app, "203.0.113.1"), &owner, PASSWORD).expect(200);
}

fn the_owner_can_sign_in_from_a_known_network_or_browser_while_strangers_guess() {
    let (app, owner) = start();
    let signed_in = try_from(&from(&app, "203.0.113.1"), &owner, PASSWORD).expect(200);
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    for number in 0..40 {
        guesses(&app, &format!("198.51.100.{number}"), &owner, 6);
    }
    try_from(&from(&app, "203.0.113.2"), &owner, PASSWORD).refused(429, "rate_limited");
    try_from(&from(&app, "203.0.113.2").with_header("Cookie", "appliance_session=guessed"), &owner, PASSWORD)
        .refused(429, "rate_limited");
    try_from(&from(&app, "203.0.113.1"), &owner, PASSWORD).expect(200);
    try_from(&from(&app, "203.0.113.2").with_header("Cookie", &cookie), &owner, PASSWORD).expect(200);
}

fn guesses_at_known_and_unknown_accounts_are_limited_alike() {
    let (app, owner) = start();
    for email in [owner.as_str(), "nobody@example.org"] {
        let checked: Vec<usize> =
            (0..25).map(|number| guesses(&app, &format!("198.51.100.{number}"), email, 6)).collect();
        assert_eq!(checked, [vec![5; 20], vec![0; 5]].concat(), "{email}");
        let answer = try_from(&from(&app, "203.0.113.1"), email, "a wrong password").refused(429, "rate_limited");
        assert_eq!(retry_after(&answer), 3_600, "{email}");
    }
}

fn ipv6_networks_of_one_subscriber_share_their_limits() {
    let (app, owner) = start();
    // For one account, a /64 is allowed five guesses, a /56 ten and a /48 twenty.
    let guesses_from = |range: std::ops::Range<u32>, shift: u32| -> usize {
        range.map(|number| guesses(&app, &format!("2001:db8:0:{:x}::1", number << shift), &owner, 6)).sum()
    };
    assert_eq!(guesses_from(0..80, 0), 10);
    assert_eq!(guesses_from(1..40, 8), 10);
    try_from(&from(&app, "2001:db8:1::1"), &owner, PASSWORD).expect(200);
    // Across many accounts, a /56 is allowed twice the fifty failures of an address.
    let failed = (0..200)
        .filter(|number| guesses(&app, &format!("2001:db8:2:{number:x}::1"), &format!("{number}@example.org"), 1) == 1);
    assert_eq!(failed.count(), 100);
    try_from(&from(&app, "2001:db8:2:100::1"), &owner, PASSWORD).expect(200);
}

fn the_owner_can_sign_in_from_a_known_browser_at_the_address_of_a_guessing_stranger() {
    let (app, owner) = start();
    let signed_in = try_from(&from(&app, "203.0.113.1"), &owner, PASSWORD).expect(200);
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let browser = from(&app, "203.0.113.1").with_header("Cookie", &cookie);
    assert_eq!(guesses(&app, "203.0.113.1", &owner, 60), 5);
    try_from(&from(&app, "203.0.113.1"), &owner, PASSWORD).refused(429, "rate_limited");
    try_from(&browser, &owner, PASSWORD).expect(200);
}
