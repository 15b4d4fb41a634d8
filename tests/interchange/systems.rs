//! Imports of exports from Lever, Ashby, Workable, OpenCATS and Reqcore: how each system's items and files are
//! imported, and which are refused. The samples have the structure that each system's documentation or source code
//! shows.

use std::fs;
use std::path::Path;

use appliance::domain::id::{ApplicationId, Id};
use appliance::interchange::ashby::ASHBY;
use appliance::interchange::ats::{Export, System, plan};
use appliance::interchange::lever::LEVER;
use appliance::interchange::opencats::OPENCATS;
use appliance::interchange::reqcore::REQCORE;
use appliance::interchange::workable::WORKABLE;
use appliance::store::{self, read_alone};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::company::{Company, Ended, each};
use crate::support::world;

const SYSTEMS: [(&str, &System); 5] =
    [("lever", &LEVER), ("ashby", &ASHBY), ("workable", &WORKABLE), ("opencats", &OPENCATS), ("reqcore", &REQCORE)];

fn sample(system: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interchange").join(system).to_str().unwrap().to_owned()
}

/// Returns a copy of a system's sample, which a test can change.
fn copy(system: &str) -> tempfile::TempDir {
    fn copy_into(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in from.read_dir().unwrap() {
            let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
            if from.is_dir() {
                copy_into(&from, &to);
            } else {
                fs::copy(from, to).unwrap();
            }
        }
    }
    let dir = tempfile::tempdir().unwrap();
    copy_into(Path::new(&sample(system)), dir.path());
    dir
}

