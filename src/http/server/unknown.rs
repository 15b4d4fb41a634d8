//! Members of a request's body that its endpoint does not know. They are ignored, and named in the answer's `warnings`, so
//! that a misspelled name does not go unnoticed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::domain::text;

/// Names that an answer lists; of the rest it tells how many they are. A body can have some ten thousand.
const NAMES_MAX: usize = 20;

/// Characters of a name that an answer shows.
const NAME_CHARACTERS_MAX: usize = 64;

/// The unknown members of one request. Clones share them, because the body is read far from where it is answered.
#[derive(Debug, Clone, Default)]
pub(in crate::http) struct UnknownMembers(Arc<Mutex<Names>>);

#[derive(Debug, Default)]
struct Names {
    listed: Vec<String>,
    more: usize,
}

impl UnknownMembers {
    /// Forgets all names: the body is read once more.
    pub(in crate::http) fn clear(&self) {
        *self.lock() = Names::default();
    }

    /// Notes an unknown member by its place, such as `portal.colour` or `steps[0].kind`.
    pub(in crate::http) fn note(&self, place: &str) {
        let mut names = self.lock();
        if names.listed.len() >= NAMES_MAX {
            names.more += 1;
            return;
        }
        let cut = text::cut(place, NAME_CHARACTERS_MAX);
        let listed = if cut.len() < place.len() { format!("{cut}…") } else { place.to_owned() };
        names.listed.push(listed);
    }

    /// The entries of the answer's `warnings`.
    pub(in crate::http) fn warnings(&self) -> Vec<Value> {
        let names = self.lock();
        let entry = |name: &String| {
            let detail = format!("there is no member {name} here, so it was ignored");
            json!({ "code": "unknown_member", "detail": detail, "field": name })
        };
        let more = (names.more > 0).then(
            || json!({ "code": "unknown_member", "detail": format!("{} more members were ignored", names.more) }),
        );
        names.listed.iter().map(entry).chain(more).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_bounded_in_number() {
        let unknown = UnknownMembers::default();
        assert!(unknown.warnings().is_empty());
        unknown.note(&"ä".repeat(NAME_CHARACTERS_MAX));
        unknown.note(&"ä".repeat(NAME_CHARACTERS_MAX + 1));
        let warnings = unknown.warnings();
        assert_eq!(warnings[0]["field"], "ä".repeat(NAME_CHARACTERS_MAX));
        assert_eq!(warnings[1]["field"], format!("{}…", "ä".repeat(NAME_CHARACTERS_MAX)));
        for number in 0..NAMES_MAX {
            unknown.note(&number.to_string());
        }
        let warnings = unknown.warnings();
        assert_eq!(warnings.len(), NAMES_MAX + 1);
        assert_eq!(warnings[NAMES_MAX]["detail"], "2 more members were ignored");
        unknown.clear();
        assert!(unknown.warnings().is_empty());
    }
}
