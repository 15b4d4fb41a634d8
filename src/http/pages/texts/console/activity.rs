//! The texts of activity rows.

use super::ByLanguage;

pub(in crate::http) struct ActivityTexts {
    pub(in crate::http) title: &'static str,
    pub(in crate::http) none: &'static str,
    pub(in crate::http) older: &'static str,
    pub(in crate::http) newest: &'static str,
    /// The actor, if no user acted.
    pub(in crate::http) candidate: &'static str,
    pub(in crate::http) service: &'static str,
    /// The kind of credential with which a user acted.
    pub(in crate::http) in_browser: &'static str,
    pub(in crate::http) with_key: &'static str,
    /// The words for a step that no longer exists.
    pub(in crate::http) a_step: &'static str,
}

pub(in crate::http) static ACTIVITY: ByLanguage<ActivityTexts> = ByLanguage {
    en: ActivityTexts {
        title: "Activity",
        none: "Nothing has happened yet.",
        older: "Older",
        newest: "Newest",
        candidate: "the candidate",
        service: "the service",
        in_browser: "in the browser",
        with_key: "with an API key",
        a_step: "a removed step",
    },
    de: ActivityTexts {
        title: "Verlauf",
        none: "Es ist noch nichts geschehen.",
        older: "Ältere",
        newest: "Neueste",
        candidate: "die Bewerberin oder der Bewerber",
        service: "der Dienst",
        in_browser: "im Browser",
        with_key: "mit einem API-Schlüssel",
        a_step: "[entfernt]",
    },
    fr: ActivityTexts {
        title: "Activité",
        none: "Il ne s’est encore rien passé.",
        older: "Plus anciennes",
        newest: "Les plus récentes",
        candidate: "la personne candidate",
        service: "le service",
        in_browser: "dans le navigateur",
        with_key: "avec une clé d’API",
        a_step: "une étape supprimée",
    },
    es: ActivityTexts {
        title: "Actividad",
        none: "Todavía no ha ocurrido nada.",
        older: "Más antiguas",
        newest: "Más recientes",
        candidate: "la persona candidata",
        service: "el servicio",
        in_browser: "en el navegador",
        with_key: "con una clave de API",
        a_step: "una etapa eliminada",
    },
};

/// An action, and its label in English, German, French and Spanish. Some labels name the step: `{step}`.
type Label = (&'static str, [&'static str; 4]);

