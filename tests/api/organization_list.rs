//! `GET /api/v1/organizations` and `/{id}`: the organizations that each caller sees, newest first, in pages.

use serde_json::{Value, json};

use crate::support::roles::staff;
use crate::support::{App, Client};

crate::tests![
    a_member_sees_their_organizations_with_their_organization_role_in_each,
    an_admin_sees_all_organizations_newest_first,
    only_admins_see_a_disabled_organization,
    paging_reaches_every_organization,
    an_invalid_cursor_or_limit_is_refused,
    an_organization_has_exactly_its_documented_fields,
];

const PATH: &str = "/api/v1/organizations";

fn ids(client: &Client, query: &str) -> Vec<String> {
    let page = client.get(&format!("{PATH}{query}")).expect(200).json();
    page["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

fn a_member_sees_their_organizations_with_their_organization_role_in_each() {
    let app = App::start();
    let (first, _) = (app.hiring(), app.hiring());
    let third = app.hiring_with(|document| {
        let membership = json!({ "userId": first.staff("owner"), "orgRole": "member" });
        document["organizations"][0]["members"].as_array_mut().unwrap().push(membership);
    });
    let owner = staff(&app, &first, "owner");
    let page = owner.get(PATH).expect(200).json();
    let seen = |row: &Value| (row["id"].as_str().unwrap().to_owned(), row["orgRole"].as_str().unwrap().to_owned());
    let rows: Vec<_> = page["data"].as_array().unwrap().iter().map(seen).collect();
    let expected = [(third.organization_id, "member".to_owned()), (first.organization_id, "owner".to_owned())];
    assert_eq!(rows, expected);
    assert_eq!(page["pagination"], json!({ "limit": 50, "hasMore": false, "nextCursor": null }));
}

fn an_admin_sees_all_organizations_newest_first() {
    let app = App::start();
    assert_eq!(ids(&app.admin(), ""), Vec::<String>::new());
    for _ in 0..3 {
        app.hiring();
        app.pass(1);
    }
    assert_eq!(ids(&app.admin(), ""), ["org_3", "org_2", "org_1"]);
    assert_eq!(app.admin().get(PATH).expect(200).json()["data"][0]["orgRole"], Value::Null);
}

fn only_admins_see_a_disabled_organization() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = staff(&app, &hiring, "owner");
    let path = format!("{PATH}/{}", hiring.organization_id);
    assert_eq!(ids(&owner, "").len(), 1);
    owner.get(&path).expect(200);
    app.change("UPDATE organizations SET enabled = 0");
    assert_eq!(ids(&owner, "").len(), 0);
    owner.get(&path).refused(404, "not_found");
    assert_eq!(app.admin().get(&path).expect(200).json()["data"]["enabled"], false);
    assert_eq!(ids(&app.admin(), "").len(), 1);
}

fn paging_reaches_every_organization() {
    let app = App::start();
    let created: Vec<String> = (0..5).map(|_| app.hiring().organization_id).rev().collect();
    // Some organizations have the same creation time, so their ids decide the order.
    app.change("UPDATE organizations SET created_at = 7 WHERE id IN ('org_2', 'org_3', 'org_4')");
    let expected = ["org_5", "org_1", "org_4", "org_3", "org_2"];
    assert_eq!(created.len(), 5);
    for limit in 1..=6 {
        let (mut query, mut seen) = (format!("?limit={limit}"), Vec::new());
        loop {
            let page = app.admin().get(&format!("{PATH}{query}")).expect(200).json();
            let rows = page["data"].as_array().unwrap();
            assert!(rows.len() <= limit && !rows.is_empty());
            seen.extend(rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()));
            let Some(cursor) = page["pagination"]["nextCursor"].as_str() else { break };
            query = format!("?limit={limit}&cursor={cursor}");
        }
        assert_eq!(seen, expected, "{limit}");
    }
}

fn an_invalid_cursor_or_limit_is_refused() {
    let app = App::start();
    for query in
        ["?limit=abc", "?limit=1&limit=2", "?cursor=", "?cursor=x", "?cursor=YQ", "?cursor=YQph", "?cursor=MQohIQ"]
    {
        app.admin().get(&format!("{PATH}{query}")).refused(400, "validation_error");
    }
    let both = app.admin().get(&format!("{PATH}?limit=abc&cursor=x")).refused(400, "validation_error");
    assert_eq!(both.fields(), ["limit", "cursor"]);
    for (limit, used) in [("0", 1), ("-5", 1), ("1", 1), ("200", 200), ("201", 200), ("99999999999999999999", 200)] {
        let page = app.admin().get(&format!("{PATH}?limit={limit}")).expect(200).json();
        assert_eq!(page["pagination"]["limit"], used);
    }
}

fn an_organization_has_exactly_its_documented_fields() {
    let app = App::start();
    let hiring = app.hiring();
    let path = format!("{PATH}/{}", hiring.organization_id);
    let shown = staff(&app, &hiring, "member").get(&path).expect(200).json();
    let expected = json!({
        "id": hiring.organization_id,
        "slug": hiring.slug,
        "name": "Acme 1",
        "domain": "acme-1.example",
        "logo": "https://acme-1.example/logo.svg",
        "orgRole": "member",
        "enabled": true,
        "portalEnabled": true,
        "requireExternalPositionId": false,
        "payTransparency": false,
        "timeZone": "UTC",
        "createdAt": shown["data"]["createdAt"],
    });
    assert_eq!(shown["data"], expected);
    app.admin().get(&format!("{PATH}/none")).refused(404, "not_found");
}
