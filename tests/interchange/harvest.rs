//! Imports of Greenhouse exports: how each resource of the Harvest API is imported, and which items are refused. The
//! files in `greenhouse` have the structure that the API's documentation shows.

use std::path::Path;

use appliance::store::file::Lock;
use serde_json::{Map, Value, json};

use crate::company::{Company, Ended, each};
use crate::rounds::rounds;
use crate::support::set;

const RESOURCES: [&str; 6] = ["jobs", "job_stages", "candidates", "applications", "rejection_reasons", "offers"];

fn folder() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interchange/greenhouse").to_str().unwrap().to_owned()
}

/// Returns the whole export as one object.
fn whole() -> Value {
    let read = |name: &str| std::fs::read(format!("{}/{name}.json", folder())).unwrap();
    let members = RESOURCES.iter().map(|name| ((*name).to_owned(), serde_json::from_slice(&read(name)).unwrap()));
    Value::Object(members.collect::<Map<String, Value>>())
}

/// Returns the export with one value replaced.
fn with(pointer: &str, value: Value) -> Value {
    let mut export = whole();
    set(&mut export, pointer, value);
    export
}

impl Company {
    fn harvest(&self, args: &[&str], export: &Value) -> Ended {
        let flags = ["--format", "greenhouse", "--organization", "acme"];
        self.import(&[&flags[..], args, &["-"]].concat(), export.to_string().as_bytes())
    }

    fn harvest_files(&self, files: &[&str]) -> Ended {
        self.import(&[&["--format", "greenhouse", "--organization", "acme"], files].concat(), b"")
    }
}

#[test]
fn a_folder_of_files_and_one_object_give_the_same_import() {
    let (files, object, folder_itself) = (Company::new(), Company::new(), Company::new());
    let paths = RESOURCES.map(|name| format!("{}/{name}.json", folder()));
    let counts = "for acme: roles 4, candidates 5, applications 6; the write lock was held for ";
    files.harvest_files(&paths.each_ref().map(String::as_str)).fine().says(counts);
    object.harvest(&[], &whole()).fine().says(counts);
    folder_itself.harvest_files(&[&folder()]).fine().says(counts);
    let document = files.export();
    for id in ["gh_job_501", "gh_job_502", "gh_job_503", "gh_job_504"] {
        assert_eq!(files.role(id), object.role(id));
        assert_eq!(files.role(id), folder_itself.role(id), "{document}");
    }
}

#[test]
fn a_job_becomes_a_role_that_is_not_public() {
    let company = Company::new();
    company.harvest(&[], &whole()).fine();
    let role = company.role("gh_job_501");
    assert_eq!((&role["name"], &role["status"], &role["public"]), (&json!("Surveyor"), &json!("open"), &json!(false)));
    assert_eq!((&role["department"], &role["location"]), (&json!("Field, Maps"), &json!("Oslo, Norway, Bergen")));
    let body = "You measure **everything**.\n\n- Land\n- Sea & air";
    assert_eq!(role["description"], json!({ "format": "markdown", "body": body }));
    assert_eq!(role["createdAt"], "2024-03-01T08:00:00.000000Z");
    // One candidate was hired, two openings are open, and one was cancelled.
    assert_eq!(role["positions"], 3);
    let (closed, draft) = (company.role("gh_job_502"), company.role("gh_job_503"));
    assert_eq!(
        (&closed["status"], &closed["positions"], &closed["description"]),
        (&json!("closed"), &json!(1), &json!({}))
    );
    assert_eq!((&draft["status"], &draft["steps"]), (&json!("draft"), &json!([])));
    // The hire took the only opening, so the role is filled.
    let filled = company.role("gh_job_504");
    assert_eq!((&filled["status"], &filled["positions"]), (&json!("filled"), &json!(1)));
}

#[test]
fn stages_become_steps_sorted_by_priority() {
    let company = Company::new();
    company.harvest(&[], &whole()).fine();
    let steps = &company.role("gh_job_501")["steps"];
    let names =
        ["Application Review", "Recruiter Phone Screen", "Take Home Test", "Face to Face", "Reference Check", "Offer"];
    assert_eq!(each(steps, "name"), names, "a deleted stage without applications is left out");
    let types = ["application", "screening", "assessment", "interview", "reference_check", "offer"];
    assert_eq!(each(steps, "stepType"), types);
    assert_eq!(steps[0]["id"], "gh_stage_70");
    let steps = &company.role("gh_job_502")["steps"];
    assert_eq!(each(steps, "name"), ["Trial Shift", "Offer"], "a deleted stage with an application remains");
}

