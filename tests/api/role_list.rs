//! `GET /api/v1/organizations/{id}/roles`: filters, order, paging, and the number of roles that one page scans.

use serde_json::{Value, json};

use crate::support::roles::staff;
use crate::support::{App, Client, Hiring};

crate::tests![
    roles_are_listed_newest_first_in_pages,
    filters_apply_alone_and_together,
    a_part_of_the_name_matches_ignoring_case_and_accents,
    invalid_parameters_are_refused,
    a_listed_role_has_exactly_its_documented_fields,
    a_page_scans_at_most_five_hundred_roles_and_the_next_page_continues,
    only_the_organizations_own_roles_are_listed,
];

fn names(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|role| role["name"].as_str().unwrap().to_owned()).collect()
}

fn all(client: &Client, hiring: &Hiring, query: &str) -> Vec<String> {
    names(&client.get(&format!("{}?{query}", hiring.roles())).expect(200).json())
}

/// Reads the list page by page. Returns the names of all listed roles and the number of pages.
fn walk(client: &Client, hiring: &Hiring, query: &str) -> (Vec<String>, usize) {
    let (mut cursor, mut seen, mut pages) = (String::new(), Vec::new(), 0);
    loop {
        let page = client.get(&format!("{}?{query}{cursor}", hiring.roles())).expect(200).json();
        seen.extend(names(&page));
        pages += 1;
        let next = &page["pagination"]["nextCursor"];
        assert_eq!(page["pagination"]["hasMore"], next.is_string());
        let Some(next) = next.as_str() else { return (seen, pages) };
        cursor = format!("&cursor={next}");
    }
}

/// Creates an organization with these roles. The first two roles have the same creation time, the next two were created
/// one minute later, and so on. After every 120 roles, the times repeat. The list orders roles with the same creation
/// time by id.
fn with_roles(app: &App, roles: &[Value]) -> Hiring {
    app.hiring_with(|document| {
        document["organizations"][0]["roles"] = roles
            .iter()
            .enumerate()
            .map(|(number, role)| {
                let mut role = role.clone();
                role["id"] = json!(format!("role_{number:05}"));
                role["createdAt"] = json!(format!("2026-01-01T00:{:02}:00Z", number / 2 % 60));
                role
            })
            .collect();
    })
}

fn roles_are_listed_newest_first_in_pages() {
    let app = App::start();
    let hiring = with_roles(&app, &(0..7).map(|number| json!({ "name": format!("{number}") })).collect::<Vec<_>>());
    let client = staff(&app, &hiring, "member");
    let expected = ["6", "5", "4", "3", "2", "1", "0"];
    for (limit, pages) in [(1, 7), (2, 4), (3, 3), (6, 2), (7, 1), (200, 1)] {
        assert_eq!(walk(&client, &hiring, &format!("limit={limit}")), (expected.map(str::to_owned).to_vec(), pages));
    }
    let first_page = client.get(&format!("{}?limit=2", hiring.roles())).expect(200).json()["pagination"].clone();
    // A role that is created between the requests for two pages is on none of the remaining pages.
    staff(&app, &hiring, "owner").post(&hiring.roles(), &json!({ "name": "new" })).expect(200);
    let query = format!("limit=2&cursor={}", first_page["nextCursor"].as_str().unwrap());
    assert_eq!(all(&client, &hiring, &query), ["4", "3"]);
    assert_eq!(all(&client, &hiring, "limit=1"), ["new"]);
}

fn filters_apply_alone_and_together() {
    let app = App::start();
    let hiring = with_roles(
        &app,
        &[
            json!({ "name": "a", "status": "open", "public": true, "department": "Yard", "location": "Ribe", "workType": "onsite" }),
            json!({ "name": "b", "status": "open", "public": false, "department": "Yard", "location": "Aarhus" }),
            json!({ "name": "c", "status": "draft", "public": true, "department": "Office", "location": "Ribe", "workType": "remote" }),
            json!({ "name": "d", "status": "closed", "department": "yard", "location": "Ribe", "workType": "onsite" }),
        ],
    );
    let client = staff(&app, &hiring, "member");
    for (query, expected) in [
        ("", "dcba"),
        ("status=open", "ba"),
        ("status=filled", ""),
        ("public=true", "ca"),
        ("public=false", "db"),
        ("department=Yard", "ba"),
        ("department=yard", "d"),
        ("department=Yar", ""),
        ("department=", ""),
        ("location=Ribe", "dca"),
        ("workType=onsite", "da"),
        ("status=open&public=true", "a"),
        ("status=open&department=Yard&location=Aarhus", "b"),
        ("location=Ribe&workType=onsite&status=closed", "d"),
        ("public=true&location=Ribe&q=C", "c"),
        ("department=Yard&location=Ribe&workType=onsite&status=open&public=true&q=a", "a"),
        ("department=Yard&location=Ribe&workType=remote", ""),
    ] {
        assert_eq!(all(&client, &hiring, query).concat(), expected, "{query}");
        assert_eq!(walk(&client, &hiring, &format!("limit=1&{query}")).0.concat(), expected, "{query}");
    }
}

