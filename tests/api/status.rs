//! `GET /api/v1/organizations/{id}/status`: the status counts follow each decision and equal a recount.

use serde_json::{Value, json};

use crate::support::{App, Client, Hiring};

crate::tests![
    the_counts_cover_only_the_organization,
    the_counts_follow_each_decision_at_once,
    the_counts_equal_a_recount,
];

fn status(client: &Client, hiring: &Hiring) -> Value {
    client.get(&format!("/api/v1/organizations/{}/status", hiring.organization_id)).expect(200).json()
}

fn counts(roles: i64, positions: i64, applications: [i64; 4]) -> Value {
    let [in_progress, hired, not_selected, withdrawn] = applications;
    let applications =
        json!({ "inProgress": in_progress, "hired": hired, "notSelected": not_selected, "withdrawn": withdrawn });
    json!({
        "success": true,
        "data": { "organizationId": "org_1", "openRoles": roles, "openPositions": positions, "applications": applications },
    })
}

fn the_counts_cover_only_the_organization() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        crate::support::hiring::set_steps(
            document,
            2,
            "Withdrawn",
            &["validated", "in_progress", "pending", "pending"],
        );
    });
    app.hiring();
    assert_eq!(status(&app.user(&hiring.staff("member")), &hiring), counts(1, 2, [2, 0, 0, 1]));
}

fn the_counts_follow_each_decision_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.user(&hiring.staff("owner"));
    assert_eq!(status(&client, &hiring), counts(1, 2, [3, 0, 0, 0]));
    client.post_empty(&hiring.reject(0)).expect(200);
    assert_eq!(status(&client, &hiring), counts(1, 2, [2, 0, 1, 0]));
    client.post_empty(&hiring.hire(1)).expect(200);
    assert_eq!(status(&client, &hiring), counts(1, 1, [1, 1, 1, 0]));
    client.post_empty(&hiring.hire(2)).expect(200);
    assert_eq!(status(&client, &hiring), counts(0, 0, [0, 2, 1, 0]), "the role is filled");
    client.post_empty(&hiring.decision(2, 3, "reject")).expect(200);
    assert_eq!(status(&client, &hiring), counts(1, 1, [0, 1, 2, 0]), "the role is open again");
}

fn the_counts_equal_a_recount() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.user(&hiring.staff("owner"));
    client.post_empty(&hiring.hire(1)).expect(200);
    client.post_empty(&hiring.reject(0)).expect(200);
    let counted = app.sql(
        "SELECT (SELECT count(*) FROM roles WHERE organization_id = 'org_1' AND status = 'open'),
           (SELECT sum(positions - hired) FROM roles WHERE organization_id = 'org_1' AND status = 'open'),
           count(*) FILTER (WHERE status = 'In Progress'), count(*) FILTER (WHERE status = 'Hired'),
           count(*) FILTER (WHERE status = 'Not Selected'), count(*) FILTER (WHERE status = 'Withdrawn')
         FROM candidate_roles WHERE organization_id = 'org_1'",
    );
    let counted: Vec<i64> = counted[0].split('|').map(|figure| figure.parse().unwrap()).collect();
    let expected = counts(counted[0], counted[1], [counted[2], counted[3], counted[4], counted[5]]);
    assert_eq!(status(&client, &hiring), expected);
    assert_eq!(app.check(), Vec::<String>::new());
}
