//! What a page says of itself to whoever links to it: its one address, and what a preview shows (Open Graph).
//!
//! A portal's page is one page in every language, and what is on it is written in one: so its address has no `lang`.

use crate::http::markdown;

/// The longest description of a page, in characters: more is cut by those who show it.
const DESCRIPTION_CHARACTERS_MAX: usize = 200;

/// What stands in a page's head. Templates escape it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::http) struct Share {
    /// `<link rel="canonical">`, `og:url`.
    pub(in crate::http) canonical: String,
    /// `og:title`.
    pub(in crate::http) title: String,
    /// `<meta name="description">`, `og:description`; empty where there is nothing to say.
    pub(in crate::http) description: String,
    /// `og:site_name`.
    pub(in crate::http) site_name: String,
    /// `og:image`: the organization's logo where it has one here.
    pub(in crate::http) image: Option<String>,
    /// `<link rel="alternate" type="application/atom+xml">`.
    pub(in crate::http) feed: String,
}

impl Share {
    /// Of a page of the list. Filters and searches are other views of the first one.
    pub(in crate::http) fn of_list(base: &str, organization: &str, slug: &str, has_logo: bool, page: usize) -> Self {
        let list = list_url(base, slug);
        let canonical = if page > 1 { format!("{list}?page={page}") } else { list };
        Self {
            canonical,
            title: organization.to_owned(),
            description: String::new(),
            site_name: organization.to_owned(),
            image: has_logo.then(|| logo_url(base, slug)),
            feed: file_url(base, slug, "feed.atom"),
        }
    }

    /// Of a role's page, with its Markdown.
    pub(in crate::http) fn of_role(
        base: &str,
        organization: &str,
        slug: &str,
        has_logo: bool,
        role: (&str, &str),
        markdown: &str,
    ) -> Self {
        let (id, name) = role;
        Self {
            canonical: role_url(base, slug, id),
            title: name.to_owned(),
            description: summary(markdown),
            ..Self::of_list(base, organization, slug, has_logo, 1)
        }
    }
}

/// What a description says in a line.
pub(in crate::http) fn summary(markdown: &str) -> String {
    markdown::excerpt(&markdown::to_text(markdown), DESCRIPTION_CHARACTERS_MAX)
}

/// The address of an organization's list, whatever the spelling of its slug.
pub(in crate::http) fn list_url(base: &str, slug: &str) -> String {
    format!("{base}/careers/{}", slug.to_ascii_lowercase())
}

/// The address of a role's page.
pub(in crate::http) fn role_url(base: &str, slug: &str, role_id: &str) -> String {
    format!("{}/roles/{role_id}", list_url(base, slug))
}

/// The address of one of the organization's files.
pub(in crate::http) fn file_url(base: &str, slug: &str, name: &str) -> String {
    format!("{}/{name}", list_url(base, slug))
}

/// The address of the picture that it has here.
pub(in crate::http) fn logo_url(base: &str, slug: &str) -> String {
    file_url(base, slug, "logo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_address() {
        let base = "https://jobs.example.com";
        let list = Share::of_list(base, "Acme", "Acme-1", true, 1);
        assert_eq!(list.canonical, "https://jobs.example.com/careers/acme-1");
        assert_eq!(list.image.as_deref(), Some("https://jobs.example.com/careers/acme-1/logo"));
        assert_eq!(list.feed, "https://jobs.example.com/careers/acme-1/feed.atom");
        let second = Share::of_list(base, "Acme", "acme-1", false, 2);
        assert_eq!(second.canonical, "https://jobs.example.com/careers/acme-1?page=2");
        assert_eq!(second.image, None);
        let role = Share::of_role(base, "Acme", "acme-1", false, ("role_1", "Cook"), "# Cook\n\nYou *cook*.");
        assert_eq!(role.canonical, "https://jobs.example.com/careers/acme-1/roles/role_1");
        assert_eq!((role.title.as_str(), role.description.as_str()), ("Cook", "Cook You cook."));
    }
}
