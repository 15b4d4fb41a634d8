//! The frame of the console's pages: title, navigation, theme and the message about the last act.

use crate::http::pages::texts::Texts;
use crate::http::pages::texts::console::frame::{FRAME, FrameTexts};
use crate::http::pages::texts::console::live::{LIVE, LiveTexts};
use crate::http::pages::texts::console::membership::MEMBERSHIP;

/// The frame of a page for a signed-in user. `templates/console/layout.html` renders it.
pub(super) struct ConsoleFrame {
    pub(super) texts: &'static Texts,
    /// The heading of the page and the title of the browser tab.
    pub(super) title: String,
    /// `light` or `dark`; `None` for the theme of the system.
    pub(super) theme: Option<&'static str>,
    /// Whether single letters are keyboard shortcuts.
    pub(super) single_keys: bool,
    /// The organization to whose pages the navigation leads.
    pub(super) organization: Option<OrganizationLink>,
    /// The organizations that the user may see, at most [`super::visit::ORGANIZATIONS_MAX`].
    pub(super) organizations: Vec<OrganizationLink>,
    pub(super) current: NavItem,
    /// The message about the act that led to this page.
    pub(super) notice: Option<String>,
}

/// The frame of a page without navigation: the sign-in, and the pages that interrupt a signed-in user, such as the
/// confirmation. `templates/console/plain.html` renders it.
pub(super) struct PlainFrame {
    pub(super) texts: &'static Texts,
    pub(super) title: String,
    pub(super) theme: Option<&'static str>,
}

/// A link to an organization.
#[derive(Debug, Clone)]
pub(super) struct OrganizationLink {
    pub(super) slug: String,
    pub(super) name: String,
    /// Whether the page belongs to this organization.
    pub(super) is_current: bool,
}

/// An entry of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NavItem {
    Inbox,
    Roles,
    Candidates,
    Members,
    Me,
}

/// An entry of the navigation, as the page shows it.
pub(super) struct NavLink {
    pub(super) url: String,
    pub(super) label: &'static str,
    /// The keys that open the page.
    pub(super) keys: &'static str,
    pub(super) is_current: bool,
}

impl ConsoleFrame {
    pub(super) fn words(&self) -> &'static FrameTexts {
        FRAME.of(self.texts)
    }

    pub(super) fn live_words(&self) -> &'static LiveTexts {
        LIVE.of(self.texts)
    }

    /// Returns the entries of the navigation.
    pub(super) fn nav(&self) -> Vec<NavLink> {
        let words = self.words();
        let link = |item, url: String, label, keys| NavLink { url, label, keys, is_current: item == self.current };
        let mut links = vec![link(NavItem::Inbox, "/app".to_owned(), words.inbox, "g i")];
        if let Some(organization) = &self.organization {
            let of = |page| format!("/app/{}/{page}", organization.slug);
            links.push(link(NavItem::Roles, of("roles"), words.roles, "g r"));
            links.push(link(NavItem::Candidates, of("candidates"), words.candidates, "g c"));
            links.push(link(NavItem::Members, of("members"), MEMBERSHIP.of(self.texts).title, "g m"));
        }
        links.push(link(NavItem::Me, "/app/me".to_owned(), words.me, "g s"));
        links
    }
}
