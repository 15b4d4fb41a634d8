//! The list of `/app/{orgSlug}/members`: its order, its pages and its search. The test of disabled controls covers
//! other pages too.

use serde_json::json;

use crate::support::console::app_path;
use crate::support::{App, Client, Hiring};

crate::tests![
    members_are_listed_by_name,
    pages_follow_each_other_and_name_everybody_once,
    a_search_finds_words_of_the_name_or_address,
    a_search_without_matches_links_to_all_members,
    an_act_returns_to_the_same_page_of_the_same_search,
    a_refused_act_shows_the_list_with_the_same_search,
    invalid_parameters_are_refused,
    the_list_of_an_organization_without_members_shows_what_to_do,
    disabled_controls_show_who_may_use_them,
];

fn path(hiring: &Hiring, query: &str) -> String {
    app_path(hiring, &format!("members{query}"))
}

/// Adds members to the organization directly in the database.
fn add(app: &App, hiring: &Hiring, people: &[(String, String)]) {
    for (number, (name, email)) in people.iter().enumerate() {
        let id = format!("extra_{number}");
        app.change(&format!(
            "INSERT INTO users (id, email, email_key, name, platform_role, enabled, created_at, updated_at)
             VALUES ('{id}', '{email}', '{email}', '{name}', 'user', 1, 0, 0);
             INSERT INTO memberships (user_id, organization_id, org_role, created_at)
             VALUES ('{id}', '{}', 'member', {number})",
            hiring.organization_id
        ));
    }
}

