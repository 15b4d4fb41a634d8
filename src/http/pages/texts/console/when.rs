//! The texts of relative times.

use super::ByLanguage;
use crate::http::pages::texts::Counted;

pub(in crate::http) struct WhenTexts {
    pub(in crate::http) now: &'static str,
    pub(in crate::http) minutes: Counted,
    pub(in crate::http) hours: Counted,
    pub(in crate::http) days: Counted,
}

pub(in crate::http) static WHEN: ByLanguage<WhenTexts> = ByLanguage {
    en: WhenTexts {
        now: "just now",
        minutes: Counted { one: "{count} minute ago", many: "{count} minutes ago" },
        hours: Counted { one: "{count} hour ago", many: "{count} hours ago" },
        days: Counted { one: "{count} day ago", many: "{count} days ago" },
    },
    de: WhenTexts {
        now: "gerade eben",
        minutes: Counted { one: "vor {count} Minute", many: "vor {count} Minuten" },
        hours: Counted { one: "vor {count} Stunde", many: "vor {count} Stunden" },
        days: Counted { one: "vor {count} Tag", many: "vor {count} Tagen" },
    },
    fr: WhenTexts {
        now: "à l’instant",
        minutes: Counted { one: "il y a {count} minute", many: "il y a {count} minutes" },
        hours: Counted { one: "il y a {count} heure", many: "il y a {count} heures" },
        days: Counted { one: "il y a {count} jour", many: "il y a {count} jours" },
    },
    es: WhenTexts {
        now: "ahora mismo",
        minutes: Counted { one: "hace {count} minuto", many: "hace {count} minutos" },
        hours: Counted { one: "hace {count} hora", many: "hace {count} horas" },
        days: Counted { one: "hace {count} día", many: "hace {count} días" },
    },
};
