//! The rule behind the "delete" button of a status page. The rule decides whether to remove the page, to delete its
//! signup, to withdraw its application and to erase the candidate.
//!
//! A link proves a connection only to its own application or signup, because a stranger might have signed up under the
//! same address. Therefore, the candidate is erased only if they have no other records. Otherwise, the other records
//! stay, because they might be another person's.

use crate::domain::activity::Action;

/// The facts about the candidate of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidateFacts {
    /// Whether a legal hold prevents the erasure.
    pub is_held: bool,
    /// Whether an activity row already records that the holder of the page asked for the erasure.
    pub has_asked: bool,
    /// Whether the candidate has another application that has a status page, or whose deletion nobody has requested
    /// through a link. For the page of an application, all applications but that one are other applications. For the
    /// page of a later signup, all applications are. The page of a later signup counts as a page of its application,
    /// unless it is the page of this deletion.
    pub has_other_records: bool,
    /// Whether the candidate has a hire that they cannot see yet.
    pub has_hidden_hire: bool,
}

/// The facts about the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionFacts {
    /// The page of an application.
    Application {
        /// Whether the service treats the holder of the link as the candidate.
        is_trusted: bool,
        /// Whether the application is in progress.
        is_in_progress: bool,
        /// The facts about the candidate.
        candidate: CandidateFacts,
    },
    /// The page of a later signup, with the candidate who applied under the same address. `None` if that candidate was
    /// erased.
    LaterSignup(Option<CandidateFacts>),
}

/// The decision about the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateOutcome {
    /// The candidate stays.
    Stays,
    /// The deletion is decided again ([`plan_deferred`]) when none of the candidate's hires is hidden any longer.
    ErasureDeferred,
    /// The candidate is erased, with all their applications, signups and pages.
    Erased,
}

/// The answer to the holder of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionAnswer {
    /// The link is spent.
    Done,
    /// A legal hold prevents the deletion. The page stays.
    Held,
}

/// The changes that a deletion makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletionPlan {
    /// Whether the application is withdrawn.
    pub withdraws_application: bool,
    /// Whether the page is removed.
    pub removes_page: bool,
    /// Whether the signup of the page, if any, and the stored responses about the candidate are deleted.
    pub deletes_signup: bool,
    /// The decision about the candidate.
    pub candidate: CandidateOutcome,
    /// The action of the activity row that records the deletion, if there is one.
    pub recorded: Option<Action>,
    /// The answer to the holder of the page.
    pub answer: DeletionAnswer,
}

/// `POST /status/{token}/delete`: plans a deletion by the holder of a link.
///
/// Only a trusted page reports that a legal hold prevents the deletion. Any other page disappears as it would without
/// the hold, so that a stranger who knows an address learns nothing. A page also disappears if the candidate has a
/// hidden hire, because a refusal would reveal the hire.
pub fn plan_deletion(facts: DeletionFacts) -> DeletionPlan {
    match facts {
        DeletionFacts::Application { is_trusted: true, candidate, .. } if candidate.is_held => DeletionPlan {
            recorded: (!candidate.has_asked).then_some(Action::CandidateErasureAsked),
            answer: DeletionAnswer::Held,
            ..NOTHING
        },
        DeletionFacts::Application { is_in_progress, candidate, .. } if candidate.is_held => {
            remove_page(is_in_progress, CandidateOutcome::Stays)
        }
        DeletionFacts::Application { is_in_progress, candidate, .. } if candidate.has_other_records => {
            delete_application(is_in_progress)
        }
        DeletionFacts::Application { is_in_progress, candidate, .. } if candidate.has_hidden_hire => {
            remove_page(is_in_progress, CandidateOutcome::ErasureDeferred)
        }
        DeletionFacts::Application { .. } => ERASURE,
        DeletionFacts::LaterSignup(Some(candidate)) if candidate.is_held => {
            DeletionPlan { removes_page: true, ..NOTHING }
        }
        DeletionFacts::LaterSignup(Some(candidate)) if !candidate.has_other_records => {
            match candidate.has_hidden_hire {
                true => DeletionPlan {
                    candidate: CandidateOutcome::ErasureDeferred,
                    recorded: Some(Action::CandidateErasureAsked),
                    ..LATER_SIGNUP
                },
                false => DeletionPlan { candidate: CandidateOutcome::Erased, ..LATER_SIGNUP },
            }
        }
        DeletionFacts::LaterSignup(_) => LATER_SIGNUP,
    }
}

