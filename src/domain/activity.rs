//! Activity: the record of acts, and the hash chain that reveals later changes to the record.
//!
//! Each row has a SHA-256 hash (FIPS 180-4), computed from its columns and the previous row's hash. The detail of a row
//! can contain personal data, so the hash covers only a salted digest of the detail. An erasure removes the detail and
//! the salt. The chain then remains valid, and the digest reveals nothing.

use sha2::{Digest, Sha256};

use super::id::{ActivityId, ApiKeyId, ApplicationId, CandidateId, CandidateStepId, OrganizationId, RoleId, UserId};
use super::timestamp::Timestamp;
use super::words::words;

/// The number of bytes in the salt of a detail's digest, which is large enough that nobody can guess the salt.
pub const SALT_BYTES: usize = 16;

/// The hash that precedes the first row.
pub const CHAIN_START: [u8; 32] = [0; 32];

words! {
    /// The kind of an act.
    Action {
        /// An organization was created.
        OrganizationCreated = "organization.created",
        /// An organization's settings were changed.
        OrganizationChanged = "organization.changed",
        /// An admin uploaded an organization's logo.
        LogoPut = "logo.put",
        /// An admin removed an organization's logo.
        LogoRemoved = "logo.removed",
        /// An admin confirmed that the clock is right, that retention may erase the due candidates, or both.
        RetentionConfirmed = "retention.confirmed",
        /// A user became a member, or got another organization role.
        MembershipPut = "membership.put",
        /// A user's membership ended.
        MembershipRemoved = "membership.removed",
        /// An owner or admin of an organization, or a platform admin, made a link by which a member signs in once.
        SignInLinkIssued = "sign_in_link.issued",
        /// A role was created as a draft.
        RoleCreated = "role.created",
        /// A role or its positions were changed.
        RoleChanged = "role.changed",
        /// A draft was opened.
        RoleOpened = "role.opened",
        /// A role was closed.
        RoleClosed = "role.closed",
        /// A closed role was reopened.
        RoleReopened = "role.reopened",
        /// A draft was deleted.
        RoleDeleted = "role.deleted",
        /// A step was added to a role's pipeline.
        RoleStepAdded = "role_step.added",
        /// A step of the pipeline was changed.
        RoleStepChanged = "role_step.changed",
        /// The steps of the pipeline were reordered.
        RoleStepsReordered = "role_step.reordered",
        /// A step was removed from the pipeline.
        RoleStepRemoved = "role_step.removed",
        /// A candidate was added.
        CandidateAdded = "candidate.added",
        /// A candidate's name or address was changed.
        CandidateChanged = "candidate.changed",
        /// Staff exported a candidate's data.
        CandidateExported = "candidate.exported",
        /// A legal hold was placed on a candidate, so that the candidate cannot be erased.
        CandidateHeld = "candidate.held",
        /// A legal hold was released.
        CandidateReleased = "candidate.released",
        /// A candidate under a legal hold, or with a hidden hire, asked for the erasure of their data.
        CandidateErasureAsked = "candidate.erasure_asked",
        /// A candidate's personal data was erased.
        CandidateErased = "candidate.erased",
        /// Staff added a candidate to a role.
        CandidateRoleAdded = "candidate_role.added",
        /// Staff issued a new link to the status page of an application.
        StatusLinkIssued = "candidate_role.status_link_issued",
        /// A signup was deleted at the applicant's request.
        CandidateRoleSignupDeleted = "candidate_role.signup_deleted",
        /// The holder of a status link asked for the deletion of an application. The data of the application remains
        /// for now, because of a legal hold or a hidden hire.
        CandidateRoleDeletionAsked = "candidate_role.deletion_asked",
        /// A signup created an application.
        CandidateRoleSignedUp = "candidate_role.signed_up",
        /// A later signup arrived under the address of a candidate for the role. The application did not change.
        CandidateRoleSignedUpAgain = "candidate_role.signed_up_again",
        /// An application was withdrawn.
        CandidateRoleWithdrawn = "candidate_role.withdrawn",
        /// Staff put an application aside until a due day.
        PutAside = "candidate_role.put_aside",
        /// Staff brought an application back by removing its later mark.
        TakenUp = "candidate_role.taken_up",
        /// A candidate passed a step.
        Validated = "candidate_step.validated",
        /// A candidate was moved to another step, forward or back.
        Moved = "candidate_step.moved",
        /// A candidate was rejected at a step.
        Rejected = "candidate_step.rejected",
        /// A rejected step was reopened.
        Reopened = "candidate_step.reopened",
        /// The last decision on an application was undone.
        Undone = "candidate_step.undone",
        /// A candidate was hired at a step.
        Hired = "candidate_step.hired",
        /// A hired candidate was rejected at a step.
        HireReversed = "candidate_step.hire_reversed",
        /// Staff opened an attachment of a candidate.
        AttachmentOpened = "document.opened",
        /// An organization's HR integration was created or changed.
        HrIntegrationPut = "hr_integration.put",
        /// An organization's HR integration was removed.
        HrIntegrationRemoved = "hr_integration.removed",
        /// An API key was created.
        ApiKeyCreated = "api_key.created",
        /// An API key was revoked.
        ApiKeyRevoked = "api_key.revoked",
        /// Requests were refused because their key had been revoked, had expired, or belonged to a disabled user.
        ApiKeyRefused = "api_key.refused",
        /// A user was created.
        UserCreated = "user.created",
        /// A user's address, name or platform role was changed, or the user was disabled or enabled.
        UserChanged = "user.changed",
        /// A user signed in.
        SignedIn = "session.signed_in",
        /// Sign-ins to a user's account failed.
        SignInFailed = "session.sign_in_failed",
        /// A user set up an authenticator app.
        TotpAdded = "totp.added",
        /// A user replaced the secret of their authenticator app.
        TotpReplaced = "totp.replaced",
        /// A user removed their authenticator app.
        TotpRemoved = "totp.removed",
        /// A user received new recovery codes.
        RecoveryCodesReplaced = "recovery_code.replaced",
        /// A user signed in, or confirmed an act, with a recovery code.
        RecoveryCodeUsed = "recovery_code.used",
        /// All second factors of a user who lost them were removed.
        SecondFactorsReset = "second_factor.reset",
        /// A user added a passkey.
        PasskeyAdded = "passkey.added",
        /// A user removed a passkey.
        PasskeyRemoved = "passkey.removed",
        /// A sign-in or a confirmation was refused because the passkey's signature counter did not increase, so a copy
        /// of the authenticator might exist.
        PasskeyCloneRefused = "passkey.clone_refused",
        /// A command was run on the database.
        CommandRan = "command.ran",
    }
}