/// Replaces a text in a file of a copy.
fn replace(dir: &tempfile::TempDir, file: &str, from: &str, to: &str) {
    let path = dir.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file}: {from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

impl Company {
    fn export_of(&self, system: &str, args: &[&str], folder: &str) -> Ended {
        self.import(&[&["--format", system, "--organization", "acme"], args, &[folder]].concat(), b"")
    }

    fn sample_of(&self, system: &str) -> Ended {
        self.export_of(system, &[], &sample(system))
    }

    /// Returns the file names of an application's imported attachments.
    fn files(&self, application: &Value) -> Vec<String> {
        let id = ApplicationId::parse(application["applicationId"].as_str().unwrap()).unwrap();
        let files = read_alone(&self.file().path(), world(), |tx| store::attachment::imported::of_application(tx, &id))
            .unwrap();
        files.into_iter().map(|file| file.file_name).collect()
    }
}

/// Returns the statuses of an application's steps.
fn statuses(application: &Value) -> Vec<&str> {
    each(&application["steps"], "status")
}

/// Returns the rejected step of an application.
fn rejected(application: &Value) -> &Value {
    application["steps"].as_array().unwrap().iter().find(|step| step["status"] == "rejected").unwrap()
}

#[test]
fn lever_postings_and_opportunities_become_roles_and_applications() {
    let company = Company::new();
    let ended = company.sample_of("lever").fine().says("for acme: roles 3, candidates 3, applications 4;");
    let ended = ended.says("prospects skipped: 1, because they have not applied").says("attachments imported: 1");
    assert!(!ended.err.contains("ignored"), "{ended:?}");
    let [engineer, captain, cook] =
        [1, 2, 3].map(|n| company.role(&format!("lv_job_0000000{n}-1111-4000-8000-00000000000{n}")));
    assert_eq!((&engineer["name"], &engineer["status"]), (&json!("Bridge engineer"), &json!("open")));
    assert_eq!((&engineer["department"], &engineer["location"]), (&json!("Engineering"), &json!("Oslo")));
    let body = "You build **bridges**.\n\nYou know\n\n- Steel\n- Concrete\n\nWelcome.";
    assert_eq!(engineer["description"]["body"], body);
    assert_eq!(engineer["createdAt"], "2025-01-10T08:00:00.000000Z");
    assert_eq!((&captain["status"], &captain["department"]), (&json!("closed"), &json!("Fleet")));
    assert_eq!((&cook["status"], each(&cook["steps"], "name").len()), (&json!("draft"), 4));
    let stages = ["New applicant", "Phone screen", "On-site interview", "Offer"];
    assert_eq!(each(&engineer["steps"], "name"), stages);
    assert_eq!(each(&engineer["steps"], "stepType"), ["other", "screening", "interview", "offer"]);
    let (engineer, captain) = (engineer["id"].as_str().unwrap(), captain["id"].as_str().unwrap());
    let nora = company.application(engineer, "nora@home.example");
    assert_eq!((&nora["status"], &nora["appliedAt"]), (&json!("In Progress"), &json!("2025-02-01T09:00:00.000000Z")));
    assert_eq!(statuses(&nora), ["validated", "in_progress", "pending", "pending"]);
    assert_eq!(company.files(&nora), ["nora-cv.pdf"]);
    // Both opportunities belong to one contact.
    assert_eq!(company.application(captain, "nora@home.example")["id"], nora["id"]);
    let odd = company.application(engineer, "odd@home.example");
    let step = rejected(&odd);
    assert_eq!((&step["name"], &step["outcomeReason"]), (&json!("On-site interview"), &json!("Underqualified")));
    assert_eq!((&step["rejectedAt"], &step["outcomeType"]), (&json!("2025-03-02T10:00:00.000000Z"), &json!("other")));
    let pia = company.application(captain, "pia@home.example");
    assert_eq!((&pia["status"], &pia["hiredDate"]), (&json!("Hired"), &json!("2025-03-03T10:00:00.000000Z")));
    assert_eq!(pia["externalPositionId"], "FERRY-7");
}

#[test]
fn ashby_jobs_candidates_and_applications_are_imported() {
    let company = Company::new();
    let ended = company.sample_of("ashby").fine().says("for acme: roles 2, candidates 3, applications 4;");
    ended.says("prospects skipped: 1").says("attachments imported: 2").says("files missing: 1; the export names them");
    let glazier = "ab_job_10b00000-0000-4000-8000-000000000001";
    let role = company.role(glazier);
    assert_eq!((&role["status"], &role["positions"], &role["location"]), (&json!("open"), &json!(2), &json!("Lyon")));
    // The stages of leads, hires and archived applications are not steps.
    assert_eq!(each(&role["steps"], "name"), ["Application Review", "First Interview", "Offer"]);
    assert_eq!(each(&role["steps"], "stepType"), ["screening", "interview", "offer"]);
    let alix = company.application(glazier, "alix@home.example");
    assert_eq!(statuses(&alix), ["validated", "in_progress", "pending"]);
    assert_eq!(company.files(&alix), ["alix-cv.pdf", "letter.txt"]);
    let bo = company.application(glazier, "bo@home.example");
    let step = rejected(&bo);
    assert_eq!(
        (&step["name"], &step["rejectedAt"]),
        (&json!("First Interview"), &json!("2025-03-12T10:00:00.000000Z"))
    );
    let reason = (&step["outcomeReason"], &step["outcomeType"]);
    assert_eq!(reason, (&json!("Took another offer"), &json!("rejected_by_candidate")));
    let cam = company.application(glazier, "cam@home.example");
    assert_eq!((&cam["status"], &cam["hiredDate"]), (&json!("Hired"), &json!("2025-03-10T11:00:00.000000Z")));
    assert_eq!((&cam["externalPositionId"], &cam["offerAcceptedDate"]), (&json!("GLASS-1"), &cam["hiredDate"]));
    // This archived application has no history, so it ends at the first step. Its reason comes from the list of archive
    // reasons.
    let painter = company.application("ab_job_10b00000-0000-4000-8000-000000000002", "alix@home.example");
    let step = rejected(&painter);
    assert_eq!((&step["name"], &step["outcomeReason"]), (&json!("Application Review"), &json!("Lacks experience")));
    assert_eq!(step["outcomeType"], "rejected_by_organization");
}

#[test]
fn archiving_an_ashby_hire_does_not_change_the_day_of_the_hire() {
    let dir = copy("ashby");
    replace(&dir, "applications.json", "\"archivedAt\": null", "\"archivedAt\": \"2025-04-01T10:00:00.000Z\"");
    let hired_date = || {
        let company = Company::new();
        company.export_of("ashby", &[], dir.path().to_str().unwrap()).fine();
        let cam = company.application("ab_job_10b00000-0000-4000-8000-000000000001", "cam@home.example");
        assert_eq!(cam["status"], "Hired");
        cam["hiredDate"].clone()
    };
    assert_eq!(hired_date(), "2025-03-10T11:00:00.000000Z", "the offer was accepted on this day");
    fs::remove_file(dir.path().join("offers.json")).unwrap();
    assert_eq!(hired_date(), "2025-03-03T09:00:00.000000Z", "without an offer, the last update counts");
}

#[test]
fn an_ashby_stage_of_another_plan_becomes_a_step_if_an_application_is_at_that_stage() {
    let company = Company::new();
    let dir = copy("ashby");
    let plan = "97a00000-0000-4000-8000-000000000002";
    let change = |file: &str, change: &dyn Fn(&mut Value)| {
        let path = dir.path().join(file);
        let mut response: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut response["results"]);
        fs::write(path, response.to_string()).unwrap();
    };
    let stage = |id: &str| json!({ "id": id, "title": id, "type": "Active", "orderInInterviewPlan": 0, "interviewPlanId": plan });
    change("jobs.json", &|jobs| jobs[0]["interviewPlanIds"].as_array_mut().unwrap().push(json!(plan)));
    change("interview_stages.json", &|stages| {
        stages.as_array_mut().unwrap().extend([stage("Trial day"), stage("Unused")]);
    });
    change("applications.json", &|applications| applications[0]["currentInterviewStage"] = stage("Trial day"));
    company.export_of("ashby", &[], dir.path().to_str().unwrap()).fine();
    let glazier = "ab_job_10b00000-0000-4000-8000-000000000001";
    let names = ["Application Review", "First Interview", "Offer", "Trial day"];
    assert_eq!(each(&company.role(glazier)["steps"], "name"), names);
    let alix = company.application(glazier, "alix@home.example");
    assert_eq!(statuses(&alix), ["validated", "validated", "validated", "in_progress"]);
}

