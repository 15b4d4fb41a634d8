//! The version of a role: the newest act on the role itself or on its steps. A caller who changes a role can name the
//! version that they have seen. If the role has a newer version, the change is refused, and the refusal names the
//! changes since the version that the caller has seen. If that version is unknown, the refusal names the newest change.
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
    /// The word for the act. It is not an enum, because the database can contain words that this version of the program
    /// does not know.
    pub action: String,
    pub at: Timestamp,
    /// The user who made the change, or `None` for the service itself. The service closes roles after their closing
    /// date.
    pub by: Option<ChangeAuthor>,
    /// The names of the fields that the act changed; empty if the activity row does not contain them, for example
    /// because the act created, added or removed something.
    pub members: Vec<String>,
}

/// The user who made a change, with their current name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeAuthor {
    pub id: String,
    pub name: String,
}

/// The next step of a caller whose change was refused.
const NEXT: &str = "read the role again and repeat the request with its new ETag";

/// Returns the sentence of a refusal: the author, the time and the content of the newest change. `changes` must be
/// ordered newest first. It has at most [`LATER_CHANGES_MAX`] entries, so the sentence for a full list contains "at
/// least".
pub fn refusal_sentence(changes: &[LaterChange]) -> String {
    let Some((newest, others)) = changes.split_first() else { return unknown_version_sentence(None) };
    let others = match others.len() {
        0 => String::new(),
        1 => ", and there was 1 other change".to_owned(),
        count if changes.len() >= LATER_CHANGES_MAX => format!(", and there were at least {count} other changes"),
        count => format!(", and there were {count} other changes"),
    };
    format!("the role has changed since the version that If-Match names: {}{others}; {NEXT}", clause(newest))
}

/// Returns the sentence of a refusal if `If-Match` names no known version of the role. `newest` is the newest change,
/// or `None` for an imported role that nobody has changed. The sentence does not claim that the role has changed.
pub fn unknown_version_sentence(newest: Option<&LaterChange>) -> String {
    let newest = newest.map_or_else(String::new, |change| format!(" (newest change: {})", clause(change)));
    format!("the role is not at a version that If-Match names{newest}; {NEXT}")
}

/// Returns the author, the content and the time of a change.
fn clause(change: &LaterChange) -> String {
    let by = change.by.as_ref().map_or("the service", |by| by.name.as_str());
    format!("{by} {} at {}", act(change), change.at)
}

/// Returns the words for the act, after the name of its author.
fn act(change: &LaterChange) -> String {
    match change.action.as_str() {
        "role.created" => "created the role".to_owned(),
        "role.changed" => changed(&change.members, "the role"),
        "role.opened" => "opened the role".to_owned(),
        "role.closed" => "closed the role".to_owned(),
        "role.reopened" => "reopened the role".to_owned(),
        "role_step.added" => "added a step".to_owned(),
        "role_step.changed" => changed(&change.members, "a step"),
        "role_step.reordered" => "reordered the steps".to_owned(),
        "role_step.removed" => "removed a step".to_owned(),
        other => format!("changed the role ({other})"),
    }
}

/// Returns the words for a change to the role or a step, with the changed fields if the act names them.
fn changed(members: &[String], noun: &str) -> String {
    let things: Vec<String> = members.iter().map(|member| thing(member)).collect();
    match things.split_last() {
        Some((last, [])) => format!("changed {last} of {noun}"),
        Some((last, others)) => format!("changed {} and {last} of {noun}", others.join(", ")),
        None => format!("changed {noun}"),
    }
}

/// Returns the ordinary words for a field, with the article: `workType` is "the work type".
fn thing(member: &str) -> String {
    let words = match member {
        "public" => "the visibility",
        "salaryMin" => "the minimum salary",
        "salaryMax" => "the maximum salary",
        "closesOn" => "the closing date",
        "hired" => "the number of hires",
        "positions" => "the number of positions",
        _ => "",
    };
    if !words.is_empty() {
        return words.to_owned();
    }
    let mut text = "the ".to_owned();
    for character in member.chars() {
        if character.is_ascii_uppercase() {
            text.push(' ');
        }
        text.push(character.to_ascii_lowercase());
    }
    text
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
        let since = "the role has changed since the version that If-Match names";
        let (by_ingrid_then, then) =
            ("Ingrid Berg changed the name and the maximum salary of the role", "at 1970-01-01T00:00:00.000000Z");
        let by_service_then = "the service changed the role";
        for (changes, expected) in [
            (vec![by_ingrid.clone()], format!("{since}: {by_ingrid_then} {then}")),
            (
                vec![by_service.clone(), by_ingrid.clone()],
                format!("{since}: {by_service_then} {then}, and there was 1 other change"),
            ),
            (
                vec![by_service.clone(), by_ingrid, by_service],
                format!("{since}: {by_service_then} {then}, and there were 2 other changes"),
            ),
            (
                vec![change(None, &[]); LATER_CHANGES_MAX],
                format!("{since}: {by_service_then} {then}, and there were at least 9 other changes"),
            ),
        ] {
            let sentence = format!("{expected}; read the role again and repeat the request with its new ETag");
            assert_eq!(refusal_sentence(&changes), sentence);
        }
    }

    #[test]
    fn a_refusal_of_an_unknown_version_does_not_claim_that_the_role_has_changed() {
        let change = LaterChange {
            activity_id: ActivityId::parse("act_1").unwrap(),
            action: "role.opened".to_owned(),
            at: Timestamp::from_micros(0),
            by: None,
            members: Vec::new(),
        };
        let newest = " (newest change: the service opened the role at 1970-01-01T00:00:00.000000Z)";
        for (change, newest) in [(None, ""), (Some(&change), newest)] {
            let begin = format!("the role is not at a version that If-Match names{newest}; read the role again");
            let sentence = unknown_version_sentence(change);
            assert!(sentence.starts_with(&begin), "{sentence}");
        }
    }

    #[test]
    fn a_refusal_describes_the_act_and_the_changed_fields_in_ordinary_words() {
        for (action, members, expected) in [
            ("role.changed", vec!["workType"], "Ada changed the work type of the role at"),
            (
                "role.changed",
                vec!["public", "closesOn", "x"],
                "Ada changed the visibility, the closing date and the x of the role at",
            ),
            ("role.closed", vec!["status"], "Ada closed the role at"),
            ("role_step.added", vec![], "Ada added a step at"),
            ("role_step.changed", vec!["name"], "Ada changed the name of a step at"),
            ("role_step.changed", vec![], "Ada changed a step at"),
            ("role.painted", vec![], "Ada changed the role (role.painted) at"),
        ] {
            let change = LaterChange {
                activity_id: ActivityId::parse("act_1").unwrap(),
                action: action.to_owned(),
                at: Timestamp::from_micros(0),
                by: Some(ChangeAuthor { id: "user_1".to_owned(), name: "Ada".to_owned() }),
                members: members.into_iter().map(str::to_owned).collect(),
            };
            let sentence = refusal_sentence(&[change]);
            assert!(sentence.contains(&format!("names: {expected} ")), "{sentence}");
        }
    }
}