/// Returns whether the act only read data, so pages do not report it as a change. `action` is the word of the act,
/// which this version of the program might not know.
pub fn is_reading(action: &str) -> bool {
    matches!(Action::parse(action), Some(Action::AttachmentOpened | Action::CandidateExported))
}

/// The subject of an activity row: an organization and its affected records, or no organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The affected organization; `None` for platform activity.
    pub organization_id: Option<OrganizationId>,
    /// The affected role.
    pub role_id: Option<RoleId>,
    /// The affected candidate.
    pub candidate_id: Option<CandidateId>,
    /// The affected application.
    pub candidate_role_id: Option<ApplicationId>,
    /// The affected candidate step.
    pub candidate_role_step_id: Option<CandidateStepId>,
}

impl Subject {
    /// Returns the subject of platform activity, which belongs to no organization.
    pub fn of_platform() -> Self {
        Self {
            organization_id: None,
            role_id: None,
            candidate_id: None,
            candidate_role_id: None,
            candidate_role_step_id: None,
        }
    }

    /// Returns the subject of an act on an organization.
    pub fn of_organization(organization_id: OrganizationId) -> Self {
        Self { organization_id: Some(organization_id), ..Self::of_platform() }
    }

    /// Returns the subject of an act on a role.
    pub fn of_role(organization_id: OrganizationId, role_id: RoleId) -> Self {
        Self { role_id: Some(role_id), ..Self::of_organization(organization_id) }
    }

    /// Returns the subject of an act on a candidate.
    pub fn of_candidate(organization_id: OrganizationId, candidate_id: CandidateId) -> Self {
        Self { candidate_id: Some(candidate_id), ..Self::of_organization(organization_id) }
    }
}

/// The random parts of a row: its id and the salt of its detail's digest.
#[derive(Clone)]
pub struct Stamp {
    /// The id of the new row.
    pub id: ActivityId,
    /// The salt of the detail's digest.
    pub salt: [u8; SALT_BYTES],
}

/// The hashed part of a row.
#[derive(Debug, Clone)]
pub struct ChainLink<'a> {
    /// The number of the row in the chain, starting at 1.
    pub number: i64,
    /// The row's id.
    pub id: &'a ActivityId,
    /// The time of the act.
    pub at: Timestamp,
    /// The action's word. It is a string, because a row from another version of the program can have an unknown word.
    pub action: &'a str,
    /// The user who acted; `None` for acts of candidates, strangers, commands and the service itself.
    pub user_id: Option<&'a UserId>,
    /// The API key that the user used, if any.
    pub api_key_id: Option<&'a ApiKeyId>,
    /// The affected records.
    pub subject: &'a Subject,
    /// The digest of the detail.
    pub detail_hash: &'a [u8; 32],
}