#[test]
fn without_a_list_of_stages_the_steps_come_from_applications() {
    let company = Company::new();
    let mut export = whole();
    export.as_object_mut().unwrap().remove("job_stages");
    set(&mut export, "/applications/5/current_stage", Value::Null);
    company.harvest(&[], &export).fine();
    let steps = &company.role("gh_job_501")["steps"];
    assert_eq!(
        (each(steps, "name"), each(steps, "id")),
        (vec!["Take Home Test", "Face to Face"], vec!["gh_stage_72", "gh_stage_73"])
    );
    let steps = &company.role("gh_job_504")["steps"];
    assert_eq!((each(steps, "name"), each(steps, "id")), (vec!["Application"], vec!["gh_job_504_application"]));
    assert_eq!(company.role("gh_job_503")["steps"], json!([]));
}

#[test]
fn an_active_application_is_imported_at_its_stage() {
    let company = Company::new();
    company.harvest(&[], &with("/applications/0/last_activity_at", Value::Null)).fine();
    let ida = company.application("gh_job_501", "Ida@Home.example");
    assert_eq!((&ida["id"], &ida["applicationId"]), (&json!("gh_candidate_8001"), &json!("gh_application_9001")));
    assert_eq!((&ida["name"], &ida["status"]), (&json!("Ida Moe"), &json!("In Progress")));
    assert_eq!(ida["appliedAt"], "2024-05-20T09:00:00.000000Z");
    let statuses = ["validated", "validated", "validated", "in_progress", "pending", "pending"];
    assert_eq!(each(&ida["steps"], "status"), statuses);
    assert_eq!(ida["steps"][0]["validatedAt"], ida["appliedAt"]);
    // The same person has also applied to another job.
    assert_eq!(company.application("gh_job_502", "Ida@Home.example")["id"], "gh_candidate_8001");
}

#[test]
fn a_rejection_is_imported_with_date_reason_and_outcome_type() {
    let company = Company::new();
    company.harvest(&[], &whole()).fine();
    for (role, email, step, at, reason, who) in [
        (
            "gh_job_501",
            "per@work.example",
            2,
            "2024-06-01T10:11:12.131000Z",
            "Lacking skill(s)/qualification(s)",
            "rejected_by_organization",
        ),
        (
            "gh_job_502",
            "Ida@Home.example",
            0,
            "2024-02-20T10:00:00.000000Z",
            "Took another job",
            "rejected_by_candidate",
        ),
        // This application has no rejection date, no stage and no type. The import takes them from the last activity,
        // the first stage and the list of reasons.
        ("gh_job_502", "jon@home.example", 0, "2024-02-25T10:00:00.000000Z", "Hiring Freeze", "other"),
    ] {
        let application = company.application(role, email);
        assert_eq!(application["status"], "Not Selected");
        let step = &application["steps"][step];
        let expected = json!({ "status": "rejected", "rejectedAt": at, "rejectionReason": "", "outcomeReason": reason, "outcomeType": who });
        for (member, value) in expected.as_object().unwrap() {
            assert_eq!(&step[member], value, "{email} {member}");
        }
    }
}

#[test]
fn a_reason_given_by_id_comes_from_the_list_of_reasons() {
    let company = Company::new();
    company.harvest(&[], &with("/applications/7/rejection_reason", json!({ "id": 11 }))).fine();
    let step = company.application("gh_job_502", "jon@home.example")["steps"][0].clone();
    assert_eq!(step["outcomeReason"], "Lacking skill(s)/qualification(s)");
    assert_eq!(step["outcomeType"], "rejected_by_organization");
    let company = Company::new();
    company.harvest(&[], &with("/applications/7/rejection_reason", Value::Null)).fine();
    let step = company.application("gh_job_502", "jon@home.example")["steps"][0].clone();
    assert_eq!((&step["outcomeReason"], &step["outcomeType"]), (&Value::Null, &json!("other")));
}

