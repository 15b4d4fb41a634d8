//! The texts of the staff console: one file for each page or subject, in all languages. They are plain text, which
//! the page escapes.

pub(in crate::http) mod activity;
pub(in crate::http) mod backup;
pub(in crate::http) mod board;
pub(in crate::http) mod candidate;
pub(in crate::http) mod close_out;
pub(in crate::http) mod deciding;
pub(in crate::http) mod decision;
pub(in crate::http) mod done;
pub(in crate::http) mod frame;
pub(in crate::http) mod hire;
pub(in crate::http) mod home;
pub(in crate::http) mod join;
pub(in crate::http) mod later;
pub(in crate::http) mod live;
pub(in crate::http) mod me;
pub(in crate::http) mod membership;
pub(in crate::http) mod not_selected;
pub(in crate::http) mod passkey;
pub(in crate::http) mod review;
pub(in crate::http) mod role;
pub(in crate::http) mod role_field;
pub(in crate::http) mod role_step;
pub(in crate::http) mod roles;
pub(in crate::http) mod second_factor;
pub(in crate::http) mod security;
pub(in crate::http) mod sign_in;
pub(in crate::http) mod step_up;
pub(in crate::http) mod when;

use super::Texts;

/// The texts of one page or subject in each language. The compiler finds a missing language.
pub(in crate::http) struct ByLanguage<T: 'static> {
    pub(in crate::http) en: T,
    pub(in crate::http) de: T,
    pub(in crate::http) fr: T,
    pub(in crate::http) es: T,
}

impl<T> ByLanguage<T> {
    /// Returns the texts in the language of `texts`.
    pub(in crate::http) fn of(&'static self, texts: &Texts) -> &'static T {
        match texts.tag {
            "de" => &self.de,
            "fr" => &self.fr,
            "es" => &self.es,
            _ => &self.en,
        }
    }
}
