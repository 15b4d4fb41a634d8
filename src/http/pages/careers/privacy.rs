//! `GET /careers/{orgSlug}/privacy`: the organization's privacy notice or, if it has none, the service's default
//! notice.

use askama::Template;

use super::visit::{PortalVisit, valid_until_change};
use super::{missing, url};
use crate::http::pages::frame::Frame;
use crate::http::pages::markdown;
use crate::http::pages::texts::fill;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::{Error, Tx};

#[derive(Template)]
#[template(path = "careers_privacy.html", config = "src/http/pages/templates/askama.toml")]
struct PrivacyPage<'a> {
    frame: Frame<'a>,
    canonical: String,
    /// The notice as safe HTML.
    notice: String,
    home: String,
    all_roles: String,
}

/// `GET /careers/{orgSlug}/privacy`: shows the privacy notice. If no organization has this slug, or if the organization
/// or its portal is disabled, the reply is a 404 page.
pub(super) fn privacy(ctx: &Ctx, tx: &Tx<'_>, visit: &PortalVisit) -> Result<Reply, Error> {
    let Some(organization) = visit.organization(tx)? else { return missing::portal(visit) };
    let texts = visit.texts;
    let notice = if organization.privacy_notice.trim().is_empty() {
        fill(texts.careers.privacy_words, &[("organization", &escape_markdown(&organization.name))])
    } else {
        organization.privacy_notice.clone()
    };
    let home = url::list_path(&organization.slug);
    let path = format!("{home}/privacy");
    let reply = Reply::rendered(&PrivacyPage {
        frame: visit.frame(&organization, texts.careers.privacy_title.to_owned(), &path),
        canonical: url::file_url(&ctx.settings.base_url, &organization.slug, "privacy"),
        notice: markdown::to_html(&notice),
        home: format!("{home}?lang={}", texts.tag),
        all_roles: fill(texts.common.all_roles, &[("organization", &organization.name)]),
    })?;
    valid_until_change(reply, texts, &organization, tx)
}

/// Escapes text so that Markdown shows it unchanged (CommonMark §2.4).
fn escape_markdown(text: &str) -> String {
    text.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_is_shown_unchanged() {
        let name = "*A* <b> [x](https://y) & `c` \\ _d_ {organization}";
        let html = markdown::to_html(&escape_markdown(name));
        assert_eq!(html.trim_end(), format!("<p>{}</p>", crate::http::server::html::escape(name)));
    }
}
