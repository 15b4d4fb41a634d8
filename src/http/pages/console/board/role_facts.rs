//! The facts that a board shows about its role: the free positions, the status, the closing date, the review queue, the
//! hired candidates, and the numbers of other ended applications.

use super::scene::Scene;
use crate::domain::id::RoleId;
use crate::domain::report::ApplicationCounts;
use crate::domain::role::RoleStatus;
use crate::http::pages::console::when;
use crate::http::pages::texts::console::board::BOARD;
use crate::http::pages::texts::{Texts, fill};
use crate::store::access::VisibleOrganization;
use crate::store::role::RoleRecord;
use crate::store::{Error, Tx, board};

/// The maximum number of hired candidates that the board lists: more than an organization hires for almost any role.
const HIRED_ROWS_MAX: usize = 200;

/// The free positions, the status and the closing date of a role. `templates/console/board/seats.html` renders them.
pub(super) struct Seats {
    pub(super) text: String,
    /// The status; `None` for an open role.
    pub(super) status: Option<&'static str>,
    pub(super) closing: Option<String>,
}

impl Seats {
    pub(super) fn new(texts: &'static Texts, role: &RoleRecord) -> Self {
        let words = BOARD.of(texts);
        let number = |count: i64| texts.number(count as f64);
        let (free, positions) = (number(role.seats.positions - role.seats.hired), number(role.seats.positions));
        let status = match role.seats.status {
            RoleStatus::Open => None,
            RoleStatus::Draft => Some(words.draft),
            RoleStatus::Filled => Some(words.filled),
            RoleStatus::Closed => Some(words.closed),
        };
        let text = fill(words.positions_open, &[("free", &free), ("positions", &positions)]);
        Self { text, status, closing: closing(texts, role) }
    }
}

/// Returns the closing date in words, such as `Applications accepted until 1 May 2026`. Returns `None` if the role has
/// ended or has no closing date.
pub(in crate::http::pages::console) fn closing(texts: &'static Texts, role: &RoleRecord) -> Option<String> {
    let day = role.closes_on.filter(|_| !role.seats.status.has_ended())?;
    Some(fill(BOARD.of(texts).applications_until, &[("day", &texts.day(day.date()))]))
}

/// The numbers of applications that ended without a hire. `templates/console/board/ended.html` renders them.
pub(super) struct Ended {
    pub(super) not_selected: String,
    /// The number of withdrawn applications; `None` if there are none.
    pub(super) withdrawn: Option<String>,
    pub(super) is_shown: bool,
}

impl Ended {
    pub(super) fn new(texts: &'static Texts, applications: ApplicationCounts) -> Self {
        let number = |count: i64| texts.number(count as f64);
        Self {
            not_selected: number(applications.not_selected),
            withdrawn: (applications.withdrawn > 0).then(|| number(applications.withdrawn)),
            is_shown: applications.not_selected + applications.withdrawn > 0,
        }
    }
}

/// A hired candidate. `templates/console/board/hired.html` renders the list.
pub(super) struct HiredRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) day: String,
}

pub(super) fn hired(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: &VisibleOrganization,
    role: &RoleId,
) -> Result<Vec<HiredRow>, Error> {
    let words = BOARD.of(texts);
    let rows = board::hired(tx, &organization.id, role, HIRED_ROWS_MAX)?.into_iter();
    Ok(rows
        .map(|hired| HiredRow {
            id: hired.candidate_id.into(),
            name: hired.candidate_name,
            day: fill(words.hired_on, &[("day", &when::day(texts, &organization.time_zone, hired.hired_date))]),
        })
        .collect())
}

/// Returns the label and the URL of the review queue, or `None` if no candidate waits at the first step.
/// `at_first_step` is the number of candidates who wait there.
pub(super) fn review(texts: &'static Texts, scene: &Scene, at_first_step: usize) -> Option<(String, String)> {
    let url = format!("/app/{}/review?role={}", scene.organization.slug, scene.role.id);
    (at_first_step > 0).then(|| (texts.counted(&BOARD.of(texts).review, at_first_step), url))
}