#[test]
fn a_hire_is_imported_with_date_offer_and_opening() {
    let company = Company::new();
    company.harvest(&[], &whole()).fine();
    let siv = company.application("gh_job_501", "siv@home.example");
    assert_eq!((&siv["status"], &siv["hiredDate"]), (&json!("Hired"), &json!("2024-06-10T12:00:00.000000Z")));
    assert_eq!(siv["offerAcceptedDate"], "2024-06-09T11:00:00.000000Z");
    assert_eq!(siv["externalPositionId"], "F-1");
    assert_eq!(each(&siv["steps"], "status"), ["validated"; 6]);
    // This opening has neither a closing date nor a name, so the hire gets both from the newest accepted offer.
    let liv = company.application("gh_job_504", "liv@sea.example");
    assert_eq!((&liv["name"], &liv["hiredDate"]), (&json!("Liv"), &json!("2024-06-04T11:00:00.000000Z")));
    assert_eq!((&liv["offerAcceptedDate"], &liv["externalPositionId"]), (&liv["hiredDate"], &json!("D-7")));
    let company = Company::new();
    let mut export = whole();
    export.as_object_mut().unwrap().remove("offers");
    company.harvest(&[], &export).fine();
    let liv = company.application("gh_job_504", "liv@sea.example");
    assert_eq!((&liv["hiredDate"], &liv["offerAcceptedDate"]), (&json!("2024-06-12T10:00:00.000000Z"), &Value::Null));
}

#[test]
fn prospects_and_people_without_an_application_are_skipped_with_a_notice() {
    let company = Company::new();
    let ended = company.harvest(&[], &whole()).fine();
    assert!(ended.err.contains("prospects skipped: 2, because they have not applied\n"), "{ended:?}");
    assert!(ended.err.contains("candidates skipped: 2, because they have no application\n"), "{ended:?}");
    assert!(!company.export().to_string().contains("Prospect"));
}

#[test]
fn a_known_address_belongs_to_the_existing_candidate() {
    let company = Company::new();
    let emails = json!([{ "value": "CLEO@example.org", "type": "personal" }]);
    company.harvest(&[], &with("/candidates/0/email_addresses", emails)).fine().says("candidates 4, applications 6");
    let cleo = company.application("gh_job_501", "cleo@example.org");
    assert_eq!((&cleo["id"], &cleo["name"]), (&json!("cand_cleo"), &json!("Cleo")));
}

#[test]
fn a_second_import_of_an_export_is_refused() {
    let company = Company::new();
    company.harvest(&[], &whole()).fine();
    let sentence = "an earlier import already added all jobs of this export; the first job is the role gh_job_501";
    for args in [&[][..], &["--partial"]] {
        company.harvest(args, &whole()).failed(1, sentence);
    }
    // A later export has one more job. The import skips and counts the existing items, and adds the new job.
    let mut newer = whole();
    set(&mut newer, "/jobs/-", json!({ "id": 505, "name": "Baker", "status": "open" }));
    let mut application = newer["applications"][0].clone();
    application["id"] = json!(9100);
    application["jobs"] = json!([{ "id": 505 }]);
    application["current_stage"] = Value::Null;
    set(&mut newer, "/applications/-", application);
    let before = company.role("gh_job_501");
    let ended = company.harvest(&[], &newer).fine().says("for acme: roles 1, candidates 0, applications 1;");
    let ended = ended.says("jobs skipped: 4, because the database has them already\n");
    ended.says("applications skipped: 6, because the database has them already\n");
    assert_eq!(company.application("gh_job_505", "Ida@Home.example")["id"], "gh_candidate_8001");
    assert_eq!(company.role("gh_job_501"), before);
}

#[test]
fn a_corrected_item_is_imported_by_a_second_import() {
    let company = Company::new();
    // The hire for the job 504 has an unknown candidate. The candidate of an application for the job 501 has no
    // address.
    let mut export = with("/applications/5/candidate_id", json!(1));
    set(&mut export, "/candidates/0/email_addresses", json!([]));
    company.harvest(&["--partial"], &export).says("the others were imported");
    let (filled, open) = (company.role("gh_job_504"), company.role("gh_job_501"));
    assert_eq!((&filled["status"], &filled["positions"]), (&json!("open"), &json!(1)), "nobody was hired yet");
    company.harvest(&[], &whole()).fine().says("for acme: roles 0, candidates 2, applications 3;");
    let fresh = Company::new();
    fresh.harvest(&[], &whole()).fine();
    for id in ["gh_job_501", "gh_job_502", "gh_job_503", "gh_job_504"] {
        let (corrected, complete) = (company.role(id), fresh.role(id));
        for member in ["status", "positions", "steps"] {
            assert_eq!(corrected[member], complete[member], "{id} {member}");
        }
        let sorted = |role: &Value| {
            let mut emails = each(&role["candidates"], "email").into_iter().map(str::to_owned).collect::<Vec<_>>();
            emails.sort_unstable();
            emails
        };
        assert_eq!(sorted(&corrected), sorted(&complete), "{id}");
    }
    assert_eq!(each(&open["steps"], "id"), each(&company.role("gh_job_501")["steps"], "id"));
    company.harvest(&[], &whole()).failed(1, "an earlier import already added all jobs of this export");
}

