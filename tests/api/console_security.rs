//! `/app/{orgSlug}/settings/security`: an organization requires a second factor of all its members, and platform admins
//! see the age of the newest backup.

use serde_json::{Value, json};

use crate::support::app::{Options, daily_backups, wait_for_backup};
use crate::support::authenticator::{Authenticator, add_passkey};
use crate::support::console::{PASSWORD, app_path, browser_with_app, follow, form_body};
use crate::support::{App, Hiring};

crate::tests![
    an_owner_requires_a_second_factor_of_all_members_and_stops_requiring_it,
    a_change_that_is_sent_twice_is_recorded_once,
    the_page_names_the_members_without_a_second_factor,
    twenty_members_are_named_and_the_others_are_counted,
    only_owners_and_admins_see_and_change_the_setting,
    a_change_requires_a_recent_confirmation,
    an_invalid_value_is_refused,
    the_page_and_the_api_change_the_same_setting,
    the_page_of_a_demonstration_explains_that_nothing_is_required,
    scripts_in_names_are_shown_as_text,
    platform_admins_see_the_age_of_the_newest_backup,
    platform_admins_see_who_makes_the_backups_of_a_database_server,
];

const FIELD: &str = "requireSecondFactor";

fn path(hiring: &Hiring) -> String {
    app_path(hiring, "settings/security")
}

fn start(requires_second_factors: bool) -> (App, Hiring) {
    let app = App::with(Options { requires_second_factors, ..Options::default() });
    let hiring = app.hiring();
    (app, hiring)
}

fn changes(app: &App) -> Vec<Value> {
    let details = app.sql("SELECT detail FROM activities WHERE action = 'organization.changed' ORDER BY number");
    details.iter().map(|detail| serde_json::from_str(detail).unwrap()).collect()
}

