//! How the status links of people who entered the same address affect one another. An address does not prove an
//! identity, so a link shows and removes only the data of its own signup.

use serde_json::{Value, json};

use crate::attachment::wait_until;
use crate::support::signup::{Form, signup_path, signup_path_of, status_path};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_deletion_turns_a_later_signup_into_an_application,
    a_withdrawn_later_signup_becomes_a_withdrawn_application,
    the_first_later_signup_in_progress_becomes_the_application,
    staff_see_the_last_20_later_signups_and_download_attachments,
    a_deletion_removes_the_name_but_leaves_another_persons_application,
    deleting_through_every_link_erases_the_candidate,
    a_new_link_from_staff_retains_an_application_whose_signup_was_deleted,
    deleting_the_last_later_signup_erases_the_candidate,
    stored_responses_do_not_contain_a_deleted_later_signup,
    a_legal_hold_is_not_revealed_to_a_person_who_knows_only_the_address,
    a_legal_hold_retains_later_signups,
    signups_whose_deletion_was_requested_under_a_hold_do_not_retain_the_candidate,
    a_later_signup_is_added_to_the_candidate_who_now_has_its_address,
    a_later_signup_becomes_an_application_under_its_own_address,
    a_start_on_an_older_copy_repeats_exactly_the_deletions,
    an_erased_later_signup_stays_erased_on_an_older_copy,
    the_retention_period_starts_at_the_last_signup,
    acts_on_a_status_page_take_at_least_25_ms,
    a_later_signup_shows_no_step_that_was_added_after_it,
    a_later_signup_shows_no_move_of_the_application,
    a_repeated_form_does_not_recreate_a_deleted_signup,
    a_repeated_form_does_not_recreate_a_replaced_link,
];

struct Fixture {
    app: App,
    hiring: Hiring,
    owner: Client,
}

impl Fixture {
    fn new() -> Self {
        let app = App::start();
        let hiring = app.hiring_with(|document| {
            let role = json!({
                "id": "role_more", "name": "Welder", "status": "open", "public": true, "steps": [{ "name": "Call" }]
            });
            document["organizations"][0]["roles"].as_array_mut().unwrap().push(role);
        });
        let owner = app.user_with_all(&hiring.staff("owner"));
        Self { app, hiring, owner }
    }

    /// Applies with this name and address for the role with this id or, if `role` is empty, for the first role. Returns
    /// the path of the status page.
    fn apply(&self, role: &str, name: &str, email: &str) -> String {
        self.app.pass(60);
        let path = if role.is_empty() {
            signup_path(&self.app, &self.hiring)
        } else {
            signup_path_of(&self.app, &self.hiring, role)
        };
        status_path(&Form::for_link(&self.app, &path).with("name", name).with("email", email).send(&self.app))
    }

    fn page(&self, path: &str) -> String {
        self.app.anonymous().get(path).expect(200).text()
    }

    fn delete(&self, path: &str) {
        let page = self.app.anonymous().post_empty(&format!("{path}/delete")).expect(200).text();
        assert!(page.contains("Your data has been deleted"), "{page}");
        self.app.anonymous().get(path).expect(404);
        assert_eq!(self.app.check(), Vec::<String>::new());
    }

    /// Returns a row for each application of the candidates with the address [`ADA`]: the candidate's name and address,
    /// the application's status, the name in its signup, and the names in its later signups.
    fn candidates(&self) -> Vec<String> {
        self.app.sql(
            "SELECT c.name, c.email, a.status, coalesce(s.name, '-'),
               (SELECT group_concat(l.name, ',' ORDER BY l.number) FROM signups l WHERE l.later_of = a.id)
             FROM candidates c
             JOIN candidate_roles a ON a.candidate_id = c.id
             LEFT JOIN signups s ON s.candidate_role_id = a.id
             WHERE c.email_key = 'ada@example.org'
             ORDER BY c.number, a.applied_at",
        )
    }

    fn candidate(&self) -> String {
        self.app.sql("SELECT id FROM candidates WHERE email_key = 'ada@example.org'").remove(0)
    }