#[test]
fn a_corrected_application_that_staff_have_added_is_refused() {
    let company = Company::new();
    company.harvest(&["--partial"], &with("/candidates/0/email_addresses", json!([]))).says("the others were imported");
    company.csv("name,email,role\nIda,ida@home.example,gh_job_501\n").fine();
    let line = "applications 9001 (standard input#/applications/0): Ida@Home.example applied twice to the job 501; a \
                candidate can apply to a role only once";
    company.harvest(&[], &whole()).refused(&[line]);
    company.harvest(&["--partial"], &whole()).refused(&[line]).says("applications 1;");
}

#[test]
fn a_job_of_another_organization_is_refused() {
    let company = Company::new();
    let far = ["--format", "greenhouse", "--organization", "far", "-"];
    assert_eq!(company.import(&far, whole().to_string().as_bytes()).code, Some(0));
    let ended = company.harvest(&[], &whole());
    let there = "jobs 501 (standard input#/jobs/0): the role gh_job_501 already exists in another organization";
    assert!(ended.out.starts_with(there), "{ended:?}");
    assert_eq!(ended.code, Some(1), "{ended:?}");
}

#[test]
fn an_open_job_without_stages_gets_a_step() {
    let company = Company::new();
    let job = json!({ "id": 505, "name": "Baker", "status": "open" });
    company.harvest(&[], &with("/jobs/-", job)).fine();
    assert_eq!(each(&company.role("gh_job_505")["steps"], "name"), ["Application"]);
}

#[test]
fn errors_in_items_are_reported_with_their_resource_their_id_and_their_location() {
    let must_be_time = "must be a time such as 2016-03-26T20:11:39.000Z";
    for (pointer, value, report) in [
        (
            "/jobs/2/status",
            json!("paused"),
            "jobs 503 (standard input#/jobs/2): status must be one of open, closed, draft",
        ),
        (
            "/jobs/2/name",
            json!(" "),
            "jobs 503 (standard input#/jobs/2): name must be a string of 1 to 255 characters that is not blank",
        ),
        ("/jobs/2/notes", json!(7), "jobs 503 (standard input#/jobs/2): notes must be a string"),
        ("/jobs/2/created_at", json!("now"), &format!("jobs 503 (standard input#/jobs/2): created_at {must_be_time}")),
        (
            "/jobs/2/openings",
            json!([{ "closed_at": 1 }]),
            &format!("jobs 503 (standard input#/jobs/2): openings/0/closed_at {must_be_time}"),
        ),
        ("/jobs/2/departments", json!(["a"]), "jobs 503 (standard input#/jobs/2): departments/0 must be an object"),
        ("/jobs/2/departments", json!({}), "jobs 503 (standard input#/jobs/2): departments must be an array"),
        ("/jobs/2/id", json!("a\u{1b}"), "jobs \"a\\u001b\" (standard input#/jobs/2): id must be a whole number"),
        ("/jobs/2/id", Value::Null, "jobs null (standard input#/jobs/2): id is missing; every item needs one"),
        (
            "/jobs/2",
            json!([]),
            "jobs without an id (standard input#/jobs/2): id is missing; every item needs one; name is missing; it must be a string of 1 to 255 characters that is not blank; status is missing",
        ),
        (
            "/job_stages/6/job_id",
            Value::Null,
            "job_stages 76 (standard input#/job_stages/6): job_id is missing; every stage belongs to a job",
        ),
        (
            "/job_stages/6/id",
            json!(75),
            "job_stages 75 (standard input#/job_stages/6): the id is not unique; job_stages 75 (standard input#/job_stages/0) has it too",
        ),
        (
            "/candidates/6/last_name",
            json!("n".repeat(252)),
            "candidates 8007 (standard input#/candidates/6): first_name and last_name must have 1 to 255 characters together",
        ),
        (
            "/candidates/6/email_addresses",
            json!("a@b"),
            "candidates 8007 (standard input#/candidates/6): email_addresses must be an array",
        ),
        (
            "/rejection_reasons/0/name",
            json!("r".repeat(256)),
            "rejection_reasons 11 (standard input#/rejection_reasons/0): name must be a string of at most 255 characters",
        ),
        (
            "/offers/0/application_id",
            Value::Null,
            "offers 701 (standard input#/offers/0): application_id is missing; every offer belongs to an application",
        ),
        (
            "/applications/4/candidate_id",
            json!(-1),
            "applications 9005 (standard input#/applications/4): candidate_id must be a whole number",
        ),
        (
            "/applications/1/status",
            json!("lost"),
            "applications 9002 (standard input#/applications/1): status must be one of active, rejected, hired, converted",
        ),
        (
            "/applications/1/rejected_at",
            json!(1),
            &format!("applications 9002 (standard input#/applications/1): rejected_at {must_be_time}"),
        ),
        (
            "/applications/1/candidate_id",
            json!(1),
            "applications 9002 (standard input#/applications/1): its candidate 1 is not among the candidates",
        ),
        (
            "/applications/1/jobs",
            json!([]),
            "applications 9002 (standard input#/applications/1): jobs has 0 entries; an application needs exactly one job",
        ),
        (
            "/applications/1/jobs",
            json!([{ "id": 501 }, { "id": 502 }]),
            "applications 9002 (standard input#/applications/1): jobs has 2 entries; an application needs exactly one job",
        ),
        (
            "/applications/1/jobs",
            json!([{ "id": 1 }]),
            "applications 9002 (standard input#/applications/1): its job 1 is not among the jobs",
        ),
        (
            "/applications/1/current_stage",
            json!({ "id": 80, "name": "Trial" }),
            "applications 9002 (standard input#/applications/1): its current_stage 80 (\"Trial\") is not among the stages of the job 501",
        ),
        (
            "/applications/1/current_stage",
            json!({ "name": "Trial" }),
            "applications 9002 (standard input#/applications/1): current_stage.id is missing",
        ),
        (
            "/applications/1/candidate_id",
            json!(8001),
            "applications 9002 (standard input#/applications/1): Ida@Home.example applied twice to the job 501; a candidate can apply to a role only once",
        ),
    ] {
        let company = Company::new();
        let ended = company.harvest(&[], &with(pointer, value)).refused(&[report]);
        ended.says("1 of the export's items was refused; nothing was imported");
        assert_eq!(company.export()["organizations"][0]["roles"].as_array().unwrap().len(), 5, "{pointer}");
    }
}