impl ChainLink<'_> {
    /// Returns the hash of this row; `previous` is the hash of the row before it. Each string is preceded by its
    /// length, so different rows never produce the same input to the hash function.
    pub fn hash(&self, previous: &[u8; 32]) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(previous);
        digest.update(self.number.to_be_bytes());
        digest.update(self.at.micros().to_be_bytes());
        let subject = self.subject;
        let columns = [
            Some(self.id.as_str()),
            subject.organization_id.as_ref().map(OrganizationId::as_str),
            Some(self.action),
            self.user_id.map(UserId::as_str),
            self.api_key_id.map(ApiKeyId::as_str),
            subject.role_id.as_ref().map(RoleId::as_str),
            subject.candidate_id.as_ref().map(CandidateId::as_str),
            subject.candidate_role_id.as_ref().map(ApplicationId::as_str),
            subject.candidate_role_step_id.as_ref().map(CandidateStepId::as_str),
        ];
        for column in columns {
            // A missing column gets a length that no string can have.
            let bytes = column.map_or(u64::MAX, |text| text.len() as u64);
            digest.update(bytes.to_be_bytes());
            digest.update(column.unwrap_or_default());
        }
        digest.update(self.detail_hash);
        digest.finalize().into()
    }
}

/// The head of the chain: the number and hash of the newest row. A person who has stored the head elsewhere can later
/// check that a database still contains this row, and therefore that the hashed part of every earlier row is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// The row's number; 0 for an empty chain.
    pub number: i64,
    /// The row's hash.
    pub hash: [u8; 32],
}

impl ChainHead {
    /// Parses `NUMBER:HASH`, with the hash in hexadecimal.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, hex) = text.split_once(':')?;
        let number = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())??;
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut hash = [0; 32];
        for (nth, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * nth..2 * nth + 2], 16).ok()?;
        }
        Some(Self { number, hash })
    }

    /// Returns the hash in hexadecimal.
    pub fn hash_text(&self) -> String {
        self.hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Display for ChainHead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.number, self.hash_text())
    }
}

/// Returns the salted digest of a detail, which represents the detail in the chain.
pub fn detail_hash(salt: &[u8; SALT_BYTES], detail: &str) -> [u8; 32] {
    Sha256::new().chain_update(salt).chain_update(detail).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    #[test]
    fn rows_that_differ_in_a_column_or_in_the_previous_hash_have_different_hashes() {
        let id = ActivityId::parse("act_1").unwrap();
        let user = UserId::parse("user_1").unwrap();
        let subject = Subject::of_organization(OrganizationId::parse("org_1").unwrap());
        let of_role = Subject { role_id: RoleId::parse("role_1"), ..subject.clone() };
        let of_candidate = Subject { candidate_id: CandidateId::parse("role_1"), ..subject.clone() };
        let link = ChainLink {
            number: 1,
            id: &id,
            at: Timestamp::from_micros(1),
            action: "role.created",
            user_id: Some(&user),
            api_key_id: None,
            subject: &subject,
            detail_hash: &CHAIN_START,
        };
        let other = detail_hash(&[0; SALT_BYTES], "{}");
        let mut hashes = vec![
            link.hash(&CHAIN_START),
            link.hash(&other),
            ChainLink { number: 2, ..link.clone() }.hash(&CHAIN_START),
            ChainLink { at: Timestamp::from_micros(2), ..link.clone() }.hash(&CHAIN_START),
            ChainLink { action: "role.opened", ..link.clone() }.hash(&CHAIN_START),
            ChainLink { user_id: None, ..link.clone() }.hash(&CHAIN_START),
            ChainLink { subject: &Subject::of_platform(), ..link.clone() }.hash(&CHAIN_START),
            ChainLink { subject: &of_role, ..link.clone() }.hash(&CHAIN_START),
            ChainLink { subject: &of_candidate, ..link.clone() }.hash(&CHAIN_START),
            ChainLink { detail_hash: &other, ..link.clone() }.hash(&CHAIN_START),
        ];
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 10);
    }

    #[test]
    fn opening_an_attachment_and_exporting_a_candidate_count_as_reading() {
        for (action, expected) in [
            ("document.opened", true),
            ("candidate.exported", true),
            ("candidate_step.moved", false),
            ("candidate_role.signed_up", false),
            ("note.of_another_version", false),
        ] {
            assert_eq!(is_reading(action), expected, "{action}");
        }
    }

    #[test]
    fn only_complete_chain_heads_are_parsed() {
        let head = ChainHead { number: 12, hash: [0xa7; 32] };
        assert_eq!(ChainHead::parse(&head.to_string()), Some(head));
        assert_eq!(ChainHead::parse(&head.to_string().to_uppercase()), Some(head));
        let hash = "a7".repeat(32);
        for text in ["", "12", ":", "12:", &hash, &format!("-1:{hash}"), &format!("12:{hash}0"), &format!("x:{hash}")] {
            assert_eq!(ChainHead::parse(text), None, "{text}");
        }
        assert_eq!(ChainHead::parse(&format!("12:{}", "zz".repeat(32))), None);
    }

    #[test]
    fn the_digest_of_a_detail_depends_on_the_detail_and_its_salt() {
        assert_ne!(detail_hash(&[1; SALT_BYTES], "{}"), detail_hash(&[2; SALT_BYTES], "{}"));
        assert_ne!(detail_hash(&[1; SALT_BYTES], "{}"), detail_hash(&[1; SALT_BYTES], "{ }"));
    }
}
