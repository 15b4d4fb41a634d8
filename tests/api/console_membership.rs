//! `/app/{orgSlug}/members`: who sees what about the members, and who may invite, change and remove them.

use serde_json::json;

use crate::support::console::{PASSWORD, follow};
use crate::support::{App, Client, Hiring};

crate::tests![
    an_invited_person_joins_with_the_link,
    an_invitation_that_is_sent_twice_makes_one_user_and_a_working_link,
    a_person_with_an_account_is_added_without_a_link,
    a_person_who_was_invited_elsewhere_gets_no_link_here,
    an_invalid_invitation_has_an_error_next_to_the_field,
    a_member_cannot_be_invited_again,
    only_owners_and_admins_administer_members,
    an_admin_cannot_act_on_an_owner,
    a_change_to_an_organization_role_is_saved_once_and_overwrites_no_change_by_somebody_else,
    the_last_owner_can_be_neither_demoted_nor_removed,
    a_reset_link_ends_the_sessions_of_the_person,
    an_owner_cannot_make_a_reset_link_for_themselves_a_disabled_user_or_a_member_of_two_organizations,
    a_removed_member_sees_nothing,
    an_admin_who_is_demoted_can_no_longer_administer_members,
    plain_members_see_names_and_rights_only,
    users_without_a_membership_here_are_treated_like_unknown_users,
    dangerous_acts_require_a_recent_confirmation,
    the_last_use_of_a_session_is_shown,
    scripts_in_names_are_shown_as_text,
];

fn path(hiring: &Hiring, page: &str) -> String {
    format!("/app/{}/members{page}", hiring.slug)
}

fn of(hiring: &Hiring, org_role: &str, act: &str) -> String {
    path(hiring, &format!("/{}/{act}", hiring.staff(org_role)))
}

/// Returns the path of the link that a page shows.
fn link(page: &str) -> String {
    let url = page.split_once(r#"id="link-url" value=""#).unwrap_or_else(|| panic!("{page}")).1.split('"').next();
    url.unwrap().split_once("/join/").map(|(_, token)| format!("/join/{token}")).unwrap()
}

fn org_roles(app: &App, hiring: &Hiring, user_id: &str) -> Vec<String> {
    let id = &hiring.organization_id;
    app.sql(&format!("SELECT org_role FROM memberships WHERE organization_id = '{id}' AND user_id = '{user_id}'"))
}

fn invitation<'a>(name: &'a str, email: &'a str, org_role: &'a str) -> [(&'a str, &'a str); 3] {
    [("name", name), ("email", email), ("orgRole", org_role)]
}

fn an_invited_person_joins_with_the_link() {
    let app = App::start();
    let hiring = app.hiring();
    let admin = app.browser(&hiring, "admin");
    let typed = invitation(" Ingrid Berg ", " Ingrid@Example.com ", "moderator");
    let page = admin.submit(&path(&hiring, ""), &typed).expect(200).text();
    assert!(page.contains("The link for Ingrid Berg") && page.contains("within 7 days"), "{page}");
    let join = app.anonymous().get(&link(&page)).expect(200).text();
    assert!(join.contains("The admin") && join.contains("Acme 1"), "{join}");
    app.pass(7 * 24 * 60 * 60 - 1);
    let joined = app.anonymous().submit(&link(&page), &[("password", PASSWORD)]).expect(303);
    let cookie = joined.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let ingrid = app.anonymous().with_header("Cookie", &cookie);
    ingrid.get(&path(&hiring, "")).expect(200);
    let actions = app.sql("SELECT action FROM activities ORDER BY number");
    assert_eq!(actions, ["membership.put", "sign_in_link.issued"]);
    let detail = app.sql("SELECT detail FROM activities WHERE action = 'sign_in_link.issued'").remove(0);
    assert!(detail.contains("\"purpose\":\"invitation\"") && !detail.contains("Ingrid"), "{detail}");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_invitation_that_is_sent_twice_makes_one_user_and_a_working_link() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let typed = invitation("Ingrid", "ingrid@example.com", "admin");
    let links = [(); 2].map(|()| link(&owner.submit(&path(&hiring, ""), &typed).expect(200).text()));
    assert_eq!(app.sql("SELECT count(*) FROM users WHERE email_key = 'ingrid@example.com'"), ["1"]);
    app.anonymous().get(&links[0]).expect(410);
    app.anonymous().get(&links[1]).expect(200);
    app.pass(7 * 24 * 60 * 60);
    app.anonymous().get(&links[1]).expect(410);
    let owner = app.browser(&hiring, "owner");
    let id = app.sql("SELECT id FROM users WHERE email_key = 'ingrid@example.com'").remove(0);
    let page = owner.submit(&path(&hiring, &format!("/{id}/link")), &[]).expect(200).text();
    assert!(page.contains("within 7 days"), "{page}");
    app.anonymous().get(&link(&page)).expect(200);
}

