//! The texts of the console's first page.

use super::ByLanguage;

pub(in crate::http) struct HomeTexts {
    /// The heading above the user's organizations.
    pub(in crate::http) organizations: &'static str,
    pub(in crate::http) none: &'static str,
    /// The next step if the user belongs to no organization.
    pub(in crate::http) none_more: &'static str,
    /// The link to the career page of an organization.
    pub(in crate::http) portal: &'static str,
}

pub(in crate::http) static HOME: ByLanguage<HomeTexts> = ByLanguage {
    en: HomeTexts {
        organizations: "Your organizations",
        none: "You are not a member of an organization yet",
        none_more: "Ask an owner or an admin of your organization to add you.",
        portal: "Career page",
    },
    de: HomeTexts {
        organizations: "Ihre Unternehmen",
        none: "Sie gehören noch keinem Unternehmen an",
        none_more: "Bitten Sie die Inhaberin, den Inhaber oder einen Admin Ihres Unternehmens, Sie hinzuzufügen.",
        portal: "Karriereseite",
    },
    fr: HomeTexts {
        organizations: "Vos organisations",
        none: "Vous n’êtes membre d’aucune organisation",
        none_more: "Demandez à un propriétaire ou à un administrateur de votre organisation de vous ajouter.",
        portal: "Page de recrutement",
    },
    es: HomeTexts {
        organizations: "Sus organizaciones",
        none: "Todavía no es miembro de ninguna organización",
        none_more: "Pida a un propietario o administrador de su organización que le añada.",
        portal: "Página de empleo",
    },
};