#[test]
fn a_candidate_without_an_address_is_refused_with_their_applications() {
    let company = Company::new();
    let export =
        with("/candidates/0/email_addresses", json!([{ "value": "nobody", "type": "personal" }, { "value": null }]));
    let lines = [
        "candidates 8001 (standard input#/candidates/0): has no email address",
        "applications 9001 (standard input#/applications/0): its candidate 8001 was refused",
        "applications 9004 (standard input#/applications/3): its candidate 8001 was refused",
    ];
    company.harvest(&[], &export).refused(&lines).says("3 of the export's items were refused; nothing was imported");
    let ended = company.harvest(&["--partial"], &export).refused(&lines);
    ended.says("roles 4, candidates 4, applications 4").says("were refused; the others were imported");
    assert_eq!(each(&company.role("gh_job_502")["candidates"], "name"), ["Jon Berg"]);
}

#[test]
fn references_to_refused_items_are_reported_as_refused() {
    let company = Company::new();
    let mut export = with("/jobs/3/name", Value::Null);
    set(&mut export, "/candidates/1/first_name", json!(7));
    company.harvest(&["--partial"], &export).refused(&[
        "jobs 504 (standard input#/jobs/3): name is missing; it must be a string of 1 to 255 characters that is not blank",
        "candidates 8002 (standard input#/candidates/1): first_name must be a string of at most 255 characters",
        "applications 9002 (standard input#/applications/1): its candidate 8002 was refused",
        "applications 9006 (standard input#/applications/5): its job 504 was refused",
    ]);
    // In the file, the id of the candidate 8003 belongs to another address.
    let company = Company::new();
    company.harvest(&[], &whole()).fine();
    let mut newer = whole();
    newer["jobs"] = json!([{ "id": 600, "name": "New", "status": "open" }]);
    newer["job_stages"] = json!([]);
    newer["applications"] = json!([{ "id": 9900, "candidate_id": 8003, "status": "active", "jobs": [{ "id": 600 }] }]);
    newer["candidates"][2]["email_addresses"] = json!([{ "value": "moved@home.example" }]);
    company.harvest(&[], &newer).refused(&[
        "candidates 8003 (standard input#/candidates/2): the candidate gh_candidate_8003 already exists with another address",
        "applications 9900 (standard input#/applications/0): its candidate 8003 was refused",
    ]);
    newer["candidates"][2]["email_addresses"] = json!([{ "value": "siv@home.example" }]);
    newer["applications"][0]["id"] = json!(9001);
    company.harvest(&[], &newer).refused(&[
        "applications 9001 (standard input#/applications/0): the application gh_application_9001 already exists in the database",
    ]);
}

