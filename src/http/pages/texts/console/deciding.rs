//! The texts of decisions on a board: its controls, the forms that ask for details, and the message afterwards.

use super::ByLanguage;
use crate::http::pages::texts::Counted;

pub(in crate::http) struct DecidingTexts {
    /// The control that moves candidates to their next step.
    pub(in crate::http) advance: &'static str,
    /// The number of selected candidates. JavaScript fills in `{count}`.
    pub(in crate::http) selected: &'static str,
    /// The keys that select candidates, for the list of keys.
    pub(in crate::http) key_select: &'static str,
    pub(in crate::http) key_select_more: &'static str,
    /// The link to everything that can be decided about a candidate, for screen readers. The candidate's name follows.
    pub(in crate::http) menu: &'static str,
    /// The titles of the forms, for one candidate (`{name}`) and for several.
    pub(in crate::http) decide_one: &'static str,
    pub(in crate::http) move_one: &'static str,
    pub(in crate::http) move_many: Counted,
    pub(in crate::http) reject_one: &'static str,
    pub(in crate::http) reject_many: Counted,
    pub(in crate::http) reject_button: &'static str,
    /// The message if the form names no candidate.
    pub(in crate::http) choose_first: &'static str,
    /// The message after a decision about several candidates.
    pub(in crate::http) advanced: Counted,
    pub(in crate::http) moved: Counted,
    pub(in crate::http) rejected: Counted,
    pub(in crate::http) decided: Counted,
    pub(in crate::http) undone: Counted,
    /// The button that undoes the decision.
    pub(in crate::http) undo: &'static str,
    /// The titles of the page about refused decisions.
    pub(in crate::http) nothing_changed: &'static str,
    pub(in crate::http) partly_done: &'static str,
    /// The reasons for a refusal if nobody else has acted: `{name}` and `{step}`.
    pub(in crate::http) last_step: &'static str,
    pub(in crate::http) not_possible: &'static str,
    pub(in crate::http) not_saved: &'static str,
    /// The refusals of a whole batch: for an undo that is no longer possible, and for a decision that names a step that
    /// the role does not have.
    pub(in crate::http) cannot_undo_all: &'static str,
    pub(in crate::http) no_step: &'static str,
    pub(in crate::http) more_refused: Counted,
    pub(in crate::http) gone: Counted,
    pub(in crate::http) back: &'static str,
}

