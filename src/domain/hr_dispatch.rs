//! Whose turn it is to be delivered to: the rule by which hanging targets never delay others.

use super::id::OrganizationId;
use super::timestamp::Timestamp;

/// Attempts under way at once, over all organizations: each holds a connection and some 100 KiB.
pub const ATTEMPTS_MAX: usize = 256;

/// How many of those may be for organizations whose last attempt timed out: the rest stays free for the healthy ones,
/// however many targets hang.
pub const SUSPECT_ATTEMPTS_MAX: usize = 128;

/// An organization with a delivery that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueOrganization {
    /// The organization.
    pub organization_id: OrganizationId,
    /// Since when.
    pub since: Timestamp,
    /// Whether its last attempt timed out.
    pub is_suspect: bool,
}

/// Whose turn it is, of those that are due and have no attempt under way: whoever has waited longest, and suspects
/// after all others. `under_way` and `suspects_under_way` are the attempts that have not ended.
pub fn next_organizations(
    mut due: Vec<DueOrganization>,
    under_way: usize,
    suspects_under_way: usize,
) -> Vec<DueOrganization> {
    due.sort_by_key(|one| (one.is_suspect, one.since));
    let mut suspects_left = SUSPECT_ATTEMPTS_MAX.saturating_sub(suspects_under_way);
    due.retain(|one| {
        let may = !one.is_suspect || suspects_left > 0;
        suspects_left -= usize::from(one.is_suspect && may);
        may
    });
    due.truncate(ATTEMPTS_MAX.saturating_sub(under_way));
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
    fn whoever_waited_longest_is_first_and_suspects_come_after_all_others() {
        let chosen = next_organizations(
            vec![due("a", 1, true), due("b", 3, false), due("c", 2, false), due("d", 0, true)],
            0,
            0,
        );
        let names: Vec<&str> = chosen.iter().map(|one| one.organization_id.as_str()).collect();
        assert_eq!(names, ["c", "b", "d", "a"]);
    }

    #[test]
    fn suspects_never_take_the_places_of_the_healthy() {
        let suspects = || (0..200).map(|nth| due(&format!("s{nth}"), nth, true));
        let healthy = || (0..300).map(|nth| due(&format!("h{nth}"), 1_000 + nth, false));
        let count = |chosen: &[DueOrganization]| {
            let suspects = chosen.iter().filter(|one| one.is_suspect).count();
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
