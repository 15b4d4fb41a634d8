//! Activity lists of organizations, roles and candidates: their rows, pages and hash chain.
//!
//! The endpoints are `GET /api/v1/organizations/{id}/activity`, `GET /api/v1/roles/{id}/activity` and
//! `GET /api/v1/candidates/{id}/activity`. The tests of access to these lists are in `access_matrix`.

use serde_json::{Value, json};

use crate::support::{App, Client, Hiring};

crate::tests![
    an_activity_list_without_rows_is_an_empty_page,
    a_row_names_the_actor_the_target_and_the_change,
    role_and_candidate_lists_show_only_their_own_rows,
    lists_never_show_rows_of_another_organization,
    the_action_parameter_selects_rows,
    paging_reaches_the_end_while_rows_are_added,
    each_row_has_the_hash_of_the_previous_row,
    an_erased_detail_is_reported_as_erased,
    acts_of_the_service_have_no_user,
    all_invalid_parameters_are_reported_together,
    a_cursor_of_another_organization_is_refused,
];

const SCOPES: [&str; 2] = ["candidates:read", "pipeline:write"];

fn staff(app: &App, hiring: &Hiring, org_role: &str) -> (String, Client) {
    let body = json!({ "name": "test", "userId": hiring.staff(org_role), "scopes": SCOPES });
    let (id, secret) = app.make_key_with(&body);
    (id, app.key(&secret))
}

fn of_organization(hiring: &Hiring) -> String {
    format!("/api/v1/organizations/{}/activity", hiring.organization_id)
}

fn of_role(hiring: &Hiring) -> String {
    format!("/api/v1/roles/{}/activity", hiring.role_id)
}

fn of_candidate(hiring: &Hiring, candidate: usize) -> String {
    format!("/api/v1/candidates/{}/activity", hiring.candidates[candidate].candidate_id)
}

#[track_caller]
fn rows(client: &Client, path: &str) -> Vec<Value> {
    client.get(path).expect(200).json()["data"].as_array().unwrap().clone()
}

/// Returns the action of each row and the candidate step that the row is about.
fn actions_and_steps(rows: &[Value]) -> Vec<(&str, &str)> {
    rows.iter()
        .map(|row| (row["action"].as_str().unwrap(), row["candidateStepId"].as_str().unwrap_or_default()))
        .collect()
}

/// Makes three decisions: a rejection, a hire, and the reversal of that hire.
fn three_decisions(client: &Client, hiring: &Hiring) {
    client.post(&hiring.reject(0), &json!({ "outcomeNotes": "too far away" })).expect(200);
    client.post_empty(&hiring.hire(1)).expect(200);
    client.post_empty(&hiring.decision(1, 3, "reject")).expect(200);
}

