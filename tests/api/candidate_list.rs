//! `GET /api/v1/organizations/{id}/candidates`: the list of candidates, newest first, with its searches and filters.

use serde_json::{Value, json};

use crate::support::hiring::first_role_of;
use crate::support::{App, Client, Hiring};

crate::tests![
    candidates_are_listed_newest_first_with_their_applications,
    paging_skips_nobody_while_candidates_are_added,
    a_search_is_paged_like_the_list,
    words_match_by_prefix_ignoring_case_and_accents,
    the_name_parameter_searches_names_only,
    the_email_parameter_matches_a_whole_address_ignoring_case,
    role_and_status_filters_apply_to_the_same_application,
    all_filters_apply_together,
    a_common_prefix_is_found_like_a_rare_one,
    a_search_finds_the_few_matches_of_two_common_conditions,
    an_erased_candidate_is_listed_but_not_found_by_words,
    hostile_search_text_is_not_interpreted,
    all_invalid_parameters_are_reported_together,
    a_limit_out_of_range_is_clamped,
    a_role_of_another_organization_is_not_found,
    a_cursor_of_another_organization_is_refused,
];

fn list(client: &Client, hiring: &Hiring, query: &str) -> Value {
    client.get(&format!("{}?{query}", hiring.candidates_path())).expect(200).json()
}

/// Returns the ids of a list that fits on one page.
fn ids(client: &Client, hiring: &Hiring, query: &str) -> Vec<String> {
    let page = list(client, hiring, &format!("limit=200&{query}"));
    assert_eq!(page["pagination"]["hasMore"], false, "{query}");
    ids_of(&page)
}

