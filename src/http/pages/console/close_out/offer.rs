//! The notice that candidates are still in progress at a role that was filled or closed, with the link to the page that
//! rejects them together.

use crate::domain::id::RoleId;
use crate::domain::role::RoleStatus;
use crate::http::pages::texts::Texts;
use crate::http::pages::texts::console::close_out::CLOSE_OUT;
use crate::store::access::VisibleOrganization;
use crate::store::board;
use crate::store::{Error, Tx};

/// The notice.
pub(in crate::http::pages::console) struct Offer {
    pub(in crate::http::pages::console) text: String,
    pub(in crate::http::pages::console) short: String,
    pub(in crate::http::pages::console) label: &'static str,
    /// The URL of the page; `None` for a reader who may not decide.
    pub(in crate::http::pages::console) url: Option<String>,
}

/// Returns the notice about a role. Returns `None` if the role has not ended, or nobody is in progress there.
pub(in crate::http::pages::console) fn offer(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: &VisibleOrganization,
    role: &RoleId,
    status: RoleStatus,
) -> Result<Option<Offer>, Error> {
    if !status.has_ended() {
        return Ok(None);
    }
    let count = usize::try_from(board::applications(tx, &organization.id, role)?.in_progress).unwrap_or_default();
    let words = CLOSE_OUT.of(texts);
    let may_decide = organization.caller.require_manager().is_ok();
    Ok((count > 0).then(|| Offer {
        text: texts.counted(&words.still_here, count),
        short: texts.counted(&words.still_here_short, count),
        label: words.link,
        url: may_decide.then(|| path(organization, role)),
    }))
}

/// Returns the path of the page.
pub(super) fn path(organization: &VisibleOrganization, role: &RoleId) -> String {
    format!("/app/{}/roles/{role}/close-out", organization.slug)
}
