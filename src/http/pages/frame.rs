//! The frame of all pages except those of the console and the API reference: title, language selection and the
//! organization's branding. `templates/layout.html` renders the frame. Templates escape every value that is not marked
//! as safe.

use super::texts::{self, Texts};

pub(in crate::http) struct Frame<'a> {
    pub(in crate::http) texts: &'static Texts,
    /// The title of the browser tab. Some pages also show it as their heading.
    pub(in crate::http) title: String,
    /// The organization whose name, logo and colours the page shows. `None` if the page belongs to no organization, or
    /// if the portal is not available. Only the preview of a role shows an organization whose portal is not available.
    pub(in crate::http) organization: Option<Branding<'a>>,
    pub(in crate::http) languages: Vec<LanguageLink>,
    /// Whether search engines may list the page. True only for pages of portals, and never for a page behind a secret
    /// link.
    pub(in crate::http) is_indexed: bool,
}

/// An organization as the frame shows it.
pub(in crate::http) struct Branding<'a> {
    pub(in crate::http) name: &'a str,
    pub(in crate::http) slug: &'a str,
    /// Whether this service stores a logo of the organization.
    pub(in crate::http) has_logo: bool,
    /// Whether the portal is available. If it is not, browsers cannot load its colours and its logo.
    pub(in crate::http) has_portal: bool,
}

/// A link to the same page in one language.
pub(in crate::http) struct LanguageLink {
    pub(in crate::http) tag: &'static str,
    pub(in crate::http) own_name: &'static str,
    pub(in crate::http) url: String,
    /// Whether the page is in this language.
    pub(in crate::http) is_current: bool,
}

/// Returns links to the page in every language. `url` is the page's URL without `lang`.
pub(in crate::http) fn language_links(current: &Texts, url: &str) -> Vec<LanguageLink> {
    let join = if url.contains('?') { '&' } else { '?' };
    let link = |texts: &&'static Texts| LanguageLink {
        tag: texts.tag,
        own_name: texts.own_name,
        url: format!("{url}{join}lang={}", texts.tag),
        is_current: texts.tag == current.tag,
    };
    texts::ALL.iter().map(link).collect()
}
