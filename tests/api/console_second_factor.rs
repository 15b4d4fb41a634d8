//! The second factors on `/app/me/second-factor`: a user sets up, replaces and removes an authenticator app, and
//! creates recovery codes.

use crate::support::app::Options;
use crate::support::console::{Phone, browser_with_app, codes_of, set_up_app, staff_path, staff_routes};
use crate::support::{App, Client, Hiring};

crate::tests![
    owners_and_admins_must_set_up_a_second_factor_before_anything_else,
    members_who_are_neither_owners_nor_admins_need_no_second_factor,
    an_organization_can_require_a_second_factor_of_all_its_members,
    a_form_sent_without_the_required_second_factor_is_refused_with_an_explanation,
    the_setup_leads_to_the_page_that_the_person_requested,
    an_app_is_set_up_with_a_code_and_then_ten_recovery_codes_are_shown_once,
    a_wrong_code_shows_the_same_secret_again_and_stores_nothing,
    a_secret_belongs_to_its_session_and_its_form,
    setting_up_an_app_ends_other_sessions,
    a_replaced_app_no_longer_works,
    a_repeated_form_is_refused_and_shows_no_recovery_codes,
    the_only_required_second_factor_cannot_be_removed,
    an_app_that_is_not_required_can_be_removed_with_its_recovery_codes,
    new_recovery_codes_replace_the_old_ones,
    without_a_second_factor_there_is_nothing_to_remove_and_no_recovery_code,
    the_account_page_shows_the_second_factor,
    changes_to_second_factors_are_recorded_without_secrets,
    the_qr_code_contains_the_key_and_the_names,
];

const PATH: &str = "/app/me/second-factor";
const SET_UP: &str = "/app/me/authenticator";
const REMOVE: &str = "/app/me/authenticator/remove";
const CODES: &str = "/app/me/recovery-codes";

/// Starts a service that requires second factors.
fn strict() -> (App, Hiring) {
    let app = App::with(Options { requires_second_factors: true, ..Options::default() });
    let hiring = app.hiring();
    (app, hiring)
}

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    (app, hiring, owner)
}

fn count(app: &App, table: &str) -> String {
    app.sql(&format!("SELECT count(*) FROM {table}")).concat()
}

fn owners_and_admins_must_set_up_a_second_factor_before_anything_else() {
    let (app, hiring) = strict();
    let passkeys = ["/app/me/passkeys/new", "/app/me/passkeys/options", "/app/me/passkeys"];
    let allowed = [&[PATH, SET_UP, "/app/sign-out"], &passkeys[..]].concat();
    for org_role in ["owner", "admin"] {
        let browser = app.browser(&hiring, org_role);
        for route in staff_routes() {
            let path = staff_path(route, &hiring.slug, &hiring);
            if allowed.contains(&path.as_str()) {
                continue;
            }
            if route.method == "GET" {
                let answer = browser.get(&path).expect(303);
                assert!(answer.header("location").unwrap().starts_with(PATH), "{path}");
            } else {
                browser.submit(&path, &[]).expect(403);
            }
        }
        assert!(browser.get(PATH).expect(200).text().contains("Your account needs a second factor."));
        let phone = set_up_app(&app, &browser);
        browser.get("/app").expect(200);
        assert!(!browser.get(PATH).expect(200).text().contains("Please set one up now"));
        drop(phone);
    }
}

fn members_who_are_neither_owners_nor_admins_need_no_second_factor() {
    let (app, hiring) = strict();
    for org_role in ["moderator", "hr_representative", "member"] {
        app.browser(&hiring, org_role).get("/app").expect(200);
    }
    // A promotion applies from the next request on.
    let member = app.browser(&hiring, "member");
    let path = format!("/api/admin/organizations/{}/memberships/{}", hiring.organization_id, hiring.staff("member"));
    app.admin().put(&path, &serde_json::json!({ "orgRole": "admin" })).expect(200);
    member.get("/app").expect(303);
}

fn an_organization_can_require_a_second_factor_of_all_its_members() {
    let (app, hiring) = strict();
    let other = app.hiring();
    let members = [app.browser(&hiring, "member"), app.browser(&other, "member")];
    let path = format!("/api/admin/organizations/{}", hiring.organization_id);
    app.admin().patch(&path, &serde_json::json!({ "requireSecondFactor": true })).expect(200);
    members[0].get("/app").expect(303);
    members[1].get("/app").expect(200);
    set_up_app(&app, &members[0]);
    members[0].get("/app").expect(200);
    members[0].submit(REMOVE, &[]).expect(409);
    app.admin().patch(&path, &serde_json::json!({ "requireSecondFactor": false })).expect(200);
    members[0].submit(REMOVE, &[]).expect(303);
}

