//! Activities: what was done, and the chain that shows that none of it was changed afterwards.
//!
//! Each row carries the SHA-256 (FIPS 180-4) of itself and of the row before. The detail of a row may hold personal data,
//! so the chain has only its digest behind a random salt: where detail and salt are erased, the chain stays whole and the
//! digest tells nothing.

use sha2::{Digest, Sha256};

use super::id::{ActivityId, ApiKeyId, ApplicationId, CandidateId, CandidateStepId, OrganizationId, RoleId, UserId};
use super::timestamp::Timestamp;
use super::words::words;

/// Bytes of the salt of a detail's digest: as many as nobody can guess.
pub const SALT_BYTES: usize = 16;

/// The hash before the first row.
pub const CHAIN_START: [u8; 32] = [0; 32];

words! {
    /// What was done.
    Action {
        /// An organization was made.
        OrganizationCreated = "organization.created",
        /// Its settings were changed.
        OrganizationChanged = "organization.changed",
        /// It was given a logo.
        LogoPut = "logo.put",
        /// Its logo was taken away.
        LogoRemoved = "logo.removed",
        /// An admin confirmed whom its retention erases, or the clock.
        RetentionConfirmed = "retention.confirmed",
        /// A user became a member, or another kind of one.
        MembershipPut = "membership.put",
        /// A user is no member any more.
        MembershipRemoved = "membership.removed",
        /// A role was made, as a draft.
        RoleCreated = "role.created",
        /// A role was changed, its positions too.
        RoleChanged = "role.changed",
        /// A draft was opened.
        RoleOpened = "role.opened",
        /// A role was closed.
        RoleClosed = "role.closed",
        /// A closed role was opened again.
        RoleReopened = "role.reopened",
        /// A draft was deleted.
        RoleDeleted = "role.deleted",
        /// A step was added to a role's pipeline.
        RoleStepAdded = "role_step.added",
        /// A step of the pipeline was changed.
        RoleStepChanged = "role_step.changed",
        /// The steps of the pipeline were put in another order.
        RoleStepsReordered = "role_step.reordered",
        /// A step was taken out of the pipeline.
        RoleStepRemoved = "role_step.removed",
        /// A candidate was added.
        CandidateAdded = "candidate.added",
        /// A candidate's name or address was changed.
        CandidateChanged = "candidate.changed",
        /// A candidate's data was handed out.
        CandidateExported = "candidate.exported",
        /// A candidate is held: not erased, whatever the retention says.
        CandidateHeld = "candidate.held",
        /// A candidate is not held any more.
        CandidateReleased = "candidate.released",
        /// A candidate who is held, or whose hire they cannot see yet, asked for their data to be erased.
        CandidateErasureAsked = "candidate.erasure_asked",
        /// A candidate's personal data was erased.
        CandidateErased = "candidate.erased",
        /// A candidate applied to a role.
        CandidateRoleAdded = "candidate_role.added",
        /// A new link was made to the page where an application's candidate sees where they stand.
        StatusLinkIssued = "candidate_role.status_link_issued",
        /// What a candidate applied with was deleted, because they wanted it.
        CandidateRoleSignupDeleted = "candidate_role.signup_deleted",
        /// Whoever applied under the address of a candidate who is held wanted what they sent deleted; or a candidate did
        /// whose hire they cannot see yet. It is kept for now.
        CandidateRoleDeletionAsked = "candidate_role.deletion_asked",
        /// A candidate applied to a role by themselves.
        CandidateRoleSignedUp = "candidate_role.signed_up",
        /// Somebody applied under the address of a candidate who had applied to the role, which changed nothing.
        CandidateRoleSignedUpAgain = "candidate_role.signed_up_again",
        /// An application was withdrawn.
        CandidateRoleWithdrawn = "candidate_role.withdrawn",
        /// A candidate passed a step.
        Validated = "candidate_step.validated",
        /// A candidate was rejected at a step.
        Rejected = "candidate_step.rejected",
        /// A rejection was undone.
        Reopened = "candidate_step.reopened",
        /// A candidate was hired at a step.
        Hired = "candidate_step.hired",
        /// A candidate who was hired was rejected at a step.
        HireReversed = "candidate_step.hire_reversed",
        /// Staff opened an attachment of a candidate.
        DocumentOpened = "document.opened",
        /// An organization was given an HR integration, or another one.
        HrIntegrationPut = "hr_integration.put",
        /// An organization's HR integration was taken away.
        HrIntegrationRemoved = "hr_integration.removed",
        /// A key was made.
        ApiKeyCreated = "api_key.created",
        /// A key was revoked.
        ApiKeyRevoked = "api_key.revoked",
        /// Requests were refused because their key is revoked, has expired, or acts as a user who is disabled.
        ApiKeyRefused = "api_key.refused",
        /// A user was made.
        UserCreated = "user.created",
        /// A user's address, name or platform role was changed, or they were disabled or enabled.
        UserChanged = "user.changed",
        /// A user signed in.
        SignedIn = "session.signed_in",
        /// Sign-ins to a user's account failed.
        SignInFailed = "session.sign_in_failed",
        /// A command was run on the file.
        CommandRan = "command.ran",
    }
}