fn an_owner_requires_a_second_factor_of_all_members_and_stops_requiring_it() {
    let (app, hiring) = start(true);
    let (owner, _) = browser_with_app(&app, &hiring, "owner");
    let member = app.browser(&hiring, "member");
    member.get("/app").expect(200);
    let page = owner.get(&path(&hiring)).expect(200).text();
    assert!(page.contains("Only owners and admins must have a second factor.") && page.contains(r#"value="true""#));
    let page = follow(&owner, owner.submit(&path(&hiring), &[(FIELD, "true")])).text();
    assert!(page.contains("All members must now have a second factor.") && page.contains(r#"value="false""#), "{page}");
    assert!(!page.contains("This is a demonstration"), "{page}");
    let answer = member.get("/app").expect(303);
    assert!(answer.header("location").unwrap().starts_with("/app/me/second-factor"), "{:?}", answer.headers);
    let page = follow(&owner, owner.submit(&path(&hiring), &[(FIELD, "false")])).text();
    assert!(page.contains("Now only owners and admins must have a second factor."), "{page}");
    member.get("/app").expect(200);
    let change = |before: bool, after: bool| json!({ "before": { FIELD: before }, "after": { FIELD: after } });
    assert_eq!(changes(&app), [change(false, true), change(true, false)]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_change_that_is_sent_twice_is_recorded_once() {
    let (app, hiring) = start(false);
    let admin = app.browser(&hiring, "admin");
    for _ in 0..2 {
        let answer = admin.submit(&path(&hiring), &[(FIELD, "true")]).expect(303);
        assert_eq!(answer.header("location"), Some(format!("{}?done=required", path(&hiring)).as_str()));
    }
    assert_eq!(changes(&app).len(), 1);
}

fn the_page_names_the_members_without_a_second_factor() {
    let app = App::with(Options {
        base_url: Some(crate::support::authenticator::ORIGIN.to_owned()),
        requires_second_factors: false,
        ..Options::default()
    });
    let (hiring, other) = (app.hiring(), app.hiring());
    let (owner, _) = browser_with_app(&app, &hiring, "owner");
    add_passkey(&app.browser(&hiring, "admin"), &Authenticator::new("key")).expect(200);
    app.change(&format!("UPDATE users SET enabled = 0 WHERE id = '{}'", hiring.staff("moderator")));
    let page = owner.get(&path(&hiring)).expect(200).text();
    assert!(page.contains("2 members have no second factor yet"), "{page}");
    for (org_role, is_named) in
        [("owner", false), ("admin", false), ("moderator", false), ("hr_representative", true), ("member", true)]
    {
        assert_eq!(page.contains(&format!(">The {org_role}</a>")), is_named, "{org_role}: {page}");
    }
    let search = page.split("/members").find(|rest| rest.starts_with("?q=")).unwrap().split('"').next().unwrap();
    let found = owner.get(&app_path(&hiring, &format!("members{search}"))).expect(200).text();
    assert_eq!(found.matches(r#"<div class="member">"#).count(), 1, "{found}");
    let foreign = app.browser(&other, "owner").get(&path(&other)).expect(200).text();
    assert!(foreign.contains("5 members have no second factor yet"), "{foreign}");
    app.change("UPDATE users SET enabled = 0 WHERE id NOT IN (SELECT user_id FROM totp_secrets)");
    let page = owner.get(&path(&hiring)).expect(200).text();
    assert!(page.contains("Every member has a second factor."), "{page}");
}

fn twenty_members_are_named_and_the_others_are_counted() {
    let (app, hiring) = start(false);
    let owner = app.browser(&hiring, "owner");
    for number in 0..16 {
        let email = format!("m{number}@example.com");
        let fields = [("name", "A person"), ("email", &*email), ("orgRole", "member")];
        owner.submit(&app_path(&hiring, "members"), &fields).expect(200);
    }
    let page = owner.get(&path(&hiring)).expect(200).text();
    assert!(page.contains("21 members have no second factor yet") && page.contains("and 1 more"), "{page}");
    assert_eq!(page.matches("/members?q=").count(), 20, "{page}");
}

fn only_owners_and_admins_see_and_change_the_setting() {
    let (app, hiring) = start(false);
    for org_role in ["moderator", "hr_representative", "member"] {
        let browser = app.browser(&hiring, org_role);
        browser.get(&path(&hiring)).expect(403);
        browser.submit(&path(&hiring), &[(FIELD, "true")]).expect(403);
        assert!(!browser.get(&app_path(&hiring, "members")).expect(200).text().contains("settings/security"));
    }
    assert_eq!(changes(&app).len(), 0);
    for browser in [app.browser(&hiring, "admin"), app.browser_of("admin@appliance.example")] {
        assert!(browser.get(&app_path(&hiring, "members")).expect(200).text().contains("settings/security"));
        browser.get(&path(&hiring)).expect(200);
        let value = changes(&app).is_empty().to_string();
        browser.submit(&path(&hiring), &[(FIELD, &value)]).expect(303);
    }
    assert_eq!(changes(&app).len(), 2);
    let owner = app.browser(&hiring, "owner");
    owner.get(&path(&hiring)).expect(200);
    let sql = format!("UPDATE memberships SET org_role = 'member' WHERE user_id = '{}'", hiring.staff("owner"));
    app.change(&sql);
    owner.submit(&path(&hiring), &[(FIELD, "true")]).expect(403);
}

fn a_change_requires_a_recent_confirmation() {
    let (app, hiring) = start(false);
    let owner = app.browser(&hiring, "owner");
    app.pass(10 * 60 - 1);
    owner.submit(&path(&hiring), &[(FIELD, "true")]).expect(303);
    app.pass(1);
    let page = owner.submit(&path(&hiring), &[(FIELD, "false")]).expect(403).text();
    assert!(page.contains(r#"name="requireSecondFactor" value="false""#), "{page}");
    assert_eq!(changes(&app).len(), 1);
    // A form that changes nothing needs no confirmation.
    owner.submit(&path(&hiring), &[(FIELD, "true")]).expect(303);
    let target = format!("/app/confirm?{}", form_body(&[("to", &path(&hiring))]));
    let answer = owner.submit(&target, &[(FIELD, "false"), ("confirmation.password", PASSWORD)]).expect(307);
    assert_eq!(answer.header("location"), Some(path(&hiring).as_str()));
    owner.submit(&path(&hiring), &[(FIELD, "false")]).expect(303);
    assert_eq!(changes(&app).len(), 2);
}

fn an_invalid_value_is_refused() {
    let (app, hiring) = start(false);
    let owner = app.browser(&hiring, "owner");
    for fields in [&[][..], &[(FIELD, "")], &[(FIELD, "yes")], &[(FIELD, "true"), (FIELD, "true")]] {
        owner.submit(&path(&hiring), fields).expect(400);
    }
    assert_eq!(changes(&app).len(), 0);
}

fn the_page_and_the_api_change_the_same_setting() {
    let (app, hiring) = start(false);
    let owner = app.browser(&hiring, "owner");
    let api = format!("/api/admin/organizations/{}", hiring.organization_id);
    app.admin().patch(&api, &json!({ FIELD: true })).expect(200);
    assert!(owner.get(&path(&hiring)).expect(200).text().contains("All members must have a second factor."));
    owner.submit(&path(&hiring), &[(FIELD, "false")]).expect(303);
    assert_eq!(app.admin().get(&api).expect(200).json()["data"][FIELD], false);
    let [by_api, by_page] = &changes(&app)[..] else { panic!("expected two changes") };
    assert_eq!((&by_api["before"], &by_api["after"]), (&by_page["after"], &by_page["before"]));
}

fn the_page_of_a_demonstration_explains_that_nothing_is_required() {
    let (app, hiring) = start(false);
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    assert!(page.contains("This is a demonstration"), "{page}");
}

fn scripts_in_names_are_shown_as_text() {
    let (app, hiring) = start(false);
    app.change("UPDATE users SET name = '<script>alert(1)</script>'");
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    assert!(!page.contains("<script>alert") && page.contains("alert(1)"), "{page}");
}

fn platform_admins_see_who_makes_the_backups_of_a_database_server() {
    let (app, hiring) = start(false);
    let admin = app.browser_of("admin@appliance.example");
    for (language, words) in [
        ("en", "Its operator makes the backups with the tools of PostgreSQL."),
        ("de", "Dessen Betreiber sichert sie mit den Werkzeugen von PostgreSQL."),
        ("fr", "Son exploitant les sauvegarde avec les outils de PostgreSQL."),
        ("es", "Su operador hace las copias de seguridad con las herramientas de PostgreSQL."),
    ] {
        let page = admin.get(&format!("{}?lang={language}", path(&hiring))).expect(200).text();
        assert!(page.contains(words) && !page.contains("--backup-dir"), "{language}: {page}");
    }
}

fn platform_admins_see_the_age_of_the_newest_backup() {
    let title = "Backups of the service";
    let (app, hiring) = start(false);
    let admin = app.browser_of("admin@appliance.example");
    let page = admin.get(&path(&hiring)).expect(200).text();
    assert!(page.contains(title) && page.contains("The operator can turn them on with --backup-dir."), "{page}");
    assert!(!app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text().contains(title));
    let dir = tempfile::tempdir().unwrap();
    let backups = Some(daily_backups(&dir, "backups"));
    let app = App::with(Options { requires_second_factors: false, backups, ..Options::default() });
    let hiring = app.hiring();
    wait_for_backup(&dir);
    std::fs::remove_dir_all(dir.path().join("backups")).unwrap();
    app.pass(3 * 3_600);
    let admin = app.browser_of("admin@appliance.example");
    let page = admin.get(&path(&hiring)).expect(200).text();
    assert!(page.contains("Newest checked backup:") && page.contains(">3 hours ago</time>"), "{page}");
    assert!(!page.contains("newer backup") && !page.contains("--backup-dir"), "{page}");
    app.pass(46 * 3_600);
    let admin = app.browser_of("admin@appliance.example");
    for (language, words) in [
        ("en", "There should be a newer backup."),
        ("de", "Es müsste bereits eine neuere Sicherung geben."),
        ("fr", "Dernière sauvegarde vérifiée"),
        ("es", "Última copia comprobada:"),
    ] {
        let page = admin.get(&format!("{}?lang={language}", path(&hiring))).expect(200).text();
        assert!(page.contains(words) && page.contains(r#"class="notice bad""#), "{language}: {page}");
    }
}
