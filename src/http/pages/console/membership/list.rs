//! Selects the members that the page shows, by the search and the position in the list.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::id::{Id, UserId};
use crate::domain::member_list::{self, MemberPosition};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::domain::{search, text};
use crate::http::server::pagination::{PageRequest, encode_cursor, invalid_cursor};
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::membership::MemberProfile;
use crate::store::{self, Error, Tx};

/// The maximum length of a search, in characters: far more than a name and an address usually have.
const SEARCH_CHARACTERS_MAX: usize = 200;

/// The query of the page's URL. The forms of the page are sent to URLs with the same query, so that the browser returns
/// to the same members.
#[derive(Debug, Clone)]
pub(super) struct MemberQuery {
    pub(super) q: String,
    page: PageRequest,
    after: Option<MemberPosition>,
}

/// A page of members.
pub(super) struct MemberRows {
    pub(super) members: Vec<MemberProfile>,
    pub(super) next_cursor: Option<String>,
    /// Whether the search was refused because it has too many words.
    pub(super) is_refused: bool,
}

impl MemberQuery {
    /// # Errors
    /// `validation_error` if a parameter is repeated, `limit` is not an integer, or `cursor` is not a cursor of the
    /// list.
    pub(super) fn decode(request: &Request) -> Result<Self, Refusal> {
        let q = request.query("q")?.unwrap_or_default();
        let page = PageRequest::parse(request, 2)?;
        let after = match page.after.as_deref() {
            Some([name, id]) => {
                let user_id = UserId::parse(id).ok_or_else(invalid_cursor)?;
                Some(MemberPosition { name: name.clone(), user_id })
            }
            _ => None,
        };
        Ok(Self { q: text::cut(q.trim(), SEARCH_CHARACTERS_MAX).to_owned(), page, after })
    }

    pub(super) fn is_first_page(&self) -> bool {
        self.after.is_none()
    }

    /// Returns the query of this page's URL, with `?`. It is empty for the first page of all members.
    pub(super) fn url_query(&self) -> String {
        let cursor = self.after.as_ref().map(|after| encode_cursor(&parts(after)));
        self.with_cursor(cursor.as_deref())
    }

    /// Returns the query for the page that follows the cursor in the same search. Without a cursor, this is the first
    /// page.
    pub(super) fn with_cursor(&self, cursor: Option<&str>) -> String {
        let q =
            Some(&self.q).filter(|q| !q.is_empty()).map(|q| format!("q={}", utf8_percent_encode(q, NON_ALPHANUMERIC)));
        let cursor = cursor.map(|cursor| format!("cursor={cursor}"));
        let parts: Vec<String> = q.into_iter().chain(cursor).collect();
        if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
    }

    /// Loads the members of the page. To sort them, the service reads the names of all members of the organization,
    /// which takes a millisecond for 1,000 members.
    pub(super) fn load(
        &self,
        tx: &Tx<'_>,
        who: &Principal,
        organization: &VisibleOrganization,
    ) -> Result<MemberRows, Error> {
        let Some(words) = search::search_words(&self.q) else {
            return Ok(MemberRows { members: Vec::new(), next_cursor: None, is_refused: true });
        };
        let names = store::membership::names(tx, &organization.id)?;
        let found = member_list::page(&names, words, self.after.as_ref(), self.page.rows_to_fetch());
        let (positions, pagination) = self.page.take_page(found, parts);
        let mut members = Vec::with_capacity(positions.len());
        for position in positions {
            members.extend(store::membership::find_profile(tx, &organization.id, who, &position.user_id)?);
        }
        Ok(MemberRows { members, next_cursor: pagination.next_cursor, is_refused: false })
    }
}

/// Returns the parts of the cursor that continues after a position.
fn parts(position: &MemberPosition) -> Vec<String> {
    vec![position.name.clone(), position.user_id.to_string()]
}
