//! French.

use super::{Careers, Common, Signup, Status, Texts};

pub(super) static TEXTS: Texts = Texts {
    tag: "fr",
    own_name: "Français",
    common: Common {
        skip: "Aller au contenu",
        language: "Langue",
        privacy: "Protection des données personnelles",
        all_roles: "Tous les postes chez {organization}",
        not_found: "Cette page n’existe pas",
        failed: "Une erreur s’est produite",
        ask: "Si vous nous contactez à ce sujet, indiquez ce numéro : {number}",
    },
    careers: Careers {},
    signup: Signup {},
    status: Status {},
};
