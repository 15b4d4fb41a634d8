//! Imports of CSV tables: how each column is imported, and which rows are refused.

use appliance::domain::text::Slug;
use appliance::interchange::{self, csv::Table};
use appliance::store::file::Lock;
use appliance::store::{act_alone, organization, read_alone};
use appliance::world::World;
use serde_json::json;

use crate::company::{Company, each};
use crate::rounds::rounds;
use crate::support::{NOW, world};

#[test]
fn a_row_becomes_a_candidate_at_the_first_step() {
    let company = Company::new();
    company
        .csv("name,email,role\nDan Day,Dan@Example.org,Engineer\n")
        .fine()
        .says("for acme: roles 0, candidates 1, applications 1; the write lock was held for ");
    let dan = company.application("role_eng", "Dan@Example.org");
    assert_eq!((&dan["name"], &dan["status"]), (&json!("Dan Day"), &json!("In Progress")));
    assert_eq!(each(&dan["steps"], "status"), ["in_progress", "pending", "pending"]);
    assert_eq!(each(&dan["steps"], "name"), ["Review", "Call", "Offer"]);
    // The other organization has another candidate with the same address.
    assert_eq!(company.export()["organizations"][1]["roles"][0]["candidates"].as_array().unwrap().len(), 1);
}

#[test]
fn a_table_with_all_columns_in_another_order_and_with_semicolons_is_imported() {
    let company = Company::new();
    let rows = "\u{feff}STATUS;Role;Email;externalPositionId;hiredDate;outcomeNotes;appliedAt;Step;outcomeReason;outcomeType;NAME;rejectedAt\r\n\
        hired;role_eng;dan@x.org;P-7;2026-03-01;\"Good, and \"\"fast\"\"\r\nvery\";2026-01-02;offer;;;Dan;\r\n\
        Not Selected;engineer;eve@x.org;;;Not \u{fc}bel;2026-01-02T03:04:05+01:00;CALL;lacking_skills;rejected_by_organization;Eve;2026-02-03\r\n\
        WITHDRAWN; Writer ;fay@x.org;;;;2026-01-05;;;;Fay;\r\n\
        ;Engineer;gus@x.org;;;;2026-01-06;step_call;;;Gus;\r\n";
    company.csv(rows).fine();
    let dan = company.application("role_eng", "dan@x.org");
    assert_eq!(dan["hiredDate"], "2026-03-01T00:00:00.000000Z");
    assert_eq!(dan["externalPositionId"], "P-7");
    assert_eq!(dan["hireNotes"], "Good, and \"fast\"\r\nvery");
    assert_eq!(each(&dan["steps"], "status"), ["validated", "validated", "validated"]);
    assert_eq!(dan["steps"][2]["validatedAt"], dan["hiredDate"]);
    assert_eq!(dan["steps"][0]["validatedAt"], dan["appliedAt"]);
    let eve = company.application("role_eng", "eve@x.org");
    assert_eq!((&eve["status"], &eve["appliedAt"]), (&json!("Not Selected"), &json!("2026-01-02T02:04:05.000000Z")));
    assert_eq!(each(&eve["steps"], "status"), ["validated", "rejected", "pending"]);
    assert_eq!(eve["steps"][0]["validatedAt"], eve["appliedAt"]);
    let call = &eve["steps"][1];
    assert_eq!(call["rejectedAt"], "2026-02-03T00:00:00.000000Z");
    assert_eq!((&call["rejectionReason"], &call["outcomeReason"]), (&json!("Not \u{fc}bel"), &json!("lacking_skills")));
    assert_eq!(call["outcomeType"], "rejected_by_organization");
    let fay = company.application("role_wri", "fay@x.org");
    assert_eq!((&fay["status"], each(&fay["steps"], "status")), (&json!("Withdrawn"), vec!["in_progress"]));
    let gus = company.application("role_eng", "gus@x.org");
    assert_eq!(each(&gus["steps"], "status"), ["validated", "in_progress", "pending"]);
}

#[test]
fn the_role_flag_applies_to_all_rows() {
    let company = Company::new();
    company.csv_with(&["--role", "role_wri"], "name,email\nDan,dan@x.org\n").fine();
    company.csv_with(&["--role", "role_d1"], "name,email,role\nDan,dan@x.org,\nEve,eve@x.org,double\n").fine();
    let ended = company.csv_with(&["--role", "role_d1"], "name,email,role\nFay,fay@x.org,role_d2\n");
    ended.refused(&["line 2: role is \"role_d2\", but --role assigns all rows to role_d1"]);
    for role in ["role_far", "role_9"] {
        let ended = company.csv_with(&["--role", role], "name,email\nDan,dan@x.org\n");
        ended.failed(1, &format!("nothing was imported: the organization has no role with the id {role}"));
    }
    company.csv("name,email\nDan,dan@x.org\n").failed(1, "the column role is missing");
}

