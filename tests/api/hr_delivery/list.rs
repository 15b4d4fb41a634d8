//! The list of deliveries: its order, filters and pages.

use serde_json::{Value, json};

use super::super::support::{App, Behaviour};
use super::{DELIVERIES, after_attempts, hire, ids, page, ping, save, start};

pub(super) fn a_list_without_deliveries_is_an_empty_page() {
    let app = App::start();
    app.hiring();
    let answer = app.admin().get(DELIVERIES).expect(200);
    let pagination = json!({ "limit": 100, "hasMore": false, "nextCursor": null });
    assert_eq!(answer.json(), json!({ "success": true, "data": [], "pagination": pagination }));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

pub(super) fn deliveries_are_listed_newest_first_and_filtered_by_organization_and_state() {
    let (app, mine, receiver) = start("5s", &[Behaviour::status(204)]);
    let theirs = app.hiring();
    save(&app, &theirs, &json!({ "url": receiver.url("/theirs") }));
    let arrived = ping(&app, &mine);
    after_attempts(&app, &arrived, 1);
    receiver.will([Behaviour::status(404)]);
    let failed = [ping(&app, &theirs), ping(&app, &mine)];
    failed.iter().for_each(|id| drop(after_attempts(&app, id, 1)));
    save(&app, &mine, &json!({ "url": receiver.url("/hooks"), "enabled": false }));
    let held = [hire(&app, &mine, 0), hire(&app, &mine, 1)];
    let (me, them) = (&mine.organization_id, &theirs.organization_id);
    for (query, expected) in [
        (String::new(), vec![&held[1], &held[0], &failed[1], &failed[0], &arrived]),
        (format!("organizationId={me}"), vec![&held[1], &held[0], &failed[1], &arrived]),
        (format!("organizationId={them}"), vec![&failed[0]]),
        ("state=pending".to_owned(), vec![&held[1], &held[0]]),
        ("state=failed".to_owned(), vec![&failed[1], &failed[0]]),
        ("state=delivered".to_owned(), vec![&arrived]),
        (format!("organizationId={me}&state=pending"), vec![&held[1], &held[0]]),
        (format!("state=failed&organizationId={me}"), vec![&failed[1]]),
        (format!("organizationId={them}&state=failed"), vec![&failed[0]]),
        (format!("organizationId={them}&state=delivered"), vec![]),
        (format!("organizationId={them}&state=pending&unknown=1"), vec![]),
    ] {
        assert_eq!(ids(&page(&app, &query)), expected.into_iter().cloned().collect::<Vec<_>>(), "{query}");
    }
}

/// Returns the ids of all deliveries that a query selects, read page by page. `between` runs after each page.
fn walk(app: &App, query: &str, limit: usize, between: impl Fn()) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = page(app, &format!("{query}&limit={limit}{cursor}"));
        let found = ids(&page);
        let next = page["pagination"]["nextCursor"].as_str().map(str::to_owned);
        assert_eq!(
            (&page["pagination"]["limit"], &page["pagination"]["hasMore"]),
            (&json!(limit), &json!(next.is_some()))
        );
        assert!(next.is_none() || found.len() == limit, "only the last page may have fewer deliveries: {page}");
        assert!(!found.is_empty() || cursor.is_empty(), "the page after hasMore is empty: {page}");
        all.extend(found);
        between();
        let Some(next) = next else { return all };
        cursor = format!("&cursor={next}");
    }
}

pub(super) fn paging_reaches_the_end_while_deliveries_are_added() {
    let app = App::start();
    let hiring = app.hiring();
    save(&app, &hiring, &json!({ "url": "https://hr.example.com" }));
    let mut expected: Vec<String> = (0..7).map(|_| ping(&app, &hiring)).collect();
    expected.reverse();
    for limit in [1, 3, 6, 7, 8] {
        assert_eq!(walk(&app, "", limit, || {}), expected, "{limit}");
    }
    assert_eq!(walk(&app, "", 2, || drop(ping(&app, &hiring))), expected);
}

