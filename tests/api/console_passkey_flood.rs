//! Floods of requests for passkey challenges, by strangers and by a user.

use crate::console_passkey::cookie;
use crate::support::app::Options;
use crate::support::authenticator::{Authenticator, ORIGIN, add_passkey};
use crate::support::console::SAME_ORIGIN;
use crate::support::{App, Client};

crate::tests![
    a_network_gets_60_challenges_a_minute,
    a_refused_request_stores_nothing,
    a_flood_from_one_network_leaves_sign_ins_from_elsewhere_working,
    a_user_pushes_out_only_their_own_challenges,
];

const OPTIONS: &str = "/sign-in/passkey-options";

/// Starts a service behind a proxy, with a host name, so that browsers offer passkeys.
fn start() -> App {
    let trusted_proxies = vec!["127.0.0.0/8"];
    App::with(Options { base_url: Some(ORIGIN.to_owned()), trusted_proxies, ..Options::default() })
}

fn from(app: &App, address: &str) -> Client {
    app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1).with_header("X-Forwarded-For", address)
}

/// Requests `times` challenges, and returns how many of them the service issues.
fn issued(client: &Client, times: usize) -> usize {
    (0..times).filter(|_| client.submit(OPTIONS, &[]).status == 200).count()
}

fn a_network_gets_60_challenges_a_minute() {
    let app = start();
    let (crowd, neighbour) = (from(&app, "192.0.2.1"), from(&app, "192.0.2.2"));
    assert_eq!(issued(&crowd, 60), 60);
    let page = crowd.submit(OPTIONS, &[]).expect(429);
    assert_eq!(
        (page.header("retry-after"), page.header("content-type")),
        (Some("1"), Some("text/html; charset=utf-8"))
    );
    assert_eq!(issued(&neighbour, 1), 1);
    app.pass(1);
    assert_eq!(issued(&crowd, 2), 1);
    app.pass(60);
    assert_eq!(issued(&crowd, 61), 60);
    let subscriber: usize = (0..4).map(|n| issued(&from(&app, &format!("2001:db8:0:{n:x}::1")), 61)).sum();
    assert_eq!(subscriber, 120, "the /56 of a subscriber has twice the limit");
}

fn a_refused_request_stores_nothing() {
    let app = start();
    let crowd = from(&app, "192.0.2.1");
    assert_eq!(issued(&crowd, 100), 60);
    assert_eq!(app.sql("SELECT count(*) FROM passkey_challenges"), ["60"]);
    // A request that is refused for another reason does not count towards the limit.
    let foreign =
        app.anonymous().with_header("Origin", "http://evil.example").with_header("X-Forwarded-For", "192.0.2.2");
    for _ in 0..61 {
        foreign.submit(OPTIONS, &[]).expect(403);
    }
    assert_eq!(issued(&from(&app, "192.0.2.2"), 1), 1);
}

fn a_flood_from_one_network_leaves_sign_ins_from_elsewhere_working() {
    let app = start();
    let hiring = app.hiring();
    let key = Authenticator::new("key");
    add_passkey(&app.browser(&hiring, "owner"), &key).expect(200);
    let (visitor, flood) = (from(&app, "198.51.100.1"), from(&app, "192.0.2.1"));
    let answer = visitor.submit(OPTIONS, &[]).expect(200);
    let (visitor, options) = (visitor.with_header("Cookie", &cookie(&answer)), answer.json());
    let mut challenges = 0;
    for _ in 0..23 {
        challenges += issued(&flood, 61);
        app.pass(13);
    }
    assert_eq!(challenges, 60 + 22 * 13, "299 s have passed");
    visitor.submit("/sign-in/passkey", &key.get(&options).and(&[])).expect(303);
    flood.submit(OPTIONS, &[]).expect(200);
    let stored: usize = app.sql("SELECT count(*) FROM passkey_challenges")[0].parse().unwrap();
    assert!((300..=360).contains(&stored), "one network holds {stored} challenges");
}

fn a_user_pushes_out_only_their_own_challenges() {
    let app = start();
    let hiring = app.hiring();
    let (owner, member) = (app.browser(&hiring, "owner"), app.browser(&hiring, "member"));
    let key = Authenticator::new("key");
    add_passkey(&member, &key).expect(200);
    let options = member.submit("/app/confirm/passkey-options", &[]).expect(200).json();
    for _ in 0..50 {
        owner.submit("/app/confirm/passkey-options", &[]).expect(200);
    }
    assert_eq!(app.sql("SELECT count(*) FROM passkey_challenges"), ["21"]);
    member.submit("/app/confirm?next=%2Fapp", &key.get(&options).and(&[])).expect(303);
}
