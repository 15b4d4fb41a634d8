//! Members of a request's body that the endpoint does not know. They are ignored. A successful JSON response lists them
//! in `warnings`, so that a misspelled name is noticed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::domain::text;

/// The maximum number of names that a response lists. The response shows only the number of the others. A body can
/// contain more than ten thousand names.
const NAMES_MAX: usize = 20;

/// The maximum number of characters that a response shows of each name.
const NAME_CHARACTERS_MAX: usize = 64;

/// The unknown members of one request. Clones share the names, because one module decodes the body and another creates
/// the response.
#[derive(Debug, Clone, Default)]
pub(super) struct UnknownMembers(Arc<Mutex<Names>>);

#[derive(Debug, Default)]
struct Names {
    listed: Vec<String>,
    unlisted: usize,
}

impl UnknownMembers {
    /// Removes all names, because the body is decoded again.
    pub(super) fn clear(&self) {
        *self.lock() = Names::default();
    }

    /// Adds an unknown member by its path, such as `portal.colour` or `steps[0].kind`.
    pub(super) fn add(&self, path: &str) {
        let mut names = self.lock();
        if names.listed.len() >= NAMES_MAX {
            names.unlisted += 1;
            return;
        }
        let cut = text::cut(path, NAME_CHARACTERS_MAX);
        let listed = if cut.len() < path.len() { format!("{cut}…") } else { path.to_owned() };
        names.listed.push(listed);
    }

    /// Returns the entries of the response's `warnings`.
    pub(super) fn warnings(&self) -> Vec<Value> {
        let names = self.lock();
        let entry = |name: &String| {
            let detail = format!("there is no member {name} here, so it was ignored");
            json!({ "code": "unknown_member", "detail": detail, "field": name })
        };
        let others = match names.unlisted {
            0 => None,
            1 => Some("1 more member was ignored".to_owned()),
            count => Some(format!("{count} more members were ignored")),
        };
        let others = others.map(|detail| json!({ "code": "unknown_member", "detail": detail }));
        names.listed.iter().map(entry).chain(others).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_truncated_and_excess_names_are_counted() {
        let unknown = UnknownMembers::default();
        assert!(unknown.warnings().is_empty());
        unknown.add(&"ä".repeat(NAME_CHARACTERS_MAX));
        unknown.add(&"ä".repeat(NAME_CHARACTERS_MAX + 1));
        let warnings = unknown.warnings();
        assert_eq!(warnings[0]["field"], "ä".repeat(NAME_CHARACTERS_MAX));
        assert_eq!(warnings[1]["field"], format!("{}…", "ä".repeat(NAME_CHARACTERS_MAX)));
        for number in 1..NAMES_MAX {
            unknown.add(&number.to_string());
        }
        assert_eq!(unknown.warnings()[NAMES_MAX]["detail"], "1 more member was ignored");
        unknown.add("0");
        let warnings = unknown.warnings();
        assert_eq!(warnings.len(), NAMES_MAX + 1);
        assert_eq!(warnings[NAMES_MAX]["detail"], "2 more members were ignored");
        unknown.clear();
        assert!(unknown.warnings().is_empty());
    }
}
