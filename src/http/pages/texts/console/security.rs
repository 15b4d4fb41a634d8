//! The texts of the page with the security settings of an organization.

use super::ByLanguage;
use crate::http::pages::texts::Counted;

pub(in crate::http) struct SecurityTexts {
    pub(in crate::http) title: &'static str,
    pub(in crate::http) lead: &'static str,
    /// The members who must have a second factor.
    pub(in crate::http) required: &'static str,
    pub(in crate::http) not_required: &'static str,
    /// The number of members without a second factor.
    pub(in crate::http) missing: Counted,
    pub(in crate::http) none_missing: &'static str,
    /// The number of members without a second factor whom the list does not name.
    pub(in crate::http) more: Counted,
    /// The buttons, and the effect of each.
    pub(in crate::http) require: &'static str,
    pub(in crate::http) require_effect: &'static str,
    pub(in crate::http) release: &'static str,
    pub(in crate::http) release_effect: &'static str,
    pub(in crate::http) demo: &'static str,
    /// The message after each act.
    pub(in crate::http) done_required: &'static str,
    pub(in crate::http) done_released: &'static str,
}

pub(in crate::http) static SECURITY: ByLanguage<SecurityTexts> = ByLanguage {
    en: SecurityTexts {
        title: "Security",
        lead: "If a member has a second factor, nobody can sign in as that member with the password alone. Owners and admins must always have one.",
        required: "All members must have a second factor.",
        not_required: "Only owners and admins must have a second factor.",
        missing: Counted {
            one: "{count} member has no second factor yet:",
            many: "{count} members have no second factor yet:",
        },
        none_missing: "Every member has a second factor.",
        more: Counted { one: "and {count} more", many: "and {count} more" },
        require: "Require a second factor from all members",
        require_effect: "Members without a second factor must set one up first. Until then, they cannot open any other page of the console.",
        release: "Require it from owners and admins only",
        release_effect: "Members keep their second factors. All except owners and admins can then remove them.",
        demo: "This is a demonstration, so the service does not require a second factor from anybody.",
        done_required: "All members must now have a second factor.",
        done_released: "Now only owners and admins must have a second factor.",
    },
    de: SecurityTexts {
        title: "Sicherheit",
        lead: "Mit einem zweiten Faktor kann sich niemand allein mit dem Passwort eines Mitglieds anmelden. Eigentümer und Admins brauchen immer einen.",
        required: "Alle Mitglieder brauchen einen zweiten Faktor.",
        not_required: "Nur Eigentümer und Admins brauchen einen zweiten Faktor.",
        missing: Counted {
            one: "{count} Mitglied hat noch keinen zweiten Faktor:",
            many: "{count} Mitglieder haben noch keinen zweiten Faktor:",
        },
        none_missing: "Alle Mitglieder haben einen zweiten Faktor.",
        more: Counted { one: "und {count} weiteres", many: "und {count} weitere" },
        require: "Zweiten Faktor von allen Mitgliedern verlangen",
        require_effect: "Mitglieder ohne zweiten Faktor müssen zuerst einen einrichten. Bis dahin können sie keine andere Seite der Konsole öffnen.",
        release: "Nur von Eigentümern und Admins verlangen",
        release_effect: "Die Mitglieder behalten ihre zweiten Faktoren. Alle außer Eigentümern und Admins können sie dann entfernen.",
        demo: "Dies ist eine Demonstration, deshalb verlangt der Dienst von niemandem einen zweiten Faktor.",
        done_required: "Alle Mitglieder brauchen jetzt einen zweiten Faktor.",
        done_released: "Jetzt brauchen nur Eigentümer und Admins einen zweiten Faktor.",
    },
    fr: SecurityTexts {
        title: "Sécurité",
        lead: "Avec un second facteur, personne ne peut se connecter à la place d’un membre avec le seul mot de passe. Les propriétaires et les administrateurs doivent toujours en avoir un.",
        required: "Tous les membres doivent avoir un second facteur.",
        not_required: "Seuls les propriétaires et les administrateurs doivent avoir un second facteur.",
        missing: Counted {
            one: "{count} membre n’a pas encore de second facteur\u{a0}:",
            many: "{count} membres n’ont pas encore de second facteur\u{a0}:",
        },
        none_missing: "Tous les membres ont un second facteur.",
        more: Counted { one: "et {count} autre", many: "et {count} autres" },
        require: "Exiger un second facteur de tous les membres",
        require_effect: "Les membres qui n’en ont pas doivent d’abord en configurer un. D’ici là, ils ne peuvent ouvrir aucune autre page de la console.",
        release: "L’exiger seulement des propriétaires et des administrateurs",
        release_effect: "Les membres gardent leurs seconds facteurs. Tous, sauf les propriétaires et les administrateurs, peuvent alors les retirer.",
        demo: "Ceci est une démonstration\u{a0}: le service n’exige donc de second facteur de personne.",
        done_required: "Tous les membres doivent maintenant avoir un second facteur.",
        done_released: "Seuls les propriétaires et les administrateurs doivent maintenant avoir un second facteur.",
    },
    es: SecurityTexts {
        title: "Seguridad",
        lead: "Con un segundo factor, nadie puede iniciar sesión en lugar de un miembro solo con la contraseña. Los propietarios y los administradores siempre deben tener uno.",
        required: "Todos los miembros deben tener un segundo factor.",
        not_required: "Solo los propietarios y los administradores deben tener un segundo factor.",
        missing: Counted {
            one: "{count} miembro aún no tiene un segundo factor:",
            many: "{count} miembros aún no tienen un segundo factor:",
        },
        none_missing: "Todos los miembros tienen un segundo factor.",
        more: Counted { one: "y {count} más", many: "y {count} más" },
        require: "Exigir un segundo factor a todos los miembros",
        require_effect: "Los miembros que no lo tengan deberán configurarlo primero. Hasta entonces no podrán abrir ninguna otra página de la consola.",
        release: "Exigirlo solo a propietarios y administradores",
        release_effect: "Los miembros conservan sus segundos factores. Todos, salvo los propietarios y los administradores, podrán quitarlos.",
        demo: "Esto es una demostración, así que el servicio no exige un segundo factor a nadie.",
        done_required: "Ahora todos los miembros deben tener un segundo factor.",
        done_released: "Ahora solo los propietarios y los administradores deben tener un segundo factor.",
    },
};
