//! Ids that are derived from the ids of another system, so that an item gets the same id in every import.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::export::System;
use crate::domain::attachment::AttachmentDigest;
use crate::domain::id::{ApplicationId, AttachmentId, CandidateId, CandidateStepId, Id, RoleId, RoleStepId};

/// The maximum length of another system's id that a derived id contains unchanged. Instead of a longer id, the derived
/// id contains a digest. With the longest prefix and the number of a step, the derived id has at most 64 characters.
/// UUIDs have 36 characters.
const SOURCE_ID_CHARACTERS_MAX: usize = 40;

/// The number of bytes of a digest in an id (128 bits, in hexadecimal).
const DIGEST_BYTES: usize = 16;

impl System {
    pub(super) fn role_id(&self, job: &str) -> RoleId {
        derived(&format!("{}_job_{}", self.prefix, source(job)))
    }

    /// Returns the id of the step that is created from a stage of one job.
    pub(super) fn step_id(&self, stage: &str) -> RoleStepId {
        derived(&format!("{}_stage_{}", self.prefix, source(stage)))
    }

    /// Returns the id of the step that is created for this job from a stage that several jobs share.
    pub(super) fn shared_step_id(&self, job: &str, stage: &str) -> RoleStepId {
        derived(&format!("{}_stage_{}", self.prefix, digest(&[job, stage])))
    }

    /// Returns the id of the only step of a role whose job has no stages.
    pub(super) fn only_step_id(&self, job: &str) -> RoleStepId {
        derived(&format!("{}_job_{}_application", self.prefix, source(job)))
    }

    pub(super) fn candidate_id(&self, person: &str) -> CandidateId {
        derived(&format!("{}_candidate_{}", self.prefix, source(person)))
    }

    pub(super) fn application_id(&self, application: &str) -> ApplicationId {
        derived(&format!("{}_application_{}", self.prefix, source(application)))
    }

    /// Returns the id of an application's candidate step with this order.
    pub(super) fn step_of_application(&self, application: &str, order: i64) -> CandidateStepId {
        derived(&format!("{}_application_{}_{order}", self.prefix, source(application)))
    }

    /// Returns the id of a file of an application. `file` is the id of the file, or its path in the folder `files`.
    pub(super) fn attachment_id(&self, application: &ApplicationId, file: &str) -> AttachmentId {
        derived(&format!("{}_file_{}", self.prefix, digest(&[application.as_str(), file])))
    }
}

/// Returns the part of a derived id that stands for another system's id.
fn source(id: &str) -> Cow<'_, str> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !id.is_empty() && id.len() <= SOURCE_ID_CHARACTERS_MAX && id.bytes().all(is_allowed) {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(digest(&[id]))
    }
}

/// Returns a digest of these strings. Different lists of strings have different digests.
fn digest(parts: &[&str]) -> String {
    let mut digest = AttachmentDigest::default();
    for part in parts {
        digest.add(&part.len().to_le_bytes());
        digest.add(part.as_bytes());
    }
    digest.value()[..DIGEST_BYTES].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn derived<I: Id>(text: &str) -> I {
    I::parse(text).expect("letters, digits, underscores and hyphens are allowed, and every part is short enough")
}

#[cfg(test)]
mod tests {
    use super::super::super::greenhouse::GREENHOUSE;
    use super::*;

    #[test]
    fn ids_of_any_length_give_valid_ids() {
        assert_eq!(GREENHOUSE.role_id("123").as_str(), "gh_job_123");
        let longest = "x".repeat(SOURCE_ID_CHARACTERS_MAX);
        assert_eq!(GREENHOUSE.step_of_application(&longest, 10_000_000).as_str().len(), 64);
        assert!(GREENHOUSE.only_step_id(&longest).as_str().ends_with("_application"));
        for other in ["", "a b", "ä", "a/b", &format!("{longest}x")] {
            assert_eq!(GREENHOUSE.role_id(other).as_str().len(), "gh_job_".len() + 2 * DIGEST_BYTES, "{other}");
        }
    }

    #[test]
    fn digests_separate_their_parts() {
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["a"]).len(), 2 * DIGEST_BYTES);
    }
}
