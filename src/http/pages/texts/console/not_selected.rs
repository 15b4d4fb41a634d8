//! The texts of the list of candidates who were not selected.

use super::ByLanguage;

pub(in crate::http) struct NotSelectedTexts {
    /// The title: `{role}`.
    pub(in crate::http) title: &'static str,
    pub(in crate::http) board: &'static str,
    /// The step of a rejection, and the user who decided: `{step}`, `{who}`.
    pub(in crate::http) at_by: &'static str,
    pub(in crate::http) none: &'static str,
    pub(in crate::http) none_more: &'static str,
    pub(in crate::http) first_page: &'static str,
    pub(in crate::http) next_page: &'static str,
}

pub(in crate::http) static NOT_SELECTED: ByLanguage<NotSelectedTexts> = ByLanguage {
    en: NotSelectedTexts {
        title: "Not selected: {role}",
        board: "Back to the board",
        at_by: "{step}, by {who}",
        none: "Nobody has been rejected",
        none_more: "Candidates whom you reject appear here, with the reason.",
        first_page: "First page",
        next_page: "Next page",
    },
    de: NotSelectedTexts {
        title: "Abgelehnt: {role}",
        board: "Zurück zur Übersicht",
        at_by: "{step}, von {who}",
        none: "Noch keine Absagen",
        none_more: "Personen, die Sie ablehnen, erscheinen hier mit dem Grund.",
        first_page: "Erste Seite",
        next_page: "Nächste Seite",
    },
    fr: NotSelectedTexts {
        title: "Non retenus\u{a0}: {role}",
        board: "Retour au tableau",
        at_by: "{step}, par {who}",
        none: "Aucun refus pour l’instant",
        none_more: "Les personnes refusées apparaissent ici, avec le motif.",
        first_page: "Première page",
        next_page: "Page suivante",
    },
    es: NotSelectedTexts {
        title: "No seleccionados: {role}",
        board: "Volver al tablero",
        at_by: "{step}, por {who}",
        none: "Todavía no hay rechazos",
        none_more: "Las personas que rechace aparecen aquí, con el motivo.",
        first_page: "Primera página",
        next_page: "Página siguiente",
    },
};