fn a_person_with_an_account_is_added_without_a_link() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let owner = app.browser(&hiring, "owner");
    app.set_password(&other.email("member"), PASSWORD);
    let email = other.email("member").to_uppercase();
    let typed = invitation("Ignored", &email, "member");
    let answer = owner.submit(&path(&hiring, ""), &typed).expect(303);
    assert_eq!(answer.header("location"), Some(path(&hiring, "?done=added").as_str()));
    let page = owner.get(&path(&hiring, "?done=added")).expect(200).text();
    assert!(page.contains("They sign in as usual.") && !page.contains("Ignored"), "{page}");
    assert_eq!(org_roles(&app, &hiring, &other.staff("member")), ["member"]);
    assert_eq!(app.sql("SELECT count(*) FROM sign_in_links"), ["0"]);
}

fn a_person_who_was_invited_elsewhere_gets_no_link_here() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let (owner, foreign) = (app.browser(&hiring, "owner"), app.browser(&other, "owner"));
    let typed = invitation("Ingrid", "ingrid@example.com", "member");
    let first = link(&foreign.submit(&path(&other, ""), &typed).expect(200).text());
    let page = follow(&owner, owner.submit(&path(&hiring, ""), &typed)).text();
    assert!(page.contains("only a platform admin may make a link for them") && !page.contains("as usual"), "{page}");
    owner.submit(&path(&hiring, ""), &typed).expect(409);
    app.anonymous().get(&first).expect(200);
}