pub(super) fn a_filtered_list_is_paged() {
    let app = App::start();
    let (mine, theirs) = (app.hiring(), app.hiring());
    for hiring in [&mine, &theirs] {
        save(&app, hiring, &json!({ "url": "https://hr.example.com" }));
    }
    let mut pings: Vec<String> = (0..8).map(|nth| ping(&app, if nth % 2 == 0 { &mine } else { &theirs })).collect();
    pings.reverse();
    let every_second_from = |first: usize| pings.iter().skip(first).step_by(2).cloned().collect::<Vec<_>>();
    for state in ["", "&state=pending"] {
        assert_eq!(
            walk(&app, &format!("organizationId={}{state}", mine.organization_id), 3, || {}),
            every_second_from(1)
        );
        assert_eq!(
            walk(&app, &format!("organizationId={}{state}", theirs.organization_id), 3, || {}),
            every_second_from(0)
        );
    }
    assert_eq!(walk(&app, "state=pending", 3, || {}), pings);
    assert_eq!(walk(&app, "state=failed", 3, || {}), Vec::<String>::new());
}

pub(super) fn a_page_has_1_to_500_deliveries() {
    let app = App::start();
    let hiring = app.hiring();
    app.change(&format!(
        "WITH RECURSIVE series (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM series WHERE value < 501)
         INSERT INTO hr_deliveries (id, organization_id, type, payload, state, attempts, failed_attempts, created_at)
         SELECT 'evt_' || value, '{}', 'ping', '{{}}', 'pending', 0, 0, 0 FROM series",
        hiring.organization_id
    ));
    for (limit, rows) in
        [("1", 1), ("499", 499), ("500", 500), ("501", 500), ("99999999999999999999", 500), ("0", 1), ("-1", 1)]
    {
        let page = page(&app, &format!("limit={limit}"));
        assert_eq!((ids(&page).len(), &page["pagination"]["limit"]), (rows, &json!(rows)), "{limit}");
        assert_eq!(page["pagination"]["hasMore"], true);
    }
    assert_eq!(ids(&page(&app, "")).len(), 100);
    for limit in ["abc", "", "1.5", "%2B5", "1e2", "5%20", "0x5"] {
        let answer = app.admin().get(&format!("{DELIVERIES}?limit={limit}")).refused(400, "validation_error");
        let detail = "must be an integer; a page has 1 to 500 rows";
        assert_eq!(answer.json()["errors"], json!([{ "field": "limit", "detail": detail }]), "{limit}");
    }
}

pub(super) fn all_invalid_parameters_are_reported_together() {
    let app = App::start();
    let (cursor, repeated) = ("must be pagination.nextCursor of the previous page", "must be given only once");
    let state = "must be one of pending, delivered, failed";
    let limit = "must be an integer; a page has 1 to 500 rows";
    for (query, faults) in [
        ("cursor=evt_unknown", vec![("cursor", cursor)]),
        ("cursor=no%20id", vec![("cursor", cursor)]),
        ("cursor=", vec![("cursor", cursor)]),
        ("state=held", vec![("state", state)]),
        ("state=Pending", vec![("state", state)]),
        ("state=", vec![("state", state)]),
        ("cursor=evt_1&cursor=evt_1", vec![("cursor", repeated)]),
        ("state=failed&state=failed", vec![("state", repeated)]),
        ("limit=1&limit=1", vec![("limit", repeated)]),
        ("organizationId=org_1&organizationId=org_1", vec![("organizationId", repeated)]),
        (
            "limit=x&state=x&organizationId=a&cursor=%2F&organizationId=b",
            vec![("state", state), ("cursor", cursor), ("organizationId", repeated), ("limit", limit)],
        ),
        ("organizationId=none&state=x", vec![("state", state)]),
    ] {
        let answer = app.admin().get(&format!("{DELIVERIES}?{query}")).refused(400, "validation_error");
        let faults: Vec<Value> =
            faults.iter().map(|(field, detail)| json!({ "field": field, "detail": detail })).collect();
        assert_eq!(answer.json()["errors"], json!(faults), "{query}");
    }
}