fn ids_of(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|candidate| candidate["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the ids on all pages.
fn all_pages(client: &Client, hiring: &Hiring, query: &str) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = list(client, hiring, &format!("{query}{cursor}"));
        found.extend(ids_of(&page));
        match page["pagination"]["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

/// Creates an organization with these candidates, each given by name and address. Each candidate has an application in
/// progress at the first step of the same role. The candidates have the ids `c0`, `c1`, …, in order of arrival.
fn with_candidates(app: &App, candidates: &[(&str, &str)]) -> Hiring {
    with_statuses(app, &candidates.iter().map(|(name, email)| (*name, *email, "In Progress")).collect::<Vec<_>>())
}

fn with_statuses(app: &App, candidates: &[(&str, &str, &str)]) -> Hiring {
    app.hiring_with(|document| {
        let role = first_role_of(document);
        role["positions"] = json!(1_000);
        role["candidates"] =
            candidates.iter().enumerate().map(|(number, person)| candidate(role, number, *person)).collect();
    })
}

fn candidate(role: &Value, number: usize, (name, email, status): (&str, &str, &str)) -> Value {
    let steps = role["steps"].as_array().unwrap();
    let statuses = match status {
        "Hired" => ["skipped", "skipped", "skipped", "validated"],
        "Not Selected" => ["rejected", "pending", "pending", "pending"],
        _ => ["in_progress", "pending", "pending", "pending"],
    };
    let step = |(step, status): (&Value, &str)| json!({ "roleStepId": step["id"], "status": status });
    let steps: Vec<Value> = steps.iter().zip(statuses).map(step).collect();
    json!({ "id": format!("c{number}"), "name": name, "email": email, "status": status, "steps": steps })
}

fn candidates_are_listed_newest_first_with_their_applications() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let added = json!({ "name": "Ada", "email": "ada@example.org", "roleId": hiring.role_id });
    let added = owner.post(&hiring.candidates_path(), &added).expect(200).json()["data"].take();
    let page = list(&owner, &hiring, "");
    let mut expected = vec![added["id"].as_str().unwrap().to_owned()];
    expected.extend(hiring.candidates.iter().rev().map(|candidate| candidate.candidate_id.clone()));
    assert_eq!(ids_of(&page), expected);
    assert_eq!(page["pagination"], json!({ "limit": 50, "hasMore": false, "nextCursor": null }));
    // An application in the list lacks these fields, which `GET /api/v1/candidates/{id}` shows.
    let mut expected_entry = added.clone();
    for member in ["steps", "candidateId", "updatedAt", "signup", "laterSignups", "documents"] {
        expected_entry["applications"][0].as_object_mut().unwrap().remove(member);
    }
    assert_eq!(page["data"][0], expected_entry);
    assert_eq!(page["data"][1]["applications"][0]["currentStep"]["name"], "Call");
}

fn paging_skips_nobody_while_candidates_are_added() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["candidates"] = json!([]));
    let owner = app.user_with_all(&hiring.staff("owner"));
    let add = |number: usize| {
        let body = json!({ "name": "Ada", "email": format!("{number}@example.org"), "roleId": hiring.role_id });
        let added = owner.post(&hiring.candidates_path(), &body).expect(200).json();
        added["data"]["id"].as_str().unwrap().to_owned()
    };
    let mut expected: Vec<String> = (0..205).map(add).collect();
    expected.reverse();
    let (mut found, mut cursor, mut more) = (Vec::new(), String::new(), 205);
    let mut sizes = Vec::new();
    loop {
        let page = list(&owner, &hiring, &format!("limit=50{cursor}"));
        sizes.push(page["data"].as_array().unwrap().len());
        found.extend(ids_of(&page));
        // A candidate who is added between two requests is newer than all candidates on the remaining pages.
        add(more);
        more += 1;
        match page["pagination"]["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(sizes, [50, 50, 50, 50, 5]);
    assert_eq!(found, expected);
    assert_eq!(ids_of(&list(&owner, &hiring, "limit=200")).len(), 200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_search_is_paged_like_the_list() {
    let app = App::start();
    let people: Vec<(String, String)> = (0..41)
        .map(|number| {
            let name = if number % 2 == 0 { "Anna Smith" } else { "Bert Smithson" };
            (name.to_owned(), format!("p{number}@example.org"))
        })
        .collect();
    let people: Vec<(&str, &str)> = people.iter().map(|(name, email)| (name.as_str(), email.as_str())).collect();
    let hiring = with_candidates(&app, &people);
    let member = app.user(&hiring.staff("member"));
    let numbers = |predicate: fn(&usize) -> bool| -> Vec<String> {
        (0..41).rev().filter(predicate).map(|number| format!("c{number}")).collect()
    };
    let even = |number: &usize| number.is_multiple_of(2);
    for query in ["", "q=smith", "name=smi", "q=example", "status=In%20Progress", "roleId=role_1&q=s&name=sm"] {
        assert_eq!(all_pages(&member, &hiring, &format!("limit=7&{query}")), numbers(|_| true), "{query}");
    }
    for query in ["q=ann", "name=anna%20smith", "q=anna&roleId=role_1", "name=anna&status=In+Progress&q=org"] {
        assert_eq!(all_pages(&member, &hiring, &format!("limit=7&{query}")), numbers(even), "{query}");
    }
    // A last page that is full reports that no page follows.
    let page = list(&member, &hiring, "limit=21&q=anna");
    assert_eq!(page["pagination"], json!({ "limit": 21, "hasMore": false, "nextCursor": null }));
}

fn words_match_by_prefix_ignoring_case_and_accents() {
    let app = App::start();
    let hiring = with_candidates(
        &app,
        &[
            ("Zoë Müller-Lüdenscheidt", "zoe.m@example.org"),
            ("Łukasz O'Brien", "lukasz@bremen.example"),
            ("王 小明", "wang@example.cn"),
            ("Straße Æsir", "Ævar@example.is"),
            ("Nguyễn Thị Đào", "nguyen@example.vn"),
            ("Γιώργος Παπαδόπουλος", "georgios@example.gr"),
            ("Артём Семёнов", "artem@example.kz"),
        ],
    );
    let member = app.user(&hiring.staff("member"));
    for (query, expected) in [
        ("zoe", vec!["c0"]),
        ("ZO%C3%8B", vec!["c0"]),
        ("Zoe%CC%88", vec!["c0"]),
        ("muller", vec!["c0"]),
        ("mueller", vec![]),
        ("LUD", vec!["c0"]),
        ("oe", vec![]),
        ("lukasz%20brien", vec!["c1"]),
        ("br", vec!["c1"]),
        ("o%27brien", vec!["c1"]),
        ("%E7%8E%8B", vec!["c2"]),
        ("%E5%B0%8F", vec!["c2"]),
        ("%E6%98%8E", vec![]),
        ("strasse", vec!["c3"]),
        ("ae", vec!["c3"]),
        ("aevar@example.is", vec!["c3"]),
        ("example", vec!["c6", "c5", "c4", "c3", "c2", "c1", "c0"]),
        ("nguyen%20thi%20dao", vec!["c4"]),
        ("Nguye%CC%82%CC%83n%20%C4%91a%CC%80o", vec!["c4"]),
        ("%CE%A0%CE%91%CE%A0%CE%91%CE%94%CE%9F%CE%A0%CE%9F%CE%A5%CE%9B%CE%9F%CE%A3", vec!["c5"]),
        ("%CE%B3%CE%B9%CF%89%CF%81%CE%B3%CE%BF%CF%82", vec!["c5"]),
        ("%D0%90%D0%A0%D0%A2%D0%95%D0%9C", vec!["c6"]),
        ("%D1%81%D0%B5%D0%BC%D0%B5%CC%88%D0%BD%D0%BE%D0%B2", vec!["c6"]),
        ("nobody", vec![]),
        ("zoe%20nobody", vec![]),
        ("", vec!["c6", "c5", "c4", "c3", "c2", "c1", "c0"]),
        ("...", vec!["c6", "c5", "c4", "c3", "c2", "c1", "c0"]),
    ] {
        assert_eq!(ids(&member, &hiring, &format!("q={query}")), expected, "{query}");
    }
}

fn the_name_parameter_searches_names_only() {
    let app = App::start();
    let hiring = with_candidates(
        &app,
        &[
            ("Ada Example", "a@x.org"),
            ("Bea", "ada@example.org"),
            ("Example Ada", "ada@example.net"),
            ("Org", "o@x.net"),
        ],
    );
    let member = app.user(&hiring.staff("member"));
    for (query, expected) in [
        ("name=ada", vec!["c2", "c0"]),
        ("q=ada", vec!["c2", "c1", "c0"]),
        ("name=example&q=org", vec!["c0"]),
        ("name=org", vec!["c3"]),
        ("name=net", vec![]),
        ("name=&q=net", vec!["c3", "c2"]),
    ] {
        assert_eq!(ids(&member, &hiring, query), expected, "{query}");
    }
}

fn the_email_parameter_matches_a_whole_address_ignoring_case() {
    let app = App::start();
    let hiring = with_candidates(&app, &[("Ada", "Ada@Example.org"), ("Bea", "ada@example.org.example")]);
    let elsewhere = app.hiring();
    let member = app.user(&hiring.staff("member"));
    for (query, expected) in [
        ("email=ada@example.org", vec!["c0"]),
        ("email=%20ADA%40EXAMPLE.ORG%20", vec!["c0"]),
        ("email=ada@example.or", vec![]),
        ("email=ada@example.org&name=bea", vec![]),
        ("email=ada@example.org&name=a", vec!["c0"]),
        ("email=ada@example.org&status=Hired", vec![]),
    ] {
        assert_eq!(ids(&member, &hiring, query), expected, "{query}");
    }
    let page = list(&app.user(&elsewhere.staff("member")), &elsewhere, "email=ada@example.org");
    assert_eq!(page["data"], json!([]));
}

/// Creates two roles with four candidates. The second candidate has an application for each role.
fn with_two_roles(app: &App) -> (Hiring, [String; 2]) {
    let hiring = app.hiring_with(|document| {
        let role = first_role_of(document);
        let second = {
            let mut second = role.clone();
            second["id"] = json!("role_second");
            second["steps"] = json!([{ "id": "only", "name": "Only" }]);
            let hired = json!({ "name": "Bea", "email": "bea@example.org", "status": "Hired" });
            let running = json!({ "id": "c3", "name": "Dan", "email": "dan@example.org" });
            second["candidates"] = json!([hired, running]);
            second
        };
        let people = [("Ada", "ada@example.org", "In Progress"), ("Bea", "bea@example.org", "Not Selected")];
        let third = [("Cem", "cem@example.org", "Hired")];
        let people = people.into_iter().chain(third).enumerate();
        let mut candidates: Vec<Value> = people.map(|(number, person)| candidate(role, number, person)).collect();
        candidates[1]["steps"][0]["rejectedAt"] = json!("2026-11-03");
        role["candidates"] = json!(candidates);
        document["organizations"][0]["roles"].as_array_mut().unwrap().push(second);
    });
    let roles = [hiring.role_id.clone(), "role_second".to_owned()];
    (hiring, roles)
}

fn role_and_status_filters_apply_to_the_same_application() {
    let app = App::start();
    let (hiring, [first, second]) = with_two_roles(&app);
    let member = app.user(&hiring.staff("member"));
    for (query, expected) in [
        ("status=In%20Progress".to_owned(), vec!["c3", "c0"]),
        ("status=Hired".to_owned(), vec!["c2", "c1"]),
        ("status=Not+Selected".to_owned(), vec!["c1"]),
        ("status=Withdrawn".to_owned(), vec![]),
        (format!("roleId={first}"), vec!["c2", "c1", "c0"]),
        (format!("roleId={second}"), vec!["c3", "c1"]),
        (format!("roleId={first}&status=Hired"), vec!["c2"]),
        (format!("roleId={second}&status=Hired"), vec!["c1"]),
        (format!("roleId={second}&status=Not+Selected"), vec![]),
    ] {
        assert_eq!(ids(&member, &hiring, &query), expected, "{query}");
        assert_eq!(all_pages(&member, &hiring, &format!("limit=1&{query}")), expected, "{query}");
    }
}

fn all_filters_apply_together() {
    let app = App::start();
    let (hiring, [first, _]) = with_two_roles(&app);
    let member = app.user(&hiring.staff("member"));
    let all = format!("q=bea%20example&name=b&email=BEA@example.org&roleId={first}&status=Not%20Selected");
    assert_eq!(ids(&member, &hiring, &all), ["c1"]);
    for (from, to) in [("example", "other"), ("name=b", "name=x"), ("BEA@", "ada@"), ("Not%20Selected", "Hired")] {
        assert_eq!(ids(&member, &hiring, &all.replace(from, to)), Vec::<String>::new(), "{to}");
    }
}

/// More words share the prefix than the search looks up one by one, and there are more matches than it sorts for each
/// page.
fn a_common_prefix_is_found_like_a_rare_one() {
    let app = App::start();
    let people: Vec<(String, String)> = (0..1_200)
        .map(|number| (format!("Anna{number} Sand{}", number % 7), format!("p{number}@x{}.org", number % 50)))
        .collect();
    let people: Vec<(&str, &str)> = people.iter().map(|(name, email)| (name.as_str(), email.as_str())).collect();
    let hiring = with_candidates(&app, &people);
    let member = app.user(&hiring.staff("member"));
    let expected = |predicate: &dyn Fn(usize) -> bool| -> Vec<String> {
        (0..1_200).rev().filter(|number| predicate(*number)).map(|number| format!("c{number}")).collect()
    };
    for (query, found) in [
        ("q=anna", expected(&|_| true)),
        ("q=sand", expected(&|_| true)),
        ("q=anna%20sand3", expected(&|number| number % 7 == 3)),
        ("name=a&q=x1", expected(&|number| [1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19].contains(&(number % 50)))),
        ("q=anna&status=In%20Progress&roleId=role_1", expected(&|_| true)),
        ("name=anna&status=Hired", expected(&|_| false)),
        ("q=anna119", expected(&|number| number == 119 || number / 10 == 119)),
        ("name=org", expected(&|_| false)),
    ] {
        assert_eq!(all_pages(&member, &hiring, &format!("limit=200&{query}")), found, "{query}");
        if found.len() < 200 {
            assert_eq!(all_pages(&member, &hiring, &format!("limit=50&{query}")), found, "{query}");
        }
    }
}

/// Many candidates match each of the two conditions, but few match both, so the search changes its strategy.
fn a_search_finds_the_few_matches_of_two_common_conditions() {
    let app = App::start();
    let people: Vec<(String, String, &str)> = (0..2_400)
        .map(|number| {
            let name = if number < 1_200 { format!("Anna{number} Old") } else { format!("Bert{number} New") };
            let status = if number < 1_195 { "In Progress" } else { "Withdrawn" };
            (name, format!("p{number}@example.org"), status)
        })
        .collect();
    let people: Vec<(&str, &str, &str)> =
        people.iter().map(|(name, email, status)| (name.as_str(), email.as_str(), *status)).collect();
    let hiring = with_statuses(&app, &people);
    let member = app.user(&hiring.staff("member"));
    let expected: Vec<String> = (1_195..1_200).rev().map(|number| format!("c{number}")).collect();
    for query in ["q=anna&status=Withdrawn", "name=anna&status=Withdrawn&roleId=role_1&q=org"] {
        assert_eq!(ids(&member, &hiring, query), expected, "{query}");
    }
    assert_eq!(ids(&member, &hiring, "name=anna%20bert"), Vec::<String>::new());
    assert_eq!(all_pages(&member, &hiring, "limit=200&q=ann").len(), 1_200);
}

fn an_erased_candidate_is_listed_but_not_found_by_words() {
    let app = App::start();
    let hiring = with_candidates(&app, &[("Ada", "ada@example.org"), ("Bea", "bea@example.org")]);
    super::candidate_add::erase(&app, "c0");
    let member = app.user(&hiring.staff("member"));
    let page = list(&member, &hiring, "");
    assert_eq!(ids_of(&page), ["c1", "c0"]);
    assert_eq!((&page["data"][0]["erased"], &page["data"][1]["erased"]), (&json!(false), &json!(true)));
    for query in ["q=erased", "q=ada", "email=ada@example.org", "q=c0", "name=e"] {
        assert_eq!(ids(&member, &hiring, query), Vec::<String>::new(), "{query}");
    }
    assert_eq!(ids(&member, &hiring, &format!("roleId={}", hiring.role_id)), ["c1", "c0"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn hostile_search_text_is_not_interpreted() {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.user(&hiring.staff("member"));
    let long = "x".repeat(4_000);
    for query in [
        "%27%3B%20DROP%20TABLE%20candidates%3B--",
        "candidate*%20OR%20x",
        "%22candidates%22",
        "a%00b",
        "%F4%8F%BF%BFzz",
        "zz%F0%9F%98%80",
        "%E2%80%AEevil",
        &long,
    ] {
        for parameter in ["q", "name"] {
            let found = list(&member, &hiring, &format!("{parameter}={query}"))["data"].as_array().unwrap().len();
            assert_eq!(found, 0, "{parameter}={query}");
        }
    }
    for query in ["q=%25", "q=_", "q=%E2%80%AE", "name=%F0%9F%98%80"] {
        assert_eq!(list(&member, &hiring, query)["data"].as_array().unwrap().len(), 3, "{query}");
    }
}

fn all_invalid_parameters_are_reported_together() {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.user(&hiring.staff("member"));
    let faults = |query: &str| {
        member.get(&format!("{}?{query}", hiring.candidates_path())).refused(400, "validation_error").fields()
    };
    let nine = "a1+b2+c3+d4+e5+f6+g7+h8+i9";
    let all = format!("q={nine}&name={nine}&email=ada&status=in_progress&limit=ten&cursor=%21");
    assert_eq!(faults(&all), ["q", "name", "email", "status", "limit", "cursor"]);
    for name in ["q", "name", "email", "status", "roleId", "limit", "cursor"] {
        assert_eq!(faults(&format!("{name}=&{name}=")), [name]);
    }
    assert_eq!(faults("status="), ["status"]);
    let eight = nine.trim_end_matches("+i9");
    assert_eq!(list(&member, &hiring, &format!("q={eight}&name={eight}"))["data"], json!([]));
}

fn a_limit_out_of_range_is_clamped() {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.user(&hiring.staff("member"));
    for (limit, used) in [("0", 1), ("-5", 1), ("1", 1), ("200", 200), ("201", 200), ("99999999999999999999", 200)] {
        assert_eq!(list(&member, &hiring, &format!("limit={limit}"))["pagination"]["limit"], used, "{limit}");
    }
}

fn a_role_of_another_organization_is_not_found() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    for role in [other.role_id.as_str(), "none", "%20"] {
        let path = format!("{}?roleId={role}", hiring.candidates_path());
        for client in [app.user(&hiring.staff("member")), app.user("user_admin")] {
            let refused = client.get(&path).refused(404, "not_found");
            assert_eq!(refused.json()["detail"], "there is no role with this roleId in the organization");
        }
    }
}

fn a_cursor_of_another_organization_is_refused() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let page = list(&app.user(&hiring.staff("member")), &hiring, "limit=1");
    let cursor = page["pagination"]["nextCursor"].as_str().unwrap();
    assert_eq!(ids(&app.user(&hiring.staff("member")), &hiring, &format!("cursor={cursor}")).len(), 2);
    let path = format!("{}?cursor={cursor}", other.candidates_path());
    let refused = app.user(&other.staff("member")).get(&path).refused(400, "validation_error");
    assert_eq!(refused.fields(), ["cursor"]);
}