/// Decides again, from the current facts, on a deletion that was deferred because of a hidden hire. `application`
/// states whether the application of the page is in progress. `application` is `None` for the page of a later signup.
pub fn plan_deferred(application: Option<bool>, has_other_records: bool) -> DeletionPlan {
    match application {
        _ if !has_other_records => ERASURE,
        Some(is_in_progress) => delete_application(is_in_progress),
        None => NOTHING,
    }
}

/// Decides on a deletion that is repeated on an older copy of the file. The candidate stays, because the erasure list
/// names erased candidates separately. `application` is as in [`plan_deferred`].
pub fn plan_repetition(application: Option<bool>) -> DeletionPlan {
    application.map_or(LATER_SIGNUP, delete_application)
}

/// The plan that erases the candidate. The erasure includes everything else that a deletion removes.
const ERASURE: DeletionPlan = DeletionPlan { candidate: CandidateOutcome::Erased, ..NOTHING };

/// The plan that deletes the later signup and its page. The application and its candidate do not change.
const LATER_SIGNUP: DeletionPlan = DeletionPlan { removes_page: true, deletes_signup: true, ..NOTHING };

const NOTHING: DeletionPlan = DeletionPlan {
    withdraws_application: false,
    removes_page: false,
    deletes_signup: false,
    candidate: CandidateOutcome::Stays,
    recorded: None,
    answer: DeletionAnswer::Done,
};

/// Returns the plan that removes the page. The application's data stays for now.
fn remove_page(is_in_progress: bool, candidate: CandidateOutcome) -> DeletionPlan {
    DeletionPlan {
        withdraws_application: is_in_progress,
        removes_page: true,
        candidate,
        recorded: Some(Action::CandidateRoleDeletionAsked),
        ..NOTHING
    }
}

/// Returns the plan that deletes the page and the signup. The candidate stays.
fn delete_application(is_in_progress: bool) -> DeletionPlan {
    DeletionPlan {
        withdraws_application: is_in_progress,
        removes_page: true,
        deletes_signup: true,
        recorded: Some(Action::CandidateRoleSignupDeleted),
        ..NOTHING
    }
}

/// The name and address of a signup or a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameAndEmail<'a> {
    /// The name.
    pub name: &'a str,
    /// The address as it was typed.
    pub email: &'a str,
}

