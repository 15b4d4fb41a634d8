//! The machine-readable lists of a portal: `/careers/{orgSlug}/sitemap.xml`, `feed.atom` and `jobs.xml`, and
//! `/robots.txt`.

use std::cell::Cell;

use serde_json::json;

use crate::portal::{add_role, change_role, change_theme};
use crate::support::app::Options;
use crate::support::{App, Hiring};

crate::tests![
    the_sitemap_lists_the_portal_and_each_posting_with_its_last_change,
    the_atom_feed_has_an_entry_for_each_role,
    the_job_feed_has_the_format_that_job_boards_read,
    the_job_feed_has_salaries_only_if_the_portal_shows_them,
    feeds_list_only_public_open_roles,
    feeds_of_a_portal_without_roles_have_no_entries,
    hostile_text_stays_text_in_every_feed,
    requests_for_unknown_and_disabled_portals_get_the_same_404_answer,
    requests_with_another_spelling_of_a_slug_get_the_same_feed,
    feeds_have_an_etag_and_a_conditional_request_for_an_unchanged_feed_gets_304,
    feeds_show_a_change_with_the_next_request,
    hires_do_not_change_the_timestamps_in_feeds,
    disabling_a_portal_removes_its_feeds,
    links_are_built_on_the_base_url,
    robots_txt_allows_portals_and_disallows_the_api_signups_and_status_pages,
    robots_txt_names_the_sitemap_of_the_only_enabled_portal,
];

const FEEDS: [(&str, &str); 3] = [
    ("sitemap.xml", "application/xml; charset=utf-8"),
    ("feed.atom", "application/atom+xml; charset=utf-8"),
    ("jobs.xml", "application/xml; charset=utf-8"),
];

fn path(hiring: &Hiring, name: &str) -> String {
    format!("/careers/{}/{name}", hiring.slug)
}

fn feed(app: &App, hiring: &Hiring, name: &str) -> String {
    app.anonymous().get(&path(hiring, name)).expect(200).text()
}

fn on_base_url() -> App {
    App::with(Options { base_url: Some("https://jobs.example.com".to_owned()), ..Options::default() })
}

fn the_sitemap_lists_the_portal_and_each_posting_with_its_last_change() {
    let app = on_base_url();
    let hiring = app.hiring();
    let expected = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
                    <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n\
                    <url><loc>https://jobs.example.com/careers/acme-1</loc><lastmod>2026-11-21T09:00:00Z</lastmod></url>\n\
                    <url><loc>https://jobs.example.com/careers/acme-1/roles/role_1</loc>\
                    <lastmod>2026-11-21T09:00:00Z</lastmod></url>\n</urlset>\n";
    assert_eq!(feed(&app, &hiring, "sitemap.xml"), expected);
}

