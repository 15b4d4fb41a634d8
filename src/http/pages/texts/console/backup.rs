//! The texts about the service's own backups. Only platform admins see these texts.

use super::ByLanguage;

pub(in crate::http) struct BackupTexts {
    pub(in crate::http) title: &'static str,
    /// The words before the age of the newest backup.
    pub(in crate::http) newest: &'static str,
    pub(in crate::http) none: &'static str,
    /// The warning if the newest backup is too old, or if there is none although there should be one.
    pub(in crate::http) overdue: &'static str,
    /// The message if the service makes no backups of its file.
    pub(in crate::http) off: &'static str,
    /// The message if the data is on a PostgreSQL server.
    pub(in crate::http) on_server: &'static str,
}

pub(in crate::http) static BACKUP: ByLanguage<BackupTexts> = ByLanguage {
    en: BackupTexts {
        title: "Backups of the service",
        newest: "Newest checked backup:",
        none: "There is no backup yet.",
        overdue: "There should be a newer backup. The log of the service shows whether backups fail, and why.",
        off: "The service makes no backups of its own. The operator can turn them on with --backup-dir.",
        on_server: "The data is on a PostgreSQL server. Its operator makes the backups with the tools of PostgreSQL.",
    },
    de: BackupTexts {
        title: "Sicherungen des Dienstes",
        newest: "Neueste geprüfte Sicherung:",
        none: "Es gibt noch keine Sicherung.",
        overdue: "Es müsste bereits eine neuere Sicherung geben. Das Protokoll des Dienstes zeigt, ob und warum Sicherungen fehlschlagen.",
        off: "Der Dienst legt keine eigenen Sicherungen an. Der Betreiber schaltet sie mit --backup-dir ein.",
        on_server: "Die Daten liegen auf einem PostgreSQL-Server. Dessen Betreiber sichert sie mit den Werkzeugen von PostgreSQL.",
    },
    fr: BackupTexts {
        title: "Sauvegardes du service",
        newest: "Dernière sauvegarde vérifiée\u{a0}:",
        none: "Il n’y a pas encore de sauvegarde.",
        overdue: "Il devrait exister une sauvegarde plus récente. Le journal du service indique si des sauvegardes échouent, et pourquoi.",
        off: "Le service ne crée pas lui-même de sauvegardes. L’exploitant les active avec --backup-dir.",
        on_server: "Les données se trouvent sur un serveur PostgreSQL. Son exploitant les sauvegarde avec les outils de PostgreSQL.",
    },
    es: BackupTexts {
        title: "Copias de seguridad del servicio",
        newest: "Última copia comprobada:",
        none: "Todavía no hay ninguna copia.",
        overdue: "Debería existir una copia más reciente. El registro del servicio indica si fallan las copias y por qué.",
        off: "El servicio no hace copias de seguridad por sí mismo. El operador las activa con --backup-dir.",
        on_server: "Los datos están en un servidor PostgreSQL. Su operador hace las copias de seguridad con las herramientas de PostgreSQL.",
    },
};