fn a_part_of_the_name_matches_ignoring_case_and_accents() {
    let app = App::start();
    let names = ["Größe Ärztin", "Engineer (100%)", "Senior engineer_1", "ÆØÅ", "Chef", "ΒΟΗΘΟΣ Trợ lý"];
    let hiring = with_roles(&app, &names.map(|name| json!({ "name": name })));
    let client = staff(&app, &hiring, "member");
    for (part, expected) in [
        ("ENGINEER", vec![2, 1]),
        ("ngin", vec![2, 1]),
        ("r_1", vec![2]),
        ("0%25", vec![1]),
        ("%C3%A4RZ", vec![0]),
        ("arzt", vec![0]),
        ("%CE%B2%CE%BF%CE%B7%CE%B8%CF%8C%CF%82", vec![5]),
        ("tro%20ly", vec![5]),
        ("%C3%A6", vec![3]),
        ("senior+eng", vec![2]),
        ("", vec![5, 4, 3, 2, 1, 0]),
        ("nobody", vec![]),
    ] {
        let expected: Vec<&str> = expected.iter().map(|index: &usize| names[*index]).collect();
        assert_eq!(all(&client, &hiring, &format!("q={part}")), expected, "{part}");
    }
}

fn invalid_parameters_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let client = staff(&app, &hiring, "member");
    for (query, fields) in [
        ("status=Open", vec!["status"]),
        ("status=open&status=open", vec!["status"]),
        ("workType=", vec!["workType"]),
        ("public=1", vec!["public"]),
        ("department=a&department=b", vec!["department"]),
        ("location=a&location=b", vec!["location"]),
        ("q=a&q=b", vec!["q"]),
        ("limit=x", vec!["limit"]),
        ("cursor=x", vec!["cursor"]),
        ("cursor=MQohIQ", vec!["cursor"]),
        ("cursor=eApyb2xlXzE", vec!["cursor"]),
        ("status=x&workType=x&public=x&limit=x&cursor=x", vec!["status", "workType", "public", "limit", "cursor"]),
    ] {
        let answer = client.get(&format!("{}?{query}", hiring.roles())).refused(400, "validation_error");
        assert_eq!(answer.fields(), fields, "{query}");
    }
    client.get(&format!("{}?q={}", hiring.roles(), "a".repeat(255))).expect(200);
    client.get(&format!("{}?q={}", hiring.roles(), "a".repeat(256))).refused(400, "validation_error");
}

fn a_listed_role_has_exactly_its_documented_fields() {
    let app = App::start();
    let hiring = app.hiring();
    let page = staff(&app, &hiring, "member").get(&hiring.roles()).expect(200).json();
    let expected = json!({
        "id": hiring.role_id, "organizationId": hiring.organization_id, "name": "Engineer", "department": "Engineering",
        "location": "Bremen", "workType": "hybrid", "collarType": "white", "salaryMin": 60000, "salaryMax": 75000.5,
        "salaryCurrency": "EUR", "salaryPeriod": "year", "status": "open", "public": true, "positions": 2, "hired": 0,
        "closeReason": null, "closesOn": null, "createdAt": "2026-10-01T08:00:00.000000Z", "updatedAt": page["data"][0]["updatedAt"],
    });
    let pagination = json!({ "limit": 50, "hasMore": false, "nextCursor": null });
    assert_eq!(page, json!({ "success": true, "data": [expected], "pagination": pagination }));
}

fn a_page_scans_at_most_five_hundred_roles_and_the_next_page_continues() {
    let app = App::start();
    let roles: Vec<Value> = (0..1_001)
        .map(|number| json!({ "name": if number == 0 { "oldest" } else { "other" }, "department": "Yard" }))
        .collect();
    let hiring = with_roles(&app, &roles);
    app.change("UPDATE roles SET created_at = 0 WHERE name = 'oldest'");
    let client = staff(&app, &hiring, "member");
    for query in ["q=oldest", "q=OLD&department=Yard", "q=oldest&limit=1", "q=oldest&public=false&status=draft"] {
        assert_eq!(walk(&client, &hiring, query), (vec!["oldest".to_owned()], 3), "{query}");
    }
    for (query, pages) in
        [("q=nothing", 3), ("department=Yard&location=Ribe", 3), ("location=Ribe", 1), ("status=open", 1)]
    {
        assert_eq!(walk(&client, &hiring, query), (vec![], pages), "{query}");
    }
    assert_eq!(walk(&client, &hiring, "limit=200").1, 6);
    app.change("DELETE FROM roles WHERE name = 'oldest'");
    // If the last role that a page scans is the last role of all, no page follows.
    assert_eq!(walk(&client, &hiring, "q=nothing").1, 2);
}

fn only_the_organizations_own_roles_are_listed() {
    let app = App::start();
    let (mine, theirs) = (app.hiring(), app.hiring());
    let client = staff(&app, &mine, "owner");
    for query in ["", "status=open", "q=engineer", "public=true", "department=Engineering"] {
        assert_eq!(all(&client, &mine, query), ["Engineer"], "{query}");
    }
    client.get(&theirs.roles()).refused(404, "not_found");
    client.get("/api/v1/organizations/none/roles").refused(404, "not_found");
    let cursor = app.admin().get(&format!("{}?limit=1&q=engineer", theirs.roles())).expect(200).json();
    assert_eq!(cursor["data"][0]["id"], theirs.role_id);
}
