//! What feed readers read: `/careers/{orgSlug}/feed.atom` (RFC 4287), an organization's newest roles. Also what all feeds of
//! an organization have in common.

use sha2::{Digest, Sha256};

use super::share;
use super::visit::file;
use crate::domain::text::Slug;
use crate::domain::timestamp::Timestamp;
use crate::http::api::portal;
use crate::http::pages::markdown;
use crate::http::pages::xml;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::feed::{self, FeedEntry};
use crate::store::portal::PortalOrganization;
use crate::store::{self, Error, Tx};

/// Roles of the feed: whoever reads it once a day misses none.
const ENTRIES_MAX: i64 = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![file("/careers/{orgSlug}/feed.atom", CachePool::Feeds, atom).rendered_one_at_a_time()]
}

/// A feed that is kept until its portal shows something else.
pub(super) fn reply(
    tx: &Tx<'_>,
    organization: &PortalOrganization,
    kind: &'static str,
    body: String,
) -> Result<Reply, Error> {
    Ok(Reply::tagged_file(kind, body)
        .compressed_if_large()
        .valid_until_change(organization.id.clone(), store::change_number::portals(tx)?))
}

/// A moment to the second (RFC 3339), as machines want it.
pub(super) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.split('.').next().unwrap_or_default())
}

/// `GET /careers/{orgSlug}/feed.atom`: the newest roles that are public and open.
///
/// # Errors
/// `not_found` where there is no organization with this slug, or its portal is off.
fn atom(ctx: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = portal::organization(tx, slug.as_ref())?;
    let entries = feed::entries(tx, &organization.id, ENTRIES_MAX)?;
    let document = document(&ctx.settings.base_url, &organization, &entries);
    reply(tx, &organization, "application/atom+xml; charset=utf-8", document)
}

fn document(base: &str, organization: &PortalOrganization, entries: &[FeedEntry]) -> String {
    let newest = entries.iter().map(|entry| entry.shown_since).max();
    let updated = moment(newest.unwrap_or(organization.updated_at).max(organization.updated_at));
    let name = xml::text(&organization.name);
    let name = if name.trim().is_empty() { xml::text(&organization.slug) } else { name };
    let list = xml::text(&share::list_url(base, &organization.slug));
    let own = xml::text(&share::file_url(base, &organization.slug, "feed.atom"));
    let id = urn(organization.id.as_str());
    let entries: String = entries.iter().map(|entry| element(base, organization, entry)).collect();
    let declaration = xml::DECLARATION;
    format!(
        "{declaration}<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>{id}</id>\n<title>{name}</title>\n\
         <updated>{updated}</updated>\n<link rel=\"self\" type=\"application/atom+xml\" href=\"{own}\"/>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{list}\"/>\n\
         <author><name>{name}</name><uri>{list}</uri></author>\n{entries}</feed>\n"
    )
}

fn element(base: &str, organization: &PortalOrganization, entry: &FeedEntry) -> String {
    let role = &entry.role;
    let id = urn(role.id.as_str());
    let title = xml::text(&role.name);
    let url = xml::text(&share::role_url(base, &organization.slug, role.id.as_str()));
    let (published, updated) = (moment(role.created_at), moment(entry.shown_since.max(role.created_at)));
    let markdown = markdown::of_description(&role.description);
    let summary = xml::text(&share::summary(&markdown));
    let content = xml::text(&markdown::to_html(&markdown));
    let department = match xml::text(&role.department) {
        term if term.trim().is_empty() => String::new(),
        term => format!("<category term=\"{term}\"/>\n"),
    };
    format!(
        "<entry>\n<id>{id}</id>\n<title>{title}</title>\n<link rel=\"alternate\" type=\"text/html\" href=\"{url}\"/>\n\
         <published>{published}</published>\n<updated>{updated}</updated>\n{department}<summary>{summary}</summary>\n\
         <content type=\"html\">{content}</content>\n</entry>\n"
    )
}

/// A name that stays whatever becomes of addresses and names (RFC 9562, version 8): made from the id.
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
    fn a_name_is_that_of_the_id_for_good() {
        assert_eq!(urn("role_1"), urn("role_1"));
        assert_ne!(urn("role_1"), urn("role_2"));
        let urn = urn("role_1");
        assert_eq!((urn.len(), &urn[23..24]), (45, "8"));
    }

    #[test]
    fn a_moment_is_to_the_second() {
        assert_eq!(moment(Timestamp::from_micros(1_790_000_000_999_999)), "2026-09-21T14:13:20Z");
    }
}