    /// Returns whether a row about candidates or a stored response still contains this text.
    fn contains_text(&self, word: &str) -> bool {
        let tables = ["candidates", "candidate_words", "signups", "documents", "activities", "idempotency_keys"];
        let all = tables.iter().flat_map(|table| self.app.sql(&format!("SELECT * FROM {table}")));
        all.into_iter().any(|row| row.to_lowercase().contains(&word.to_lowercase()))
    }

    fn hold(&self) -> String {
        let hold = format!("/api/v1/candidates/{}/hold", self.candidate());
        self.owner.put(&hold, &json!({ "reason": "a lawsuit" })).expect(200);
        hold
    }
}

const ADA: &str = "ada@example.org";

fn a_deletion_turns_a_later_signup_into_an_application() {
    let fixture = Fixture::new();
    let first = fixture.apply("", "Mallory", ADA);
    let later = fixture.apply("", "Ada Lovelace", "ADA@example.org");
    assert_eq!(fixture.candidates(), ["Mallory|ada@example.org|In Progress|Mallory|Ada Lovelace"]);
    let shown = fixture.page(&later);
    fixture.delete(&first);
    assert_eq!(fixture.candidates(), ["Ada Lovelace|ADA@example.org|In Progress|Ada Lovelace|null"]);
    assert!(!fixture.contains_text("Mallory"));
    assert_eq!(fixture.page(&later), shown);
    // The later signup is now an ordinary application, and its link controls that application.
    fixture.delete(&later);
    assert_eq!(fixture.candidates(), Vec::<String>::new());
    assert!(!fixture.contains_text("Lovelace"));
}

fn a_withdrawn_later_signup_becomes_a_withdrawn_application() {
    let fixture = Fixture::new();
    let first = fixture.apply("", "Mallory", ADA);
    let later = fixture.apply("", "Ada", ADA);
    fixture.app.anonymous().post_empty(&format!("{later}/withdraw")).expect(303);
    let shown = fixture.page(&later);
    fixture.delete(&first);
    assert_eq!(fixture.candidates(), ["Ada|ada@example.org|Withdrawn|Ada|null"]);
    assert_eq!(fixture.page(&later), shown);
}

fn the_first_later_signup_in_progress_becomes_the_application() {
    let fixture = Fixture::new();
    let first = fixture.apply("", "Mallory", ADA);
    let later = ["One", "Two", "Three"].map(|name| fixture.apply("", name, ADA));
    fixture.app.anonymous().post_empty(&format!("{}/withdraw", later[0])).expect(303);
    fixture.delete(&first);
    assert_eq!(fixture.candidates(), ["Two|ada@example.org|In Progress|Two|One,Three"]);
    fixture.delete(&later[0]);
    fixture.delete(&later[1]);
    assert_eq!(fixture.candidates(), ["Three|ada@example.org|In Progress|Three|null"]);
}

fn staff_see_the_last_20_later_signups_and_download_attachments() {
    let fixture = Fixture::new();
    fixture.apply("", "Mallory", ADA);
    for number in 0..21 {
        fixture.apply("", &format!("Ada {number}"), ADA);
    }
    fixture.app.pass(60);
    let form = Form::for_role(&fixture.app, &fixture.hiring).with("name", "With a CV").with_file("cv.txt", b"Mine");
    let later = status_path(&form.send(&fixture.app));
    fixture.app.anonymous().post_empty(&format!("{later}/withdraw")).expect(303);
    let candidate = format!("/api/v1/candidates/{}", fixture.candidate());
    let read = fixture.owner.get(&candidate).expect(200).json();
    let application = &read["data"]["applications"][0];
    assert_eq!(application["signup"]["name"], "Mallory");
    let later: Vec<&Value> = application["laterSignups"].as_array().unwrap().iter().collect();
    let names: Vec<&str> = later.iter().map(|one| one["name"].as_str().unwrap()).collect();
    let expected: Vec<String> = (2..21).map(|number| format!("Ada {number}")).collect();
    assert_eq!(names[..19], expected);
    assert_eq!(names[19..], ["With a CV"]);
    assert!(later[19]["withdrewAt"].is_string() && later[18]["withdrewAt"].is_null());
    let document = later[19]["documents"][0]["id"].as_str().unwrap();
    assert_eq!(fixture.owner.get(&format!("{candidate}/documents/{document}")).expect(200).body, b"Mine");
}