#[test]
fn rows_with_one_address_become_one_candidate() {
    let company = Company::new();
    let table = "name,email,role\nDan,dan@x.org,role_eng\nDaniel,DAN@x.org,Writer\nCleopatra,CLEO@example.org,Writer\n";
    company.csv(table).fine().says("candidates 1, applications 3");
    let (first, second) = (company.application("role_eng", "dan@x.org"), company.application("role_wri", "dan@x.org"));
    assert_eq!((&first["id"], &first["name"]), (&second["id"], &second["name"]));
    let cleo = company.application("role_wri", "cleo@example.org");
    assert_eq!(
        (&cleo["id"], &cleo["name"]),
        (&json!("cand_cleo"), &json!("Cleo")),
        "the name of an existing candidate does not change"
    );
}

#[test]
fn a_second_application_to_a_role_is_refused() {
    let company = Company::new();
    let table = "name,email,role\nCleo,cleo@EXAMPLE.org,Engineer\nDan,dan@x.org,Writer\nDan,Dan@x.org,role_wri\n";
    let refused = [
        "line 2: cleo@EXAMPLE.org has already applied to the role \"Engineer\"",
        "line 4: Dan@x.org has already applied to the role \"Writer\"",
    ];
    company.csv(table).refused(&refused).says("2 of 3 rows were refused; nothing was imported");
    assert_eq!(company.role("role_wri")["candidates"], json!([]));
    company
        .csv_with(&["--partial"], table)
        .refused(&refused)
        .says("2 of 3 rows were refused; the others were imported");
    assert_eq!(company.application("role_wri", "dan@x.org")["name"], "Dan");
    // The import above added the application of line 3, so another import refuses that line too.
    company.csv(table).refused(&[
        refused[0],
        "line 3: dan@x.org has already applied to the role \"Writer\"",
        refused[1],
    ]);
}

#[test]
fn all_errors_in_a_row_are_reported_together() {
    let company = Company::new();
    let table = "name,email,role,appliedAt,status,step,hiredDate,outcomeReason\n\
        ,dan,Nobody,soon,Dismissed,Call,yesterday,\n\
        Eve,eve@x.org,Engineer,,Not Selected,,2026-01-01,\n\
        Fay,fay@x.org,Engineer,,,Nowhere,,why\n\
        Gus,gus@x.org,Double,,Hired,Talk,never,\n";
    company.csv(table).refused(&[
        "line 2: name is missing; it must be a string of at most 255 characters; email must be an email address of at most 254 \
         characters, without spaces, double quotes, backticks, brackets or any of , ; : ? & % # / | \\, but is \"dan\"; appliedAt must be a date such as 2026-11-21, or an RFC 3339 date-time with an offset, \
         but is \"soon\"; status must be one of In Progress, Not Selected, Hired, Withdrawn, but is \"Dismissed\"; hiredDate \
         must be a date such as 2026-11-21, or an RFC 3339 date-time with an offset, but is \"yesterday\"; role is \
         \"Nobody\", but the organization has no such role",
        "line 3: hiredDate must be blank if the status is Not Selected; step is missing; an \
         application that has ended needs the step at which it ended",
        "line 4: outcomeReason must be blank if the status is In Progress; step is \
         \"Nowhere\", but the role's steps are \"Review\", \"Call\", \"Offer\"",
        "line 5: hiredDate must be a date such as 2026-11-21, or an RFC 3339 date-time with an offset, but is \"never\"; role is \"Double\", which is the name of the roles role_d1, role_d2; give the id instead",
    ]);
}

#[test]
fn steps_that_do_not_fit_the_role_or_status_are_refused() {
    let company = Company::new();
    let table = "name,email,role,status,step\n\
        A,a@x.org,Engineer,,Nowhere\n\
        B,b@x.org,Engineer,Not Selected,\n\
        C,c@x.org,Engineer,Withdrawn,\n\
        D,d@x.org,Engineer,Hired,Call\n\
        E,e@x.org,role_d2,,Talk\n\
        F,f@x.org,Stepless,,\n\
        G,g@x.org,role_d2,,step_d3\n\
        H,h@x.org,Writer,Not Selected,\n";
    let missing = "step is missing; an application that has ended needs the step at which it ended";
    company.csv_with(&["--partial"], table).refused(&[
        "line 2: step is \"Nowhere\", but the role's steps are \"Review\", \"Call\", \"Offer\"",
        &format!("line 3: {missing}"),
        &format!("line 4: {missing}"),
        "line 5: step is \"Call\", but a Hired candidate is at the last step, \"Offer\"",
        "line 6: step is \"Talk\", which is the name of several steps; give the id instead",
        "line 7: the role has no steps; it needs at least one",
    ]);
    assert_eq!(each(&company.application("role_d2", "g@x.org")["steps"], "status"), ["validated", "in_progress"]);
    assert_eq!(each(&company.application("role_wri", "h@x.org")["steps"], "status"), ["rejected"]);
}

