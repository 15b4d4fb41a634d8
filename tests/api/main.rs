//! Tests of the service over real sockets, one file for each endpoint or topic. They form one binary, so that a full
//! run can compare the answers seen with the answers that the route table declares.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod access;
mod access_matrix;
mod activity;
mod admin_membership;
mod admin_organization;
mod admin_scope;
mod admin_user;
mod answer_bytes;
mod api_key_create;
mod api_key_list;
mod api_key_revoke;
mod api_key_usage;
mod attachment;
mod attachment_download;
mod attachment_import;
mod board;
mod body;
mod candidate_add;
mod candidate_change;
mod candidate_erase;
mod candidate_export;
mod candidate_hold;
mod candidate_later;
mod candidate_list;
mod candidate_read;
mod candidate_role_status_link;
mod candidate_signup;
mod candidate_step_effects;
mod candidate_step_hire;
mod candidate_step_move;
mod candidate_step_reject;
mod candidate_step_reopen;
mod candidate_step_undo;
mod candidate_step_validate;
mod candidate_transfer;
mod candidate_withdraw;
mod careers;
mod careers_embed;
mod careers_feeds;
mod careers_page;
mod careers_role;
mod compression;
mod console;
mod console_board;
mod console_board_decide;
mod console_candidate;
mod console_close_out;
mod console_confirm;
mod console_decision;
mod console_document;
mod console_inbox;
mod console_join_passkey;
mod console_later;
mod console_live;
mod console_me;
mod console_member_list;
mod console_membership;
mod console_not_selected;
mod console_passkey;
mod console_passkey_flood;
mod console_review;
mod console_role;
mod console_role_step;
mod console_roles;
mod console_second_factor;
mod console_security;
mod console_session_end;
mod console_sign_in;
mod console_sign_in_code;
mod console_step_up;
mod decision_batch;
mod decision_batch_later;
mod decision_batch_request;
mod decision_batch_undo;
mod deployment;
mod dry_run;
mod failure;
mod framing;
mod health;
mod home;
mod hr_answer;
mod hr_delivery;
mod hr_guard;
mod hr_integration;
mod hr_name_resolution;
mod hr_order;
mod hr_retry;
mod hr_send;
mod idempotency;
mod in_progress;
mod logo;
mod me;
mod openapi;
mod organization_list;
mod plain_text;
mod platform_activity;
mod portal;
mod portal_apply;
mod portal_role;
mod race;
mod race_admin;
mod race_candidates;
mod race_decision_batch;
mod race_decisions;
mod race_privacy;
mod race_roles;
mod race_signup;
mod race_status_page;
mod rate_limit;
mod report;
mod response_cache;
mod retention;
mod role_change;
mod role_changes;
mod role_closing_day;
mod role_copy;
mod role_create;
mod role_list;
mod role_state;
mod role_step;
mod role_version;
#[path = "../rounds/mod.rs"]
mod rounds;
mod session;
mod session_guessing;
mod signup;
mod signup_address;
mod signup_api;
mod signup_discarded_file;
mod signup_fields;
mod signup_file;
mod signup_limit;
mod signup_submit;
mod status;
mod status_page;
mod status_page_acts;
mod status_page_decision;
mod status_page_later_signup;
mod status_page_role_end;
mod support;
mod table;
mod unknown_member;
mod upload_limit;
mod usage_log;
mod wire;
mod wrong_clock;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tikv_jemallocator::Jemalloc;

/// The tests run the service in their own process, so they use its allocator.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Lists a file's tests under the name of the file.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) fn tests() -> Vec<libtest_mimic::Trial> {
            #[allow(unused_variables, reason = "a file may list no test yet")]
            let module = module_path!().rsplit("::").next().unwrap_or_default();
            vec![$(libtest_mimic::Trial::test(format!("{module}::{}", stringify!($name)), || {
                $name();
                Ok(())
            })),*]
        }
    };
}
pub(crate) use tests;