#[test]
fn workable_candidates_become_candidates_and_applications() {
    let company = Company::new();
    let ended = company.sample_of("workable").fine().says("for acme: roles 2, candidates 4, applications 4;");
    ended.says("prospects skipped: 1").says("attachments imported: 1");
    let (baker, waiter) = (company.role("wk_job_BAKE001"), company.role("wk_job_WAIT002"));
    assert_eq!((&baker["status"], &waiter["status"]), (&json!("open"), &json!("closed")));
    assert_eq!((&baker["location"], &baker["department"]), (&json!("Athens, Greece"), &json!("Kitchen")));
    assert_eq!(waiter["location"], "Athens, Attica, Greece");
    assert_eq!(baker["description"]["body"], "You bake **bread**.");
    assert_eq!(each(&baker["steps"], "name"), ["Applied", "Phone Screen", "Interview", "Offer"]);
    assert_eq!(each(&baker["steps"], "stepType"), ["application", "screening", "interview", "offer"]);
    let dimitra = company.application("wk_job_BAKE001", "dimitra@home.example");
    assert_eq!(statuses(&dimitra), ["validated", "in_progress", "pending", "pending"], "a stage given by its name");
    assert_eq!(company.files(&dimitra), ["ce4da98.pdf"]);
    let eleni = company.application("wk_job_BAKE001", "eleni@home.example");
    let step = rejected(&eleni);
    assert_eq!((&step["name"], &step["outcomeReason"]), (&json!("Interview"), &json!("Too far away")));
    assert_eq!((&step["rejectedAt"], &step["outcomeType"]), (&json!("2025-02-20T10:00:00.000000Z"), &json!("other")));
    assert_eq!(company.application("wk_job_BAKE001", "fanis@home.example")["status"], "Withdrawn");
    let gianna = company.application("wk_job_WAIT002", "gianna@home.example");
    assert_eq!((&gianna["status"], &gianna["hiredDate"]), (&json!("Hired"), &json!("2025-03-05T00:00:00.000000Z")));
}