#[test]
fn imported_hires_fill_positions_and_never_overfill_them() {
    let company = Company::new();
    let hired = |role: &str, names: &[&str]| {
        let row = |name: &&str| format!("{name},{name}@x.org,{role},Hired\n");
        "name,email,role,status\n".to_owned() + &names.iter().map(row).collect::<String>()
    };
    company.csv(hired("Engineer", &["a"])).fine();
    assert_eq!(company.role("role_eng")["status"], "open");
    let full = "the role has no position left (2 hired, 2 positions)";
    company
        .csv_with(&["--partial"], hired("Engineer", &["b", "c", "d"]))
        .refused(&[&format!("line 3: {full}"), &format!("line 4: {full}")]);
    assert_eq!(company.role("role_eng")["status"], "filled");
    company.csv(hired("Engineer", &["c"])).refused(&[&format!("line 2: {full}")]);
    // Applications without a hire need no position. A closed role retains its status.
    company.csv("name,email,role\ne,e@x.org,Engineer\n").fine();
    company.csv(hired("role_d1", &["a"])).fine();
    assert_eq!(company.role("role_d1")["status"], "closed");
    company.csv(hired("role_d1", &["b"])).refused(&["line 2: the role has no position left (1 hired, 1 position)"]);
}

#[test]
fn missing_times_default_to_the_time_of_the_import() {
    let company = Company::new();
    company.csv("name,email,role,status\nDan,dan@x.org,Writer,Not Selected\n").fine();
    let dan = company.application("role_wri", "dan@x.org");
    assert_eq!(dan["appliedAt"], dan["steps"][0]["rejectedAt"]);
    assert_ne!(dan["appliedAt"], NOW, "the command uses the real time");
    assert_eq!(dan["steps"][0]["rejectionReason"], "");
}

#[test]
fn text_limits_are_the_same_as_in_a_document() {
    let company = Company::new();
    let row = |name: usize, id: usize, notes: usize, address: usize| {
        let email = format!("{}@x.org", "e".repeat(address - 6));
        let texts = ["\u{fc}".repeat(name), "i".repeat(id), "n".repeat(notes)];
        format!(
            "name,email,role,status,externalPositionId,outcomeNotes\n{},{email},role_d1,Hired,{},{}\n",
            texts[0], texts[1], texts[2]
        )
    };
    for (row, column) in [
        (row(256, 1, 1, 9), "name"),
        (row(1, 256, 1, 9), "externalPositionId"),
        (row(1, 1, 10_001, 9), "outcomeNotes"),
        (row(1, 1, 1, 255), "email"),
    ] {
        let ended = company.csv(row);
        assert_eq!(ended.code, Some(1));
        assert!(ended.out.starts_with(&format!("line 2: {column} must be ")) && ended.out.len() < 400, "{ended:?}");
    }
    company.csv(row(255, 255, 10_000, 254)).fine();
    let row = |reason: usize| {
        let reason = "r".repeat(reason);
        format!("name,email,role,status,outcomeType,outcomeReason\na,a@x.org,Writer,Not Selected,{reason},{reason}\n")
    };
    let ended = company.csv(row(256));
    assert!(ended.out.contains("outcomeType must be") && ended.out.contains("; outcomeReason must be"), "{ended:?}");
    company.csv(row(255)).fine();
}

#[test]
fn unknown_columns_are_reported_and_ignored() {
    let company = Company::new();
    let ended = company.csv("name,phone,email,,role\nDan,1,dan@x.org,2,Writer\n").fine();
    let report =
        "unknown columns are ignored: \"phone\", column 4 without a heading; the columns are name, email, role,";
    assert!(ended.err.contains(report), "{ended:?}");
}