pub(in crate::http) static DECIDING: ByLanguage<DecidingTexts> = ByLanguage {
    en: DecidingTexts {
        advance: "Advance",
        selected: "Selected: {count}",
        key_select: "Select the candidate",
        key_select_more: "Select and continue",
        menu: "Decide about",
        decide_one: "Decide about {name}",
        move_one: "Move {name} to",
        move_many: Counted { one: "Move {count} candidate to", many: "Move {count} candidates to" },
        reject_one: "Reject {name}",
        reject_many: Counted { one: "Reject {count} candidate", many: "Reject {count} candidates" },
        reject_button: "Reject",
        choose_first: "Nothing was changed. Select the candidates first.",
        advanced: Counted {
            one: "{count} candidate advanced to the next step.",
            many: "{count} candidates advanced to their next steps.",
        },
        moved: Counted { one: "{count} candidate was moved.", many: "{count} candidates were moved." },
        rejected: Counted { one: "{count} candidate was rejected.", many: "{count} candidates were rejected." },
        decided: Counted {
            one: "The decision about {count} candidate is saved.",
            many: "The decision about {count} candidates is saved.",
        },
        undone: Counted { one: "{count} decision was undone.", many: "{count} decisions were undone." },
        undo: "Undo",
        nothing_changed: "Nothing was changed",
        partly_done: "Not everything was changed",
        last_step: "{name} is at the last step, {step}. Hire or reject them, or move them back.",
        not_possible: "This decision is not possible for {name}.",
        not_saved: "The decision about {name} could not be saved.",
        cannot_undo_all: "These decisions can no longer be undone. Move the candidates or reopen their applications instead.",
        no_step: "The role has no such step. Load the board again.",
        more_refused: Counted {
            one: "{count} more application was not changed.",
            many: "{count} more applications were not changed.",
        },
        gone: Counted {
            one: "{count} candidate is no longer in progress at this role.",
            many: "{count} candidates are no longer in progress at this role.",
        },
        back: "Back to the board",
    },
    de: DecidingTexts {
        advance: "Weiter",
        selected: "Ausgewählt: {count}",
        key_select: "Person auswählen",
        key_select_more: "Auswählen und weiter",
        menu: "Entscheiden über",
        decide_one: "Entscheiden über {name}",
        move_one: "{name} verschieben nach",
        move_many: Counted { one: "{count} Person verschieben nach", many: "{count} Personen verschieben nach" },
        reject_one: "{name} ablehnen",
        reject_many: Counted { one: "{count} Person ablehnen", many: "{count} Personen ablehnen" },
        reject_button: "Ablehnen",
        choose_first: "Es wurde nichts geändert. Wählen Sie zuerst die Personen aus, über die Sie entscheiden möchten.",
        advanced: Counted {
            one: "{count} Person ist einen Schritt weiter.",
            many: "{count} Personen sind einen Schritt weiter.",
        },
        moved: Counted { one: "{count} Person wurde verschoben.", many: "{count} Personen wurden verschoben." },
        rejected: Counted { one: "{count} Person wurde abgelehnt.", many: "{count} Personen wurden abgelehnt." },
        decided: Counted {
            one: "Die Entscheidung über {count} Person ist gespeichert.",
            many: "Die Entscheidung über {count} Personen ist gespeichert.",
        },
        undone: Counted {
            one: "{count} Entscheidung wurde rückgängig gemacht.",
            many: "{count} Entscheidungen wurden rückgängig gemacht.",
        },
        undo: "Rückgängig",
        nothing_changed: "Es wurde nichts geändert",
        partly_done: "Nicht alles wurde geändert",
        last_step: "{name} ist im letzten Schritt, {step}. Sie können die Person einstellen, ablehnen oder zurückverschieben.",
        not_possible: "Diese Entscheidung ist für {name} nicht möglich.",
        not_saved: "Die Entscheidung über {name} konnte nicht gespeichert werden.",
        cannot_undo_all: "Diese Entscheidungen lassen sich nicht mehr rückgängig machen. Verschieben Sie die Personen stattdessen, oder nehmen Sie die Bewerbungen wieder auf.",
        no_step: "Die Stelle hat diesen Schritt nicht. Laden Sie die Übersicht neu.",
        more_refused: Counted {
            one: "{count} weitere Bewerbung blieb unverändert.",
            many: "{count} weitere Bewerbungen blieben unverändert.",
        },
        gone: Counted {
            one: "{count} Bewerbung auf diese Stelle läuft nicht mehr.",
            many: "{count} Bewerbungen auf diese Stelle laufen nicht mehr.",
        },
        back: "Zurück zur Übersicht",
    },
    fr: DecidingTexts {
        advance: "Étape suivante",
        selected: "Sélection\u{a0}: {count}",
        key_select: "Sélectionner la personne",
        key_select_more: "Sélectionner et continuer",
        menu: "Décision concernant",
        decide_one: "Décision concernant {name}",
        move_one: "Déplacer {name} vers",
        move_many: Counted { one: "Déplacer {count} personne vers", many: "Déplacer {count} personnes vers" },
        reject_one: "Refuser {name}",
        reject_many: Counted { one: "Refuser {count} personne", many: "Refuser {count} personnes" },
        reject_button: "Refuser",
        choose_first: "Rien n’a été modifié. Sélectionnez d’abord les personnes concernées.",
        advanced: Counted {
            one: "{count} personne est passée à l’étape suivante.",
            many: "{count} personnes sont passées à l’étape suivante.",
        },
        moved: Counted {
            one: "{count} personne a été déplacée.", many: "{count} personnes ont été déplacées."
        },
        rejected: Counted { one: "{count} personne a été refusée.", many: "{count} personnes ont été refusées." },
        decided: Counted {
            one: "La décision concernant {count} personne est enregistrée.",
            many: "La décision concernant {count} personnes est enregistrée.",
        },
        undone: Counted { one: "{count} décision a été annulée.", many: "{count} décisions ont été annulées." },
        undo: "Annuler",
        nothing_changed: "Rien n’a été modifié",
        partly_done: "Une partie seulement a été modifiée",
        last_step: "{name} est à la dernière étape, {step}. Vous pouvez l’embaucher, refuser sa candidature ou la ramener à une étape précédente.",
        not_possible: "Cette décision n’est pas possible pour {name}.",
        not_saved: "La décision concernant {name} n’a pas pu être enregistrée.",
        cannot_undo_all: "Ces décisions ne peuvent plus être annulées. Déplacez plutôt les personnes, ou rouvrez leurs candidatures.",
        no_step: "Le poste n’a pas cette étape. Rechargez le tableau.",
        more_refused: Counted {
            one: "{count} autre candidature n’a pas été modifiée.",
            many: "{count} autres candidatures n’ont pas été modifiées.",
        },
        gone: Counted {
            one: "{count} candidature à ce poste n’est plus en cours.",
            many: "{count} candidatures à ce poste ne sont plus en cours.",
        },
        back: "Retour au tableau",
    },
    es: DecidingTexts {
        advance: "Avanzar",
        selected: "Selección: {count}",
        key_select: "Seleccionar a la persona",
        key_select_more: "Seleccionar y seguir",
        menu: "Decidir sobre",
        decide_one: "Decidir sobre {name}",
        move_one: "Mover a {name} a",
        move_many: Counted { one: "Mover a {count} persona a", many: "Mover a {count} personas a" },
        reject_one: "Rechazar a {name}",
        reject_many: Counted { one: "Rechazar a {count} persona", many: "Rechazar a {count} personas" },
        reject_button: "Rechazar",
        choose_first: "No se ha cambiado nada. Seleccione primero a las personas sobre las que quiere decidir.",
        advanced: Counted {
            one: "{count} persona ha avanzado a la etapa siguiente.",
            many: "{count} personas han avanzado a la etapa siguiente.",
        },
        moved: Counted { one: "Se ha movido a {count} persona.", many: "Se ha movido a {count} personas." },
        rejected: Counted { one: "Se ha rechazado a {count} persona.", many: "Se ha rechazado a {count} personas." },
        decided: Counted {
            one: "Se ha guardado la decisión sobre {count} persona.",
            many: "Se ha guardado la decisión sobre {count} personas.",
        },
        undone: Counted { one: "Se ha deshecho {count} decisión.", many: "Se han deshecho {count} decisiones." },
        undo: "Deshacer",
        nothing_changed: "No se ha cambiado nada",
        partly_done: "No se ha cambiado todo",
        last_step: "{name} está en la última etapa, {step}. Puede contratar o rechazar a la persona, o moverla a una etapa anterior.",
        not_possible: "Esta decisión no es posible para {name}.",
        not_saved: "La decisión sobre {name} no se ha podido guardar.",
        cannot_undo_all: "Estas decisiones ya no se pueden deshacer. En su lugar, mueva a las personas o reabra sus candidaturas.",
        no_step: "El puesto no tiene esa etapa. Vuelva a cargar el tablero.",
        more_refused: Counted {
            one: "{count} candidatura más no se ha cambiado.",
            many: "{count} candidaturas más no se han cambiado.",
        },
        gone: Counted {
            one: "{count} candidatura a este puesto ya no está en curso.",
            many: "{count} candidaturas a este puesto ya no están en curso.",
        },
        back: "Volver al tablero",
    },
};
