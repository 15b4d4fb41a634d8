//! English.

use super::{Careers, Common, Signup, Status, Texts};

pub(super) static TEXTS: Texts = Texts {
    tag: "en",
    own_name: "English",
    common: Common {
        skip: "Skip to the content",
        language: "Language",
        privacy: "Privacy notice",
        all_roles: "All roles at {organization}",
        not_found: "This page is not here",
        failed: "Something went wrong",
        ask: "If you ask about it, give this number: {number}",
    },
    careers: Careers {},
    signup: Signup {},
    status: Status {},
};
