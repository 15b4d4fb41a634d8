//! `/api/admin/organizations/{id}/memberships`: admins manage the members of an organization and their organization
//! roles.

use serde_json::{Value, json};

use crate::support::{App, Hiring};

crate::tests![
    putting_a_membership_creates_it_or_changes_its_organization_role,
    a_membership_takes_effect_with_the_next_request,
    removing_a_membership_takes_effect_with_the_next_request,
    an_invalid_organization_role_is_refused,
    unknown_organizations_users_and_memberships_are_not_found,
    members_are_listed_newest_first_in_pages,
    activity_records_the_state_before_and_after_each_change,
    the_oldest_membership_stays_the_oldest_if_the_clock_is_set_back,
    memberships_of_a_disabled_organization_can_be_changed,
];

fn memberships(hiring: &Hiring) -> String {
    format!("/api/admin/organizations/{}/memberships", hiring.organization_id)
}

fn membership_path(hiring: &Hiring, user: &str) -> String {
    format!("{}/{user}", memberships(hiring))
}

fn create_ada(app: &App) -> String {
    let body = json!({ "email": "ada@example.org", "name": "Ada" });
    app.admin().post("/api/admin/users", &body).expect(200).json()["data"]["id"].as_str().unwrap().to_owned()
}

fn put(app: &App, hiring: &Hiring, user: &str, org_role: &str) -> Value {
    app.admin().put(&membership_path(hiring, user), &json!({ "orgRole": org_role })).expect(200).json()["data"].clone()
}

fn putting_a_membership_creates_it_or_changes_its_organization_role() {
    let app = App::start();
    let (hiring, ada) = (app.hiring(), create_ada(&app));
    app.pass(60);
    let mut expected = json!({
        "organizationId": hiring.organization_id,
        "user": { "id": ada, "email": "ada@example.org", "name": "Ada", "enabled": true },
        "orgRole": "member",
        "createdAt": "2026-11-21T09:01:00.000000Z",
    });
    assert_eq!(put(&app, &hiring, &ada, "member"), expected);
    app.pass(60);
    for role in ["owner", "admin", "moderator", "hr_representative", "member"] {
        expected["orgRole"] = json!(role);
        assert_eq!(put(&app, &hiring, &ada, role), expected, "createdAt stays the same");
    }
    let page = app.admin().get(&memberships(&hiring)).expect(200).json();
    assert_eq!(page["data"][0], expected);
    assert_eq!(page["data"].as_array().unwrap().len(), 6);
    assert_eq!(app.admin().delete(&membership_path(&hiring, &ada)).expect(200).json(), json!({ "success": true }));
    assert_eq!(app.admin().get(&memberships(&hiring)).expect(200).json()["data"].as_array().unwrap().len(), 5);
}

fn a_membership_takes_effect_with_the_next_request() {
    let app = App::start();
    let (hiring, ada) = (app.hiring(), create_ada(&app));
    let client = app.user(&ada);
    client.post_empty(&hiring.reject(0)).refused(404, "not_found");
    put(&app, &hiring, &ada, "member");
    client.post_empty(&hiring.reject(0)).refused(403, "forbidden");
    put(&app, &hiring, &ada, "hr_representative");
    client.post_empty(&hiring.reject(0)).expect(200);
    put(&app, &hiring, &ada, "member");
    client.post_empty(&hiring.reject(1)).refused(403, "forbidden");
}

fn removing_a_membership_takes_effect_with_the_next_request() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.user(&hiring.staff("owner"));
    client.post_empty(&hiring.reject(0)).expect(200);
    // The last owner can be removed as well, because a platform admin can appoint another owner.
    app.admin().delete(&membership_path(&hiring, &hiring.staff("owner"))).expect(200);
    client.post_empty(&hiring.reject(1)).refused(404, "not_found");
    client.get("/api/v1/me").expect(200);
    app.admin().delete(&membership_path(&hiring, &hiring.staff("owner"))).refused(404, "not_found");
}