fn a_deletion_removes_the_name_but_leaves_another_persons_application() {
    let fixture = Fixture::new();
    let real = fixture.apply("", "Ada Quixworth", ADA);
    let stranger = fixture.apply("role_more", "Mallory", "Ada@example.org");
    assert_eq!(
        fixture.candidates(),
        [
            "Ada Quixworth|ada@example.org|In Progress|Ada Quixworth|null",
            "Ada Quixworth|ada@example.org|In Progress|Mallory|null"
        ]
    );
    let shown = fixture.page(&stranger);
    fixture.delete(&real);
    assert!(!fixture.contains_text("Quixworth"));
    assert_eq!(
        fixture.candidates(),
        ["Mallory|Ada@example.org|Withdrawn|-|null", "Mallory|Ada@example.org|In Progress|Mallory|null"]
    );
    assert_eq!(fixture.page(&stranger), shown);
    // A candidate whom staff have renamed keeps the new name.
    let fixture = Fixture::new();
    let real = fixture.apply("", "Ada", ADA);
    fixture.apply("role_more", "Mallory", ADA);
    let path = format!("/api/v1/candidates/{}", fixture.candidate());
    fixture.owner.patch(&path, &json!({ "name": "Countess" })).expect(200);
    fixture.delete(&real);
    assert!(fixture.candidates().iter().all(|row| row.starts_with("Countess|")), "{:?}", fixture.candidates());
}

fn deleting_through_every_link_erases_the_candidate() {
    for order in [[0, 1], [1, 0]] {
        let fixture = Fixture::new();
        let links = [fixture.apply("", "Ada Quixworth", ADA), fixture.apply("role_more", "Ada Quixworth", ADA)];
        fixture.delete(&links[order[0]]);
        assert!(fixture.contains_text("Quixworth"));
        fixture.delete(&links[order[1]]);
        assert!(!fixture.contains_text("Quixworth") && !fixture.contains_text(ADA));
    }
}

fn a_new_link_from_staff_retains_an_application_whose_signup_was_deleted() {
    let fixture = Fixture::new();
    let links = [fixture.apply("", "Ada", ADA), fixture.apply("role_more", "Ada", ADA)];
    let application = fixture.app.sql("SELECT candidate_role_id FROM signups ORDER BY number").remove(0);
    fixture.delete(&links[0]);
    let issue = format!("/api/v1/candidate-roles/{application}/status-link");
    let issued = crate::support::stored_signup::status_link_in(&fixture.owner.post_empty(&issue).expect(200).json());
    fixture.delete(&links[1]);
    assert_eq!(fixture.candidates().len(), 2);
    fixture.delete(&issued);
    assert_eq!(fixture.candidates(), Vec::<String>::new());
}

fn deleting_the_last_later_signup_erases_the_candidate() {
    let fixture = Fixture::new();
    let links = [fixture.apply("", "Ada", ADA), fixture.apply("role_more", "Ada", ADA)];
    let later = fixture.apply("", "Ada", ADA);
    fixture.delete(&links[0]);
    fixture.delete(&links[1]);
    assert_eq!(fixture.candidates().len(), 2);
    fixture.delete(&later);
    assert_eq!(fixture.candidates(), Vec::<String>::new());
}

fn stored_responses_do_not_contain_a_deleted_later_signup() {
    let fixture = Fixture::new();
    fixture.apply("", "Ada", ADA);
    let later = fixture.apply("", "Mallory", ADA);
    let application = fixture.app.sql("SELECT candidate_role_id FROM signups ORDER BY number").remove(0);
    let client = fixture.owner.with_header("Idempotency-Key", "k-1");
    let answer = client.post_empty(&format!("/api/v1/candidate-roles/{application}/withdraw")).expect(200);
    assert!(answer.text().contains("Mallory") && fixture.contains_text("Mallory"));
    fixture.delete(&later);
    assert!(!fixture.contains_text("Mallory"));
}