fn the_atom_feed_has_an_entry_for_each_role() {
    let app = on_base_url();
    let hiring = app.hiring();
    let feed = feed(&app, &hiring, "feed.atom");
    for part in [
        "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>urn:uuid:",
        "<title>Acme 1</title>\n<updated>2026-11-21T09:00:00Z</updated>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"https://jobs.example.com/careers/acme-1/feed.atom\"/>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"https://jobs.example.com/careers/acme-1\"/>\n\
         <author><name>Acme 1</name><uri>https://jobs.example.com/careers/acme-1</uri></author>\n<entry>\n<id>urn:uuid:",
        "<title>Engineer</title>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"https://jobs.example.com/careers/acme-1/roles/role_1\"/>\n\
         <published>2026-10-01T08:00:00Z</published>\n<updated>2026-11-21T09:00:00Z</updated>\n\
         <category term=\"Engineering\"/>\n<summary>Engineer</summary>\n\
         <content type=\"html\">&lt;h2&gt;Engineer&lt;/h2&gt;\n</content>\n</entry>\n</feed>\n",
    ] {
        assert!(feed.contains(part), "{part}\nis not in\n{feed}");
    }
    let ids: Vec<&str> = feed.split("<id>").skip(1).map(|rest| rest.split("</id>").next().unwrap()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

fn the_job_feed_has_the_format_that_job_boards_read() {
    let app = on_base_url();
    let hiring = app.hiring_with(|document| change_role(document, &json!({ "location": "Rostock, Germany" })));
    let expected = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<source>\n<publisher><![CDATA[Acme 1]]></publisher>\n\
                    <publisherurl><![CDATA[https://jobs.example.com/careers/acme-1]]></publisherurl>\n\
                    <lastBuildDate>2026-11-21T09:00:00Z</lastBuildDate>\n<job>\n<title><![CDATA[Engineer]]></title>\n\
                    <date><![CDATA[2026-10-01T08:00:00Z]]></date>\n<referencenumber><![CDATA[role_1]]></referencenumber>\n\
                    <requisitionid><![CDATA[role_1]]></requisitionid>\n\
                    <url><![CDATA[https://jobs.example.com/careers/acme-1/roles/role_1]]></url>\n\
                    <company><![CDATA[Acme 1]]></company>\n<sourcename><![CDATA[Acme 1]]></sourcename>\n\
                    <city><![CDATA[Rostock]]></city>\n<state><![CDATA[]]></state>\n<country><![CDATA[DE]]></country>\n\
                    <description><![CDATA[<h2>Engineer</h2>\n]]></description>\n\
                    <lastactivitydate><![CDATA[2026-11-21T09:00:00Z]]></lastactivitydate>\n\
                    <category><![CDATA[Engineering]]></category>\n\
                    <salary><![CDATA[60000 - 75000.5 EUR per year]]></salary>\n\
                    <remotetype><![CDATA[Hybrid remote]]></remotetype>\n</job>\n</source>\n";
    assert_eq!(feed(&app, &hiring, "jobs.xml"), expected);
}

fn the_job_feed_has_salaries_only_if_the_portal_shows_them() {
    let app = App::start();
    for (theme, is_shown) in
        [(json!({ "showSalary": true }), true), (json!({ "showSalary": false }), false), (json!({}), false)]
    {
        let hiring = app.hiring_with(|document| change_theme(document, theme));
        assert_eq!(feed(&app, &hiring, "jobs.xml").contains("<salary>"), is_shown);
        for (name, _) in FEEDS {
            assert_eq!(feed(&app, &hiring, name).contains("75000"), is_shown && name == "jobs.xml", "{name}");
        }
    }
}

fn feeds_list_only_public_open_roles() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        add_role(document, &json!({ "id": "role_hidden", "public": false }));
        add_role(document, &json!({ "id": "role_draft", "status": "draft" }));
        add_role(document, &json!({ "id": "role_closed", "status": "closed" }));
        add_role(document, &json!({ "id": "role_shown" }));
    });
    for (name, _) in FEEDS {
        let feed = feed(&app, &hiring, name);
        for (id, is_listed) in [
            ("role_hidden", false),
            ("role_draft", false),
            ("role_closed", false),
            ("role_shown", true),
            ("role_1", true),
        ] {
            let is_there = ["<", "\"", "]"].iter().any(|end| feed.contains(&format!("/roles/{id}{end}")));
            assert_eq!(is_there, is_listed, "{name} {id}");
        }
    }
}

fn feeds_of_a_portal_without_roles_have_no_entries() {
    let app = App::start();
    let hiring = app.hiring_with(|document| change_role(document, &json!({ "public": false })));
    for (name, _) in FEEDS {
        let feed = feed(&app, &hiring, name);
        for role in ["/roles/", "<entry>", "<job>"] {
            assert!(!feed.contains(role), "{feed}");
        }
    }
}

fn hostile_text_stays_text_in_every_feed() {
    const CANARY: &str = "<script>alert('canary')</script>]]><!--\"&\u{ffff}";
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["name"] = json!(CANARY);
        change_role(
            document,
            &json!({
                "name": CANARY,
                "department": CANARY,
                "location": format!("{CANARY}, Germany"),
                "description": { "format": "markdown", "body": format!("{CANARY}\n\n[x](javascript:alert(1))\n") },
            }),
        );
    });
    // Older databases can contain names with control characters.
    app.change("UPDATE organizations SET name = name || char(1, 11); UPDATE roles SET name = name || char(1, 11)");
    for (name, _) in FEEDS {
        let feed = feed(&app, &hiring, name);
        assert!(!feed.contains(|c: char| c == '\u{ffff}' || (c.is_control() && c != '\n')), "{feed:?}");
        // The text outside CDATA sections must contain no markup from `CANARY`.
        let mut markup = String::new();
        let mut rest = feed.as_str();
        while let Some((before, section)) = rest.split_once("<![CDATA[") {
            markup.push_str(before);
            rest = section.split_once("]]>").unwrap().1;
        }
        markup.push_str(rest);
        for mark in ["<script", "alert", "<!--", "]]>"] {
            let is_text = name == "feed.atom" && mark == "alert";
            assert!(is_text || !markup.contains(mark), "{name} {mark}: {markup}");
        }
        assert!(!feed.contains("href=\"javascript") && !feed.contains("href=&quot;javascript"), "{feed}");
    }
}

fn requests_for_unknown_and_disabled_portals_get_the_same_404_answer() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["portal"]["enabled"] = json!(false));
    for (name, _) in FEEDS {
        let detail = |path: &str| app.anonymous().get(path).refused(404, "not_found").json()["detail"].clone();
        let unknown = detail(&format!("/careers/nobody/{name}"));
        assert_eq!(detail(&path(&hiring, name)), unknown);
        assert_eq!(detail(&format!("/careers/no%20slug/{name}")), unknown);
    }
}