#[test]
fn wrong_headings_are_reported_before_any_row() {
    let company = Company::new();
    company.csv("").failed(1, "standard input is empty; this import reads a CSV file with a line of headings");
    company.csv("Dan,dan@x.org\n").failed(1, "line 1: the column name is missing");
    company
        .csv("\nname,Name,role\n")
        .failed(1, "line 2: the column name appears twice\nline 2: the column email is missing");
    company.csv(b"\xff\xfen\0a\0m\0e").failed(1, "line 1: the headings cannot be read");
    company.csv("name,email,role\n").fine().says("candidates 0, applications 0");
}

#[test]
fn the_wrong_rows_of_a_hostile_table_are_reported_and_its_correct_rows_are_imported() {
    let company = Company::new();
    let mut table = b"name,email,role\n".to_vec();
    table.extend_from_slice(format!("{},big@x.org,Writer\n", "x".repeat(1 << 20)).as_bytes());
    table.extend_from_slice(b"N\0ul,nul@x.org,Writer\n");
    table.extend_from_slice(b"\xc3\xa4 Latin \xe4,latin@x.org,Writer\n");
    table.extend_from_slice(b"few,few@x.org\n");
    table.extend_from_slice(b"many,many@x.org,Writer,more\n");
    table.extend_from_slice(b"\"two\nlines\",two@x.org,Writer\n");
    table.extend_from_slice(b"\"a\"b,ab@x.org,Writer\n");
    table.extend_from_slice(b"\"=HYPERLINK(\"\"http://x\"\")\",\"eq@x.org\",Writer\n");
    table.extend_from_slice(b"\x1b[31m,red,\x1b[31mWriter\n");
    table.extend_from_slice(b"last,\"open@x.org,Writer\nlost,lost@x.org,Writer\n");
    let ended = company.csv_with(&["--partial"], &table);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), 9, "{lines:#?}");
    for (line, words) in [
        "line 2: name must be a string of at most 255 characters, but is \"xxx",
        "line 3: the cell that begins on line 3 contains a NUL character",
        "line 4: the cell that begins on line 4 is not UTF-8; save the table as UTF-8",
        "line 5: has 2 cells for 3 headings",
        "line 6: has 4 cells for 3 headings",
        "line 7: name must have no line break (U+000A): \"two\\nlines\"",
        "line 9: the cell on line 9 continues after its closing quote",
        "line 11: name must have no control character (U+001B): ",
        "line 12: has 2 cells",
    ]
    .into_iter()
    .enumerate()
    {
        let report = lines[line];
        assert!(
            report.starts_with(words)
                || (line == 8 && report.contains("the quoted cell that begins on line 12 has no closing quote")),
            "{report}"
        );
        assert!(report.len() < 500 && !report.contains('\u{1b}'), "{report}");
    }
    let role = company.role("role_wri");
    let mut names = each(&role["candidates"], "name");
    names.sort_unstable();
    assert_eq!(names, ["=HYPERLINK(\"http://x\")"], "formulas stay text");
}

#[test]
fn a_change_to_the_file_after_planning_prevents_the_import() {
    let company = Company::new();
    let path = company.file().path();
    let plan = |table: &str| {
        let table = Table::parse(table.as_bytes(), world().now()).unwrap();
        read_alone(&path, world(), |tx| {
            let organization = organization::with_slug(tx, &Slug::parse("acme").unwrap())?.unwrap();
            interchange::csv::plan(tx, world(), table, organization, None)
        })
    };
    let hire = "name,email,role,status\nDan,dan@x.org,Writer,Hired\n";
    for (planned, committed_before, words) in [
        // Between planning and import, somebody else is hired, or the same person is added or applies.
        (hire, "name,email,role,status\nEve,eve@x.org,Writer,Hired\n", "role role_wri was changed during the import"),
        ("name,email,role\nFay,fay@x.org,Engineer\n", "name,email,role\nFay,fay@x.org,role_d1\n", "candidate cand_"),
        (
            "name,email,role\nCleo,cleo@example.org,role_d1\n",
            "name,email,role\nC,cleo@example.org,role_d1\n",
            "application app_",
        ),
    ] {
        let planned = plan(planned).unwrap();
        assert!(planned.refused.is_empty());
        company.csv(committed_before).fine();
        let before = company.export();
        let added = act_alone(&path, world(), |tx| interchange::add(tx, &planned.addition));
        assert!(added.as_ref().is_err_and(|error| error.to_string().contains(words)), "{added:?}");
        assert_eq!(company.export(), before);
    }
}

#[test]
fn only_one_of_two_parallel_imports_of_a_table_succeeds() {
    let company = Company::new();
    let table = crowd(200) + "D,d@x.org,Writer\n";
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(|| company.csv(&table));
        (company.csv(&table), other.join().unwrap())
    });
    let mut codes = [first.code, second.code];
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(1)], "{first:?} {second:?}");
    assert_eq!(company.role("role_wri")["candidates"].as_array().unwrap().len(), 1);
}