#[test]
fn malformed_exports_are_reported_with_line_and_column() {
    let company = Company::new();
    let import =
        |text: &str| company.import(&["--format", "greenhouse", "--organization", "acme", "-"], text.as_bytes());
    import("{").failed(1, "nothing was imported: standard input: EOF while parsing an object at line 1 column 1");
    import("[]").failed(1, "name the file after the resource, for example jobs.json at line 1 column");
    import("7").failed(1, "expected an object with members such as jobs, job_stages");
    import("{}")
        .failed(1, "the export lacks jobs, candidates, applications; an export may contain the files jobs.json");
    import(r#"{"jobs": {}}"#).failed(1, "expected an array of jobs at line 1 column");
    import(r#"{"jobs": [], "jobs": []}"#).failed(1, "\"jobs\" appears twice");
    import(r#"{"jobs": [{"id": 1, "id": 2}]}"#).failed(1, "\"id\" appears twice");
    import(r#"{"jobs": [], "candidates": [], "applications": [], "users\u001b": []}"#)
        .fine()
        .says("standard input: the member \"users\\u{1b}\" is ignored")
        .says("roles 0, candidates 0, applications 0");
    import("\u{feff}{\"jobs\": [], \"candidates\": [], \"applications\": []}").fine();
}

#[test]
fn a_folder_is_read_page_by_page_and_other_files_are_reported() {
    let company = Company::new();
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, value: &Value| std::fs::write(dir.path().join(name), value.to_string()).unwrap();
    let export = whole();
    let pages: Vec<Value> = export["candidates"].as_array().unwrap().chunks(4).map(|page| json!(page)).collect();
    write("candidates-1.json", &pages[0]);
    write("candidates-2.json", &pages[1]);
    write("jobs.json", &export["jobs"]);
    write("job_stages.json", &export["job_stages"]);
    write("scorecards.json", &json!("never opened"));
    let path = dir.path().to_str().unwrap();
    company.harvest_files(&[path]).failed(1, "nothing was imported: the export lacks applications;");
    write("applications.json", &export["applications"]);
    company.harvest_files(&[path]).fine().says("scorecards.json is ignored").says("applications 6");
    write("jobs.json", &json!({}));
    std::fs::write(dir.path().join("jobs.json"), "[{]").unwrap();
    company
        .harvest_files(&[path])
        .failed(1, "nothing was imported: jobs.json: key must be a string at line 1 column 3");
    company.harvest_files(&[&format!("{path}/none")]).failed(1, "none cannot be read");
}

#[test]
fn an_export_needs_an_existing_organization_and_no_role_flag() {
    let company = Company::new();
    let import =
        |args: &[&str]| company.import(&[&["--format", "greenhouse"], args, &[folder().as_str()]].concat(), b"");
    import(&[]).failed(2, "--organization is required");
    import(&["--organization", "acme", "--role", "role_eng"]).failed(2, "--role does not apply to a Greenhouse export");
    import(&["--organization", "none"])
        .failed(1, "has no organization with the slug none; create it first:\n  appliance organization create --db ");
}

#[test]
fn more_than_20_000_applications_are_refused_while_a_service_runs() {
    let company = Company::new();
    let export = |count: u64| {
        let person =
            |id| json!({ "id": id, "first_name": "C", "email_addresses": [{ "value": format!("c{id}@x.org") }] });
        let application = |id| json!({ "id": id, "candidate_id": id, "status": "active", "jobs": [{ "id": 1 }] });
        json!({
            "jobs": [{ "id": 1, "name": "Crowd", "status": "open" }],
            "candidates": (0..count).map(person).collect::<Value>(),
            "applications": (0..count).map(application).collect::<Value>(),
        })
    };
    let _lock = Lock::take(&company.file().path()).unwrap();
    company.harvest(&[], &export(20_001)).failed(1, "has 20001 applications").says("stop that process");
    let count = rounds(2_000, 20_000) as u64;
    company.harvest(&[], &export(count)).fine().says(&format!("candidates {count}, applications {count}"));
}
