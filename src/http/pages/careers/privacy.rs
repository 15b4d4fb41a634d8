//! `GET /careers/{orgSlug}/privacy`: what the organization does with personal data, in its own words or the service's.

use askama::Template;

use super::visit::{Visit, home, organization, valid_until_change};
use super::{missing, share};
use crate::http::pages::frame::Frame;
use crate::http::pages::markdown;
use crate::http::pages::texts::fill;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::{Error, Tx};

#[derive(Template)]
#[template(path = "careers_privacy.html", config = "src/http/pages/templates/askama.toml")]
struct Privacy<'a> {
    frame: Frame<'a>,
    canonical: String,
    /// Safe HTML.
    notice: String,
    home: String,
    all_roles: String,
}

/// `GET /careers/{orgSlug}/privacy`
///
/// # Errors
/// `not_found`, as a page, where there is no organization with this slug, or its portal is off.
pub(super) fn privacy(ctx: &Ctx, tx: &Tx<'_>, visit: &Visit) -> Result<Reply, Error> {
    let Some(organization) = organization(tx, visit.slug.as_ref())? else { return missing::portal(visit) };
    let texts = visit.texts;
    let notice = if organization.privacy_notice.trim().is_empty() {
        fill(texts.careers.privacy_words, &[("organization", &plain(&organization.name))])
    } else {
        organization.privacy_notice.clone()
    };
    let home = home(&organization.slug);
    let path = format!("{home}/privacy");
    let reply = Reply::rendered(&Privacy {
        frame: visit.frame(&organization, texts.careers.privacy_title.to_owned(), &path),
        canonical: share::file_url(&ctx.settings.base_url, &organization.slug, "privacy"),
        notice: markdown::to_html(&notice),
        home: format!("{home}?lang={}", texts.tag),
        all_roles: fill(texts.common.all_roles, &[("organization", &organization.name)]),
    })?;
    valid_until_change(reply, texts, &organization, tx)
}

/// A text as it stands in Markdown: none of its characters is a mark (CommonMark §2.4).
fn plain(text: &str) -> String {
    text.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_notice_is_a_name() {
        let name = "*A* <b> [x](https://y) & `c` \\ _d_ {organization}";
        let html = markdown::to_html(&plain(name));
        assert_eq!(html.trim_end(), format!("<p>{}</p>", crate::http::server::html::escape(name)));
    }
}
