//! The texts of the console's frame: its navigation, and messages that any page can show.

use super::ByLanguage;

pub(in crate::http) struct FrameTexts {
    /// The name of the navigation, for screen readers.
    pub(in crate::http) navigation: &'static str,
    pub(in crate::http) inbox: &'static str,
    pub(in crate::http) roles: &'static str,
    pub(in crate::http) candidates: &'static str,
    /// The page of the signed-in user.
    pub(in crate::http) me: &'static str,
    pub(in crate::http) sign_out: &'static str,
    /// The heading of the list of keyboard shortcuts.
    pub(in crate::http) keys: &'static str,
    pub(in crate::http) close: &'static str,
    /// The message if a JavaScript module of the page got no answer to a request. The service may still have acted on
    /// the request.
    pub(in crate::http) offline: &'static str,
}

pub(in crate::http) static FRAME: ByLanguage<FrameTexts> = ByLanguage {
    en: FrameTexts {
        navigation: "Console",
        inbox: "Inbox",
        roles: "Roles",
        candidates: "Candidates",
        me: "Your account",
        sign_out: "Sign out",
        keys: "Keyboard shortcuts on this page",
        close: "Close",
        offline: "The service did not answer. Load the page again to see what was saved.",
    },
    de: FrameTexts {
        navigation: "Konsole",
        inbox: "Eingang",
        roles: "Stellen",
        candidates: "Bewerber",
        me: "Ihr Konto",
        sign_out: "Abmelden",
        keys: "Tastenkürzel auf dieser Seite",
        close: "Schließen",
        offline: "Der Dienst hat nicht geantwortet. Laden Sie die Seite neu, um zu sehen, was gespeichert wurde.",
    },
    fr: FrameTexts {
        navigation: "Console",
        inbox: "À traiter",
        roles: "Postes",
        candidates: "Candidats",
        me: "Votre compte",
        sign_out: "Se déconnecter",
        keys: "Raccourcis de cette page",
        close: "Fermer",
        offline: "Le service n’a pas répondu. Rechargez la page pour voir ce qui a été enregistré.",
    },
    es: FrameTexts {
        navigation: "Consola",
        inbox: "Bandeja",
        roles: "Puestos",
        candidates: "Candidatos",
        me: "Su cuenta",
        sign_out: "Cerrar sesión",
        keys: "Atajos de esta página",
        close: "Cerrar",
        offline: "El servicio no ha respondido. Vuelva a cargar la página para ver qué se ha guardado.",
    },
};
