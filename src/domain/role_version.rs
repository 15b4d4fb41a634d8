//! The version of a role: the newest act on the role itself or on its steps. A caller who changes a role can name the
//! version that they have seen. If the role has a newer version, the change is refused, and the refusal names the
//! changes since the version that the caller has seen.
//!
//! Applications and decisions do not change the version. A hire therefore does not interfere with somebody who edits
//! the text of the role.

use super::id::ActivityId;
use super::timestamp::Timestamp;

/// The maximum number of changes that a refusal names: enough to explain it. The role's activity contains all changes.
pub const LATER_CHANGES_MAX: usize = 10;

/// The maximum number of versions in `If-Match` that the service looks up for a refusal. It ignores further versions.
/// Callers usually send one.
pub const KNOWN_VERSIONS_MAX: usize = 4;

/// A change to a role after the version that a caller has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaterChange {
    pub activity_id: ActivityId,
    /// The word for the act. It is not an enum, because the file may contain words that this version of the program
    /// does not know.
    pub action: String,
    pub at: Timestamp,
    /// The user who made the change, or `None` for the service itself. The service closes roles after their closing
    /// date.
    pub by: Option<ChangeAuthor>,
    /// The members that the act changed; empty if the act created, added or removed something.
    pub members: Vec<String>,
}

/// The user who made a change, with their current name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeAuthor {
    pub id: String,
    pub name: String,
}

/// Returns the sentence of a refusal: who made the newest change, when, and what they changed. `changes` must be
/// ordered newest first. It is empty for an imported role that nobody has changed.
pub fn refusal_sentence(changes: &[LaterChange]) -> String {
    const NEXT: &str = "read the role again and repeat the request with its new ETag";
    let Some((newest, others)) = changes.split_first() else {
        return format!("the role never had the version that If-Match names; {NEXT}");
    };
    let LaterChange { action, at, by, members, .. } = newest;
    let by = by.as_ref().map_or("the service", |by| by.name.as_str());
    let members = if members.is_empty() { String::new() } else { format!(" of {}", members.join(", ")) };
    let others = match others.len() {
        0 => String::new(),
        1 => " and 1 other change".to_owned(),
        count => format!(" and {count} other changes"),
    };
    format!(
        "the role has changed since the version that If-Match names: {action}{members} by {by} at {at}{others}; {NEXT}"
    )
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    #[test]
    fn a_refusal_names_the_newest_change_and_counts_the_others() {
        let change = |by: Option<&str>, members: &[&str]| LaterChange {
            activity_id: ActivityId::parse("act_1").unwrap(),
            action: "role.changed".to_owned(),
            at: Timestamp::from_micros(0),
            by: by.map(|name| ChangeAuthor { id: "user_1".to_owned(), name: name.to_owned() }),
            members: members.iter().map(|name| (*name).to_owned()).collect(),
        };
        let (by_ingrid, by_service) = (change(Some("Ingrid Berg"), &["name", "salaryMax"]), change(None, &[]));
        for (changes, expected) in [
            (vec![], "the role never had the version that If-Match names"),
            (
                vec![by_ingrid.clone()],
                "the role has changed since the version that If-Match names: role.changed of name, salaryMax by Ingrid \
                 Berg at 1970-01-01T00:00:00.000000Z",
            ),
            (
                vec![by_service.clone(), by_ingrid.clone()],
                "the role has changed since the version that If-Match names: role.changed by the service at \
                 1970-01-01T00:00:00.000000Z and 1 other change",
            ),
            (
                vec![by_service.clone(), by_ingrid, by_service],
                "the role has changed since the version that If-Match names: role.changed by the service at \
                 1970-01-01T00:00:00.000000Z and 2 other changes",
            ),
        ] {
            let sentence = format!("{expected}; read the role again and repeat the request with its new ETag");
            assert_eq!(refusal_sentence(&changes), sentence);
        }
    }
}