fn an_invalid_invitation_has_an_error_next_to_the_field() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let long = "n".repeat(256);
    for (typed, field) in [
        (invitation("", "a@example.com", "member"), "name"),
        (invitation(&long, "a@example.com", "member"), "name"),
        (invitation("Typed", "nowhere", "member"), "email"),
        (invitation("Typed", "", "member"), "email"),
        (invitation("Typed", "a@example.com", "boss"), "orgRole"),
    ] {
        let page = owner.submit(&path(&hiring, ""), &typed).expect(400).text();
        assert!(page.contains(&format!(r#"id="{field}-error""#)), "{field}: {page}");
        assert!(page.contains(typed[0].1) && page.contains(typed[1].1), "{page}");
    }
    owner.submit(&path(&hiring, ""), &[("name", "a"), ("name", "b")]).expect(400);
    assert_eq!(app.sql("SELECT count(*) FROM main.activities WHERE action = 'user.created'"), ["0"]);
    let typed = invitation(&long[1..], "a@example.com", "member");
    owner.submit(&path(&hiring, ""), &typed).expect(200);
}

fn a_member_cannot_be_invited_again() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    app.set_password(&hiring.email("member"), PASSWORD);
    for (org_role, email) in [("member", hiring.email("member")), ("admin", hiring.email("moderator"))] {
        let page = owner.submit(&path(&hiring, ""), &invitation("Typed", &email, org_role)).expect(409).text();
        assert!(page.contains("is already a member") && page.contains("Typed"), "{page}");
    }
    assert_eq!(org_roles(&app, &hiring, &hiring.staff("moderator")), ["moderator"]);
}

fn only_owners_and_admins_administer_members() {
    let app = App::start();
    let hiring = app.hiring();
    app.admin()
        .put("/api/admin/organizations/org_1/memberships/user_admin", &json!({ "orgRole": "owner" }))
        .expect(200);
    for org_role in ["moderator", "hr_representative", "member"] {
        let browser = app.browser(&hiring, org_role);
        let page = browser.get(&path(&hiring, "")).expect(200).text();
        assert!(page.contains("Only owners and admins may manage members."), "{page}");
        assert!(
            page.contains("<fieldset class=\"stack\" disabled aria-describedby=\"only\">") && !page.contains("/link\""),
            "{page}"
        );
        browser.submit(&path(&hiring, ""), &invitation("X", "x@example.com", "member")).expect(403);
        browser.submit(&of(&hiring, "member", "role"), &[("orgRole", "owner"), ("before", "member")]).expect(403);
        for act in ["link", "remove"] {
            browser.submit(&of(&hiring, org_role, act), &[]).expect(403);
        }
    }
    assert_eq!(app.sql("SELECT count(*) FROM sign_in_links"), ["0"]);
    // A platform admin administers every organization.
    let page = app.browser_of("admin@appliance.example").get(&path(&hiring, "")).expect(200).text();
    assert!(page.contains("platform admin") && page.contains("/link\""), "{page}");
}

fn an_admin_cannot_act_on_an_owner() {
    let app = App::start();
    let hiring = app.hiring();
    let admin = app.browser(&hiring, "admin");
    let page = admin.get(&path(&hiring, "")).expect(200).text();
    assert_eq!(page.matches("Only an owner or a platform admin may do this.").count(), 3, "{page}");
    admin.submit(&of(&hiring, "owner", "role"), &[("orgRole", "member"), ("before", "owner")]).expect(403);
    admin.submit(&of(&hiring, "member", "role"), &[("orgRole", "owner"), ("before", "member")]).expect(403);
    admin.submit(&path(&hiring, ""), &invitation("X", "x@example.com", "owner")).expect(403);
    for act in ["link", "remove"] {
        admin.submit(&of(&hiring, "owner", act), &[]).expect(403);
    }
    // An owner cannot act on a platform admin, even one who is a plain member.
    app.admin()
        .put("/api/admin/organizations/org_1/memberships/user_admin", &json!({ "orgRole": "member" }))
        .expect(200);
    let page = app.browser(&hiring, "owner").get(&path(&hiring, "")).expect(200).text();
    assert_eq!(page.matches("Only a platform admin may do this to a platform admin.").count(), 3, "{page}");
    assert!(!page.contains("Only an owner or a platform admin may do this."), "{page}");
    for act in ["link", "remove"] {
        app.browser(&hiring, "owner").submit(&path(&hiring, &format!("/user_admin/{act}")), &[]).expect(403);
    }
    assert_eq!(app.sql("SELECT count(*) FROM sign_in_links"), ["0"]);
    assert_eq!(app.sql("SELECT count(*) FROM users WHERE email_key = 'x@example.com'"), ["0"]);
}

fn a_change_to_an_organization_role_is_saved_once_and_overwrites_no_change_by_somebody_else() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let change = |role: &str, before: &str| {
        owner.submit(&of(&hiring, "member", "role"), &[("orgRole", role), ("before", before)])
    };
    for _ in 0..2 {
        change("moderator", "member").expect(303);
    }
    let page = change("owner", "member").expect(409).text();
    assert!(page.contains("somebody else has changed this member’s organization role"), "{page}");
    for field in [&[("orgRole", "boss"), ("before", "member")][..], &[("before", "member")], &[("orgRole", "")]] {
        owner.submit(&of(&hiring, "member", "role"), field).expect(400);
    }
    change("owner", "moderator").expect(303);
    assert_eq!(org_roles(&app, &hiring, &hiring.staff("member")), ["owner"]);
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'membership.put'"), ["2"]);
}