fn a_legal_hold_is_not_revealed_to_a_person_who_knows_only_the_address() {
    let fixture = Fixture::new();
    let real = fixture.apply("", "Ada", ADA);
    let hold = fixture.hold();
    fixture.app.anonymous().post_empty(&format!("{real}/delete")).expect(303);
    assert!(fixture.page(&real).contains("cannot be deleted yet"));
    let stranger = fixture.apply("role_more", "Mallory", ADA);
    let unknown = fixture.apply("role_more", "Mallory", "nobody@example.org");
    let normalized = |page: String, path: &str, email: &str| page.replace(path, "PATH").replace(email, "EMAIL");
    assert_eq!(
        normalized(fixture.page(&stranger), &stranger, ADA),
        normalized(fixture.page(&unknown), &unknown, "nobody@example.org")
    );
    // Under the hold, no data of the candidate is deleted, and staff see both requests for deletion.
    fixture.delete(&stranger);
    fixture.delete(&unknown);
    assert_eq!(
        fixture.candidates(),
        ["Ada|ada@example.org|In Progress|Ada|null", "Ada|ada@example.org|Withdrawn|Mallory|null"]
    );
    let asked = "SELECT v.action, a.role_id FROM activities v JOIN candidate_roles a ON a.id = v.candidate_role_id
                 WHERE v.action LIKE '%asked' ORDER BY v.number";
    let own = format!("candidate.erasure_asked|{}", fixture.hiring.role_id);
    assert_eq!(fixture.app.sql(asked), [own, "candidate_role.deletion_asked|role_more".to_owned()]);
    fixture.owner.delete(&hold).expect(200);
    fixture.delete(&real);
    assert!(fixture.candidates().iter().all(|row| row.starts_with("Mallory|")), "{:?}", fixture.candidates());
}

fn a_legal_hold_retains_later_signups() {
    let fixture = Fixture::new();
    fixture.apply("", "Ada", ADA);
    let later = fixture.apply("", "Mallory", ADA);
    fixture.hold();
    fixture.delete(&later);
    assert_eq!(fixture.candidates(), ["Ada|ada@example.org|In Progress|Ada|Mallory"]);
}

fn signups_whose_deletion_was_requested_under_a_hold_do_not_retain_the_candidate() {
    let fixture = Fixture::new();
    let links = [fixture.apply("", "Ada Quixworth", ADA), fixture.apply("role_more", "Ada Quixworth", ADA)];
    let later = fixture.apply("", "Ada Quixworth", ADA);
    let hold = fixture.hold();
    fixture.delete(&links[1]);
    fixture.delete(&later);
    fixture.app.anonymous().post_empty(&format!("{}/delete", links[0])).expect(303);
    fixture.owner.delete(&hold).expect(200);
    assert!(fixture.contains_text("Quixworth"));
    fixture.delete(&links[0]);
    assert!(!fixture.contains_text("Quixworth") && !fixture.contains_text(ADA));
}

fn a_later_signup_is_added_to_the_candidate_who_now_has_its_address() {
    let fixture = Fixture::new();
    let first = fixture.apply("", "Ada", ADA);
    let later = fixture.apply("", "Later", ADA);
    fixture
        .owner
        .patch(&format!("/api/v1/candidates/{}", fixture.candidate()), &json!({ "email": "b@b.example" }))
        .expect(200);
    let other = fixture.apply("", "Other", ADA);
    fixture.delete(&first);
    // The candidate who now has the address already has an application, so the later signup is added to that
    // application.
    assert_eq!(fixture.candidates(), ["Other|ada@example.org|In Progress|Other|Later"]);
    assert!(fixture.page(&later).contains("in progress") && fixture.page(&other).contains("in progress"));
    assert_eq!(fixture.app.sql("SELECT count(*) FROM candidates WHERE email_key = 'b@b.example'"), ["0"]);
}

