//! What the links of several people under one address do to each other: an address proves nothing, so a link takes away what
//! was sent with it, tells what was sent with it, and nothing else.

use serde_json::{Value, json};

use crate::document::until;
use crate::support::signup::{Form, path, path_to, status_path};
use crate::support::{App, Client, Hiring};

crate::tests![
    a_deletion_leaves_what_came_later_as_an_application_of_its_own,
    what_was_taken_back_is_taken_back_as_an_application_too,
    of_several_that_came_later_the_first_that_goes_on_is_the_application,
    staff_see_what_came_later_and_download_its_documents,
    a_deletion_beside_an_application_of_somebody_else_takes_the_name_along,
    whoever_deletes_behind_all_links_is_erased,
    a_new_link_from_staff_keeps_an_emptied_application,
    the_last_of_what_came_later_takes_the_candidate_along,
    what_came_later_is_in_no_answer_that_is_kept,
    a_hold_is_told_to_nobody_who_only_knows_an_address,
    a_hold_keeps_what_came_later,
    what_was_wanted_deleted_under_a_hold_keeps_nobody,
    an_address_that_staff_changed_is_somebody_elses_by_then,
    what_came_later_is_what_its_own_address_makes_it,
    an_older_copy_brings_back_nothing_that_was_deleted_and_loses_nothing_else,
    whoever_came_later_and_was_erased_stays_so_in_an_older_copy,
    the_retention_counts_from_what_came_last,
    no_page_is_acted_on_sooner_for_a_known_address,
    the_steps_of_then_are_shown_whatever_staff_do_to_the_role,
    a_form_whose_page_was_deleted_makes_no_other,
    a_form_whose_link_was_replaced_makes_no_other,
];

struct Place {
    app: App,
    hiring: Hiring,
    owner: Client,
}

impl Place {
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