fn requests_with_another_spelling_of_a_slug_get_the_same_feed() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["slug"] = json!("Acme-X"));
    for (name, _) in FEEDS {
        let answer = |slug: &str| app.anonymous().get(&format!("/careers/{slug}/{name}")).expect(200).text();
        assert_eq!(answer("ACME-x"), answer("acme-x"));
        assert!(answer("acme-x").contains("/careers/Acme-X/roles/role_1"), "{}", hiring.slug);
    }
}

fn feeds_have_an_etag_and_a_conditional_request_for_an_unchanged_feed_gets_304() {
    let app = App::start();
    let hiring = app.hiring();
    let files = FEEDS.map(|(name, kind)| (path(&hiring, name), kind));
    for (path, kind) in files.into_iter().chain([("/robots.txt".to_owned(), "text/plain; charset=utf-8")]) {
        let answer = app.anonymous().get(&path).expect(200);
        assert_eq!(answer.header("content-type"), Some(kind));
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        let tag = answer.header("etag").unwrap().to_owned();
        assert!(tag.starts_with('"'), "{tag}");
        let again = app.anonymous().send("GET", &path, &[("If-None-Match", &tag)], b"").expect(304);
        assert_eq!((again.header("etag"), again.body.len()), (Some(tag.as_str()), 0));
        app.anonymous().send("GET", &path, &[("If-None-Match", "\"other\"")], b"").expect(200);
        let head = app.anonymous().send("HEAD", &path, &[], b"").expect(200);
        assert_eq!((head.header("etag"), head.body.len()), (Some(tag.as_str()), 0));
    }
}

fn feeds_show_a_change_with_the_next_request() {
    let app = App::start();
    let hiring = app.hiring();
    let role = format!("/api/v1/roles/{}", hiring.role_id);
    for (name, _) in FEEDS {
        assert!(feed(&app, &hiring, name).contains("/roles/role_1"));
    }
    app.admin().patch(&role, &json!({ "name": "Gardener" })).expect(200);
    for name in ["feed.atom", "jobs.xml"] {
        assert!(feed(&app, &hiring, name).contains("Gardener"), "{name}");
    }
    app.admin().post(&format!("{role}/close"), &json!({ "reason": "no budget" })).expect(200);
    for (name, _) in FEEDS {
        assert!(!feed(&app, &hiring, name).contains("/roles/role_1"), "{name}");
    }
}