fn a_later_signup_becomes_an_application_under_its_own_address() {
    let fixture = Fixture::new();
    let first = fixture.apply("", "Ada", ADA);
    fixture.apply("", "Later", ADA);
    fixture
        .owner
        .patch(&format!("/api/v1/candidates/{}", fixture.candidate()), &json!({ "email": "b@b.example" }))
        .expect(200);
    fixture.apply("", "Bee", "b@b.example");
    fixture.delete(&first);
    assert_eq!(fixture.candidates(), ["Later|ada@example.org|In Progress|Later|null"]);
    assert_eq!(fixture.app.sql("SELECT name FROM candidates WHERE email_key = 'b@b.example'"), ["Bee"]);
}

/// Stops the service, copies its file, and starts the service again. Returns the copy.
fn copy(fixture: &Fixture) -> Vec<u8> {
    fixture.app.stop();
    fixture.app.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let copy = std::fs::read(&fixture.app.path).unwrap();
    fixture.app.start_again();
    copy
}

/// Restarts the service on this copy of its file.
fn start_on(fixture: &Fixture, copy: &[u8]) {
    fixture.app.stop();
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", fixture.app.path.display()));
    }
    std::fs::write(&fixture.app.path, copy).unwrap();
    fixture.app.start_again();
    assert_eq!(fixture.app.check(), Vec::<String>::new());
}

fn a_start_on_an_older_copy_repeats_exactly_the_deletions() {
    let fixture = Fixture::new();
    let first = fixture.apply("", "Ada Quixworth", ADA);
    let later = fixture.apply("", "Later", ADA);
    let gone = fixture.apply("", "Quixworth too", ADA);
    let other_candidate =
        [fixture.apply("", "Bee Quixworth", "b@b.example"), fixture.apply("role_more", "Bee", "b@b.example")];
    let older = copy(&fixture);
    fixture.delete(&gone);
    fixture.delete(&first);
    fixture.delete(&other_candidate[0]);
    let left = fixture.candidates();
    assert!(left == ["Later|ada@example.org|In Progress|Later|null"] && !fixture.contains_text("Quixworth"));
    start_on(&fixture, &older);
    assert!(!fixture.contains_text("Quixworth"));
    assert_eq!(fixture.candidates(), left);
    for path in [&first, &gone, &other_candidate[0]] {
        fixture.app.anonymous().get(path).expect(404);
    }
    assert!(fixture.page(&later).contains("in progress") && fixture.page(&other_candidate[1]).contains("in progress"));
    // Another start changes nothing.
    let again = copy(&fixture);
    start_on(&fixture, &again);
    assert_eq!(fixture.candidates(), left);
}

fn an_erased_later_signup_stays_erased_on_an_older_copy() {
    let fixture = Fixture::new();
    let first = fixture.apply("", "Ada", ADA);
    fixture.apply("", "Quixworth", ADA);
    let older = copy(&fixture);
    fixture.delete(&first);
    fixture.owner.delete(&format!("/api/v1/candidates/{}", fixture.candidate())).expect(200);
    assert!(!fixture.contains_text("Quixworth"));
    start_on(&fixture, &older);
    assert!(!fixture.contains_text("Quixworth") && !fixture.contains_text(ADA));
}

fn the_retention_period_starts_at_the_last_signup() {
    let fixture = Fixture::new();
    let first = fixture.apply("", "Ada", ADA);
    fixture.app.anonymous().post_empty(&format!("{first}/withdraw")).expect(303);
    let other = &fixture.hiring.candidates[2].application_id;
    fixture.owner.post_empty(&format!("/api/v1/candidate-roles/{other}/withdraw")).expect(200);
    fixture.app.pass(40 * 86_400);
    let path = format!("/api/admin/organizations/{}", fixture.hiring.organization_id);
    let later = status_path(&Form::for_role(&fixture.app, &fixture.hiring).with("email", ADA).send(&fixture.app));
    fixture.app.admin().patch(&path, &json!({ "retentionDays": 30 })).expect(200);
    fixture.app.pass(600);
    // Another candidate is due and is erased a day later. That erasure shows that the scan has covered every
    // candidate.
    wait_until(&fixture.app, "SELECT count(*) FROM retention_due", "1");
    fixture.app.pass(86_400);
    wait_until(&fixture.app, "SELECT count(*) FROM candidates WHERE erased_at IS NOT NULL", "1");
    assert_eq!(fixture.app.sql("SELECT count(*) FROM retention_due"), ["0"]);
    assert!(fixture.page(&later).contains("in progress"));
    assert_eq!(fixture.candidates(), ["Ada|ada@example.org|Withdrawn|Ada|Ada Lovelace"]);
}

