//! The texts of the page at `/`, in all languages.

/// The texts of the page at `/`, in one language.
pub(in crate::http) struct Home {
    /// The description of the service, in one sentence.
    pub(in crate::http) lead: &'static str,
    /// The hint for people who are looking for a role, if the page links to no portal.
    pub(in crate::http) find: &'static str,
    /// The hint for people who have applied.
    pub(in crate::http) applied: &'static str,
    /// The text of the link to the API reference, which is in English.
    pub(in crate::http) reference: &'static str,
}

pub(super) const EN: Home = Home {
    lead: "With this service, organizations publish open roles, receive applications and decide on them.",
    find: "Are you looking for a role? Each organization has its own career page. Use the link that the organization gave you.",
    applied: "Have you already applied? Open the private link that you saved after you applied.",
    reference: "API reference",
};

pub(super) const DE: Home = Home {
    lead: "Mit diesem Dienst veröffentlichen Unternehmen offene Stellen, nehmen Bewerbungen entgegen und entscheiden darüber.",
    find: "Suchen Sie eine Stelle? Jedes Unternehmen hat seine eigene Karriereseite. Verwenden Sie den Link, den Sie vom Unternehmen haben.",
    applied: "Haben Sie sich schon beworben? Öffnen Sie den persönlichen Link, den Sie nach Ihrer Bewerbung gespeichert haben.",
    reference: "API-Referenz (auf Englisch)",
};

pub(super) const FR: Home = Home {
    lead: "Avec ce service, des organisations publient des postes à pourvoir, reçoivent des candidatures et décident de la suite à leur donner.",
    find: "Vous cherchez un poste\u{a0}? Chaque organisation a sa propre page de recrutement. Utilisez le lien que l’organisation vous a donné.",
    applied: "Vous avez déjà postulé\u{a0}? Ouvrez le lien personnel que vous avez conservé après votre candidature.",
    reference: "Référence de l’API (en anglais)",
};

pub(super) const ES: Home = Home {
    lead: "Con este servicio, las organizaciones publican puestos vacantes, reciben candidaturas y deciden sobre ellas.",
    find: "¿Busca un puesto? Cada organización tiene su propia página de empleo. Use el enlace que le haya dado la organización.",
    applied: "¿Ya se ha presentado a un puesto? Abra el enlace privado que guardó después de enviar su candidatura.",
    reference: "Referencia de la API (en inglés)",
};