/// What something was done to: an organization and whatever of it is concerned, or the appliance itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The organization; none where it was done to the appliance.
    pub organization_id: Option<OrganizationId>,
    /// The role.
    pub role_id: Option<RoleId>,
    /// The candidate.
    pub candidate_id: Option<CandidateId>,
    /// The candidate's application.
    pub candidate_role_id: Option<ApplicationId>,
    /// The application's step.
    pub candidate_role_step_id: Option<CandidateStepId>,
}

impl Subject {
    /// The appliance: platform activity.
    pub fn of_platform() -> Self {
        Self {
            organization_id: None,
            role_id: None,
            candidate_id: None,
            candidate_role_id: None,
            candidate_role_step_id: None,
        }
    }

    /// The organization itself.
    pub fn of_organization(organization_id: OrganizationId) -> Self {
        Self { organization_id: Some(organization_id), ..Self::of_platform() }
    }

    /// One of its roles.
    pub fn of_role(organization_id: OrganizationId, role_id: RoleId) -> Self {
        Self { role_id: Some(role_id), ..Self::of_organization(organization_id) }
    }

    /// One of its candidates.
    pub fn of_candidate(organization_id: OrganizationId, candidate_id: CandidateId) -> Self {
        Self { candidate_id: Some(candidate_id), ..Self::of_organization(organization_id) }
    }
}

/// What is new about each row: its id and the salt of its detail's digest.
#[derive(Clone)]
pub struct Stamp {
    /// The row's id.
    pub id: ActivityId,
    /// The salt.
    pub salt: [u8; SALT_BYTES],
}

/// One row as the chain sees it.
#[derive(Debug, Clone)]
pub struct ChainLink<'a> {
    /// The order in which it happened, from 1.
    pub number: i64,
    /// The row's id.
    pub id: &'a ActivityId,
    /// When.
    pub at: Timestamp,
    /// What was done, as it is spelled: a word of an older program stays what it was.
    pub action: &'a str,
    /// By whom; nobody where the service did it by itself.
    pub user_id: Option<&'a UserId>,
    /// With which key.
    pub api_key_id: Option<&'a ApiKeyId>,
    /// To what.
    pub subject: &'a Subject,
    /// The digest of its detail.
    pub detail_hash: &'a [u8; 32],
}

impl ChainLink<'_> {
    /// The hash of this row behind the one with the hash `previous`. Every column is told with its length, so no two rows
    /// read the same.
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
            // A column that is not there has no length, and no text has this one.
            let bytes = column.map_or(u64::MAX, |text| text.len() as u64);
            digest.update(bytes.to_be_bytes());
            digest.update(column.unwrap_or_default());
        }
        digest.update(self.detail_hash);
        digest.finalize().into()
    }
}

/// The head of the chain: the number and the hash of its last row. Whoever noted it can show later that a file still has
/// the row, and so every row before it as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// The row's number; 0 where there is none yet.
    pub number: i64,
    /// The row's hash.
    pub hash: [u8; 32],
}

impl ChainHead {
    /// The head that a text is: `NUMBER:HASH`, the hash in hexadecimal.
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

    /// The hash in hexadecimal.
    pub fn hash_text(&self) -> String {
        self.hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Display for ChainHead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.number, self.hash_text())
    }
}

/// The digest of a detail, which is all of it that the chain has.
pub fn detail_hash(salt: &[u8; SALT_BYTES], detail: &str) -> [u8; 32] {
    Sha256::new().chain_update(salt).chain_update(detail).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    #[test]
    fn a_hash_depends_on_every_column_and_on_the_row_before() {
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
    fn a_head_reads_back_and_nothing_else_does() {
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
    fn a_detail_without_its_salt_tells_nothing() {
        assert_ne!(detail_hash(&[1; SALT_BYTES], "{}"), detail_hash(&[2; SALT_BYTES], "{}"));
        assert_ne!(detail_hash(&[1; SALT_BYTES], "{}"), detail_hash(&[1; SALT_BYTES], "{ }"));
    }
}
