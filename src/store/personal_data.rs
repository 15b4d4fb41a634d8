//! The columns that contain personal data of candidates: one list for erasure, the subject-access export and the tests.
//!
//! A test fails if a column of the schema is in neither list in this file. The lists contain no rules:
//! `domain::erasure` decides who may be erased, and `store::erasure` carries out erasures.

use crate::db::tx::{Error, Tx};
use crate::domain::id::CandidateId;

/// The columns of one table that contain personal data of candidates.
#[derive(Debug)]
pub struct PersonalData {
    pub table: &'static str,
    /// The columns with personal data. The tests list all other columns.
    pub columns: &'static [&'static str],
    /// The location in the subject-access export, or the reason why the export leaves out the columns.
    pub exported: Exported,
    pub erased: Erased,
}

/// Whether, and where, the subject-access export contains personal data.
#[derive(Debug, Clone, Copy)]
pub enum Exported {
    /// A JSON pointer to one of the values in `data` of the export; `*` is any index.
    At(&'static str),
    /// The export leaves out the columns for this reason.
    Never(&'static str),
}

/// The effect of an erasure on the columns.
#[derive(Debug)]
pub enum Erased {
    /// The erasure assigns constants to columns of the candidate's rows. Both fields are SQL, and `$1` is the
    /// candidate's id.
    Cleared {
        set: &'static str,
        /// The condition for the rows to change.
        rows: &'static str,
    },
    /// The named function deletes or overwrites the rows.
    By(&'static str),
}

/// Every column with personal data of candidates.
pub const PERSONAL_DATA: &[PersonalData] = &[
    PersonalData {
        table: "candidates",
        columns: &["name", "email", "email_key", "hold_reason"],
        exported: Exported::At("/candidate/email"),
        erased: Erased::By("erasure::candidate::overwrite_person"),
    },
    PersonalData {
        table: "candidate_words",
        columns: &["word"],
        exported: Exported::Never("the words of the name and the address, which the export shows"),
        erased: Erased::By("erasure::candidate::delete_words"),
    },
    PersonalData {
        table: "candidate_roles",
        columns: &["external_position_id", "hire_notes", "later_due_on"],
        exported: Exported::At("/candidate/applications/*/hireNotes"),
        erased: Erased::Cleared {
            set: "external_position_id = NULL, hire_notes = NULL, later_due_on = NULL",
            rows: "candidate_id = $1 AND
                   (external_position_id IS NOT NULL OR hire_notes IS NOT NULL OR later_due_on IS NOT NULL)",
        },
    },
    // Erasures do not change `outcome_type`, because reports count applications by their outcome type.
    PersonalData {
        table: "candidate_role_steps",
        columns: &["rejection_reason", "outcome_reason"],
        exported: Exported::At("/candidate/applications/*/steps/*/rejectionReason"),
        erased: Erased::Cleared {
            set: "rejection_reason = '', outcome_reason = NULL",
            rows: "status = 'rejected' AND candidate_role_id IN (SELECT id FROM candidate_roles WHERE candidate_id = $1)",
        },
    },
    PersonalData {
        table: "signups",
        columns: &["name", "email", "email_key", "phone", "links", "note"],
        exported: Exported::At("/signups/*/email"),
        erased: Erased::By("signup::deletion::delete"),
    },
    PersonalData {
        table: "documents",
        columns: &["file_name", "sha256"],
        exported: Exported::At("/signups/*/documents/*/fileName"),
        erased: Erased::By("signup::deletion::delete, then the sweep"),
    },
    PersonalData {
        table: "document_pieces",
        columns: &["content"],
        exported: Exported::Never("staff download each attachment by the id that the export shows"),
        erased: Erased::By("signup::deletion::delete, then the sweep"),
    },
    // The hash of the detail stays in the chain. Without the salt, nobody can find the detail by hashing guesses.
    PersonalData {
        table: "activities",
        columns: &["detail", "salt"],
        exported: Exported::At("/activity/*/after"),
        erased: Erased::Cleared { set: "detail = '{}', salt = NULL", rows: "candidate_id = $1 AND salt IS NOT NULL" },
    },
    PersonalData {
        table: "hr_deliveries",
        columns: &["payload"],
        exported: Exported::At("/hrDeliveries/*/payload"),
        erased: Erased::By("outbox::erase_candidate"),
    },
    PersonalData {
        table: "hr_attempts",
        columns: &["answer"],
        exported: Exported::At("/hrDeliveries/*/history/*/answer"),
        erased: Erased::By("outbox::erase_candidate"),
    },
    PersonalData {
        table: "idempotency_keys",
        columns: &["idempotency_key", "fingerprint", "answer", "made_id"],
        exported: Exported::At("/storedAnswers/*/answer"),
        erased: Erased::By("idempotency_key::erase_candidate"),
    },
    PersonalData {
        table: "import_rows",
        columns: &["application"],
        exported: Exported::Never("an import moves its rows into other tables or drops them"),
        erased: Erased::By("staging::settle"),
    },
];

/// Clears the columns that an erasure sets to constants.
pub(super) fn clear(tx: &Tx<'_>, candidate: &CandidateId) -> Result<(), Error> {
    for data in PERSONAL_DATA {
        if let Erased::Cleared { set, rows } = data.erased {
            tx.run(&format!("UPDATE {} SET {set} WHERE {rows}", data.table), [candidate.as_str()])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::db::row::Row;
    use crate::db::sqlite::tests::in_memory;
    use crate::db::tx;

    /// The columns without personal data of candidates. Users and organizations are not candidates: an admin changes or
    /// disables them, and erasures do not change them.
    const OTHER: &[(&str, &str)] = &[
        (
            "activities",
            "number id organization_id at action user_id api_key_id role_id candidate_id candidate_role_id \
             candidate_role_step_id detail_hash hash",
        ),
        ("api_key_usage", "at key_number number previous_at method path ip user_agent auth_endpoint"),
        ("api_key_usage_marking", "id marked_to pruned_to"),
        ("api_key_usage_marks", "key_number at"),
        ("api_key_usage_moves", "moved_from at"),
        ("api_key_usage_newest", "key_number at number"),
        (
            "api_keys",
            "number id digest user_id name start scopes enabled created_at updated_at expires_at scopes_explicit ended_at",
        ),
        ("attachment_totals", "id bytes"),
        ("believed_clock", "id believed_at confirmations"),
        (
            "candidate_role_steps",
            "id candidate_role_id role_step_id name step_order step_type status rejected_at outcome_type validated_at",
        ),
        (
            "candidate_roles",
            "id organization_id candidate_id candidate_number role_id status at_role_step_id at_since applied_at \
             updated_at hired_date offer_accepted_date",
        ),
        ("candidate_words", "organization_id in_name candidate_number block"),
        ("candidates", "number id organization_id erased_at created_at updated_at"),
        ("credential_changes", "id number"),
        ("decision_batch_items", "batch_number position activity_number"),
        ("decision_batches", "number id organization_id role_id user_id action created_at undone_at"),
        ("document_pieces", "document_number number"),
        ("documents", "number id signup_id candidate_role_id digest media_type bytes created_at"),
        ("erasures_asked", "candidate_number candidate_role_id asked_at"),
        ("form_secrets", "id secret"),
        ("hr_attempts", "delivery_number number at duration status error"),
        (
            "hr_deliveries",
            "number id organization_id candidate_role_id type state attempts failed_attempts created_at next_attempt_at",
        ),
        ("hr_intake", "id activity_number"),
        (
            "hr_integrations",
            "organization_id url secret previous_secret previous_secret_until enabled disabled_reason timed_out updated_at",
        ),
        ("idempotency_keys", "key_number created_at status candidate_id"),
        ("import_rows", "number import_number organization_id role_id candidate_id status"),
        ("imports", "number started_at decided_at skipped"),
        ("invitations", "token role_id created_at expires_at ended_at"),
        ("memberships", "user_id organization_id org_role created_at"),
        ("organization_logos", "organization_id media_type content digest updated_at"),
        ("organization_statuses", "organization_id open_roles open_positions in_progress hired not_selected withdrawn"),
        (
            "organizations",
            "id slug slug_key name domain logo portal_enabled portal_theme require_external_position_id enabled time_zone \
             pay_transparency retention_days privacy_notice decision_visible_after_hours require_second_factor created_at updated_at",
        ),
        ("passkey_challenges", "digest purpose browser user_id issued_at"),
        ("passkeys", "id user_id credential_id algorithm spki counter name created_at last_used_at"),
        ("portal_changes", "organization_id number"),
        ("readiness", "id at"),
        ("recovery_codes", "user_id digest"),
        ("retention_days", "organization_id day erased"),
        ("retention_due", "candidate_number organization_id due_since counted_from confirmed"),
        ("role_steps", "id role_id name step_order step_type"),
        (
            "roles",
            "id organization_id name description department location work_type collar_type salary_min salary_max \
             salary_currency salary_period status public positions hired close_reason closes_on created_at updated_at \
             shown_since ended_at",
        ),
        ("service_marks", "id mark"),
        ("sessions", "digest id user_id address user_agent created_at last_seen_at confirmed_at"),
        ("sign_in_links", "digest user_id purpose invited_by created_at expires_at"),
        ("user_preferences", "user_id language single_keys"),
        (
            "signups",
            "number id organization_id role_id candidate_role_id later_of steps locale consented_at created_at",
        ),
        ("spent_links", "digest spent_at"),
        ("status_pages", "number digest candidate_role_id signup_id is_trusted locale issued_at withdrawn_at"),
        ("totp_secrets", "user_id secret confirmed_at last_step"),
        ("users", "id email email_key name platform_role enabled password_hash last_seen_at created_at updated_at"),
    ];

    fn columns_of_schema() -> BTreeSet<(String, String)> {
        let connection = in_memory(include_str!("../../schema.sql"));
        let sql = "SELECT t.name AS table_name, c.name AS column_name
                   FROM sqlite_schema t, pragma_table_info(t.name) c
                   WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'";
        let name = |row: &Row<'_>| Ok((row.get("table_name")?, row.get("column_name")?));
        tx::in_upgrade(&connection, |tx| tx.all(sql, [], name)).unwrap().into_iter().collect()
    }

    #[test]
    fn every_column_of_the_schema_is_in_exactly_one_list() {
        let personal = PERSONAL_DATA.iter().flat_map(|data| data.columns.iter().map(|column| (data.table, *column)));
        let other = OTHER.iter().flat_map(|(table, columns)| columns.split_whitespace().map(|column| (*table, column)));
        let mut listed = BTreeSet::new();
        for (table, column) in personal.chain(other) {
            assert!(listed.insert((table.to_owned(), column.to_owned())), "{table}.{column} is listed twice");
        }
        let schema = columns_of_schema();
        let unlisted: Vec<_> = schema.difference(&listed).collect();
        assert!(unlisted.is_empty(), "these columns are in neither list: {unlisted:?}");
        let missing: Vec<_> = listed.difference(&schema).collect();
        assert!(missing.is_empty(), "the schema does not have these columns: {missing:?}");
    }
}