/// Returns the new name and address of a candidate after the deletion of a signup. A candidate with the name and
/// address of that signup gets the name and address of `remaining`, the first remaining signup under the candidate's
/// address. Returns `None` if nothing changes.
pub fn rename_after_deletion<'a>(
    candidate: NameAndEmail<'_>,
    deleted: NameAndEmail<'_>,
    remaining: Option<NameAndEmail<'a>>,
) -> Option<NameAndEmail<'a>> {
    remaining.filter(|remaining| candidate == deleted && *remaining != deleted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: CandidateFacts =
        CandidateFacts { is_held: false, has_asked: false, has_other_records: false, has_hidden_hire: false };
    const HELD: CandidateFacts = CandidateFacts { is_held: true, ..FREE };
    const WITH_OTHER_RECORDS: CandidateFacts = CandidateFacts { has_other_records: true, ..FREE };
    const HIRED: CandidateFacts = CandidateFacts { has_hidden_hire: true, ..FREE };

    fn application(is_trusted: bool, is_in_progress: bool, candidate: CandidateFacts) -> DeletionFacts {
        DeletionFacts::Application { is_trusted, is_in_progress, candidate }
    }

    #[test]
    fn the_deletion_of_an_application_depends_on_legal_holds_other_records_and_hidden_hires() {
        for is_in_progress in [true, false] {
            let removed = |candidate| DeletionPlan {
                withdraws_application: is_in_progress,
                removes_page: true,
                candidate,
                recorded: Some(Action::CandidateRoleDeletionAsked),
                ..NOTHING
            };
            let deleted = DeletionPlan {
                withdraws_application: is_in_progress,
                removes_page: true,
                deletes_signup: true,
                recorded: Some(Action::CandidateRoleSignupDeleted),
                ..NOTHING
            };
            let refused = |recorded| DeletionPlan { recorded, answer: DeletionAnswer::Held, ..NOTHING };
            let asked = CandidateFacts { has_asked: true, ..HELD };
            let held_with_all = CandidateFacts { has_other_records: true, has_hidden_hire: true, ..HELD };
            let both = CandidateFacts { has_other_records: true, has_hidden_hire: true, ..FREE };
            for (is_trusted, candidate, plan) in [
                (true, HELD, refused(Some(Action::CandidateErasureAsked))),
                (true, held_with_all, refused(Some(Action::CandidateErasureAsked))),
                (true, asked, refused(None)),
                (false, HELD, removed(CandidateOutcome::Stays)),
                (false, asked, removed(CandidateOutcome::Stays)),
                (false, held_with_all, removed(CandidateOutcome::Stays)),
                (true, WITH_OTHER_RECORDS, deleted),
                (false, WITH_OTHER_RECORDS, deleted),
                (true, both, deleted),
                (true, HIRED, removed(CandidateOutcome::ErasureDeferred)),
                (false, HIRED, removed(CandidateOutcome::ErasureDeferred)),
                (true, FREE, ERASURE),
                (false, FREE, ERASURE),
            ] {
                let facts = application(is_trusted, is_in_progress, candidate);
                assert_eq!(plan_deletion(facts), plan, "{facts:?}");
            }
        }
    }

    #[test]
    fn deleting_a_later_signup_erases_the_candidate_only_if_nothing_else_is_left() {
        let later = |candidate, recorded| DeletionPlan { candidate, recorded, ..LATER_SIGNUP };
        for (candidate, plan) in [
            (None, later(CandidateOutcome::Stays, None)),
            (Some(WITH_OTHER_RECORDS), later(CandidateOutcome::Stays, None)),
            (
                Some(CandidateFacts { has_hidden_hire: true, ..WITH_OTHER_RECORDS }),
                later(CandidateOutcome::Stays, None),
            ),
            (Some(HIRED), later(CandidateOutcome::ErasureDeferred, Some(Action::CandidateErasureAsked))),
            (Some(FREE), later(CandidateOutcome::Erased, None)),
            (Some(HELD), DeletionPlan { removes_page: true, ..NOTHING }),
        ] {
            assert_eq!(plan_deletion(DeletionFacts::LaterSignup(candidate)), plan, "{candidate:?}");
        }
    }

    #[test]
    fn a_deferred_deletion_erases_the_candidate_unless_they_have_other_records() {
        for (application, has_other_records, plan) in [
            (Some(true), false, ERASURE),
            (None, false, ERASURE),
            (Some(true), true, delete_application(true)),
            (Some(false), true, delete_application(false)),
            (None, true, NOTHING),
        ] {
            assert_eq!(plan_deferred(application, has_other_records), plan, "{application:?}, {has_other_records}");
        }
    }

    #[test]
    fn a_repeated_deletion_does_not_erase_the_candidate() {
        assert_eq!(plan_repetition(Some(true)), delete_application(true));
        assert_eq!(plan_repetition(None), LATER_SIGNUP);
    }

    #[test]
    fn a_candidate_with_the_name_from_a_deleted_signup_gets_the_name_from_the_first_remaining_signup() {
        let typed = |name, email| NameAndEmail { name, email };
        let (ada, bob) = (typed("Ada", "a@example.org"), typed("Bob", "a@example.org"));
        let spelled_differently = typed("Ada", "A@example.org");
        for (candidate, deleted, remaining, renamed) in [
            (ada, ada, Some(bob), Some(bob)),
            (ada, ada, Some(spelled_differently), Some(spelled_differently)),
            (ada, ada, Some(ada), None),
            (ada, ada, None, None),
            (bob, ada, Some(bob), None),
            (spelled_differently, ada, Some(bob), None),
        ] {
            assert_eq!(rename_after_deletion(candidate, deleted, remaining), renamed, "{candidate:?} {remaining:?}");
        }
    }
}