fn names(page: &str) -> Vec<String> {
    let rows = page.split(r#"<div class="member"><b dir="auto">"#).skip(1);
    rows.map(|row| row.split('<').next().unwrap().to_owned()).collect()
}

fn next_url(page: &str) -> Option<String> {
    let rest = page.split_once(r#"rel="next" href=""#)?.1;
    Some(rest.split('"').next().unwrap().replace("&#38;", "&"))
}

fn get(client: &Client, url: &str) -> String {
    client.get(url).expect(200).text()
}

/// Starts a service with an organization of 125 members.
fn crowd() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let people: Vec<(String, String)> =
        (0..120).map(|number| (format!("Person {number:03}"), format!("p{number:03}@crowd.example"))).collect();
    add(&app, &hiring, &people);
    let owner = app.browser(&hiring, "owner");
    (app, hiring, owner)
}

fn members_are_listed_by_name() {
    let app = App::start();
    let hiring = app.hiring();
    let people = [("zoë", "a@x.example"), ("Émile", "b@x.example"), ("emil", "c@x.example"), ("Zoe", "d@x.example")];
    add(&app, &hiring, &people.map(|(name, email)| (name.to_owned(), email.to_owned())));
    let page = get(&app.browser(&hiring, "member"), &path(&hiring, ""));
    let expected = [
        "emil",
        "Émile",
        "The admin",
        "The hr_representative",
        "The member",
        "The moderator",
        "The owner",
        "zoë",
        "Zoe",
    ];
    assert_eq!(names(&page), expected);
    assert_eq!(next_url(&page), None);
}

fn pages_follow_each_other_and_name_everybody_once() {
    let (app, hiring, owner) = crowd();
    let (mut url, mut found, mut lengths) = (Some(path(&hiring, "")), Vec::new(), Vec::new());
    while let Some(this) = url {
        let page = get(&owner, &this);
        lengths.push(names(&page).len());
        found.extend(names(&page));
        assert_eq!(page.contains("First page"), lengths.len() > 1);
        url = next_url(&page);
        // Changes before the cursor do not affect the next pages.
        app.change("DELETE FROM memberships WHERE user_id = 'extra_0'");
    }
    assert_eq!(lengths, [50, 50, 25]);
    let mut distinct = found.clone();
    distinct.dedup();
    assert_eq!((distinct.len(), &*found[0], &*found[124]), (125, "Person 000", "The owner"));
    let page = get(&owner, &path(&hiring, "?limit=200"));
    assert_eq!(names(&page).len(), 124);
}

fn a_search_finds_words_of_the_name_or_address() {
    let (app, hiring, owner) = crowd();
    app.change("UPDATE users SET name = 'Zoë Łukasz' WHERE id = 'extra_7'");
    for (q, expected) in [
        ("zoe+lukasz", &["Zoë Łukasz"][..]),
        ("P007", &["Zoë Łukasz"]),
        (
            "person+01",
            &[
                "Person 010",
                "Person 011",
                "Person 012",
                "Person 013",
                "Person 014",
                "Person 015",
                "Person 016",
                "Person 017",
                "Person 018",
                "Person 019",
            ],
        ),
        ("erson", &[]),
        ("THE+owner", &["The owner"]),
    ] {
        assert_eq!(names(&get(&owner, &path(&hiring, &format!("?q={q}")))), expected, "{q}");
    }
    let page = get(&owner, &path(&hiring, "?q=crowd"));
    assert_eq!(names(&page).len(), 50);
    let second = get(&owner, &next_url(&page).unwrap());
    assert!(second.contains(r#"value="crowd""#) && names(&second).len() == 50, "{second}");
    let page = get(&owner, &path(&hiring, "?q=a+b+c+d+e+f+g+h+i"));
    assert!(page.contains("Search for at most 8 words.") && names(&page).is_empty(), "{page}");
    // The search does not find members of other organizations.
    let other = app.hiring();
    assert_eq!(names(&get(&app.browser(&other, "owner"), &path(&other, "?q=crowd"))), Vec::<String>::new());
}

fn a_search_without_matches_links_to_all_members() {
    let app = App::start();
    let hiring = app.hiring();
    let page = get(&app.browser(&hiring, "owner"), &path(&hiring, "?q=%3Cscript%3Ealert(1)"));
    assert!(page.contains("Nobody matches") && page.contains("Show all members"), "{page}");
    assert!(!page.contains("<script>alert"), "{page}");
}

fn an_act_returns_to_the_same_page_of_the_same_search() {
    let (_app, hiring, owner) = crowd();
    let second = next_url(&get(&owner, &path(&hiring, "?q=person"))).unwrap();
    let page = get(&owner, &second);
    let action = page.split("action=\"").find(|rest| rest.contains("extra_60/role")).unwrap();
    let action = action.split('"').next().unwrap().replace("&#38;", "&");
    let answer = owner.submit(&action, &[("orgRole", "moderator"), ("before", "member")]).expect(303);
    let returned = answer.header("location").unwrap();
    assert_eq!(returned, format!("{second}&done=changed"));
    let page = get(&owner, returned);
    assert!(names(&page).contains(&"Person 060".to_owned()) && page.contains("was changed"), "{page}");
}

fn a_refused_act_shows_the_list_with_the_same_search() {
    let (_app, hiring, owner) = crowd();
    let act = format!("members/{}/remove?q=owner", hiring.staff("owner"));
    let page = owner.submit(&app_path(&hiring, &act), &[]).expect(409).text();
    assert_eq!(names(&page), ["The owner"]);
}

fn invalid_parameters_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for query in ["?cursor=%22", "?cursor=YQ", "?cursor=YQpiIGM", "?q=a&q=b", "?limit=x", "?cursor=YQpi&cursor=YQpi"] {
        owner.get(&path(&hiring, query)).expect(400);
    }
    owner.get(&path(&hiring, "?cursor=YQpi")).expect(200);
}

fn the_list_of_an_organization_without_members_shows_what_to_do() {
    let app = App::start();
    let body = json!({ "name": "Empty", "slug": "empty" });
    app.admin().post("/api/admin/organizations", &body).expect(200);
    let page = get(&app.browser_of("admin@appliance.example"), "/app/empty/members");
    assert!(page.contains("Nobody is a member yet. Invite somebody."), "{page}");
}

fn disabled_controls_show_who_may_use_them() {
    let app = App::start();
    let hiring = app.hiring();
    let (member, admin) = (app.browser(&hiring, "member"), app.browser(&hiring, "admin"));
    let role = format!("roles/{}", hiring.role_id);
    for (page, note) in [
        ("members".to_owned(), "Only owners and admins may manage members."),
        ("roles".to_owned(), "Owners, admins, moderators and HR representatives may create roles."),
        (role.clone(), "Owners, admins, moderators and HR representatives may decide."),
        (format!("{role}/edit"), "Only moderators, HR representatives, admins and owners may change roles."),
        (format!("{role}/steps"), "Only moderators, HR representatives, admins and owners may change roles."),
        (format!("candidates/{}", hiring.candidates[0].candidate_id), "and HR representatives may decide."),
    ] {
        let text = get(&member, &app_path(&hiring, &page));
        let described = text.split(" disabled aria-describedby=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let ids: Vec<&str> = described.collect();
        assert!(!ids.is_empty() && text.contains(note), "{page}: {text}");
        assert!(ids.iter().all(|id| text.contains(&format!(" id=\"{id}\""))), "{page}: {ids:?}");
        assert!(!get(&admin, &app_path(&hiring, &page)).contains(note), "{page}");
    }
}