fn the_last_owner_can_be_neither_demoted_nor_removed() {
    let app = App::start();
    let hiring = app.hiring();
    let platform_admin = app.browser_of("admin@appliance.example");
    for browser in [&app.browser(&hiring, "owner"), &platform_admin] {
        let demoted = browser.submit(&of(&hiring, "owner", "role"), &[("orgRole", "admin"), ("before", "owner")]);
        assert!(demoted.expect(409).text().contains("The last owner must remain."));
        browser.submit(&of(&hiring, "owner", "remove"), &[]).expect(409);
    }
    let owner = app.browser(&hiring, "owner");
    owner.submit(&of(&hiring, "admin", "role"), &[("orgRole", "owner"), ("before", "admin")]).expect(303);
    let answer = owner.submit(&of(&hiring, "owner", "remove"), &[]).expect(303);
    assert_eq!(answer.header("location"), Some("/app"));
    owner.get(&path(&hiring, "")).expect(404);
    app.browser(&hiring, "admin").submit(&of(&hiring, "admin", "remove"), &[]).expect(409);
}

fn a_reset_link_ends_the_sessions_of_the_person() {
    let app = App::start();
    let hiring = app.hiring();
    let (admin, member) = (app.browser(&hiring, "admin"), app.browser(&hiring, "member"));
    member.get("/app").expect(200);
    let page = admin.submit(&of(&hiring, "member", "link"), &[]).expect(200).text();
    assert!(page.contains("within an hour") && page.contains("The link for The member"), "{page}");
    member.get("/app").expect(303);
    admin.get("/app").expect(200);
    app.pass(60 * 60 - 1);
    app.anonymous().get(&link(&page)).expect(200);
    app.pass(1);
    app.anonymous().get(&link(&page)).expect(410);
    assert_eq!(app.sql("SELECT action FROM activities"), ["sign_in_link.issued"]);
}

fn an_owner_cannot_make_a_reset_link_for_themselves_a_disabled_user_or_a_member_of_two_organizations() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let owner = app.browser(&hiring, "owner");
    let page = owner.submit(&of(&hiring, "owner", "link"), &[]).expect(409).text();
    assert!(page.contains("You can change your own password on your account page."), "{page}");
    let membership =
        format!("/api/admin/organizations/{}/memberships/{}", other.organization_id, hiring.staff("member"));
    app.admin().put(&membership, &json!({ "orgRole": "owner" })).expect(200);
    owner.submit(&of(&hiring, "member", "link"), &[]).expect(403);
    assert!(owner.get(&path(&hiring, "")).expect(200).text().contains("also a member of another organization"));
    app.browser_of("admin@appliance.example").submit(&of(&hiring, "member", "link"), &[]).expect(200);
    app.change(&format!("UPDATE users SET enabled = 0 WHERE id = '{}'", hiring.staff("moderator")));
    let page = owner.submit(&of(&hiring, "moderator", "link"), &[]).expect(409).text();
    assert!(page.contains("The user is disabled"), "{page}");
    assert_eq!(app.sql("SELECT count(*) FROM sign_in_links"), ["1"]);
}

fn a_removed_member_sees_nothing() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, moderator) = (app.browser(&hiring, "owner"), app.browser(&hiring, "moderator"));
    let answer = owner.submit(&of(&hiring, "moderator", "remove"), &[]).expect(303);
    assert_eq!(answer.header("location"), Some(path(&hiring, "?done=removed").as_str()));
    assert!(owner.get(&path(&hiring, "?done=removed")).expect(200).text().contains("The person was removed."));
    moderator.get(&path(&hiring, "")).expect(404);
    let home = moderator.get("/app").expect(200).text();
    assert!(!home.contains("Acme"), "{home}");
    owner.submit(&of(&hiring, "moderator", "remove"), &[]).expect(404);
}

