//! `/careers/{orgSlug}/feed.atom` (RFC 4287): an organization's newest roles, for feed readers.

use sha2::{Digest, Sha256};

use super::portal_file::{self, rfc3339_seconds};
use super::url;
use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::pages::markdown;
use crate::http::pages::xml;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::feed::{self, FeedEntry};
use crate::store::portal::PortalOrganization;
use crate::store::{Error, Tx};

/// The maximum number of roles in the feed. An organization publishes far fewer in a day, so a feed reader that polls
/// daily misses none.
const ENTRIES_MAX: i64 = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![portal_file::route("/careers/{orgSlug}/feed.atom", CachePool::Feeds, atom).rendered_one_at_a_time()]
}

/// `GET /careers/{orgSlug}/feed.atom`: returns the newest roles that are public and open.
///
/// # Errors
/// `not_found` if no organization has this slug, or if the organization or its portal is disabled.
fn atom(ctx: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = portal::organization(tx, slug.as_ref())?;
    let entries = feed::entries(tx, &organization.id, ENTRIES_MAX)?;
    let document = document(&ctx.settings.base_url, &organization, &entries);
    portal_file::reply(tx, &organization, "application/atom+xml; charset=utf-8", document)
}

fn document(base: &str, organization: &PortalOrganization, entries: &[FeedEntry]) -> String {
    let newest = entries.iter().map(|entry| entry.shown_since).max();
    let updated = rfc3339_seconds(newest.unwrap_or(organization.updated_at).max(organization.updated_at));
    let name = xml::escape(&organization.name);
    let name = if name.trim().is_empty() { xml::escape(&organization.slug) } else { name };
    let list_url = xml::escape(&url::list_url(base, &organization.slug));
    let self_url = xml::escape(&url::file_url(base, &organization.slug, "feed.atom"));
    let id = urn(organization.id.as_str());
    let entries: String = entries.iter().map(|entry| element(base, organization, entry)).collect();
    let declaration = xml::DECLARATION;
    format!(
        "{declaration}<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>{id}</id>\n<title>{name}</title>\n\
         <updated>{updated}</updated>\n<link rel=\"self\" type=\"application/atom+xml\" href=\"{self_url}\"/>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{list_url}\"/>\n\
         <author><name>{name}</name><uri>{list_url}</uri></author>\n{entries}</feed>\n"
    )
}

fn element(base: &str, organization: &PortalOrganization, entry: &FeedEntry) -> String {
    let role = &entry.role;
    let id = urn(role.id.as_str());
    let title = xml::escape(&role.name);
    let href = xml::escape(&url::role_url(base, &organization.slug, role.id.as_str()));
    let (published, updated) =
        (rfc3339_seconds(role.created_at), rfc3339_seconds(entry.shown_since.max(role.created_at)));
    let markdown = role.description.markdown();
    let summary = xml::escape(&markdown::summary(markdown));
    let content = xml::escape(&markdown::to_html(markdown));
    let department = match xml::escape(&role.department) {
        term if term.trim().is_empty() => String::new(),
        term => format!("<category term=\"{term}\"/>\n"),
    };
    format!(
        "<entry>\n<id>{id}</id>\n<title>{title}</title>\n<link rel=\"alternate\" type=\"text/html\" href=\"{href}\"/>\n\
         <published>{published}</published>\n<updated>{updated}</updated>\n{department}<summary>{summary}</summary>\n\
         <content type=\"html\">{content}</content>\n</entry>\n"
    )
}

/// Derives a permanent URN, a version 8 UUID (RFC 9562), from an id. The URN stays the same if the slug or the base URL
/// changes.
fn urn(id: &str) -> String {
    let digest = Sha256::digest(id.as_bytes());
    let mut bytes: [u8; 16] = std::array::from_fn(|at| digest[at]);
    bytes[6] = 0x80 | (bytes[6] & 0x0f);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("urn:uuid:{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urn_depends_only_on_the_id() {
        assert_eq!(urn("role_1"), urn("role_1"));
        assert_ne!(urn("role_1"), urn("role_2"));
        let urn = urn("role_1");
        assert_eq!((urn.len(), &urn[23..24]), (45, "8"));
    }
}