fn an_invalid_organization_role_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let member = membership_path(&hiring, &hiring.staff("member"));
    for body in [
        json!({}),
        json!({ "orgRole": null }),
        json!({ "orgRole": "boss" }),
        json!({ "orgRole": "Owner" }),
        json!({ "orgRole": 1 }),
        json!({ "orgRole": " " }),
    ] {
        assert_eq!(app.admin().put(&member, &body).refused(400, "validation_error").fields(), ["orgRole"], "{body}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM memberships WHERE org_role = 'member'"), ["1"]);
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn unknown_organizations_users_and_memberships_are_not_found() {
    let app = App::start();
    let (hiring, ada) = (app.hiring(), create_ada(&app));
    let body = json!({ "orgRole": "owner" });
    let nowhere = format!("/api/admin/organizations/none/memberships/{ada}");
    let not_found_detail =
        |answer: crate::support::Answer| answer.refused(404, "not_found").json()["detail"].as_str().unwrap().to_owned();
    assert_eq!(not_found_detail(app.admin().put(&nowhere, &body)), "there is no such organization");
    assert_eq!(not_found_detail(app.admin().delete(&nowhere)), "there is no such organization");
    assert_eq!(
        not_found_detail(app.admin().get("/api/admin/organizations/none/memberships")),
        "there is no such organization"
    );
    assert_eq!(not_found_detail(app.admin().put(&membership_path(&hiring, "none"), &body)), "there is no such user");
    assert_eq!(not_found_detail(app.admin().delete(&membership_path(&hiring, "none"))), "there is no such user");
    assert_eq!(
        not_found_detail(app.admin().delete(&membership_path(&hiring, &ada))),
        "the user is not a member of the organization"
    );
}

fn members_are_listed_newest_first_in_pages() {
    let app = App::start();
    let (hiring, other, ada) = (app.hiring(), app.hiring(), create_ada(&app));
    app.pass(1);
    put(&app, &hiring, &ada, "member");
    put(&app, &other, &ada, "member");
    let sorted = app.sql(&format!(
        "SELECT user_id FROM memberships WHERE organization_id = '{}' ORDER BY created_at DESC, user_id DESC",
        hiring.organization_id
    ));
    assert_eq!((sorted.len(), &sorted[0]), (6, &ada));
    for limit in [1, 4, 6] {
        let (mut found, mut next) = (Vec::new(), String::new());
        while let Some(page) =
            Some(app.admin().get(&format!("{}?limit={limit}{next}", memberships(&hiring))).expect(200).json())
        {
            let ids = page["data"].as_array().unwrap().iter().map(|one| one["user"]["id"].as_str().unwrap().to_owned());
            found.extend(ids);
            let Some(cursor) = page["pagination"]["nextCursor"].as_str() else { break };
            next = format!("&cursor={cursor}");
        }
        assert_eq!(found, sorted, "in pages of {limit}");
    }
    let bad = app.admin().get(&format!("{}?limit=x&cursor=y", memberships(&hiring))).refused(400, "validation_error");
    assert_eq!(bad.fields(), ["limit", "cursor"]);
}

fn activity_records_the_state_before_and_after_each_change() {
    let app = App::start();
    let (hiring, ada) = (app.hiring(), create_ada(&app));
    put(&app, &hiring, &ada, "member");
    put(&app, &hiring, &ada, "member");
    put(&app, &hiring, &ada, "owner");
    app.admin().delete(&membership_path(&hiring, &ada)).expect(200);
    let sql = "SELECT action, organization_id, user_id, detail FROM activities ORDER BY number";
    let state = |org_role: &str| json!({ "userId": ada, "orgRole": org_role });
    let row = |action: &str, before: Value, after: Value| {
        format!(
            "membership.{action}|{}|user_admin|{}",
            hiring.organization_id,
            json!({ "before": before, "after": after })
        )
    };
    let expected = [
        row("put", Value::Null, state("member")),
        row("put", state("member"), state("owner")),
        row("removed", state("owner"), Value::Null),
    ];
    assert_eq!(app.sql(sql), expected);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_oldest_membership_stays_the_oldest_if_the_clock_is_set_back() {
    let app = App::start();
    let (first, second, ada) = (app.hiring(), app.hiring(), create_ada(&app));
    put(&app, &second, &ada, "owner");
    // A clock that was set back does not make the new membership the oldest.
    app.set_clock("2026-11-20T09:00:00Z");
    put(&app, &first, &ada, "member");
    put(&app, &second, &ada, "moderator");
    app.make_key(&ada);
    let owner = app.admin().get("/api/admin/api-keys").expect(200).json()["data"][0]["owner"].clone();
    assert_eq!((&owner["organizationId"], &owner["orgRole"]), (&json!("org_2"), &json!("moderator")));
    let memberships =
        app.admin().get(&format!("/api/admin/users/{ada}")).expect(200).json()["data"]["memberships"].clone();
    assert_eq!(memberships[0]["organizationId"], "org_2");
}

fn memberships_of_a_disabled_organization_can_be_changed() {
    let app = App::start();
    let (hiring, ada) = (app.hiring(), create_ada(&app));
    let organization = format!("/api/admin/organizations/{}", hiring.organization_id);
    app.admin().patch(&organization, &json!({ "enabled": false })).expect(200);
    put(&app, &hiring, &ada, "owner");
    let client = app.user(&ada);
    client.post_empty(&hiring.reject(0)).refused(404, "not_found");
    app.admin().patch(&organization, &json!({ "enabled": true })).expect(200);
    client.post_empty(&hiring.reject(0)).expect(200);
}