fn an_activity_list_without_rows_is_an_empty_page() {
    let app = App::start();
    let hiring = app.hiring();
    let (_, client) = staff(&app, &hiring, "member");
    for path in [of_organization(&hiring), of_role(&hiring), of_candidate(&hiring, 0)] {
        let answer = client.get(&path).expect(200);
        let pagination = json!({ "limit": 50, "hasMore": false, "nextCursor": null });
        assert_eq!(answer.json(), json!({ "success": true, "data": [], "pagination": pagination }));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

/// Returns the hash of the newest platform activity row. Creating the test's key writes that row, so the chain
/// continues from its hash.
fn platform_head(app: &App) -> String {
    let last =
        "SELECT lower(hex(hash)) FROM main.activities WHERE organization_id IS NULL ORDER BY number DESC LIMIT 1";
    app.sql(last).remove(0)
}

fn a_row_names_the_actor_the_target_and_the_change() {
    let app = App::start();
    let hiring = app.hiring();
    let (key_id, client) = staff(&app, &hiring, "moderator");
    let decision = json!({ "outcomeNotes": "too far away", "outcomeType": "other", "outcomeReason": "commute" });
    client.post(&hiring.reject(0), &decision).expect(200);
    let candidate = &hiring.candidates[0];
    let hash = app.sql("SELECT lower(hex(hash)) FROM activities").remove(0);
    let expected = json!({
        "id": app.sql("SELECT id FROM activities")[0],
        "at": "2026-11-21T09:00:00.000000Z",
        "action": "candidate_step.rejected",
        "user": { "id": hiring.staff("moderator"), "name": "The moderator", "email": hiring.email("moderator") },
        "apiKeyId": key_id,
        "roleId": hiring.role_id,
        "candidateId": candidate.candidate_id,
        "candidateRoleId": candidate.application_id,
        "candidateStepId": candidate.steps[1],
        "before": { "application": "In Progress", "role": "open", "hire": null, "steps": [{
            "id": candidate.steps[1], "status": "in_progress", "rejectedAt": null, "rejectionReason": null,
            "outcomeType": null, "outcomeReason": null, "validatedAt": null,
        }] },
        "after": { "application": "Not Selected", "role": "open", "hire": null, "steps": [{
            "id": candidate.steps[1], "status": "rejected", "rejectedAt": "2026-11-21T09:00:00.000000Z",
            "rejectionReason": "too far away", "outcomeType": "other", "outcomeReason": "commute", "validatedAt": null,
        }] },
        "erased": false,
        "hash": hash,
        "previousHash": platform_head(&app),
    });
    for path in [of_organization(&hiring), of_role(&hiring), of_candidate(&hiring, 0)] {
        assert_eq!(rows(&client, &path), std::slice::from_ref(&expected), "{path}");
    }
}

fn role_and_candidate_lists_show_only_their_own_rows() {
    let app = App::start();
    let hiring = app.hiring();
    let (_, client) = staff(&app, &hiring, "owner");
    three_decisions(&client, &hiring);
    let (rejected, hired, reversed) =
        ("candidate_step.rejected", "candidate_step.hired", "candidate_step.hire_reversed");
    let (first, second) = (&hiring.candidates[0].steps, &hiring.candidates[1].steps);
    let all = [(reversed, second[3].as_str()), (hired, second[3].as_str()), (rejected, first[1].as_str())];
    assert_eq!(actions_and_steps(&rows(&client, &of_organization(&hiring))), all);
    assert_eq!(actions_and_steps(&rows(&client, &of_role(&hiring))), all);
    assert_eq!(actions_and_steps(&rows(&client, &of_candidate(&hiring, 0))), all[2..]);
    assert_eq!(actions_and_steps(&rows(&client, &of_candidate(&hiring, 1))), all[..2]);
    assert_eq!(actions_and_steps(&rows(&client, &of_candidate(&hiring, 2))), []);
}

fn lists_never_show_rows_of_another_organization() {
    let app = App::start();
    let (mine, theirs) = (app.hiring(), app.hiring());
    let (_, client) = staff(&app, &mine, "owner");
    app.admin().post_empty(&theirs.reject(0)).expect(200);
    three_decisions(&client, &mine);
    app.admin().post_empty(&theirs.hire(1)).expect(200);
    for path in [of_organization(&mine), of_role(&mine)] {
        let seen = rows(&client, &path);
        assert_eq!(seen.len(), 3);
        assert!(seen.iter().all(|row| row["roleId"] == mine.role_id.as_str()), "{path}");
    }
    for path in [of_organization(&theirs), of_role(&theirs), of_candidate(&theirs, 0)] {
        client.get(&path).refused(404, "not_found");
    }
}

fn the_action_parameter_selects_rows() {
    let app = App::start();
    let hiring = app.hiring();
    let (_, client) = staff(&app, &hiring, "owner");
    three_decisions(&client, &hiring);
    for path in [of_organization(&hiring), of_role(&hiring), of_candidate(&hiring, 1)] {
        for (action, expected) in [("candidate_step.hired", 1), ("candidate_step.hire_reversed", 1), ("role.closed", 0)]
        {
            let found = rows(&client, &format!("{path}?action={action}"));
            assert_eq!(found.len(), expected, "{path} {action}");
            assert!(found.iter().all(|row| row["action"] == action), "{path} {action}");
        }
    }
}

/// Returns the ids of all rows of a list, read page by page. `between` runs after each page.
fn walk(client: &Client, path: &str, query: &str, limit: usize, between: impl Fn()) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}?limit={limit}{query}{cursor}")).expect(200).json();
        let found: Vec<String> =
            page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        let next = page["pagination"]["nextCursor"].as_str().map(str::to_owned);
        assert_eq!(page["pagination"]["hasMore"], next.is_some());
        assert!(next.is_none() || found.len() == limit, "only the last page may have fewer rows: {page}");
        assert!(!found.is_empty() || cursor.is_empty(), "the page after hasMore is empty: {page}");
        all.extend(found);
        between();
        let Some(next) = next else { return all };
        cursor = format!("&cursor={next}");
    }
}

fn paging_reaches_the_end_while_rows_are_added() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let (_, client) = staff(&app, &hiring, "owner");
    for step in 0..4 {
        client.post_empty(&hiring.decision(0, step, "reject")).expect(200);
        app.admin().post_empty(&other.decision(0, step, "reject")).expect(200);
        client.post_empty(&hiring.decision(1, step, "reject")).expect(200);
    }
    let (organization, role, candidate) = (of_organization(&hiring), of_role(&hiring), of_candidate(&hiring, 0));
    let ids_where =
        |condition: &str| app.sql(&format!("SELECT id FROM activities WHERE {condition} ORDER BY number DESC"));
    let all = ids_where("organization_id = 'org_1'");
    let (whole, ours) = (ids_where("role_id = 'role_1'"), ids_where("candidate_id = 'cand_1_1'"));
    assert_eq!((all.len(), ours.len()), (8, 4));
    for limit in [1, 3, 7, 8, 9] {
        for query in ["", "&action=candidate_step.rejected"] {
            assert_eq!(walk(&client, &organization, query, limit, || {}), all, "{limit} {query}");
            assert_eq!(walk(&client, &role, query, limit, || {}), whole, "{limit} {query}");
            assert_eq!(walk(&client, &candidate, query, limit, || {}), ours, "{limit} {query}");
        }
    }
    let between = || {
        let step = app.sql("SELECT count(*) FROM activities WHERE candidate_id = 'cand_1_3'").remove(0);
        client.post_empty(&hiring.decision(2, step.parse().unwrap(), "reject")).expect(200);
    };
    assert_eq!(walk(&client, &organization, "", 2, between), all);
}