    /// Somebody applies by the form, under this address: the path of their page.
    fn apply(&self, role: &str, name: &str, email: &str) -> String {
        self.app.pass(60);
        let path = if role.is_empty() { path(&self.app, &self.hiring) } else { path_to(&self.app, &self.hiring, role) };
        status_path(&Form::at(&self.app, &path).with("name", name).with("email", email).send(&self.app))
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

    /// The candidates who applied by form: what they are called, and of each application the status and whose signup it is.
    fn candidates(&self) -> Vec<String> {
        self.app.sql(
            "SELECT c.name, c.email, a.status, coalesce(s.name, '-'),
               (SELECT group_concat(l.name, ',') FROM signups l WHERE l.later_of = a.id)
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

    /// Whether any row still has a word of it.
    fn has(&self, word: &str) -> bool {
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

fn a_deletion_leaves_what_came_later_as_an_application_of_its_own() {
    let place = Place::new();
    let first = place.apply("", "Mallory", ADA);
    let later = place.apply("", "Ada Lovelace", "ADA@example.org");
    assert_eq!(place.candidates(), ["Mallory|ada@example.org|In Progress|Mallory|Ada Lovelace"]);
    let shown = place.page(&later);
    place.delete(&first);
    assert_eq!(place.candidates(), ["Ada Lovelace|ADA@example.org|In Progress|Ada Lovelace|null"]);
    assert!(!place.has("Mallory"));
    assert_eq!(place.page(&later), shown);
    // From now on it is as any other: whoever has its link is its candidate.
    place.delete(&later);
    assert_eq!(place.candidates(), Vec::<String>::new());
    assert!(!place.has("Lovelace"));
}

fn what_was_taken_back_is_taken_back_as_an_application_too() {
    let place = Place::new();
    let first = place.apply("", "Mallory", ADA);
    let later = place.apply("", "Ada", ADA);
    place.app.anonymous().post_empty(&format!("{later}/withdraw")).expect(303);
    let shown = place.page(&later);
    place.delete(&first);
    assert_eq!(place.candidates(), ["Ada|ada@example.org|Withdrawn|Ada|null"]);
    assert_eq!(place.page(&later), shown);
}

fn of_several_that_came_later_the_first_that_goes_on_is_the_application() {
    let place = Place::new();
    let first = place.apply("", "Mallory", ADA);
    let later = ["One", "Two", "Three"].map(|name| place.apply("", name, ADA));
    place.app.anonymous().post_empty(&format!("{}/withdraw", later[0])).expect(303);
    place.delete(&first);
    assert_eq!(place.candidates(), ["Two|ada@example.org|In Progress|Two|One,Three"]);
    place.delete(&later[0]);
    place.delete(&later[1]);
    assert_eq!(place.candidates(), ["Three|ada@example.org|In Progress|Three|null"]);
}

fn staff_see_what_came_later_and_download_its_documents() {
    let place = Place::new();
    place.apply("", "Mallory", ADA);
    for number in 0..21 {
        place.apply("", &format!("Ada {number}"), ADA);
    }
    place.app.pass(60);
    let form = Form::of(&place.app, &place.hiring).with("name", "With a CV").with_file("cv.txt", b"Mine");
    let later = status_path(&form.send(&place.app));
    place.app.anonymous().post_empty(&format!("{later}/withdraw")).expect(303);
    let candidate = format!("/api/v1/candidates/{}", place.candidate());
    let read = place.owner.get(&candidate).expect(200).json();
    let application = &read["data"]["applications"][0];
    assert_eq!(application["signup"]["name"], "Mallory");
    let later: Vec<&Value> = application["laterSignups"].as_array().unwrap().iter().collect();
    let names: Vec<&str> = later.iter().map(|one| one["name"].as_str().unwrap()).collect();
    let expected: Vec<String> = (2..21).map(|number| format!("Ada {number}")).collect();
    assert_eq!(names[..19], expected);
    assert_eq!(names[19..], ["With a CV"]);
    assert!(later[19]["withdrewAt"].is_string() && later[18]["withdrewAt"].is_null());
    let document = later[19]["documents"][0]["id"].as_str().unwrap();
    assert_eq!(place.owner.get(&format!("{candidate}/documents/{document}")).expect(200).body, b"Mine");
}

fn a_deletion_beside_an_application_of_somebody_else_takes_the_name_along() {
    let place = Place::new();
    let real = place.apply("", "Ada Quixworth", ADA);
    let stranger = place.apply("role_more", "Mallory", "Ada@example.org");
    assert_eq!(
        place.candidates(),
        [
            "Ada Quixworth|ada@example.org|In Progress|Ada Quixworth|null",
            "Ada Quixworth|ada@example.org|In Progress|Mallory|null"
        ]
    );
    let shown = place.page(&stranger);
    place.delete(&real);
    assert!(!place.has("Quixworth"));
    assert_eq!(
        place.candidates(),
        ["Mallory|Ada@example.org|Withdrawn|-|null", "Mallory|Ada@example.org|In Progress|Mallory|null"]
    );
    assert_eq!(place.page(&stranger), shown);
    // Who staff have named otherwise is called what staff call them.
    let place = Place::new();
    let real = place.apply("", "Ada", ADA);
    place.apply("role_more", "Mallory", ADA);
    let path = format!("/api/v1/candidates/{}", place.candidate());
    place.owner.patch(&path, &json!({ "name": "Countess" })).expect(200);
    place.delete(&real);
    assert!(place.candidates().iter().all(|row| row.starts_with("Countess|")), "{:?}", place.candidates());
}

fn whoever_deletes_behind_all_links_is_erased() {
    for order in [[0, 1], [1, 0]] {
        let place = Place::new();
        let links = [place.apply("", "Ada Quixworth", ADA), place.apply("role_more", "Ada Quixworth", ADA)];
        place.delete(&links[order[0]]);
        assert!(place.has("Quixworth"));
        place.delete(&links[order[1]]);
        assert!(!place.has("Quixworth") && !place.has(ADA));
    }
}

fn a_new_link_from_staff_keeps_an_emptied_application() {
    let place = Place::new();
    let links = [place.apply("", "Ada", ADA), place.apply("role_more", "Ada", ADA)];
    let application = place.app.sql("SELECT candidate_role_id FROM signups ORDER BY number").remove(0);
    place.delete(&links[0]);
    let issue = format!("/api/v1/candidate-roles/{application}/status-link");
    let issued = crate::support::sent::path_of(&place.owner.post_empty(&issue).expect(200).json());
    place.delete(&links[1]);
    assert_eq!(place.candidates().len(), 2);
    place.delete(&issued);
    assert_eq!(place.candidates(), Vec::<String>::new());
}

fn the_last_of_what_came_later_takes_the_candidate_along() {
    let place = Place::new();
    let links = [place.apply("", "Ada", ADA), place.apply("role_more", "Ada", ADA)];
    let later = place.apply("", "Ada", ADA);
    place.delete(&links[0]);
    place.delete(&links[1]);
    assert_eq!(place.candidates().len(), 2);
    place.delete(&later);
    assert_eq!(place.candidates(), Vec::<String>::new());
}

fn what_came_later_is_in_no_answer_that_is_kept() {
    let place = Place::new();
    place.apply("", "Ada", ADA);
    let later = place.apply("", "Mallory", ADA);
    let application = place.app.sql("SELECT candidate_role_id FROM signups ORDER BY number").remove(0);
    let client = place.owner.with_header("Idempotency-Key", "k-1");
    let answer = client.post_empty(&format!("/api/v1/candidate-roles/{application}/withdraw")).expect(200);
    assert!(answer.text().contains("Mallory") && place.has("Mallory"));
    place.delete(&later);
    assert!(!place.has("Mallory"));
}

fn a_hold_is_told_to_nobody_who_only_knows_an_address() {
    let place = Place::new();
    let real = place.apply("", "Ada", ADA);
    let hold = place.hold();
    place.app.anonymous().post_empty(&format!("{real}/delete")).expect(303);
    assert!(place.page(&real).contains("cannot be deleted yet"));
    let stranger = place.apply("role_more", "Mallory", ADA);
    let unknown = place.apply("role_more", "Mallory", "nobody@example.org");
    let same = |page: String, path: &str, email: &str| page.replace(path, "PATH").replace(email, "EMAIL");
    assert_eq!(same(place.page(&stranger), &stranger, ADA), same(place.page(&unknown), &unknown, "nobody@example.org"));
    // Nothing of it is deleted all the same, and staff see that they asked.
    place.delete(&stranger);
    place.delete(&unknown);
    assert_eq!(
        place.candidates(),
        ["Ada|ada@example.org|In Progress|Ada|null", "Ada|ada@example.org|Withdrawn|Mallory|null"]
    );
    let asked = "SELECT v.action, a.role_id FROM activities v JOIN candidate_roles a ON a.id = v.candidate_role_id
                 WHERE v.action LIKE '%asked' ORDER BY v.number";
    let own = format!("candidate.erasure_asked|{}", place.hiring.role_id);
    assert_eq!(place.app.sql(asked), [own, "candidate_role.deletion_asked|role_more".to_owned()]);
    place.owner.delete(&hold).expect(200);
    place.delete(&real);
    assert!(place.candidates().iter().all(|row| row.starts_with("Mallory|")), "{:?}", place.candidates());
}

fn a_hold_keeps_what_came_later() {
    let place = Place::new();
    place.apply("", "Ada", ADA);
    let later = place.apply("", "Mallory", ADA);
    place.hold();
    place.delete(&later);
    assert_eq!(place.candidates(), ["Ada|ada@example.org|In Progress|Ada|Mallory"]);
}

fn what_was_wanted_deleted_under_a_hold_keeps_nobody() {
    let place = Place::new();
    let links = [place.apply("", "Ada Quixworth", ADA), place.apply("role_more", "Ada Quixworth", ADA)];
    let later = place.apply("", "Ada Quixworth", ADA);
    let hold = place.hold();
    place.delete(&links[1]);
    place.delete(&later);
    place.app.anonymous().post_empty(&format!("{}/delete", links[0])).expect(303);
    place.owner.delete(&hold).expect(200);
    assert!(place.has("Quixworth"));
    place.delete(&links[0]);
    assert!(!place.has("Quixworth") && !place.has(ADA));
}

fn an_address_that_staff_changed_is_somebody_elses_by_then() {
    let place = Place::new();
    let first = place.apply("", "Ada", ADA);
    let later = place.apply("", "Later", ADA);
    place
        .owner
        .patch(&format!("/api/v1/candidates/{}", place.candidate()), &json!({ "email": "b@b.example" }))
        .expect(200);
    let other = place.apply("", "Other", ADA);
    place.delete(&first);
    // Whoever has the address by now was there first.
    assert_eq!(place.candidates(), ["Other|ada@example.org|In Progress|Other|Later"]);
    assert!(place.page(&later).contains("in progress") && place.page(&other).contains("in progress"));
    assert_eq!(place.app.sql("SELECT count(*) FROM candidates WHERE email_key = 'b@b.example'"), ["0"]);
}

fn what_came_later_is_what_its_own_address_makes_it() {
    let place = Place::new();
    let first = place.apply("", "Ada", ADA);
    place.apply("", "Later", ADA);
    place
        .owner
        .patch(&format!("/api/v1/candidates/{}", place.candidate()), &json!({ "email": "b@b.example" }))
        .expect(200);
    place.apply("", "Bee", "b@b.example");
    place.delete(&first);
    assert_eq!(place.candidates(), ["Later|ada@example.org|In Progress|Later|null"]);
    assert_eq!(place.app.sql("SELECT name FROM candidates WHERE email_key = 'b@b.example'"), ["Bee"]);
}

/// The file of now, taken by a service that has stopped.
fn copy(place: &Place) -> Vec<u8> {
    place.app.stop();
    place.app.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let copy = std::fs::read(&place.app.path).unwrap();
    place.app.start_again();
    copy
}

/// The service, on a file that was put in the place of its own.
fn put_back(place: &Place, copy: &[u8]) {
    place.app.stop();
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", place.app.path.display()));
    }
    std::fs::write(&place.app.path, copy).unwrap();
    place.app.start_again();
    assert_eq!(place.app.check(), Vec::<String>::new());
}

fn an_older_copy_brings_back_nothing_that_was_deleted_and_loses_nothing_else() {
    let place = Place::new();
    let first = place.apply("", "Ada Quixworth", ADA);
    let later = place.apply("", "Later", ADA);
    let gone = place.apply("", "Quixworth too", ADA);
    let beside = [place.apply("", "Bee Quixworth", "b@b.example"), place.apply("role_more", "Bee", "b@b.example")];
    let older = copy(&place);
    place.delete(&gone);
    place.delete(&first);
    place.delete(&beside[0]);
    let left = place.candidates();
    assert!(left == ["Later|ada@example.org|In Progress|Later|null"] && !place.has("Quixworth"));
    put_back(&place, &older);
    assert!(!place.has("Quixworth"));
    assert_eq!(place.candidates(), left);
    for path in [&first, &gone, &beside[0]] {
        place.app.anonymous().get(path).expect(404);
    }
    assert!(place.page(&later).contains("in progress") && place.page(&beside[1]).contains("in progress"));
    // Once more it is nothing new.
    let again = copy(&place);
    put_back(&place, &again);
    assert_eq!(place.candidates(), left);
}

fn whoever_came_later_and_was_erased_stays_so_in_an_older_copy() {
    let place = Place::new();
    let first = place.apply("", "Ada", ADA);
    place.apply("", "Quixworth", ADA);
    let older = copy(&place);
    place.delete(&first);
    place.owner.delete(&format!("/api/v1/candidates/{}", place.candidate())).expect(200);
    assert!(!place.has("Quixworth"));
    put_back(&place, &older);
    assert!(!place.has("Quixworth") && !place.has(ADA));
}

fn the_retention_counts_from_what_came_last() {
    let place = Place::new();
    let first = place.apply("", "Ada", ADA);
    place.app.anonymous().post_empty(&format!("{first}/withdraw")).expect(303);
    let other = &place.hiring.candidates[2].application_id;
    place.owner.post_empty(&format!("/api/v1/candidate-roles/{other}/withdraw")).expect(200);
    place.app.pass(40 * 86_400);
    let path = format!("/api/admin/organizations/{}", place.hiring.organization_id);
    let later = status_path(&Form::of(&place.app, &place.hiring).with("email", ADA).send(&place.app));
    place.app.admin().patch(&path, &json!({ "retentionDays": 30 })).expect(200);
    place.app.pass(600);
    // Somebody else is due, and is erased a day later. Before that, everybody was looked at.
    until(&place.app, "SELECT count(*) FROM retention_due", "1");
    place.app.pass(86_400);
    until(&place.app, "SELECT count(*) FROM candidates WHERE erased_at IS NOT NULL", "1");
    assert_eq!(place.app.sql("SELECT count(*) FROM retention_due"), ["0"]);
    assert!(place.page(&later).contains("in progress"));
    assert_eq!(place.candidates(), ["Ada|ada@example.org|Withdrawn|Ada|Ada Lovelace"]);
}

fn no_page_is_acted_on_sooner_for_a_known_address() {
    let place = Place::new();
    for path in [place.apply("", "Ada", ADA), place.apply("", "Later", ADA)] {
        for (act, status) in [("withdraw", 303), ("delete", 200)] {
            let begun = std::time::Instant::now();
            place.app.anonymous().post_empty(&format!("{path}/{act}")).expect(status);
            assert!(begun.elapsed() >= std::time::Duration::from_millis(25), "{act}: {:?}", begun.elapsed());
        }
    }
}

fn the_steps_of_then_are_shown_whatever_staff_do_to_the_role() {
    let place = Place::new();
    place.apply("", "Ada", ADA);
    let later = place.apply("", "Ada", ADA);
    let other = place.apply("", "Ada", "other@example.org");
    let steps = format!("/api/v1/roles/{}/steps", place.hiring.role_id);
    place.owner.post(&steps, &json!({ "name": "Late step", "stepType": "interview" })).expect(200);
    let shown = place.page(&later);
    assert!(!shown.contains("Late step"), "{shown}");
    assert_eq!(
        shown.replace(&later, "PATH").replace(ADA, ""),
        place.page(&other).replace(&other, "PATH").replace("other@example.org", "")
    );
}

fn a_form_whose_page_was_deleted_makes_no_other() {
    let place = Place::new();
    let form = Form::of(&place.app, &place.hiring);
    let path = status_path(&form.send(&place.app));
    place.delete(&path);
    assert_eq!(form.send(&place.app).expect(303).header("location"), Some(path.as_str()));
    place.app.anonymous().get(&path).expect(404);
    assert_eq!(place.app.sql("SELECT count(*) FROM signups"), ["0"]);
    // For as long as a form is good.
    place.app.pass(25 * 3_600);
    let other = place.apply("", "Other", "other@example.org");
    place.delete(&other);
    assert_eq!(place.app.sql("SELECT count(*) FROM spent_links"), ["1"]);
}

fn a_form_whose_link_was_replaced_makes_no_other() {
    let place = Place::new();
    let form = Form::of(&place.app, &place.hiring);
    let path = status_path(&form.send(&place.app));
    let application = place.app.sql("SELECT candidate_role_id FROM signups").remove(0);
    place.owner.post_empty(&format!("/api/v1/candidate-roles/{application}/status-link")).expect(200);
    assert_eq!(form.send(&place.app).expect(303).header("location"), Some(path.as_str()));
    assert_eq!(place.app.sql("SELECT count(*) FROM signups"), ["1"]);
}