#[test]
fn an_opencats_dump_is_imported_with_its_history() {
    let company = Company::new();
    let ended = company.sample_of("opencats");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let refused = "files 4: the path \"attachments/site_1/0xxx/ab13//../../../../etc/passwd\" leads out of the folder of the \
                   export\n";
    assert_eq!(ended.out, refused, "{ended:?}");
    let ended = ended.says("for acme: roles 2, candidates 3, applications 3;").says("attachments imported: 1");
    ended.says("files refused: 1; everything else was imported").says("files missing: 1;");
    let role = company.role("oc_job_7");
    assert_eq!((&role["name"], &role["status"], &role["positions"]), (&json!("Welder"), &json!("open"), &json!(2)));
    assert_eq!((&role["department"], &role["location"]), (&json!("Yard"), &json!("Narvik, Nordland")));
    assert_eq!(role["description"]["body"], "You weld **pipes**.");
    let names =
        ["No Contact", "Contacted", "Candidate Responded", "Qualifying", "Submitted", "Interviewing", "Offered"];
    assert_eq!(each(&role["steps"], "name"), names);
    let kari = company.application("oc_job_7", "kari@home.example");
    assert_eq!((&kari["status"], statuses(&kari)[5]), (&json!("In Progress"), "in_progress"));
    assert_eq!(company.files(&kari), ["Kari CV.pdf"]);
    let lars = company.application("oc_job_7", "lars@home.example");
    let step = rejected(&lars);
    assert_eq!((&step["name"], &step["rejectedAt"]), (&json!("Submitted"), &json!("2025-02-06T10:00:00.000000Z")));
    let reason = (&step["outcomeReason"], &step["outcomeType"]);
    assert_eq!(reason, (&json!("Not in Consideration"), &json!("rejected_by_organization")));
    let mari = company.application("oc_job_7", "mari@home.example");
    assert_eq!((&mari["status"], &mari["hiredDate"]), (&json!("Hired"), &json!("2025-02-08T10:00:00.000000Z")));
}

#[test]
fn an_import_of_a_dump_without_its_folder_reports_refused_and_missing_files() {
    let (company, dir) = (Company::new(), copy("opencats"));
    let ended = company.export_of("opencats", &[], dir.path().join("database").to_str().unwrap());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.starts_with("files 4: the path ") && ended.out.lines().count() == 1, "{ended:?}");
    ended.says("files refused: 1; everything else was imported").says("files missing: 2;");
}

#[test]
fn reqcore_applications_of_older_and_newer_versions_are_imported() {
    let company = Company::new();
    let ended = company.sample_of("reqcore").fine().says("for acme: roles 2, candidates 3, applications 3;");
    ended.says("attachments imported: 1").says("files missing: 1;");
    let florist = "rq_job_6f1c0000-0000-4000-8000-000000000001";
    assert_eq!(each(&company.role(florist)["steps"], "name"), ["New", "Trial day"]);
    let hege = company.application(florist, "hege@home.example");
    assert_eq!((&hege["name"], statuses(&hege)), (&json!("Hege Moen"), vec!["validated", "in_progress"]));
    assert_eq!(company.files(&hege), ["Hege Moen CV.pdf"]);
    let ivar = company.application(florist, "ivar@home.example");
    assert_eq!((&ivar["status"], statuses(&ivar)), (&json!("Not Selected"), vec!["rejected", "pending"]));
    assert_eq!(company.application(florist, "jorunn@home.example")["hiredDate"], "2026-03-03T08:00:00.000000Z");
    // The rows of an older database have fixed statuses, members named after columns, and times without an offset.
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, value: Value| fs::write(dir.path().join(name), value.to_string()).unwrap();
    write(
        "jobs.json",
        json!([{ "id": "j", "title": "Potter", "status": "open", "created_at": "2025-05-01T08:00:00.5" }]),
    );
    write(
        "candidates.json",
        json!([{ "id": "c", "first_name": "Kai", "last_name": "Lo", "email": "kai@home.example" }]),
    );
    let application = json!({ "id": "a", "job_id": "j", "candidate_id": "c", "status": "interview", "created_at": "2025-05-02T08:00:00" });
    write("applications.json", json!([application]));
    company.export_of("reqcore", &[], dir.path().to_str().unwrap()).fine().says("applications 1;");
    let role = company.role("rq_job_j");
    assert_eq!(role["createdAt"], "2025-05-01T08:00:00.500000Z");
    assert_eq!(each(&role["steps"], "name"), ["New", "Screening", "Interview", "Offer"]);
    let kai = company.application("rq_job_j", "kai@home.example");
    assert_eq!(statuses(&kai), ["validated", "validated", "in_progress", "pending"]);
}