fn a_form_sent_without_the_required_second_factor_is_refused_with_an_explanation() {
    let (app, hiring) = strict();
    let owner = app.browser(&hiring, "owner");
    let page = owner.submit("/app/me/preferences", &[("language", "de")]).expect(403).text();
    assert!(page.contains("Your account needs a second factor.") && page.contains(PATH), "{page}");
    let part = owner.submit_for_parts("/app/me/preferences", &[("language", "de")]).expect(403).text();
    assert!(part.contains("<template data-dialog>") && part.contains(PATH), "{part}");
    assert_eq!(count(&app, "user_preferences"), "0");
    owner.submit("/app/sign-out", &[]).expect(303);
}

fn the_setup_leads_to_the_page_that_the_person_requested() {
    let (app, hiring) = strict();
    let owner = app.browser(&hiring, "owner");
    let answer = owner.get("/app/me").expect(303);
    let next = "?next=%2Fapp%2Fme";
    assert_eq!(answer.header("location"), Some(format!("{PATH}{next}").as_str()));
    assert!(owner.get(&format!("{PATH}{next}")).expect(200).text().contains(&format!("{SET_UP}{next}")));
    let page = owner.get(&format!("{SET_UP}{next}")).expect(200).text();
    let phone = Phone::scan(&page);
    let fields = [("form", phone.form.as_str()), ("code", &phone.shown(&app)), ("next", "/app/me")];
    assert!(owner.submit(SET_UP, &fields).expect(200).text().contains(r#"href="/app/me">I have stored"#));
    let page = owner.get(&format!("{SET_UP}?next=https://evil.example")).expect(200).text();
    assert!(!page.contains("evil"), "{page}");
}

fn an_app_is_set_up_with_a_code_and_then_ten_recovery_codes_are_shown_once() {
    let (app, _, owner) = start();
    let page = owner.get(SET_UP).expect(200);
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let phone = Phone::scan(&page.text());
    assert_eq!(count(&app, "totp_secrets"), "0");
    let shown = owner.submit(SET_UP, &[("form", &phone.form), ("code", &phone.shown(&app))]).expect(200);
    let codes = codes_of(&shown.text());
    assert_eq!(codes.len(), 10);
    assert_eq!((count(&app, "totp_secrets"), count(&app, "recovery_codes")), ("1".to_owned(), "10".to_owned()));
    let page = owner.get(PATH).expect(200).text();
    assert!(page.contains("set up on 21 November 2026") && page.contains("10 unused codes"), "{page}");
    assert!(codes.iter().all(|code| !page.contains(code.as_str())));
}

fn a_wrong_code_shows_the_same_secret_again_and_stores_nothing() {
    let (app, _, owner) = start();
    let phone = Phone::scan(&owner.get(SET_UP).expect(200).text());
    for wrong in ["", "000000", "12345", "abcdef", &phone.shown_in(&app, 60), &phone.shown_in(&app, 3_600)] {
        let again = owner.submit(SET_UP, &[("form", &phone.form), ("code", wrong)]).expect(400).text();
        assert_eq!(Phone::scan(&again), phone);
        assert!(again.contains("This code is wrong"), "{again}");
    }
    assert_eq!(count(&app, "totp_secrets"), "0");
    // The clock of a phone can differ by one time step.
    owner.submit(SET_UP, &[("form", &phone.form), ("code", &phone.shown_in(&app, 30))]).expect(200);
}

fn a_secret_belongs_to_its_session_and_its_form() {
    let (app, hiring, owner) = start();
    let admin = app.browser(&hiring, "admin");
    let phone = Phone::scan(&owner.get(SET_UP).expect(200).text());
    assert_ne!(phone.form, Phone::scan(&owner.get(SET_UP).expect(200).text()).form);
    admin.submit(SET_UP, &[("form", &phone.form), ("code", &phone.shown(&app))]).expect(400);
    for forged in ["", "x", "a.1.00", &phone.form[1..]] {
        owner.submit(SET_UP, &[("form", forged), ("code", &phone.shown(&app))]).expect(400);
    }
    owner.submit(SET_UP, &[("form", "a"), ("form", "b")]).expect(400);
    assert_eq!(count(&app, "totp_secrets"), "0");
}

fn setting_up_an_app_ends_other_sessions() {
    let (app, hiring, owner) = start();
    let other = app.sign_in(&hiring.email("owner"), crate::support::console::PASSWORD);
    other.get("/app").expect(200);
    set_up_app(&app, &owner);
    other.get("/app").expect(303);
    owner.get("/app").expect(200);
}

fn a_replaced_app_no_longer_works() {
    let (app, hiring, owner) = start();
    let old = set_up_app(&app, &owner);
    app.pass(30);
    let page = owner.get(SET_UP).expect(200).text();
    assert!(page.contains("stops working for this account"), "{page}");
    let new = Phone::scan(&page);
    let answer = owner.submit(SET_UP, &[("form", &new.form), ("code", &new.shown(&app))]).expect(303);
    assert_eq!(answer.header("location"), Some("/app/me/second-factor?done=replaced"));
    assert!(owner.get("/app/me/second-factor?done=replaced").expect(200).text().contains("The old one no longer"));
    assert_eq!((count(&app, "totp_secrets"), count(&app, "recovery_codes")), ("1".to_owned(), "10".to_owned()));
    app.pass(60);
    let email = hiring.email("owner");
    app.try_sign_in(&email, Some(&old.shown(&app))).refused(401, "unauthorized");
    app.try_sign_in(&email, Some(&new.shown(&app))).expect(200);
}

fn a_repeated_form_is_refused_and_shows_no_recovery_codes() {
    let (app, _, owner) = start();
    let phone = Phone::scan(&owner.get(SET_UP).expect(200).text());
    let code = phone.shown(&app);
    owner.submit(SET_UP, &[("form", &phone.form), ("code", &code)]).expect(200);
    let again = owner.submit(SET_UP, &[("form", &phone.form), ("code", &code)]).expect(400);
    assert!(!again.text().contains("class=\"codes\""));
    assert_eq!(count(&app, "recovery_codes"), "10");
}

fn the_only_required_second_factor_cannot_be_removed() {
    let (app, hiring) = strict();
    let owner = app.browser(&hiring, "owner");
    set_up_app(&app, &owner);
    let page = owner.get(PATH).expect(200).text();
    assert!(page.contains("you cannot remove this one") && !page.contains(REMOVE), "{page}");
    owner.submit(REMOVE, &[]).expect(409);
    assert_eq!(count(&app, "totp_secrets"), "1");
}

fn an_app_that_is_not_required_can_be_removed_with_its_recovery_codes() {
    let (app, hiring) = strict();
    let member = app.browser(&hiring, "member");
    set_up_app(&app, &member);
    let answer = member.submit(REMOVE, &[]).expect(303);
    assert_eq!(answer.header("location"), Some("/app/me/second-factor?done=removed"));
    assert!(member.get("/app/me/second-factor?done=removed").expect(200).text().contains("was removed"));
    assert_eq!((count(&app, "totp_secrets"), count(&app, "recovery_codes")), ("0".to_owned(), "0".to_owned()));
    app.try_sign_in(&hiring.email("member"), None).expect(200);
}

fn new_recovery_codes_replace_the_old_ones() {
    let (app, hiring, owner) = start();
    let phone = Phone::scan(&owner.get(SET_UP).expect(200).text());
    let shown = owner.submit(SET_UP, &[("form", &phone.form), ("code", &phone.shown(&app))]).expect(200);
    let old = codes_of(&shown.text());
    let page = owner.submit(CODES, &[]).expect(200).text();
    let new = codes_of(&page);
    assert!(new.len() == 10 && new.iter().all(|code| !old.contains(code)), "{page}");
    assert!(page.contains(&hiring.email("owner")));
    let email = hiring.email("owner");
    app.try_sign_in(&email, Some(&old[0])).refused(401, "unauthorized");
    app.try_sign_in(&email, Some(&new[0])).expect(200);
    assert!(owner.get(PATH).expect(200).text().contains("9 unused codes"));
}

fn without_a_second_factor_there_is_nothing_to_remove_and_no_recovery_code() {
    let (app, _, owner) = start();
    owner.submit(REMOVE, &[]).expect(404);
    owner.submit(CODES, &[]).expect(404);
    assert_eq!(count(&app, "recovery_codes"), "0");
    assert!(!owner.get(PATH).expect(200).text().contains(CODES));
}

fn the_account_page_shows_the_second_factor() {
    let (app, _, owner) = start();
    let page = owner.get("/app/me").expect(200).text();
    assert!(page.contains("You have no second factor.") && page.contains(PATH), "{page}");
    set_up_app(&app, &owner);
    assert!(owner.get("/app/me").expect(200).text().contains("Authenticator app"));
}

fn changes_to_second_factors_are_recorded_without_secrets() {
    let (app, hiring) = strict();
    let (member, phone) = browser_with_app(&app, &hiring, "member");
    member.submit(CODES, &[]).expect(200);
    member.submit(REMOVE, &[]).expect(303);
    let rows =
        app.sql("SELECT action, detail FROM main.activities WHERE action LIKE 'totp%' OR action LIKE 'recovery%'");
    let actions: Vec<&str> = rows.iter().map(|row| row.split('|').next().unwrap()).collect();
    assert_eq!(actions, ["totp.added", "recovery_code.replaced", "recovery_code.replaced", "totp.removed"]);
    assert!(rows.iter().all(|row| !row.contains(&phone.key)), "{rows:?}");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_qr_code_contains_the_key_and_the_names() {
    let base_url = Some("https://jobs.example.com".to_owned());
    let app = App::with(Options { base_url, ..Options::default() });
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let page = owner.get(SET_UP).expect(200).text();
    let email = hiring.email("owner").replace('@', "%40");
    let key = Phone::scan(&page).key.replace(' ', "");
    assert!(page.contains(&format!("otpauth://totp/jobs.example.com:{email}?secret={key}&#38;issuer=jobs")), "{page}");
    assert!(page.contains("<svg class=\"qr\"") && !page.contains("style="));
}
