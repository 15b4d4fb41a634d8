//! The texts of the inbox, the console's first page.

use super::ByLanguage;
use crate::http::pages::texts::Counted;

pub(in crate::http) struct HomeTexts {
    pub(in crate::http) none: &'static str,
    /// The advice for a user who belongs to no organization.
    pub(in crate::http) none_more: &'static str,
    /// The link to the portal of an organization.
    pub(in crate::http) portal: &'static str,
    /// The link to the roles of an organization.
    pub(in crate::http) roles: &'static str,
    /// The heading of the open roles with candidates.
    pub(in crate::http) to_review: &'static str,
    /// The numbers of candidates at the first step of a role, at its other steps, and at the same step for more than 10
    /// days. Candidates who are put aside do not count.
    pub(in crate::http) new: Counted,
    pub(in crate::http) in_review: Counted,
    pub(in crate::http) overdue: Counted,
    /// The heading of the candidates who withdrew in the last 14 days.
    pub(in crate::http) withdrew: &'static str,
    /// The message if nobody is waiting for a decision, and the hint below it.
    pub(in crate::http) nothing: &'static str,
    pub(in crate::http) nothing_more: &'static str,
}

pub(in crate::http) static HOME: ByLanguage<HomeTexts> = ByLanguage {
    en: HomeTexts {
        none: "You are not a member of any organization yet",
        none_more: "Ask an owner or an admin of your organization to add you.",
        portal: "Career page",
        roles: "All roles",
        to_review: "To review",
        new: Counted { one: "{count} new", many: "{count} new" },
        in_review: Counted { one: "{count} in review", many: "{count} in review" },
        overdue: Counted { one: "{count} waiting for over 10 days", many: "{count} waiting for over 10 days" },
        withdrew: "Withdrew in the last 14 days",
        nothing: "Nobody is waiting for a decision.",
        nothing_more: "New candidates for open roles appear here.",
    },
    de: HomeTexts {
        none: "Sie gehören noch keinem Unternehmen an",
        none_more: "Bitten Sie einen Eigentümer oder Admin Ihres Unternehmens, Sie hinzuzufügen.",
        portal: "Karriereseite",
        roles: "Alle Stellen",
        to_review: "Zu prüfen",
        new: Counted { one: "{count} neu", many: "{count} neu" },
        in_review: Counted { one: "{count} in Prüfung", many: "{count} in Prüfung" },
        overdue: Counted { one: "{count} wartet seit über 10 Tagen", many: "{count} warten seit über 10 Tagen" },
        withdrew: "In den letzten 14 Tagen zurückgezogen",
        nothing: "Niemand wartet auf eine Entscheidung.",
        nothing_more: "Neue Bewerbungen auf offene Stellen erscheinen hier.",
    },
    fr: HomeTexts {
        none: "Vous n’êtes pas encore membre d’une organisation",
        none_more: "Demandez à un propriétaire ou à un administrateur de votre organisation de vous ajouter.",
        portal: "Page de recrutement",
        roles: "Tous les postes",
        to_review: "À examiner",
        new: Counted { one: "{count} nouvelle", many: "{count} nouvelles" },
        in_review: Counted { one: "{count} en cours d’examen", many: "{count} en cours d’examen" },
        overdue: Counted {
            one: "{count} attend depuis plus de 10 jours",
            many: "{count} attendent depuis plus de 10 jours",
        },
        withdrew: "Candidatures retirées ces 14 derniers jours",
        nothing: "Personne n’attend de décision.",
        nothing_more: "Les nouvelles candidatures aux postes ouverts apparaissent ici.",
    },
    es: HomeTexts {
        none: "Todavía no es miembro de ninguna organización",
        none_more: "Pida a un propietario o administrador de su organización que le añada.",
        portal: "Página de empleo",
        roles: "Todos los puestos",
        to_review: "Por revisar",
        new: Counted { one: "{count} nueva", many: "{count} nuevas" },
        in_review: Counted { one: "{count} en revisión", many: "{count} en revisión" },
        overdue: Counted {
            one: "{count} lleva más de 10 días en espera",
            many: "{count} llevan más de 10 días en espera",
        },
        withdrew: "Candidaturas retiradas en los últimos 14 días",
        nothing: "Nadie espera una decisión.",
        nothing_more: "Las nuevas candidaturas a puestos abiertos aparecen aquí.",
    },
};
