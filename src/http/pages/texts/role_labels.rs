//! The labels of the facts about a role, in all languages. All languages share this file, so that adding a fact changes
//! only one file of texts.

/// The labels of the facts about a role, in one language.
pub(in crate::http) struct RoleLabels {
    pub(in crate::http) department: &'static str,
    pub(in crate::http) location: &'static str,
    pub(in crate::http) work_type: &'static str,
    pub(in crate::http) salary: &'static str,
    pub(in crate::http) posted: &'static str,
    /// The label before the closing date, in postings and in lists of roles.
    pub(in crate::http) apply_until: &'static str,
}

pub(super) const EN: RoleLabels = RoleLabels {
    department: "Department",
    location: "Location",
    work_type: "Work type",
    salary: "Salary",
    posted: "Posted on",
    apply_until: "Apply by",
};

pub(super) const DE: RoleLabels = RoleLabels {
    department: "Abteilung",
    location: "Ort",
    work_type: "Arbeitsform",
    salary: "Gehalt",
    posted: "Veröffentlicht am",
    apply_until: "Bewerbung bis",
};

pub(super) const FR: RoleLabels = RoleLabels {
    department: "Service",
    location: "Lieu",
    work_type: "Mode de travail",
    salary: "Salaire",
    posted: "Publié le",
    apply_until: "Candidature jusqu’au",
};

pub(super) const ES: RoleLabels = RoleLabels {
    department: "Departamento",
    location: "Ubicación",
    work_type: "Modalidad de trabajo",
    salary: "Salario",
    posted: "Publicado el",
    apply_until: "Candidaturas hasta el",
};
