//! Tests of the query plans of lists, and of the completeness and order of searches.

use crate::db::connection::Connection;
use crate::db::sqlite::tests::{in_memory, plan};

use super::number_source::{
    COUNT_OF_ROLE, MORE_OF_PREFIX, NEXT_BLOCK, OF_PREFIX, OF_PREFIX_IN_BLOCK, OF_ROLE, OF_STATUS,
};
use super::search::{Filter, page};
use super::{BY_EMAIL, BY_NUMBER, CandidateRecord, NEWEST, insert};
use crate::db::tx;
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::Privacy;
use crate::domain::id::{CandidateId, Id, OrganizationId, RoleId};
use crate::domain::search;
use crate::domain::text::Email;
use crate::store::application::OF_CANDIDATE;

#[test]
fn every_list_query_reads_a_range_of_an_index_in_order() {
    let connection = in_memory(include_str!("../../../schema.sql"));
    let words = "SEARCH candidate_words USING PRIMARY KEY (organization_id=? AND in_name=? AND word";
    let block = "candidate_words_of_block (organization_id=? AND in_name=? AND block";
    for (sql, expected) in [
        (NEWEST, "SEARCH candidates USING INDEX candidates_of_organization (organization_id=? AND number<?)"),
        (BY_NUMBER, "SEARCH candidates USING INTEGER PRIMARY KEY (rowid=?)"),
        (BY_EMAIL, "SEARCH candidates USING INDEX sqlite_autoindex_candidates_2 (organization_id=? AND email_key=?)"),
        (OF_PREFIX, &format!("{words}>? AND word<?)")),
        (MORE_OF_PREFIX, &format!("{words}>? AND word<?)")),
        (OF_PREFIX_IN_BLOCK, &format!("{block}=? AND word>? AND word<?)")),
        (NEXT_BLOCK, &format!("{block}<?)")),
        (COUNT_OF_ROLE, "candidate_roles_of_role (role_id=?)"),
        (OF_ROLE, "candidate_roles_of_role (role_id=? AND status=? AND candidate_number<?)"),
        (OF_STATUS, "candidate_roles_of_organization (organization_id=? AND status=? AND candidate_number<?)"),
    ] {
        let plan = plan(&connection, sql);
        assert!(plan.iter().any(|step| step.contains(expected)), "{sql}: {plan:?}");
        let full_reads = ["SCAN candidate", "TEMP B-TREE"];
        assert!(!plan.iter().any(|step| full_reads.iter().any(|word| step.contains(word))), "{sql}: {plan:?}");
    }
    // This query may sort, because it reads only the applications of one candidate.
    let plan = plan(&connection, OF_CANDIDATE);
    assert!(plan[1].contains("SEARCH a USING INDEX sqlite_autoindex_candidate_roles_2 (candidate_id=?)"), "{plan:?}");
    assert!(!plan.iter().any(|step| step.contains("SCAN")), "{plan:?}");
}

/// A candidate that [`insert_people`] inserts, with the properties that searches use.
struct Person {
    id: String,
    name: String,
    email: String,
    words: Vec<(String, bool)>,
    role: usize,
    status: ApplicationStatus,
}

/// Inserts more candidates than a search sorts for a page, alternately into two organizations, with gaps between some
/// blocks. Returns the candidates of the first organization.
fn insert_people(connection: &Connection) -> Vec<Person> {
    let run = |sql: &str, params: Vec<String>| tx::in_upgrade(connection, |tx| tx.run(sql, params)).unwrap();
    let application =
        "INSERT INTO candidate_roles (id, organization_id, candidate_id, candidate_number, role_id, status,
                         applied_at, updated_at, hired_date)
                       SELECT id, organization_id, id, number, $1, $2, 1, 1, iif($2 = 'Hired', 1, NULL)
                       FROM candidates
                       WHERE id = $3";
    let role =
        "INSERT INTO roles (id, organization_id, name, description, department, location, status, public, positions,
                  hired, created_at, updated_at, shown_since)
                VALUES ($1, $2, 'Role', '{}', '', '', 'open', 0, 9, 0, 1, 1, 1)";
    for (organization, number) in [("org_1", 0), ("org_1", 1), ("org_1", 2), ("org_2", 3)] {
        run(role, vec![format!("role_{number}"), organization.to_owned()]);
    }
    let far = "INSERT INTO candidates (number, id, organization_id, name, email, email_key, created_at, updated_at)
               SELECT max(number) + 7000, $1, 'org_3', 'Nobody', $1, $1, 1, 1
               FROM candidates";
    let people = (0..10_000).map(|number: usize| {
        if number % 3_000 == 2_900 {
            run(far, vec![format!("far_{number}")]);
        }
        let organization = if number.is_multiple_of(2) { "org_1" } else { "org_2" };
        let person = person(number / 2, number);
        tx::in_upgrade(connection, |tx| {
            let id = CandidateId::parse(&person.id).unwrap();
            let email = Email::parse(&person.email).unwrap();
            let record = CandidateRecord { id, name: person.name.clone(), email, privacy: Privacy::default() };
            insert(tx, &OrganizationId::parse(organization).unwrap(), &record)
        })
        .unwrap();
        let role = if organization == "org_1" { person.role } else { 3 };
        run(application, vec![format!("role_{role}"), person.status.as_str().to_owned(), person.id.clone()]);
        (organization, person)
    });
    people.filter(|(organization, _)| *organization == "org_1").map(|(_, person)| person).collect()
}

