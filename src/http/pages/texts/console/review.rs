//! The texts of the review queue.

use super::ByLanguage;
use crate::http::pages::texts::Counted;

pub(in crate::http) struct ReviewTexts {
    pub(in crate::http) queue: &'static str,
    /// The position: `{number}` of `{count}`.
    pub(in crate::http) of: &'static str,
    /// The time of the application: `{when}`.
    pub(in crate::http) applied: &'static str,
    /// The words for a decision on an application in the list: advanced, moved, rejected, hired, withdrawn, put aside.
    pub(in crate::http) decided: [&'static str; 6],
    /// The note in the list about a decision by somebody else: `{what}`, `{who}`.
    pub(in crate::http) decided_by: &'static str,
    /// The notice about a decision that somebody else has made since the queue began: `{what}`, `{who}`, `{when}`.
    pub(in crate::http) decided_meanwhile: &'static str,
    pub(in crate::http) none: &'static str,
    pub(in crate::http) none_more: &'static str,
    pub(in crate::http) all_done: &'static str,
    pub(in crate::http) seen: Counted,
    pub(in crate::http) begin_again: &'static str,
    pub(in crate::http) more: Counted,
    pub(in crate::http) no_file: &'static str,
    pub(in crate::http) others: &'static str,
    pub(in crate::http) next: &'static str,
    pub(in crate::http) previous: &'static str,
    pub(in crate::http) whole: &'static str,
}

pub(in crate::http) static REVIEW: ByLanguage<ReviewTexts> = ByLanguage {
    en: ReviewTexts {
        queue: "Queue",
        of: "{number} of {count}",
        applied: "applied {when}",
        decided: ["advanced", "moved", "rejected", "hired", "withdrawn", "put aside"],
        decided_by: "{what} by {who}",
        decided_meanwhile: "Somebody was faster: {what} by {who}, {when}.",
        none: "Nobody is waiting here",
        none_more: "People who apply, or who reach this step, wait here for a decision.",
        all_done: "Nothing left to review",
        seen: Counted {
            one: "The only application in this queue has a decision.",
            many: "All {count} applications in this queue have a decision.",
        },
        begin_again: "Look for more",
        more: Counted {
            one: "{count} more candidate is waiting for the next queue.",
            many: "{count} more candidates are waiting for the next queue.",
        },
        no_file: "No file was sent.",
        others: "Other applications",
        next: "Next",
        previous: "Previous",
        whole: "Everything about this candidate",
    },
    de: ReviewTexts {
        queue: "Prüfliste",
        of: "{number} von {count}",
        applied: "beworben {when}",
        decided: ["einen Schritt weiter", "verschoben", "abgelehnt", "eingestellt", "zurückgezogen", "zurückgestellt"],
        decided_by: "{what}, von {who}",
        decided_meanwhile: "Jemand war schneller: {what}, von {who}, {when}.",
        none: "Hier wartet niemand",
        none_more: "Wer sich bewirbt oder diesen Schritt erreicht, wartet hier auf eine Entscheidung.",
        all_done: "Nichts mehr zu prüfen",
        seen: Counted {
            one: "Über die einzige Bewerbung dieser Prüfliste ist entschieden.",
            many: "Über alle {count} Bewerbungen dieser Prüfliste ist entschieden.",
        },
        begin_again: "Nach weiteren suchen",
        more: Counted {
            one: "{count} weitere Bewerbung wartet auf die nächste Prüfliste.",
            many: "{count} weitere Bewerbungen warten auf die nächste Prüfliste.",
        },
        no_file: "Es wurde keine Datei gesendet.",
        others: "Andere Bewerbungen",
        next: "Nächste",
        previous: "Vorige",
        whole: "Alles über diese Person",
    },
    fr: ReviewTexts {
        queue: "File d’examen",
        of: "{number} sur {count}",
        applied: "candidature {when}",
        decided: ["étape franchie", "déplacement", "refus", "embauche", "retrait", "mise de côté"],
        decided_by: "{what}, par {who}",
        decided_meanwhile: "Quelqu’un a été plus rapide\u{a0}: {what}, par {who}, {when}.",
        none: "Personne n’attend ici",
        none_more: "Les personnes qui postulent ou qui atteignent cette étape attendent ici une décision.",
        all_done: "Plus rien à examiner",
        seen: Counted {
            one: "La seule candidature de cette file a reçu une décision.",
            many: "Les {count} candidatures de cette file ont reçu une décision.",
        },
        begin_again: "Chercher d’autres candidatures",
        more: Counted {
            one: "{count} autre candidature attend la prochaine file.",
            many: "{count} autres candidatures attendent la prochaine file.",
        },
        no_file: "Aucun fichier n’a été envoyé.",
        others: "Autres candidatures",
        next: "Suivant",
        previous: "Précédent",
        whole: "Tout sur cette personne",
    },
    es: ReviewTexts {
        queue: "Cola",
        of: "{number} de {count}",
        applied: "presentada {when}",
        decided: ["avance", "movimiento", "rechazo", "contratación", "retirada", "aplazamiento"],
        decided_by: "{what}, por {who}",
        decided_meanwhile: "Alguien se ha adelantado: {what}, por {who}, {when}.",
        none: "Aquí no espera nadie",
        none_more: "Las personas que presentan su candidatura o que llegan a esta etapa esperan aquí una decisión.",
        all_done: "No queda nada por revisar",
        seen: Counted {
            one: "Ya se ha decidido sobre la única candidatura de esta cola.",
            many: "Ya se ha decidido sobre las {count} candidaturas de esta cola.",
        },
        begin_again: "Buscar más",
        more: Counted {
            one: "{count} candidatura más queda para la próxima cola.",
            many: "{count} candidaturas más quedan para la próxima cola.",
        },
        no_file: "No se ha enviado ningún archivo.",
        others: "Otras candidaturas",
        next: "Siguiente",
        previous: "Anterior",
        whole: "Todo sobre esta persona",
    },
};
