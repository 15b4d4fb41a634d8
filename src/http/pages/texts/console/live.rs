//! The texts with which an open page shows changes by others.

use super::ByLanguage;

pub(in crate::http) struct LiveTexts {
    /// An act of a user: `{who}`, the candidate's `{name}`, the `{step}`.
    pub(in crate::http) moved: &'static str,
    pub(in crate::http) rejected: &'static str,
    pub(in crate::http) hired: &'static str,
    /// An act of a candidate: `{name}`.
    pub(in crate::http) applied: &'static str,
    pub(in crate::http) withdrew: &'static str,
    pub(in crate::http) erased: &'static str,
    /// Any other act: `{what}`, `{name}`, `{who}`.
    pub(in crate::http) other: &'static str,
    /// Several acts: `{count}`, and `{who}` with one or more names.
    pub(in crate::http) many: &'static str,
    /// Somebody changed the role or its steps: `{who}` and `{time}`, which is the time of day, with the date if the
    /// change was made on another day.
    pub(in crate::http) role_changed: &'static str,
    pub(in crate::http) steps_changed: &'static str,
    /// The service changed the role: `{time}`.
    pub(in crate::http) role_changed_itself: &'static str,
    /// The link that loads the page again.
    pub(in crate::http) load: &'static str,
    /// The notice if an application has changed while the user is filling in one of its forms.
    pub(in crate::http) held: &'static str,
    pub(in crate::http) signed_out: &'static str,
    pub(in crate::http) sign_in: &'static str,
    pub(in crate::http) gone: &'static str,
}

pub(in crate::http) static LIVE: ByLanguage<LiveTexts> = ByLanguage {
    en: LiveTexts {
        moved: "{who} moved {name} to {step}",
        rejected: "{who} rejected {name}",
        hired: "{who} hired {name}",
        applied: "{name} applied",
        withdrew: "{name} withdrew",
        erased: "The data of a candidate was erased",
        other: "{name}: {what}, by {who}",
        many: "{count} changes by {who}",
        role_changed: "{who} changed this role ({time})",
        steps_changed: "{who} changed the steps of this role ({time})",
        role_changed_itself: "The service changed this role ({time})",
        load: "Load the page again",
        held: "This application has changed. Your form below is unchanged.",
        signed_out: "You have been signed out, so this page no longer shows changes.",
        sign_in: "Sign in",
        gone: "This page no longer exists, or you no longer have access to it.",
    },
    de: LiveTexts {
        moved: "{who} hat {name} in den Schritt {step} verschoben",
        rejected: "{who} hat {name} abgelehnt",
        hired: "{who} hat {name} eingestellt",
        applied: "{name} hat sich beworben",
        withdrew: "{name} hat die Bewerbung zurückgezogen",
        erased: "Die Daten einer Person wurden gelöscht",
        other: "{name}: {what} ({who})",
        many: "{count} Änderungen ({who})",
        role_changed: "{who} hat diese Stelle geändert ({time})",
        steps_changed: "{who} hat die Schritte dieser Stelle geändert ({time})",
        role_changed_itself: "Der Dienst hat diese Stelle geändert ({time})",
        load: "Neu laden",
        held: "Diese Bewerbung hat sich geändert. Ihr Formular unten ist unverändert.",
        signed_out: "Sie wurden abgemeldet. Diese Seite zeigt keine Änderungen mehr an.",
        sign_in: "Anmelden",
        gone: "Diese Seite gibt es nicht mehr, oder Sie dürfen sie nicht mehr sehen.",
    },
    fr: LiveTexts {
        moved: "{who} a déplacé {name} vers {step}",
        rejected: "{who} a refusé la candidature de {name}",
        hired: "{who} a embauché {name}",
        applied: "{name} a postulé",
        withdrew: "{name} a retiré sa candidature",
        erased: "Les données d’une personne ont été supprimées",
        other: "{name}\u{a0}: {what}, par {who}",
        many: "{count} modifications par {who}",
        role_changed: "{who} a modifié ce poste ({time})",
        steps_changed: "{who} a modifié les étapes de ce poste ({time})",
        role_changed_itself: "Le service a modifié ce poste ({time})",
        load: "Recharger",
        held: "Cette candidature a changé. Votre formulaire ci-dessous a été conservé.",
        signed_out: "Vous avez été déconnecté\u{a0}: cette page n’affiche plus les changements.",
        sign_in: "Se connecter",
        gone: "Cette page n’existe plus, ou vous n’y avez plus accès.",
    },
    es: LiveTexts {
        moved: "{who} ha movido a {name} a {step}",
        rejected: "{who} ha rechazado a {name}",
        hired: "{who} ha contratado a {name}",
        applied: "{name} ha presentado su candidatura",
        withdrew: "{name} ha retirado su candidatura",
        erased: "Se han borrado los datos de una persona",
        other: "{name}: {what}, por {who}",
        many: "{count} cambios de {who}",
        role_changed: "{who} ha modificado este puesto ({time})",
        steps_changed: "{who} ha modificado las etapas de este puesto ({time})",
        role_changed_itself: "El servicio ha modificado este puesto ({time})",
        load: "Volver a cargar",
        held: "Esta candidatura ha cambiado. Su formulario de abajo se ha conservado.",
        signed_out: "Se ha cerrado su sesión, así que esta página ya no muestra los cambios.",
        sign_in: "Iniciar sesión",
        gone: "Esta página ya no existe, o usted ya no puede verla.",
    },
};
