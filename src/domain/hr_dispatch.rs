//! The order of attempts across all organizations. Targets that hang must never delay the deliveries of other
//! organizations.

use super::id::OrganizationId;
use super::timestamp::Timestamp;

/// The maximum number of concurrent attempts across all organizations. Each attempt uses a connection and about 100 KiB
/// of memory.
pub const ATTEMPTS_MAX: usize = 256;

/// The maximum number of concurrent attempts for suspect organizations, whose last attempt timed out. The remaining
/// attempts are reserved for healthy organizations, however many targets hang.
pub const SUSPECT_ATTEMPTS_MAX: usize = 128;

/// An organization with a due delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueOrganization {
    /// The organization whose delivery is due.
    pub organization_id: OrganizationId,
    /// The time since which the delivery has been due.
    pub since: Timestamp,
    /// Whether the organization's last attempt timed out.
    pub is_suspect: bool,
}

/// Chooses the organizations that get the next attempts, from those that are due and have no running attempt. Healthy
/// organizations come first; within each group, the longest wait comes first. `running` is the number of running
/// attempts, and `suspects_running` is the number of those for suspect organizations.
pub fn next_organizations(
    mut due: Vec<DueOrganization>,
    running: usize,
    suspects_running: usize,
) -> Vec<DueOrganization> {
    due.sort_by_key(|organization| (organization.is_suspect, organization.since));
    let mut suspects_left = SUSPECT_ATTEMPTS_MAX.saturating_sub(suspects_running);
    due.retain(|organization| {
        let is_chosen = !organization.is_suspect || suspects_left > 0;
        suspects_left -= usize::from(organization.is_suspect && is_chosen);
        is_chosen
    });
    due.truncate(ATTEMPTS_MAX.saturating_sub(running));
    due
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    fn due(name: &str, since: i64, is_suspect: bool) -> DueOrganization {
        let organization_id = OrganizationId::parse(name).unwrap();
        DueOrganization { organization_id, since: Timestamp::from_micros(since), is_suspect }
    }

    #[test]
    fn healthy_organizations_and_longer_waits_come_first() {
        let chosen = next_organizations(
            vec![due("a", 1, true), due("b", 3, false), due("c", 2, false), due("d", 0, true)],
            0,
            0,
        );
        let names: Vec<&str> = chosen.iter().map(|organization| organization.organization_id.as_str()).collect();
        assert_eq!(names, ["c", "b", "d", "a"]);
    }

    #[test]
    fn suspect_organizations_never_use_the_attempts_reserved_for_healthy_organizations() {
        let suspects = || (0..200).map(|nth| due(&format!("s{nth}"), nth, true));
        let healthy = || (0..300).map(|nth| due(&format!("h{nth}"), 1_000 + nth, false));
        let count = |chosen: &[DueOrganization]| {
            let suspects = chosen.iter().filter(|organization| organization.is_suspect).count();
            (chosen.len() - suspects, suspects)
        };
        assert_eq!(count(&next_organizations(suspects().collect(), 0, 0)), (0, 128));
        assert_eq!(count(&next_organizations(suspects().collect(), 128, 128)), (0, 0));
        assert_eq!(count(&next_organizations(suspects().collect(), 130, 100)), (0, 28));
        assert_eq!(count(&next_organizations(suspects().chain(healthy()).collect(), 0, 0)), (256, 0));
        assert_eq!(count(&next_organizations(suspects().chain(healthy()).collect(), 128, 128)), (128, 0));
        assert_eq!(count(&next_organizations(healthy().collect(), 256, 0)), (0, 0));
    }
}