/// Returns a table with this many rows.
fn crowd(rows: usize) -> String {
    let row = |number| format!("C,c{number}@x.org,Engineer\n");
    "name,email,role\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

#[test]
fn more_than_20_000_rows_are_refused_while_a_service_runs() {
    let company = Company::new();
    let server = Lock::take(&company.file().path()).unwrap();
    for rows in [20_001, rounds(30_000, 200_000)] {
        company.csv(crowd(rows)).failed(1, &format!("has {rows} applications")).says("stop that process");
    }
    let rows = rounds(2_000, 20_000);
    company.csv(crowd(rows)).fine().says(&format!("applications {rows}"));
    drop(server);
    company.csv_with(&["--role", "role_wri"], crowd(20_001).replace("Engineer", "")).fine().says("applications 20001");
}

#[test]
fn a_table_needs_an_existing_organization() {
    let company = Company::new();
    let import = |args: &[&str]| company.import(&[&["--format", "csv"], args, &["-"]].concat(), b"name,email,role\n");
    import(&["--organization", "none"])
        .failed(1, "has no organization with the slug none; create it first:\n  appliance organization create --db ");
    import(&["--organization", " ACME"]).fine();
    import(&[]).failed(2, "--organization is required");
    import(&["--organization", "acme", "more.csv"]).failed(2, "'-'");
    import(&["--organization", "a b"]).failed(2, "a slug has 1 to 64 characters");
    import(&["--organization", "acme", "--role", "a b"]).failed(2, "an id has 1 to 64 characters");
}

#[test]
fn tables_in_windows_1252_and_utf_16_are_decoded() {
    let table = "name,email,role,outcomeNotes,status,step\n\
                 Zoë \u{2013} Müller,zoe@x.org,Writer,\u{201c}Too\u{201d} dear: 5 €,Not Selected,Talk\n";
    let windows = b"name,email,role,outcomeNotes,status,step\n\
                    Zo\xeb \x96 M\xfcller,zoe@x.org,Writer,\x93Too\x94 dear: 5 \x80,Not Selected,Talk\n";
    let tabs = table.replace(',', "\t");
    let units = || [0xfeff].into_iter().chain(tabs.encode_utf16());
    let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
    for (bytes, charset) in [(windows.to_vec(), "windows-1252"), (little, "UTF-16"), (big, "UTF-16")] {
        let company = Company::new();
        company.csv(&bytes).fine().says(&format!("the table is not UTF-8 and was read as {charset}"));
        let zoe = company.application("role_wri", "zoe@x.org");
        assert_eq!(zoe["name"], "Zoë \u{2013} Müller");
        assert_eq!(zoe["steps"][0]["rejectionReason"], "\u{201c}Too\u{201d} dear: 5 €");
    }
    // Windows-1252 does not define the byte 0x81.
    Company::new()
        .csv(b"name,email,role\nZ\x81,zoe@x.org,Writer\n")
        .refused(&["line 2: the cell that begins on line 2 is not UTF-8; save the table as UTF-8"]);
}

#[test]
fn unknown_columns_are_reported_in_one_line() {
    let company = Company::new();
    let columns: Vec<String> = (0..100).map(|number| format!("x{number}")).collect();
    let cells = vec!["1"; 100].join(",");
    let table = format!("name,email,role,{}\nDan,dan@x.org,Writer,{cells}\n", columns.join(","));
    let ended = company.csv(table).fine();
    let report: Vec<&str> = ended.err.lines().filter(|line| line.contains("known")).collect();
    assert_eq!(report.len(), 1, "{ended:?}");
    assert!(
        report[0].contains("\"x0\", \"x1\"") && report[0].contains("\"x19\" and 80 more; the columns are name"),
        "{report:?}"
    );
}

#[test]
fn a_file_over_the_size_limit_is_refused() {
    let company = Company::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jobs.json");
    // A sparse file has this size without using space on the disk.
    std::fs::File::create(&path).unwrap().set_len((512 << 20) + 1).unwrap();
    let path = path.to_str().unwrap();
    let sentence = "an import reads at most 512 MiB from all its files; split the input into several imports";
    company.import(&["--format", "csv", "--organization", "acme", path], b"").failed(1, sentence);
    company.import(&["--format", "greenhouse", "--organization", "acme", path], b"").failed(1, sentence);
    company.import(&[path], b"").failed(1, sentence);
}
