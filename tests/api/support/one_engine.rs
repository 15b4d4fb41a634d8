//! The tests that make sense on only one engine. On the other engine, they are ignored.

use libtest_mimic::Trial;

use super::database::is_postgres;

const DAMAGE: &str = "overwrites pages of the file";
const LIST: &str = "the erasure list is next to the file";
const OLDER_COPY: &str = "replaces the file with an older copy, and only a file has an erasure list";
const BACKUPS: &str = "the service makes backups only of a file";
const DISK: &str = "the service measures only the disk of a file";

/// The tests that need a file, each with the reason.
#[rustfmt::skip]
const FILE_TESTS: &[(&str, &str)] = &[
    ("attachment::a_partial_upload_is_swept_at_the_next_start", "a partial upload can belong to another server"),
    ("attachment::check_reports_chunks_without_their_attachment", "PostgreSQL checks foreign keys itself, so `check` does not"),
    ("candidate_erase::a_damaged_erasure_list_prevents_opening_the_file", LIST),
    ("candidate_erase::a_start_on_an_older_copy_repeats_listed_erasures", OLDER_COPY),
    ("candidate_erase::an_erasure_fails_when_the_erasure_list_cannot_be_written", LIST),
    ("candidate_erase::an_erasure_removes_the_samples_of_analyze", "reads the statistics of SQLite"),
    ("candidate_erase::repeating_an_erasure_adds_no_line_to_the_erasure_list", LIST),
    ("console_security::platform_admins_see_the_age_of_the_newest_backup", BACKUPS),
    ("failure::a_damaged_file_causes_a_500_for_requests_that_read_it", DAMAGE),
    ("failure::a_damaged_file_causes_a_500_on_the_portal_without_details", DAMAGE),
    ("failure::a_damaged_file_causes_a_500_page_for_browsers", DAMAGE),
    ("failure::a_service_with_a_damaged_file_is_alive_but_not_ready", DAMAGE),
    ("failure::a_stopped_service_leaves_one_file", "concerns the write-ahead log of SQLite"),
    ("health::a_stalled_read_transaction_is_reported_until_it_ends", "concerns the write-ahead log of SQLite"),
    ("health::old_and_missing_backups_cause_a_warning", BACKUPS),
    ("retention::a_start_on_an_older_copy_does_not_repeat_retention_erasures", OLDER_COPY),
    ("retention::the_erasure_list_names_retention_as_the_reason", LIST),
    ("status_page_later_signup::a_start_on_an_older_copy_repeats_exactly_the_deletions", OLDER_COPY),
    ("status_page_later_signup::an_erased_later_signup_stays_erased_on_an_older_copy", OLDER_COPY),
    ("upload_limit::a_refusal_shows_the_form_again_in_the_language_of_the_page", DISK),
    ("upload_limit::only_files_are_refused_when_disk_space_is_low", DISK),
    ("upload_limit::refused_api_requests_get_a_problem_document", DISK),
    ("upload_limit::the_minimum_free_space_is_configurable", DISK),
];

/// The tests that need a server, each with the reason.
#[rustfmt::skip]
const SERVER_TESTS: &[(&str, &str)] = &[
    ("attachment::a_start_with_a_database_server_leaves_partial_uploads_until_they_expire", "a file has no uploads of other servers"),
    ("console_security::platform_admins_see_who_makes_the_backups_of_a_database_server", "the service can make the backups of a file"),
];

/// Ignores the tests that need the other engine.
///
/// # Panics
/// If a test in the lists does not exist.
pub(crate) fn mark(tests: Vec<Trial>) -> Vec<Trial> {
    for (name, _) in FILE_TESTS.iter().chain(SERVER_TESTS) {
        assert!(tests.iter().any(|test| test.name() == *name), "there is no test {name}");
    }
    let (ignored, engine) = if is_postgres() { (FILE_TESTS, "PostgreSQL") } else { (SERVER_TESTS, "SQLite") };
    eprintln!("{} tests need another engine and are ignored on {engine}", ignored.len());
    let reason = |test: &Trial| ignored.iter().find(|(name, _)| *name == test.name()).map(|(_, reason)| *reason);
    let mark = |test: Trial| match reason(&test) {
        Some(reason) => {
            eprintln!("ignored on {engine}: {}: {reason}", test.name());
            test.with_ignored_flag(true)
        }
        None => test,
    };
    tests.into_iter().map(mark).collect()
}
