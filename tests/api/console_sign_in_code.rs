//! The second step of a sign-in: `/sign-in/code`, and the field `code` of `POST /api/auth/sign-in`.

use serde_json::json;

use crate::console_passkey;
use crate::support::app::Options;
use crate::support::authenticator::{Authenticator, add_passkey};
use crate::support::console::{
    PASSWORD, Phone, SAME_ORIGIN, browser_with_app, codes_of, form_body, set_up_app, sign_in_link,
};
use crate::support::race::{Runner, race};
use crate::support::{Answer, App, Client, Hiring};
use appliance::domain::sign_in_link::LinkPurpose;

crate::tests![
    the_password_alone_begins_no_session,
    the_code_completes_the_sign_in,
    a_code_can_be_one_step_early_or_late_and_is_accepted_once,
    each_recovery_code_is_accepted_once_however_it_is_written,
    the_second_step_is_bound_to_its_browser_and_to_the_password,
    the_second_step_ends_after_five_minutes,
    a_changed_cookie_is_refused,
    wrong_codes_and_passwords_are_throttled_together_even_after_a_correct_password,
    of_two_sign_ins_with_one_code_only_one_succeeds,
    the_page_and_the_form_that_the_person_wanted_survive_both_steps,
    a_user_without_an_app_is_asked_for_another_recovery_code_after_a_wrong_code,
    a_code_from_another_origin_is_forbidden,
    a_body_of_another_type_or_over_the_limit_is_refused,
    the_code_page_can_be_reloaded,
    the_api_requires_a_code_for_an_account_with_a_second_factor,
    the_api_ignores_a_code_for_an_account_without_a_second_factor,
    a_reset_link_continues_with_the_code,
    a_link_for_a_lost_second_factor_removes_all_second_factors_of_the_user,
    removing_the_second_factor_ends_the_second_step,
    the_cookies_behind_https_are_secure_and_bound_to_their_host,
];

const CODE: &str = "/sign-in/code";

struct Fixture {
    app: App,
    hiring: Hiring,
    phone: Phone,
    codes: Vec<String>,
}

/// Starts a service in which the owner has an authenticator app and recovery codes.
fn start() -> Fixture {
    start_with(Options::default())
}

fn start_with(options: Options) -> Fixture {
    let app = App::with(options);
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let phone = Phone::scan(&owner.get("/app/me/authenticator").expect(200).text());
    let fields = [("form", phone.form.as_str()), ("code", &phone.shown(&app))];
    let codes = codes_of(&owner.submit("/app/me/authenticator", &fields).expect(200).text());
    app.pass(60);
    Fixture { app, hiring, phone, codes }
}

/// Returns the value of a cookie that an answer sets.
fn cookie(answer: &Answer, name: &str) -> Option<String> {
    let mut set = answer.headers.iter().filter(|(header, _)| header.eq_ignore_ascii_case("set-cookie"));
    set.find_map(|(_, value)| value.strip_prefix(&format!("{name}="))?.split(';').next().map(str::to_owned))
}

impl Fixture {
    fn email(&self) -> String {
        self.hiring.email("owner")
    }

    /// Enters the password, and returns the answer.
    fn password(&self, more: &[(&str, &str)]) -> Answer {
        let email = self.email();
        let fields = [&[("email", email.as_str()), ("password", PASSWORD)], more].concat();
        self.browser().submit("/sign-in", &fields)
    }

    fn browser(&self) -> Client {
        self.app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1)
    }

    /// Enters the password, and returns the browser.
    fn begin(&self) -> Client {
        let answer = self.password(&[]).expect(200);
        let pending = cookie(&answer, "appliance_sign_in").unwrap();
        self.browser().with_header("Cookie", &format!("appliance_sign_in={pending}"))
    }

    fn shown(&self) -> String {
        self.phone.shown(&self.app)
    }
}