fn person(nth: usize, number: usize) -> Person {
    // Nearly all candidates have one of two first names. At most three candidates share a last name.
    let first = ["Anna", "Annabel", "Zoë"][if nth.is_multiple_of(97) { 2 } else { nth % 2 }];
    let statuses = [ApplicationStatus::InProgress, ApplicationStatus::Hired, ApplicationStatus::Withdrawn];
    let name = format!("{first} S{}", nth / 3);
    let email = format!("p{nth}.{first}@{}.example", if nth < 4_300 { "old" } else { "new" });
    Person {
        id: format!("cand_{number}"),
        words: search::candidate_words(&name, &email),
        name,
        email,
        role: if nth.is_multiple_of(10) { 1 } else { usize::from(nth % 1_000 == 7) * 2 },
        status: statuses[if nth % 50 == 3 { 1 } else { usize::from(nth.is_multiple_of(5)) * 2 }],
    }
}

#[test]
fn a_search_finds_all_matches_newest_first_page_by_page() {
    let connection = in_memory(concat!(include_str!("../../../schema.sql"), "PRAGMA foreign_keys = OFF"));
    let people = insert_people(&connection);
    // Pairs of words that many candidates in the newest blocks have, that only older candidates have, or that no
    // candidate has.
    let many = ["s1 annab", "s1 new", "s1 old", "new old"];
    let few = ["", "anna", "zoe", "s12", "s1234", "old", "new example", "a s p", "x", "s12 zoe", "x anna"];
    let narrowed = [(None, None), (Some(0), None), (Some(2), None), (None, Some("Hired"))];
    let narrowed = narrowed.into_iter().chain([(Some(1), Some("Withdrawn"))]);
    for (role, status) in narrowed {
        let status = status.and_then(ApplicationStatus::parse);
        for (text, of_name) in few.iter().chain(&many).flat_map(|text| [(*text, ""), ("", *text), (*text, "annab")]) {
            let filter = Filter {
                words: search::search_words(text).unwrap(),
                words_of_name: search::search_words(of_name).unwrap(),
                role_id: role.and_then(|role| RoleId::parse(&format!("role_{role}"))),
                status,
                email: None,
            };
            let matches = |person: &&Person| {
                let has = |wanted: &String, in_name_only: bool| {
                    person.words.iter().any(|(word, in_name)| (*in_name || !in_name_only) && word.starts_with(wanted))
                };
                filter.words.iter().all(|wanted| has(wanted, false))
                    && filter.words_of_name.iter().all(|wanted| has(wanted, true))
                    && role.is_none_or(|role| person.role == role)
                    && status.is_none_or(|status| person.status == status)
            };
            let expected: Vec<&str> = people.iter().rev().filter(matches).map(|person| person.id.as_str()).collect();
            // Check the first and the last pages.
            let far = expected.len().saturating_sub(30);
            let found = pages(&connection, &filter, i64::MAX, 2);
            assert_eq!(found, expected[..expected.len().min(found.len())], "{filter:?}");
            assert_eq!(found.len(), expected.len().min(80), "{filter:?}");
            let before = expected.get(far.wrapping_sub(1)).map_or(i64::MAX, |id| number(&connection, id));
            assert_eq!(pages(&connection, &filter, before, 2), expected[far..], "{filter:?}");
        }
    }
}

fn number(connection: &Connection, id: &str) -> i64 {
    let sql = "SELECT number FROM candidates WHERE id = $1";
    tx::in_upgrade(connection, |tx| tx.value(sql, [id])).unwrap().unwrap()
}

/// Returns the ids on `count` pages of 40 candidates each.
fn pages(connection: &Connection, filter: &Filter, before: i64, count: usize) -> Vec<String> {
    let organization = OrganizationId::parse("org_1").unwrap();
    let (mut found, mut before) = (Vec::new(), before);
    for _ in 0..count {
        let page = tx::in_upgrade(connection, |tx| page(tx, &organization, filter, before, 40)).unwrap();
        let Some(last) = page.last() else { break };
        before = last.number;
        found.extend(page.into_iter().map(|candidate| candidate.id.to_string()));
    }
    found
}
