//! German.

use super::{Careers, Common, Signup, Status, Texts};

pub(super) static TEXTS: Texts = Texts {
    tag: "de",
    own_name: "Deutsch",
    common: Common {
        skip: "Zum Inhalt springen",
        language: "Sprache",
        privacy: "Hinweise zum Datenschutz",
        all_roles: "Alle Stellen bei {organization}",
        not_found: "Diese Seite gibt es nicht",
        failed: "Etwas ist schiefgegangen",
        ask: "Wenn Sie deswegen nachfragen, nennen Sie bitte diese Nummer: {number}",
    },
    careers: Careers {},
    signup: Signup {},
    status: Status {},
};