fn each_row_has_the_hash_of_the_previous_row() {
    let app = App::start();
    let hiring = app.hiring();
    let (_, client) = staff(&app, &hiring, "owner");
    three_decisions(&client, &hiring);
    let rows = rows(&client, &of_organization(&hiring));
    for pair in rows.windows(2) {
        assert_eq!(pair[0]["previousHash"], pair[1]["hash"]);
        assert_ne!(pair[0]["hash"], pair[1]["hash"]);
    }
    assert_eq!(rows[2]["previousHash"], platform_head(&app));
    let last = app.sql("SELECT lower(hex(hash)) FROM activities ORDER BY number DESC LIMIT 1").remove(0);
    assert_eq!(rows[0]["hash"], last);
}

fn an_erased_detail_is_reported_as_erased() {
    let app = App::start();
    let hiring = app.hiring();
    let (_, client) = staff(&app, &hiring, "owner");
    three_decisions(&client, &hiring);
    let before = rows(&client, &of_organization(&hiring));
    app.change(
        "UPDATE candidates SET erased_at = 1 WHERE id = 'cand_1_1';
         DELETE FROM candidate_words WHERE candidate_number = (SELECT number FROM candidates WHERE id = 'cand_1_1');
         UPDATE activities SET detail = '{}', salt = NULL WHERE candidate_id = 'cand_1_1'",
    );
    let after = rows(&client, &of_organization(&hiring));
    assert_eq!(before[..2], after[..2]);
    let mut expected = before[2].clone();
    (expected["before"], expected["after"], expected["erased"]) = (Value::Null, Value::Null, json!(true));
    assert_eq!(after[2], expected, "the hash stays the same");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn acts_of_the_service_have_no_user() {
    let app = App::start();
    let hiring = app.hiring();
    app.change(
        "INSERT INTO activities (number, id, organization_id, at, action, candidate_id, detail, salt, detail_hash, hash)
         VALUES (1, 'act_1', 'org_1', 0, 'candidate.erased', 'cand_1_1', '{}', NULL, zeroblob(32), zeroblob(32))",
    );
    let found = rows(&staff(&app, &hiring, "owner").1, &of_candidate(&hiring, 0));
    let member = |name: &str| found[0][name].clone();
    assert_eq!([member("user"), member("apiKeyId"), member("roleId")], [Value::Null, Value::Null, Value::Null]);
    assert_eq!([member("action"), member("erased")], [json!("candidate.erased"), json!(true)]);
}

fn all_invalid_parameters_are_reported_together() {
    let app = App::start();
    let hiring = app.hiring();
    let (_, client) = staff(&app, &hiring, "member");
    let of_candidate = of_candidate(&hiring, 0);
    for (query, fields) in [
        ("action=hired", vec!["action"]),
        ("action=", vec!["action"]),
        ("limit=x", vec!["limit"]),
        ("cursor=x", vec!["cursor"]),
        // "none" in the encoding of a cursor.
        ("cursor=bm9uZQ", vec!["cursor"]),
        ("action=role.closed&action=role.closed", vec!["action"]),
        ("action=Role.Closed&limit=1.5&cursor=%2F", vec!["action", "limit", "cursor"]),
    ] {
        for path in [&of_organization(&hiring), &of_role(&hiring), &of_candidate] {
            let answer = client.get(&format!("{path}?{query}")).refused(400, "validation_error");
            assert_eq!(answer.fields(), fields, "{query}");
        }
    }
    for (limit, rows) in [("0", 1), ("-1", 1), ("200", 200), ("201", 200), ("99999999999999999999", 200)] {
        let page = client.get(&format!("{of_candidate}?limit={limit}")).expect(200).json();
        assert_eq!(page["pagination"]["limit"], rows, "{limit}");
    }
}

fn a_cursor_of_another_organization_is_refused() {
    let app = App::start();
    let (mine, theirs) = (app.hiring(), app.hiring());
    let (_, client) = staff(&app, &mine, "owner");
    three_decisions(&client, &mine);
    three_decisions(&staff(&app, &theirs, "owner").1, &theirs);
    let page = app.admin().get(&format!("{}?limit=1", of_organization(&theirs))).expect(200).json();
    let cursor = page["pagination"]["nextCursor"].as_str().unwrap();
    for path in [of_organization(&mine), of_role(&mine), of_candidate(&mine, 0)] {
        client.get(&format!("{path}?cursor={cursor}")).refused(400, "validation_error");
    }
}