fn an_admin_who_is_demoted_can_no_longer_administer_members() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, admin) = (app.browser(&hiring, "owner"), app.browser(&hiring, "admin"));
    admin.get(&path(&hiring, "")).expect(200);
    owner.submit(&of(&hiring, "admin", "role"), &[("orgRole", "member"), ("before", "admin")]).expect(303);
    admin.submit(&path(&hiring, ""), &invitation("X", "x@example.com", "member")).expect(403);
    admin.submit(&of(&hiring, "member", "remove"), &[]).expect(403);
    admin.submit(&of(&hiring, "admin", "role"), &[("orgRole", "admin"), ("before", "member")]).expect(403);
}

fn plain_members_see_names_and_rights_only() {
    let app = App::start();
    let hiring = app.hiring();
    let page = |client: &Client| client.get(&path(&hiring, "")).expect(200).text();
    let (member, owner) = (page(&app.browser(&hiring, "member")), page(&app.browser(&hiring, "owner")));
    assert!(member.contains("The owner") && member.contains("may see roles and candidates"), "{member}");
    for words in ["Last seen", "Second factor", "just now"] {
        assert!(!member.contains(words) && owner.contains(words), "{words}: {member}");
    }
}

fn users_without_a_membership_here_are_treated_like_unknown_users() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let owner = app.browser(&hiring, "owner");
    for user in [other.staff("member"), "user_unknown".to_owned(), "%22".to_owned()] {
        let text = |act: &str, fields: &[(&str, &str)]| {
            let answer = owner.submit(&path(&hiring, &format!("/{user}/{act}")), fields).expect(404);
            answer.text().replace(answer.header("x-request-id").unwrap(), "")
        };
        let texts = [text("role", &[("orgRole", "member")]), text("link", &[]), text("remove", &[])];
        assert!(texts.iter().all(|text| *text == texts[0]));
    }
    assert_eq!(app.sql("SELECT count(*) FROM memberships"), ["10"]);
}

fn dangerous_acts_require_a_recent_confirmation() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    app.pass(10 * 60);
    let role = |org_role: &'static str, before: &'static str| [("orgRole", org_role), ("before", before)];
    owner.submit(&path(&hiring, ""), &invitation("X", "x@example.com", "admin")).expect(403);
    owner.submit(&of(&hiring, "member", "link"), &[]).expect(403);
    owner.submit(&of(&hiring, "member", "role"), &role("owner", "member")).expect(403);
    owner.submit(&of(&hiring, "admin", "role"), &role("member", "admin")).expect(403);
    owner.submit(&of(&hiring, "admin", "remove"), &[]).expect(403);
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
    owner.submit(&path(&hiring, ""), &invitation("X", "x@example.com", "member")).expect(200);
    owner.submit(&of(&hiring, "member", "role"), &role("moderator", "member")).expect(303);
    owner.submit(&of(&hiring, "moderator", "remove"), &[]).expect(303);
    let owner = app.browser(&hiring, "owner");
    owner.submit(&of(&hiring, "member", "link"), &[]).expect(200);
    owner.submit(&of(&hiring, "admin", "remove"), &[]).expect(303);
}

fn the_last_use_of_a_session_is_shown() {
    let app = App::start();
    let hiring = app.hiring();
    app.browser(&hiring, "member").get("/app").expect(200);
    app.pass(3 * 24 * 60 * 60);
    let owner = app.browser(&hiring, "owner");
    let page = owner.get(&path(&hiring, "")).expect(200).text();
    assert!(page.contains(">3 days ago</time>"), "{page}");
    assert!(page.contains(">never<") || page.contains("never</dd>"), "{page}");
}

fn scripts_in_names_are_shown_as_text() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let script = "<script>alert(1)</script>";
    for page in [
        owner.submit(&path(&hiring, ""), &invitation(script, "x@example.com", "member")).expect(200),
        owner.submit(&path(&hiring, ""), &invitation(script, script, script)).expect(400),
        owner.get(&path(&hiring, "")).expect(200),
    ] {
        assert!(!page.text().contains("<script>alert") && page.text().contains("alert(1)"), "{}", page.text());
    }
}
