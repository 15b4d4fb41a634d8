//! The manifest of a backup: a JSON file next to it. `appliance backup` writes the facts that a person needs. The
//! manifest of a scheduled backup also shows that the service made and checked the backup. A backup without this proof
//! does not count as a scheduled backup, and the service never deletes it.

use std::path::Path;

use serde_json::{Value, json};

use crate::domain::activity::ChainHead;
use crate::domain::timestamp::Timestamp;

/// Returns the manifest of a backup.
pub fn text(target: &Path, head: &ChainHead, now: Timestamp) -> String {
    format!("{:#}\n", members(target, head, now))
}

fn members(target: &Path, head: &ChainHead, now: Timestamp) -> Value {
    json!({
        "file": target.file_name().unwrap_or_default().to_string_lossy(),
        "madeAt": now.to_string(),
        "activityNumber": head.number,
        "activityHash": head.hash_text(),
        "chainHead": head.to_string(),
    })
}

/// The facts by which the service recognizes a scheduled backup of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scheduled {
    /// The path of the file that was copied.
    pub(super) scheduled_for: String,
    /// The size of the backup. A backup of another size is damaged.
    pub(super) bytes: u64,
}

impl Scheduled {
    /// Returns the manifest of a scheduled backup.
    pub(super) fn text(&self, target: &Path, head: &ChainHead, now: Timestamp) -> String {
        let mut manifest = members(target, head, now);
        manifest["scheduledFor"] = json!(self.scheduled_for);
        manifest["bytes"] = json!(self.bytes);
        format!("{manifest:#}\n")
    }

    /// Reads a manifest. Returns `None` if the text is not the manifest of a scheduled backup.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let manifest: Value = serde_json::from_str(text).ok()?;
        let scheduled_for = manifest.get("scheduledFor")?.as_str()?.to_owned();
        Some(Self { scheduled_for, bytes: manifest.get("bytes")?.as_u64()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_manifest_of_a_scheduled_backup_is_recognized() {
        let scheduled = Scheduled { scheduled_for: "/var/lib/a.db".to_owned(), bytes: 7 };
        let head = ChainHead { number: 2, hash: [3; 32] };
        let (target, now) = (Path::new("b/jobs.db"), Timestamp::from_micros(0));
        assert_eq!(Scheduled::parse(&scheduled.text(target, &head, now)), Some(scheduled));
        for other in [text(target, &head, now).as_str(), "", "{}", "[]", r#"{"scheduledFor": "/a", "bytes": "7"}"#] {
            assert_eq!(Scheduled::parse(other), None, "{other}");
        }
    }
}
