//! Checks that the list of columns with personal data agrees with the rows that the erasure test seeds and with the
//! fields of an export.

use appliance::store::personal_data::{Exported, PERSONAL_DATA};
use serde_json::Value;

use crate::support::WorkDir;

/// Columns that the erasure test does not seed, each with the reason.
const NOT_SEEDED: &[(&str, &str)] = &[
    (
        "candidates.hold_reason",
        "a hold would prevent the erasure, so the test releases it; the byte scan looks for its reason from the activity",
    ),
    ("idempotency_keys.made_id", "an id that a hire does not set"),
    ("import_rows.application", "an import moves its rows into other tables; imports have a test of their own"),
];

/// Checks that, of the columns with personal data, only those in [`NOT_SEEDED`] have no value. The byte scan then
/// searches for a value from every other column.
#[track_caller]
pub(crate) fn assert_seeded(dir: &WorkDir) {
    for data in PERSONAL_DATA {
        for column in data.columns {
            let name = format!("{}.{column}", data.table);
            let sql = format!("SELECT count(*) FROM {} WHERE length(CAST({column} AS BLOB)) > 2", data.table);
            let is_seeded = dir.number("a.db", &sql) > 0;
            assert_eq!(is_seeded, NOT_SEEDED.iter().all(|(not, _)| *not != name), "{name}");
        }
    }
}

/// Checks that the exports contain all personal data that is listed as exported.
#[track_caller]
pub(crate) fn assert_exported(exports: &[Value]) {
    for data in PERSONAL_DATA {
        if let Exported::At(pointer) = data.exported {
            let steps: Vec<&str> = pointer.split('/').skip(1).collect();
            assert!(exports.iter().any(|export| is_shown(&export["data"], &steps)), "{}: {pointer}", data.table);
        }
    }
}

fn is_shown(value: &Value, steps: &[&str]) -> bool {
    match steps {
        [] => {
            value.as_str().is_some_and(|text| !text.is_empty())
                || value.as_object().is_some_and(|members| !members.is_empty())
        }
        ["*", rest @ ..] => value.as_array().is_some_and(|items| items.iter().any(|item| is_shown(item, rest))),
        [member, rest @ ..] => is_shown(&value[*member], rest),
    }
}
