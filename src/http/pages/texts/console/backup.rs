//! The texts about the service's own backups, which platform admins see.

use super::ByLanguage;

pub(in crate::http) struct BackupTexts {
    pub(in crate::http) title: &'static str,
    /// The words before the age of the newest backup.
    pub(in crate::http) newest: &'static str,
    pub(in crate::http) none: &'static str,
    /// The warning if the newest backup is too old, or if there is none although there should be one.
    pub(in crate::http) overdue: &'static str,
    /// The message if the service makes no backups.
    pub(in crate::http) off: &'static str,
}

pub(in crate::http) static BACKUP: ByLanguage<BackupTexts> = ByLanguage {
    en: BackupTexts {
        title: "Backups of the service",
        newest: "Newest checked backup:",
        none: "There is no backup yet.",
        overdue: "The service has not been able to make a backup for too long. Its log shows the reason.",
        off: "The service makes no backups of its own. The operator turns them on with --backup-dir.",
    },
    de: BackupTexts {
        title: "Sicherungen des Dienstes",
        newest: "Neueste geprüfte Sicherung:",
        none: "Es gibt noch keine Sicherung.",
        overdue: "Der Dienst konnte schon zu lange keine Sicherung anlegen. Den Grund nennt sein Protokoll.",
        off: "Der Dienst legt keine eigenen Sicherungen an. Der Betreiber schaltet sie mit --backup-dir ein.",
    },
    fr: BackupTexts {
        title: "Sauvegardes du service",
        newest: "Dernière sauvegarde vérifiée\u{a0}:",
        none: "Il n’y a pas encore de sauvegarde.",
        overdue: "Le service n’a pas pu créer de sauvegarde depuis trop longtemps. Son journal en donne la raison.",
        off: "Le service ne crée pas lui-même de sauvegardes. L’exploitant les active avec --backup-dir.",
    },
    es: BackupTexts {
        title: "Copias de seguridad del servicio",
        newest: "Última copia comprobada:",
        none: "Todavía no hay ninguna copia.",
        overdue: "El servicio lleva demasiado tiempo sin poder hacer una copia. Su registro indica el motivo.",
        off: "El servicio no hace copias de seguridad por sí mismo. El operador las activa con --backup-dir.",
    },
};