fn acts_on_a_status_page_take_at_least_25_ms() {
    let fixture = Fixture::new();
    for path in [fixture.apply("", "Ada", ADA), fixture.apply("", "Later", ADA)] {
        for (act, status) in [("withdraw", 303), ("delete", 200)] {
            let started = std::time::Instant::now();
            fixture.app.anonymous().post_empty(&format!("{path}/{act}")).expect(status);
            assert!(started.elapsed() >= std::time::Duration::from_millis(25), "{act}: {:?}", started.elapsed());
        }
    }
}

fn a_later_signup_shows_no_step_that_was_added_after_it() {
    let fixture = Fixture::new();
    fixture.apply("", "Ada", ADA);
    let later = fixture.apply("", "Ada", ADA);
    let other = fixture.apply("", "Ada", "other@example.org");
    let steps = format!("/api/v1/roles/{}/steps", fixture.hiring.role_id);
    fixture.owner.post(&steps, &json!({ "name": "Late step", "stepType": "interview" })).expect(200);
    let shown = fixture.page(&later);
    assert!(!shown.contains("Late step"), "{shown}");
    assert_eq!(
        shown.replace(&later, "PATH").replace(ADA, ""),
        fixture.page(&other).replace(&other, "PATH").replace("other@example.org", "")
    );
}

fn a_later_signup_shows_no_move_of_the_application() {
    let fixture = Fixture::new();
    let own = fixture.apply("", "Ada", ADA);
    let later = fixture.apply("", "Ada", ADA);
    let (before, own_before) = (fixture.page(&later), fixture.page(&own));
    let application = format!("(SELECT id FROM candidate_roles WHERE candidate_id = '{}')", fixture.candidate());
    let steps = fixture.app.sql(&format!(
        "SELECT id FROM candidate_role_steps WHERE candidate_role_id = {application} ORDER BY step_order"
    ));
    for step in [3, 1, 2] {
        fixture.owner.post_empty(&format!("/api/v1/candidate-steps/{}/move", steps[step])).expect(200);
        fixture.app.pass(600);
        assert_eq!(fixture.page(&later), before);
        assert_ne!(fixture.page(&own), own_before);
    }
    assert_eq!(fixture.app.check(), Vec::<String>::new());
}

fn a_repeated_form_does_not_recreate_a_deleted_signup() {
    let fixture = Fixture::new();
    let form = Form::for_role(&fixture.app, &fixture.hiring);
    let path = status_path(&form.send(&fixture.app));
    fixture.delete(&path);
    assert_eq!(form.send(&fixture.app).expect(303).header("location"), Some(path.as_str()));
    fixture.app.anonymous().get(&path).expect(404);
    assert_eq!(fixture.app.sql("SELECT count(*) FROM signups"), ["0"]);
    // The next deletion removes the spent link, because the link's form is no longer valid.
    fixture.app.pass(25 * 3_600);
    let other = fixture.apply("", "Other", "other@example.org");
    fixture.delete(&other);
    assert_eq!(fixture.app.sql("SELECT count(*) FROM spent_links"), ["1"]);
}

fn a_repeated_form_does_not_recreate_a_replaced_link() {
    let fixture = Fixture::new();
    let form = Form::for_role(&fixture.app, &fixture.hiring);
    let path = status_path(&form.send(&fixture.app));
    let application = fixture.app.sql("SELECT candidate_role_id FROM signups").remove(0);
    fixture.owner.post_empty(&format!("/api/v1/candidate-roles/{application}/status-link")).expect(200);
    fixture.app.anonymous().get(&path).expect(404);
    assert_eq!(form.send(&fixture.app).expect(303).header("location"), Some(path.as_str()));
    fixture.app.anonymous().get(&path).expect(404);
    assert_eq!(fixture.app.sql("SELECT count(*) FROM signups"), ["1"]);
}