/// Returns the number of test threads: five for each core, because many tests wait for timeouts or other processes.
fn test_threads() -> usize {
    5 * std::thread::available_parallelism().map_or(1, usize::from)
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(test_threads);
    let all: Vec<Trial> = [
        // The tests of these files take longest. They start first, so that they do not run alone at the end.
        access_matrix::tests(),
        console_step_up::tests(),
        failure::tests(),
        wrong_clock::tests(),
        // The tests of the other files follow.
        access::tests(),
        activity::tests(),
        admin_membership::tests(),
        admin_organization::tests(),
        admin_scope::tests(),
        admin_user::tests(),
        answer_bytes::tests(),
        api_key_create::tests(),
        api_key_list::tests(),
        api_key_revoke::tests(),
        api_key_usage::tests(),
        attachment::tests(),
        attachment_download::tests(),
        attachment_import::tests(),
        board::tests(),
        body::tests(),
        candidate_add::tests(),
        candidate_change::tests(),
        candidate_erase::tests(),
        candidate_export::tests(),
        candidate_hold::tests(),
        candidate_later::tests(),
        candidate_list::tests(),
        candidate_read::tests(),
        candidate_role_status_link::tests(),
        candidate_signup::tests(),
        candidate_step_effects::tests(),
        candidate_step_hire::tests(),
        candidate_step_move::tests(),
        candidate_step_reject::tests(),
        candidate_step_reopen::tests(),
        candidate_step_undo::tests(),
        candidate_step_validate::tests(),
        candidate_transfer::tests(),
        candidate_withdraw::tests(),
        careers::tests(),
        careers_embed::tests(),
        careers_feeds::tests(),
        careers_page::tests(),
        careers_role::tests(),
        compression::tests(),
        console::tests(),
        console_board::tests(),
        console_close_out::tests(),
        console_confirm::tests(),
        console_board_decide::tests(),
        console_inbox::tests(),
        console_candidate::tests(),
        console_decision::tests(),
        console_document::tests(),
        console_join_passkey::tests(),
        console_live::tests(),
        console_review::tests(),
        console_later::tests(),
        console_me::tests(),
        console_not_selected::tests(),
        console_passkey::tests(),
        console_passkey_flood::tests(),
        console_roles::tests(),
        console_second_factor::tests(),
        console_membership::tests(),
        console_role::tests(),
        console_role_step::tests(),
        console_member_list::tests(),
        console_security::tests(),
        console_session_end::tests(),
        console_sign_in::tests(),
        console_sign_in_code::tests(),
        decision_batch::tests(),
        decision_batch_later::tests(),
        decision_batch_request::tests(),
        decision_batch_undo::tests(),
        deployment::tests(),
        dry_run::tests(),
        framing::tests(),
        health::tests(),
        home::tests(),
        hr_answer::tests(),
        hr_delivery::tests(),
        hr_guard::tests(),
        hr_integration::tests(),
        hr_name_resolution::tests(),
        hr_order::tests(),
        hr_retry::tests(),
        hr_send::tests(),
        idempotency::tests(),
        in_progress::tests(),
        logo::tests(),
        me::tests(),
        openapi::tests(),
        organization_list::tests(),
        plain_text::tests(),
        platform_activity::tests(),
        portal::tests(),
        portal_apply::tests(),
        portal_role::tests(),
        race::tests(),
        race_admin::tests(),
        race_candidates::tests(),
        race_decision_batch::tests(),
        race_decisions::tests(),
        race_privacy::tests(),
        race_roles::tests(),
        race_signup::tests(),
        race_status_page::tests(),
        rate_limit::tests(),
        report::tests(),
        response_cache::tests(),
        retention::tests(),
        role_change::tests(),
        role_changes::tests(),
        role_closing_day::tests(),
        role_copy::tests(),
        role_create::tests(),
        role_list::tests(),
        role_state::tests(),
        role_step::tests(),
        role_version::tests(),
        session::tests(),
        session_guessing::tests(),
        signup::tests(),
        signup_address::tests(),
        signup_api::tests(),
        signup_discarded_file::tests(),
        signup_fields::tests(),
        signup_file::tests(),
        signup_limit::tests(),
        signup_submit::tests(),
        status::tests(),
        status_page::tests(),
        status_page_acts::tests(),
        status_page_decision::tests(),
        status_page_later_signup::tests(),
        status_page_role_end::tests(),
        table::tests(),
        unknown_member::tests(),
        upload_limit::tests(),
        usage_log::tests(),
        wire::tests(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let is_whole = !support::database::is_postgres()
        && arguments.filter.is_none()
        && arguments.skip.is_empty()
        && !arguments.list
        && !arguments.ignored;
    let all = support::one_engine::mark(all);
    let conclusion = libtest_mimic::run(&arguments, all);
    let mut findings = support::description::findings();
    if is_whole && !conclusion.has_failed() {
        findings.extend(support::recorder::findings());
        findings.extend(support::description::unseen());
    }
    if !findings.is_empty() {
        for finding in &findings {
            eprintln!("{finding}");
        }
        eprintln!("the answers seen differ from the answers declared and described: {} findings", findings.len());
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}