/// Candidates see a decision after a delay. During the delay, timestamps in feeds must not reveal when the decision
/// changed a role.
fn hires_do_not_change_the_timestamps_in_feeds() {
    let app = App::start();
    let hiring = app.hiring_with(|document| change_role(document, &json!({ "positions": 2 })));
    let owner = app.user_with_all(&hiring.staff("owner"));
    let feeds = || FEEDS.map(|(name, _)| feed(&app, &hiring, name).replace("Renamed Works", "Acme 1"));
    let role = format!("/api/v1/roles/{}", hiring.role_id);
    let before = feeds();
    let name = Cell::new("Acme 1");
    let again = || {
        app.pass(60);
        // The service notices this change within 200 ms or with its next commit, and then renders all feeds again.
        name.set(if name.get() == "Acme 1" { "Renamed Works" } else { "Acme 1" });
        app.change(&format!("UPDATE organizations SET name = '{}'", name.get()));
        app.anonymous().get_until(&path(&hiring, "feed.atom"), |feed| feed.text().contains(name.get()));
        feeds()
    };
    owner.post(&hiring.hire(0), &json!({})).expect(200);
    assert_eq!(again(), before);
    owner.post(&hiring.decision(0, 3, "reject"), &json!({ "reason": "other" })).expect(200);
    assert_eq!(again(), before);
    owner.patch(&role, &json!({ "positions": 1 })).expect(200);
    assert_eq!(again(), before);
    // The last position is filled and then freed.
    owner.post(&hiring.hire(1), &json!({})).expect(200);
    owner.post(&hiring.decision(1, 3, "reject"), &json!({ "reason": "other" })).expect(200);
    assert_eq!(again(), before);
    owner.patch(&role, &json!({ "description": { "format": "markdown", "body": "More." } })).expect(200);
    for (after, before) in again().iter().zip(&before) {
        let now = "2026-11-21T09:04:00Z";
        assert!(after.contains(now) && !before.contains(now), "{after}");
    }
}

fn disabling_a_portal_removes_its_feeds() {
    let app = App::start();
    let hiring = app.hiring();
    for (name, _) in FEEDS {
        feed(&app, &hiring, name);
    }
    let organization = format!("/api/admin/organizations/{}", hiring.organization_id);
    app.admin().patch(&organization, &json!({ "portal": { "enabled": false } })).expect(200);
    for (name, _) in FEEDS {
        app.anonymous().get(&path(&hiring, name)).refused(404, "not_found");
    }
    assert!(!app.anonymous().get("/robots.txt").text().contains("Sitemap"));
}

fn links_are_built_on_the_base_url() {
    let app = on_base_url();
    let hiring = app.hiring();
    for (name, _) in FEEDS {
        let feed = feed(&app, &hiring, name);
        assert!(feed.contains("https://jobs.example.com/careers/acme-1/roles/role_1"), "{feed}");
        assert!(!feed.contains("127.0.0.1"), "{feed}");
    }
}

fn robots_txt_allows_portals_and_disallows_the_api_signups_and_status_pages() {
    let app = App::start();
    let answer = app.anonymous().get("/robots.txt").expect(200);
    let rules = "User-agent: *\nAllow: /careers/\nDisallow: /api/\nDisallow: /signup/\nDisallow: /status/\n\n";
    assert_eq!(answer.text(), rules);
}

fn robots_txt_names_the_sitemap_of_the_only_enabled_portal() {
    let app = on_base_url();
    let sitemaps = || -> Vec<String> {
        let text = app.anonymous().get("/robots.txt").expect(200).text();
        text.lines().filter(|line| line.starts_with("Sitemap")).map(str::to_owned).collect()
    };
    let first = app.hiring();
    app.hiring_with(|document| document["organizations"][0]["portal"]["enabled"] = json!(false));
    let named = format!("Sitemap: https://jobs.example.com/careers/{}/sitemap.xml", first.slug);
    assert_eq!(sitemaps(), [named.as_str()]);
    // With several portals, robots.txt names no sitemap, so it does not reveal which organizations exist.
    let second = app.hiring();
    assert_eq!(sitemaps(), [""; 0]);
    app.change(&format!("UPDATE organizations SET enabled = 0 WHERE id = '{}'", second.organization_id));
    assert_eq!(sitemaps(), [named.as_str()]);
}