#[rustfmt::skip]
static LABELS: &[Label] = &[
    ("organization.created", ["Organization created", "Unternehmen angelegt", "Organisation créée", "Organización creada"]),
    ("organization.changed", ["Settings changed", "Einstellungen geändert", "Paramètres modifiés", "Ajustes modificados"]),
    ("logo.put", ["Logo uploaded", "Logo hochgeladen", "Logo téléversé", "Logotipo subido"]),
    ("logo.removed", ["Logo removed", "Logo entfernt", "Logo supprimé", "Logotipo eliminado"]),
    ("retention.confirmed", ["Retention confirmed", "Aufbewahrung bestätigt", "Conservation confirmée", "Conservación confirmada"]),
    ("membership.put", ["Membership added or changed", "Mitgliedschaft angelegt oder geändert", "Membre ajouté ou modifié", "Miembro añadido o modificado"]),
    ("membership.removed", ["Membership ended", "Mitgliedschaft beendet", "Membre retiré", "Miembro quitado"]),
    ("sign_in_link.issued", ["Sign-in link issued", "Anmeldelink erstellt", "Lien de connexion créé", "Enlace de acceso creado"]),
    ("role.created", ["Role created", "Stelle angelegt", "Poste créé", "Puesto creado"]),
    ("role.changed", ["Role changed", "Stelle geändert", "Poste modifié", "Puesto modificado"]),
    ("role.opened", ["Role opened", "Stelle geöffnet", "Poste ouvert", "Puesto abierto"]),
    ("role.closed", ["Role closed", "Stelle geschlossen", "Poste fermé", "Puesto cerrado"]),
    ("role.reopened", ["Role reopened", "Stelle wieder geöffnet", "Poste rouvert", "Puesto reabierto"]),
    ("role.deleted", ["Draft deleted", "Entwurf gelöscht", "Brouillon supprimé", "Borrador eliminado"]),
    ("role_step.added", ["Step added", "Schritt hinzugefügt", "Étape ajoutée", "Etapa añadida"]),
    ("role_step.changed", ["Step changed", "Schritt geändert", "Étape modifiée", "Etapa modificada"]),
    ("role_step.reordered", ["Steps reordered", "Schritte neu geordnet", "Étapes réordonnées", "Etapas reordenadas"]),
    ("role_step.removed", ["Step removed", "Schritt entfernt", "Étape supprimée", "Etapa eliminada"]),
    ("candidate.added", ["Candidate added", "Person hinzugefügt", "Personne ajoutée", "Persona añadida"]),
    ("candidate.changed", ["Name or address changed", "Name oder E-Mail-Adresse geändert", "Nom ou adresse e-mail modifiés", "Nombre o correo modificados"]),
    ("candidate.exported", ["Data exported", "Daten exportiert", "Données exportées", "Datos exportados"]),
    ("candidate.held", ["Legal hold placed", "Löschsperre gesetzt", "Suppression bloquée", "Borrado bloqueado"]),
    ("candidate.released", ["Legal hold released", "Löschsperre aufgehoben", "Blocage de la suppression levé", "Bloqueo del borrado levantado"]),
    ("candidate.erasure_asked", ["Erasure requested", "Löschung verlangt", "Suppression demandée", "Borrado solicitado"]),
    ("candidate.erased", ["Personal data erased", "Personenbezogene Daten gelöscht", "Données personnelles supprimées", "Datos personales borrados"]),
    ("candidate_role.added", ["Added to the role", "Zur Stelle hinzugefügt", "Candidature ajoutée au poste", "Candidatura añadida al puesto"]),
    ("candidate_role.status_link_issued", ["New status link issued", "Neuer Statuslink erstellt", "Nouveau lien de suivi émis", "Nuevo enlace de estado emitido"]),
    ("candidate_role.signup_deleted", ["Form deleted on request", "Formular auf Wunsch gelöscht", "Formulaire supprimé sur demande", "Formulario eliminado a petición de la persona"]),
    ("candidate_role.deletion_asked", ["Deletion requested", "Löschung verlangt", "Suppression demandée", "Eliminación solicitada"]),
    ("candidate_role.signed_up", ["Applied", "Beworben", "Candidature envoyée", "Candidatura presentada"]),
    ("candidate_role.signed_up_again", ["Form sent again", "Formular noch einmal gesendet", "Formulaire envoyé de nouveau", "Formulario enviado de nuevo"]),
    ("candidate_role.withdrawn", ["Application withdrawn", "Bewerbung zurückgezogen", "Candidature retirée", "Candidatura retirada"]),
    ("candidate_role.put_aside", ["Put aside", "Zurückgestellt", "Candidature mise de côté", "Candidatura aplazada"]),
    ("candidate_role.taken_up", ["Brought back", "Zurückstellung aufgehoben", "Candidature reprise", "Candidatura retomada"]),
    ("candidate_step.validated", ["Passed {step}", "Schritt erledigt: {step}", "Étape franchie\u{a0}: {step}", "Superada la etapa {step}"]),
    ("candidate_step.moved", ["Moved to {step}", "Verschoben in den Schritt {step}", "Déplacement vers l’étape {step}", "Movimiento a {step}"]),
    ("candidate_step.rejected", ["Rejected at {step}", "Abgelehnt im Schritt {step}", "Refus à l’étape {step}", "Rechazo en {step}"]),
    ("candidate_step.reopened", ["Reopened at {step}", "Wieder aufgenommen im Schritt {step}", "Réouverture à l’étape {step}", "Reapertura en {step}"]),
    ("candidate_step.undone", ["Decision undone", "Entscheidung rückgängig gemacht", "Décision annulée", "Decisión deshecha"]),
    ("candidate_step.hired", ["Hired", "Eingestellt", "Embauche", "Contratación"]),
    ("candidate_step.hire_reversed", ["Hire reversed", "Einstellung zurückgenommen", "Embauche annulée", "Contratación anulada"]),
    ("document.opened", ["File opened", "Datei geöffnet", "Fichier ouvert", "Archivo abierto"]),
    ("hr_integration.put", ["HR integration changed", "HR-Anbindung geändert", "Intégration RH modifiée", "Integración de RR. HH. modificada"]),
    ("hr_integration.removed", ["HR integration removed", "HR-Anbindung entfernt", "Intégration RH supprimée", "Integración de RR. HH. eliminada"]),
];

/// Returns the label of an action, or the action itself if it has no label.
pub(in crate::http) fn label<'a>(tag: &str, action: &'a str) -> &'a str {
    let language = ["en", "de", "fr", "es"].iter().position(|known| *known == tag).unwrap_or_default();
    LABELS.iter().find(|(known, _)| *known == action).map_or(action, |(_, labels)| labels[language])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::activity::Action;

    #[test]
    fn every_label_belongs_to_an_action_and_names_the_step_in_all_languages_or_in_none() {
        for (action, labels) in LABELS {
            assert!(Action::parse(action).is_some(), "{action}");
            let has_step = labels.map(|label| label.contains("{step}"));
            assert!(has_step.iter().all(|has| *has == has_step[0]), "{action}");
        }
        assert_eq!(label("de", "candidate_step.hired"), "Eingestellt");
        assert_eq!(label("xx", "candidate_step.hired"), "Hired");
        assert_eq!(label("en", "unknown.action"), "unknown.action");
    }
}