fn the_password_alone_begins_no_session() {
    let all = start();
    let sessions = || all.app.sql("SELECT count(*) FROM sessions").concat();
    let before = sessions();
    let answer = all.password(&[]).expect(200);
    assert_eq!(cookie(&answer, "appliance_session"), None);
    let pending = answer.header("set-cookie").unwrap();
    assert!(pending.ends_with("; Path=/; Max-Age=300; HttpOnly; SameSite=Lax"), "{pending}");
    let page = answer.text();
    assert!(page.contains(r#"action="/sign-in/code""#) && page.contains("one-time-code"), "{page}");
    assert!(!page.contains(PASSWORD) && !page.contains("type=\"password\""));
    assert_eq!(sessions(), before);
    all.begin().get("/app").expect(303);
}

fn the_code_completes_the_sign_in() {
    let all = start();
    let answer = all.begin().submit(CODE, &[("code", &all.shown())]).expect(303);
    assert_eq!(answer.header("location"), Some("/app"));
    assert_eq!(cookie(&answer, "appliance_sign_in").as_deref(), Some(""));
    let session = cookie(&answer, "appliance_session").unwrap();
    all.browser().with_header("Cookie", &format!("appliance_session={session}")).get("/app").expect(200);
}

fn a_code_can_be_one_step_early_or_late_and_is_accepted_once() {
    let all = start();
    let enter = |code: &str| all.begin().submit(CODE, &[("code", code)]).status;
    assert_eq!(enter(&all.phone.shown_in(&all.app, 60)), 401);
    let early = all.phone.shown_in(&all.app, 30);
    all.app.pass(60);
    // Spaces are ignored: apps show codes in groups.
    assert_eq!(enter(&format!("{} {}", &early[..3], &early[3..])), 303);
    assert_eq!(enter(&early), 401);
    all.app.pass(90);
    assert_eq!(enter(&all.phone.shown_in(&all.app, 30)), 303);
    assert_eq!(enter(&all.shown()), 401, "the code before an accepted one");
}

fn each_recovery_code_is_accepted_once_however_it_is_written() {
    let all = start();
    let enter = |code: &str| all.begin().submit(CODE, &[("code", code)]).status;
    for (number, code) in all.codes.iter().enumerate() {
        let written = if number % 2 == 0 { code.to_uppercase().replace('-', " ") } else { code.clone() };
        assert_eq!(enter(&written), 303, "{number}");
        assert_eq!(enter(code), 401, "{number}");
    }
    assert_eq!(all.app.sql("SELECT count(*) FROM recovery_codes").concat(), "0");
    let used = all.app.sql("SELECT detail FROM main.activities WHERE action = 'recovery_code.used' ORDER BY number");
    assert_eq!(used.len(), 10);
    assert!(used[0].contains(r#""left":9"#) && used[9].contains(r#""left":0"#), "{used:?}");
}

fn the_second_step_is_bound_to_its_browser_and_to_the_password() {
    let all = start();
    let begun = all.begin();
    all.browser().submit(CODE, &[("code", &all.shown())]).expect(401);
    all.app.set_password(&all.email(), "another horse battery");
    let page = begun.submit(CODE, &[("code", &all.shown())]).expect(401).text();
    assert!(page.contains(r#"action="/sign-in""#) && page.contains("Please begin with your address"), "{page}");
}

fn the_second_step_ends_after_five_minutes() {
    let all = start();
    let begun = all.begin();
    all.app.pass(299);
    begun.submit(CODE, &[("code", &all.shown())]).expect(303);
    all.app.pass(30);
    let begun = all.begin();
    all.app.pass(300);
    let page = begun.submit(CODE, &[("code", &all.shown())]).expect(401).text();
    assert!(page.contains("More than 5 minutes have passed"), "{page}");
}

fn a_changed_cookie_is_refused() {
    let all = start();
    let value = cookie(&all.password(&[]).expect(200), "appliance_sign_in").unwrap();
    let (user, proof) = value.split_once('.').unwrap();
    let admin = all.hiring.staff("admin");
    let cut = &proof[..proof.len() - 1];
    for forged in ["", user, &format!("{admin}.{proof}"), &format!("{user}.{cut}0"), &format!("{user}.{cut}")] {
        let browser = all.browser().with_header("Cookie", &format!("appliance_sign_in={forged}"));
        browser.submit(CODE, &[("code", &all.shown())]).expect(401);
    }
}

fn wrong_codes_and_passwords_are_throttled_together_even_after_a_correct_password() {
    let all = start();
    for attempt in 0..5 {
        // Each attempt begins with the correct password, which must not clear the failures.
        let page = all.begin().submit(CODE, &[("code", &format!("00000{attempt}"))]).expect(401).text();
        assert!(page.contains("This code is wrong") && page.contains(r#"action="/sign-in/code""#), "{page}");
    }
    let limited = all.password(&[]).expect(429);
    assert_eq!(limited.header("retry-after"), Some("1"));
    all.app.pass(1);
    let begun = all.begin();
    begun.submit(CODE, &[("code", "000000")]).expect(401);
    let page = begun.submit(CODE, &[("code", &all.shown())]).expect(429).text();
    assert!(page.contains("Please wait 2 s,"), "{page}");
    all.app.pass(2);
    begun.submit(CODE, &[("code", &all.shown())]).expect(303);
    all.app.pass(30);
    for _ in 0..4 {
        all.begin().submit(CODE, &[("code", "000000")]).expect(401);
    }
    all.begin().submit(CODE, &[("code", &all.shown())]).expect(303);
}

fn of_two_sign_ins_with_one_code_only_one_succeeds() {
    let all = start();
    for code in [&all.codes[0], &all.shown()] {
        let body = form_body(&[("code", code)]);
        let runners = (0..2).map(|_| {
            let client = all.begin().with_header("Content-Type", "application/x-www-form-urlencoded");
            Runner { client, method: "POST", path: CODE.to_owned(), body: body.clone() }
        });
        let mut statuses: Vec<u16> = race(runners.collect()).iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 401]);
    }
}

fn the_page_and_the_form_that_the_person_wanted_survive_both_steps() {
    let all = start();
    let carried = [("next", "/app/me"), ("to", "/app/me/preferences"), ("sent.language", "de"), ("sent.note", "<a>")];
    let answer = all.password(&carried[..1]).expect(200);
    assert!(answer.text().contains(r#"name="next" value="/app/me""#));
    let begun = all.begin();
    let wrong = begun.submit(CODE, &[&[("code", "1")], &carried[..]].concat()).expect(401).text();
    for field in [r#"name="to" value="/app/me/preferences""#, r#"name="sent.note" value="&#60;a&#62;""#] {
        assert!(wrong.contains(field), "{wrong}");
    }
    let answer = begun.submit(CODE, &[("code", &all.shown()), ("next", "/app/me")]).expect(303);
    assert_eq!(answer.header("location"), Some("/app/me"));
    let resumed = begun.submit(CODE, &[&[("code", all.codes[0].as_str())], &carried[1..]].concat()).expect(200).text();
    assert!(resumed.contains(r#"<form method="post" action="/app/me/preferences""#), "{resumed}");
    assert!(resumed.contains(r#"name="language" value="de""#), "{resumed}");
    let answer = begun.submit(CODE, &[("code", &all.codes[1]), ("next", "//evil.example")]).expect(303);
    assert_eq!(answer.header("location"), Some("/app"));
}

fn a_user_without_an_app_is_asked_for_another_recovery_code_after_a_wrong_code() {
    let (app, hiring) = console_passkey::start(false);
    let owner = app.browser(&hiring, "owner");
    add_passkey(&owner, &Authenticator::new("key")).expect(200);
    let browser = app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
    let fields = [("email", &*hiring.email("owner")), ("password", PASSWORD)];
    let pending = console_passkey::cookie(&browser.submit("/sign-in", &fields).expect(200));
    let begun = browser.with_header("Cookie", &pending);
    for page in [
        begun.submit(CODE, &[("code", "000000")]).expect(401).text(),
        owner.submit("/app/confirm?next=%2Fapp", &[("confirmation.code", "000000")]).expect(403).text(),
    ] {
        assert!(page.contains("This recovery code is wrong or has already been used. Enter another one."), "{page}");
    }
}

fn a_code_from_another_origin_is_forbidden() {
    let all = start();
    let pending = cookie(&all.password(&[]).expect(200), "appliance_sign_in").unwrap();
    let browser = all.app.anonymous().with_header("Cookie", &format!("appliance_sign_in={pending}"));
    browser.with_header("Sec-Fetch-Site", "cross-site").submit(CODE, &[("code", &all.shown())]).expect(403);
    browser.with_header("Origin", "http://evil.example").submit(CODE, &[("code", &all.shown())]).expect(403);
    browser.submit(CODE, &[("code", &all.shown())]).expect(303);
}

fn a_body_of_another_type_or_over_the_limit_is_refused() {
    let all = start();
    let begun = all.begin();
    begun.post(CODE, &json!({ "code": all.shown() })).expect(415);
    begun.submit(CODE, &[("code", &"1".repeat(4 << 20))]).expect(413);
    begun.submit(CODE, &[("code", "1"), ("code", "2")]).expect(400);
    begun.get("/sign-in/code?lang=de&lang=fr").expect(400);
    begun.submit(CODE, &[("code", &"1".repeat(1_000))]).expect(401);
}

fn the_code_page_can_be_reloaded() {
    let all = start();
    assert!(all.begin().get(CODE).expect(200).text().contains("one-time-code"));
    let page = all.browser().get(CODE).expect(200).text();
    assert!(page.contains(r#"action="/sign-in""#) && !page.contains("one-time-code"), "{page}");
}

fn the_api_requires_a_code_for_an_account_with_a_second_factor() {
    let all = start();
    let email = all.email();
    let missing = all.app.try_sign_in(&email, None).refused(400, "validation_error");
    assert_eq!(missing.fields(), ["code"]);
    assert_eq!(missing.header("set-cookie"), None);
    all.app.try_sign_in(&email, Some("000000")).refused(401, "unauthorized");
    all.app.try_sign_in(&email, Some("")).refused(401, "unauthorized");
    let body = json!({ "email": email, "password": PASSWORD, "code": 123_456 });
    all.app.anonymous().post("/api/auth/sign-in", &body).refused(400, "validation_error");
    let wrong = json!({ "email": email, "password": "a wrong password", "code": all.shown() });
    all.app.anonymous().post("/api/auth/sign-in", &wrong).refused(401, "unauthorized");
    let code = all.shown();
    let answer = all.app.try_sign_in(&email, Some(&code)).expect(200);
    assert_eq!(answer.json()["auth"], json!({ "type": "session" }));
    all.app.try_sign_in(&email, Some(&code)).refused(401, "unauthorized");
    all.app.try_sign_in(&email, Some(&all.codes[3])).expect(200);
    all.app.try_sign_in(&email, Some(&all.codes[3])).refused(401, "unauthorized");
}

fn the_api_ignores_a_code_for_an_account_without_a_second_factor() {
    let app = App::with(Options { requires_second_factors: true, ..Options::default() });
    let hiring = app.hiring();
    let email = hiring.email("owner");
    app.set_password(&email, PASSWORD);
    app.try_sign_in(&email, Some("000000")).expect(200);
    // `GET /api/v1/me` accepts the session, but the console redirects to the setup of a second factor.
    let session = app.sign_in(&email, PASSWORD);
    session.get("/api/v1/me").expect(200);
    session.get("/app").expect(303);
}

fn a_reset_link_continues_with_the_code() {
    let all = start();
    let link = sign_in_link(&all.app, &all.hiring.staff("owner"), LinkPurpose::Reset);
    let answer = all.browser().submit(&link, &[("password", "nine lanterns at dusk")]).expect(200);
    assert_eq!(cookie(&answer, "appliance_session"), None);
    let pending = cookie(&answer, "appliance_sign_in").unwrap();
    let browser = all.browser().with_header("Cookie", &format!("appliance_sign_in={pending}"));
    browser.submit(CODE, &[("code", "000000")]).expect(401);
    let answer = browser.submit(CODE, &[("code", &all.shown())]).expect(303);
    assert!(cookie(&answer, "appliance_session").is_some());
    all.browser().submit(&link, &[("password", "nine lanterns at dusk")]).expect(410);
}

fn a_link_for_a_lost_second_factor_removes_all_second_factors_of_the_user() {
    let all = start();
    let (admin, _) = browser_with_app(&all.app, &all.hiring, "admin");
    let count = |table: &str| all.app.sql(&format!("SELECT count(*) FROM {table}")).concat();
    let link = sign_in_link(&all.app, &all.hiring.staff("owner"), LinkPurpose::FactorReset);
    assert_eq!(count("totp_secrets"), "2", "the link has not been used");
    let answer = all.browser().submit(&link, &[("password", "nine lanterns at dusk")]).expect(303);
    let session = cookie(&answer, "appliance_session").unwrap();
    assert_eq!((count("totp_secrets"), count("recovery_codes")), ("1".to_owned(), "10".to_owned()));
    assert_eq!(all.app.sql("SELECT count(*) FROM main.activities WHERE action = 'second_factor.reset'").concat(), "1");
    let owner = all.browser().with_header("Cookie", &format!("appliance_session={session}"));
    set_up_app(&all.app, &owner);
    admin.get("/app").expect(200);
}

fn removing_the_second_factor_ends_the_second_step() {
    let all = start();
    let begun = all.begin();
    all.app.change("DELETE FROM totp_secrets; DELETE FROM recovery_codes");
    begun.submit(CODE, &[("code", &all.shown())]).expect(401);
    assert!(!begun.get(CODE).expect(200).text().contains("one-time-code"));
}

fn the_cookies_behind_https_are_secure_and_bound_to_their_host() {
    let base_url = Some("https://jobs.example.com".to_owned());
    let app = App::with(Options { base_url, ..Options::default() });
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let phone = set_up_app(&app, &owner);
    app.pass(60);
    let browser = app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
    let email = hiring.email("owner");
    let answer = browser.submit("/sign-in", &[("email", &email), ("password", PASSWORD)]).expect(200);
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-appliance_sign_in=") && set.ends_with("; SameSite=Lax; Secure"), "{set}");
    let value = cookie(&answer, "__Host-appliance_sign_in").unwrap();
    for (name, status) in [("appliance_sign_in", 401), ("__Host-appliance_sign_in", 303)] {
        let browser = browser.with_header("Cookie", &format!("{name}={value}"));
        browser.submit(CODE, &[("code", &phone.shown(&app))]).expect(status);
    }
}