#[test]
fn a_second_import_adds_nothing() {
    for (system, _) in SYSTEMS {
        let company = Company::new();
        company.sample_of(system).says("for acme: roles ");
        let before = company.export();
        let sentence = "an earlier import already added all jobs of this export; the first job is the role ";
        company.sample_of(system).failed(1, sentence);
        assert_eq!(company.export(), before, "{system}");
    }
}

#[test]
fn files_that_arrive_later_are_added_by_another_import() {
    let company = Company::new();
    let dir = copy("lever");
    let path = dir.path().to_str().unwrap();
    fs::rename(dir.path().join("files"), dir.path().join("later")).unwrap();
    let ended = company.export_of("lever", &[], path).fine();
    assert!(ended.err.contains("later is ignored") && !ended.err.contains("attachments imported"), "{ended:?}");
    fs::rename(dir.path().join("later"), dir.path().join("files")).unwrap();
    company.export_of("lever", &[], path).fine().says("applications 0;").says("attachments imported: 1");
    company.export_of("lever", &[], path).failed(1, "an earlier import already added all jobs");
}

#[test]
fn each_unacceptable_file_is_reported_and_the_others_are_imported() {
    let company = Company::new();
    let dir = copy("workable");
    let files = dir.path().join("files");
    let write = |name: &str, content: &[u8]| fs::write(files.join(name), content).unwrap();
    write("108d174-empty.pdf", b"");
    write("108d174-old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    write("108d174-huge.txt", &vec![b'a'; 10 * 1_024 * 1_024 + 1]);
    write("108d174-large.txt", &vec![b'a'; 10 * 1_024 * 1_024]);
    write("stranger.pdf", b"%PDF-1.4");
    std::os::unix::fs::symlink("/etc/passwd", files.join("108d174-link.txt")).unwrap();
    let ended = company.export_of("workable", &[], dir.path().to_str().unwrap());
    let mut lines: Vec<&str> = ended.out.lines().collect();
    lines.sort_unstable();
    let expected = [
        "files/108d174-empty.pdf: must not be an empty file",
        "files/108d174-huge.txt: must be at most 10485760 bytes",
        "files/108d174-link.txt: is not a regular file; symbolic links are not followed",
        "files/108d174-old.doc: must have the content of a PDF, DOCX, ODT or plain text file",
    ];
    assert_eq!((lines.as_slice(), ended.code), (&expected[..], Some(1)), "{ended:?}");
    let ended = ended.says("attachments imported: 2").says("files refused: 4; everything else was imported");
    ended.says("files skipped: 1, because their names in the folder files do not begin with the id of an imported ");
    let eleni = company.application("wk_job_BAKE001", "eleni@home.example");
    assert_eq!(company.files(&eleni), ["large.txt"]);
}

#[test]
fn missing_files_of_an_export_are_named() {
    let company = Company::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    for (system, sentence) in [
        (
            "lever",
            "the export lacks postings, opportunities; an export may contain the files postings.json, opportunities",
        ),
        (
            "ashby",
            "the export lacks jobs, candidates, applications; an export may contain the files jobs.json, candidates",
        ),
        (
            "workable",
            "the export lacks jobs, candidates; an export may contain the files jobs.json, candidates.json, stages",
        ),
        ("reqcore", "the export lacks jobs, candidates, applications; an export may contain the files jobs.json"),
        ("opencats", "the export lacks a SQL dump; unpack the backup of OpenCATS, which contains the dump as the file"),
    ] {
        company.export_of(system, &[], path).failed(1, sentence);
    }
}

#[test]
fn files_in_another_format_are_refused_with_advice() {
    let company = Company::new();
    for (system, _) in SYSTEMS {
        let import = |content: &[u8]| company.import(&["--format", system, "--organization", "acme", "-"], content);
        import(b"").failed(1, "is empty; this import reads ");
        import(b"PK\x03\x04rest").failed(1, "is a ZIP archive; unpack it");
        let other = if system == "opencats" { "{\"jobs\": []}" } else { "INSERT INTO `t` VALUES (1);" };
        import(other.as_bytes()).failed(1, "nothing was imported: standard input ");
        if system != "opencats" {
            import(b"{").failed(1, "EOF while parsing");
            import(b"[]").failed(1, "the file name does not show which resource the array contains");
            company
                .import(&["--format", system, "--organization", "acme", "--role", "r", "-"], b"{}")
                .failed(2, "--role does not apply to a");
        }
    }
    let dump = |text: &str| company.import(&["--format", "opencats", "--organization", "acme", "-"], text.as_bytes());
    dump("SELECT 1;").failed(1, "has no rows of the tables joborder and candidate");
    dump("INSERT INTO `candidate` VALUES ('a").failed(1, "standard input: line 1: the string is never closed");
    let sites = "INSERT INTO `candidate` (`candidate_id`,`site_id`) VALUES (1,1),(2,2);";
    dump(sites).failed(1, "contains the sites 1, 2; import one site at a time");
}

#[test]
fn an_error_response_is_refused() {
    let company = Company::new();
    for (system, file, envelope) in [("ashby", "jobs.json", "results"), ("lever", "postings.json", "data")] {
        let dir = copy(system);
        fs::write(dir.path().join(file), r#"{"success": false, "errors": ["invalid_key"]}"#).unwrap();
        let sentence = format!("{file} has no member \"{envelope}\" with the ");
        company.export_of(system, &[], dir.path().to_str().unwrap()).failed(1, &sentence);
    }
}

#[test]
fn errors_in_items_are_reported_with_their_location() {
    let opportunity = "0bb00000-0000-4000-8000-000000000001";
    for (system, file, from, to, report) in [
        (
            "lever",
            "postings.json",
            "\"published\"",
            "\"paused\"",
            "postings 00000001-1111-4000-8000-000000000001 (postings.json#/data/0): state must be one of published, ",
        ),
        (
            "lever",
            "opportunities.json",
            "\"odd@home.example\"",
            "\"nobody\"",
            "opportunities 0bb00000-0000-4000-8000-000000000002 (opportunities.json#/data/1): has no email address",
        ),
        (
            "lever",
            "applications.json",
            opportunity,
            "unknown",
            "opportunities 0bb00000-0000-4000-8000-000000000001 (opportunities.json#/data/0): no item of the export names its job",
        ),
        (
            "ashby",
            "applications.json",
            "\"Hired\",\n      \"customFields\"",
            "\"Fired\",\n      \"customFields\"",
            "applications a9900000-0000-4000-8000-000000000003 (applications.json#/results/2): status must be one of Active, ",
        ),
        (
            "ashby",
            "candidates.json",
            "cad00000-0000-4000-8000-000000000002",
            "cad00000-0000-4000-8000-000000000001",
            "candidates cad00000-0000-4000-8000-000000000001 (candidates.json#/results/1): the id is not unique; ",
        ),
        (
            "workable",
            "candidates.json",
            "\"BAKE001\"",
            "\"BAKE009\"",
            "candidates ce4da98 (candidates.json#/candidates/0): its job BAKE009 is not among the jobs",
        ),
        (
            "workable",
            "candidates.json",
            "\"disqualified\": true",
            "\"disqualified\": \"yes\"",
            "candidates 108d174 (candidates.json#/candidates/1): disqualified must be true or false",
        ),
        (
            "reqcore",
            "applications.json",
            "57a60000-0000-4000-8000-000000000002",
            "57a60000-0000-4000-8000-000000000009",
            "applications ab910000-0000-4000-8000-000000000001 (applications.json#/data/0): its stage 57a6",
        ),
        ("opencats", "database", "('7','1','Welder'", "('7','1',''", "joborder 7 (database line 61): title is missing"),
        (
            "opencats",
            "database",
            "('12','2','7','1','650',NULL",
            "('12','2','7','1','x',NULL",
            "candidate_joborder 12 (database line 77): status must be a whole number",
        ),
        (
            "opencats",
            "database",
            "('3','1','Lund','Mari','mari@home.example',NULL,",
            "('3','1','Lund','Mari',",
            "candidate 3 (database line 44): the row has 5 values for 7 columns",
        ),
    ] {
        let company = Company::new();
        let before = company.export();
        let dir = copy(system);
        replace(&dir, file, from, to);
        let ended = company.export_of(system, &[], dir.path().to_str().unwrap());
        assert!(ended.out.lines().any(|line| line.starts_with(report)), "{report}: {ended:?}");
        assert_eq!((ended.code, company.export()), (Some(1), before), "{ended:?}");
        ended.says("nothing was imported. Correct the rows or items listed on standard output");
        let ended = company.export_of(system, &["--partial"], dir.path().to_str().unwrap());
        ended.says("the others were imported");
    }
}

/// Generates JSON values that an item could contain.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~é\u{202e}\n\0]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "open",
            "published",
            "Open",
            "Hired",
            "Archived",
            "hired",
            "rejected",
            "2025-01-01",
            "a@b.example",
            "1",
            "x",
        ])
        .prop_map(Value::from),
    ];
    let names = prop::sample::select(vec![
        "id",
        "slug",
        "shortcode",
        "text",
        "name",
        "title",
        "state",
        "status",
        "stage",
        "job",
        "candidate",
        "emails",
        "email",
        "archived",
        "archivedAt",
        "reason",
        "applications",
        "posting",
        "contact",
        "createdAt",
        "first_name",
        "currentInterviewStage",
        "type",
        "applicationHistory",
        "stageNumber",
        "openings",
        "latestVersion",
        "category",
        "jobId",
        "candidateId",
        "statusId",
        "content",
        "lists",
        "resumeFileHandle",
        "fileHandles",
        "storageKey",
        "kind",
        "disqualified",
        "withdrew",
    ]);
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_items_are_planned_without_a_panic(
        items in prop::collection::vec((0_usize..6, prop::collection::vec(any_value(), 0..5)), 0..6),
        paths in prop::collection::vec("(files/)?[a-z0-9./_-]{0,10}", 0..4),
    ) {
        const NAMES: [&str; 6] = ["jobs", "postings", "candidates", "opportunities", "applications", "stages"];
        let file = crate::support::File::new();
        for (_, system) in SYSTEMS.into_iter().filter(|(name, _)| *name != "opencats") {
            let mut export = Export::new(system);
            for (name, items) in &items {
                let file = format!("{}.json", NAMES[*name]);
                let _ = export.read(&file, Value::from(items.clone()).to_string().as_bytes());
            }
            let _ = export.complete();
            paths.iter().for_each(|path| export.add_folder_file(path.clone()));
            let organization = Id::parse("org_1").unwrap();
            let _ = read_alone(&file.path(), world(), |tx| plan(tx, export, organization));
        }
    }

    #[test]
    fn arbitrary_rows_of_opencats_are_planned_without_a_panic(
        rows in prop::collection::vec(
            (0_usize..4, prop::collection::vec(prop::option::of("[0-9a-z@.é: -]{0,12}"), 0..9)),
            0..8,
        ),
    ) {
        const TABLES: [&str; 4] = [
            "`joborder` (`joborder_id`,`site_id`,`title`,`status`,`openings`,`date_created`)",
            "`candidate` (`candidate_id`,`site_id`,`first_name`,`last_name`,`email1`)",
            "`candidate_joborder` (`candidate_joborder_id`,`candidate_id`,`joborder_id`,`status`,`date_created`)",
            "`attachment` (`attachment_id`,`data_item_id`,`data_item_type`,`stored_filename`,`directory_name`)",
        ];
        let value = |value: &Option<String>| value.as_ref().map_or("NULL".to_owned(), |text| format!("'{text}'"));
        let insert = |(table, values): &(usize, Vec<Option<String>>)| {
            let values: Vec<String> = values.iter().map(value).collect();
            format!("INSERT INTO {} VALUES ({});\n", TABLES[*table], values.join(","))
        };
        let dump: String = rows.iter().map(insert).collect();
        let file = crate::support::File::new();
        let mut export = Export::new(&OPENCATS);
        if export.read("database", dump.as_bytes()).is_ok() {
            let organization = Id::parse("org_1").unwrap();
            let _ = read_alone(&file.path(), world(), |tx| plan(tx, export, organization));
        }
    }
}
