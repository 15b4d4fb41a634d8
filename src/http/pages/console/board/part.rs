//! The parts of a board that have changed: cards with their new positions, and counts.

use std::cell::RefCell;
use std::collections::HashMap;

use super::column::{Card, CardFacts};
use super::scene::{HIRED, Scene};
use crate::domain::board as board_rule;
use crate::domain::id::{ApplicationId, RoleStepId};
use crate::domain::report::ApplicationCounts;
use crate::domain::timestamp::Timestamp;
use crate::http::pages::console::when;
use crate::http::pages::texts::Texts;
use crate::store::{Error, Tx, board};

/// A card that may have changed or moved, with its position on the board. `templates/console/board/parts.html` renders
/// it.
pub(super) struct Part {
    pub(super) id: ApplicationId,
    pub(super) step: String,
    /// The next card at the step; `None` for the last.
    pub(super) before: Option<ApplicationId>,
    /// The card; empty if the application has ended or has no current step.
    pub(super) cards: Vec<Card>,
}

/// The number of candidates at a step, or of hired candidates.
pub(super) struct StepCount {
    pub(super) id: String,
    pub(super) text: String,
}

/// A board whose parts are rendered one by one.
pub(super) struct PartSource<'a> {
    tx: &'a Tx<'a>,
    texts: &'static Texts,
    scene: &'a Scene,
    counts: HashMap<RoleStepId, i64>,
    applications: ApplicationCounts,
    /// The median time of arrival at a step, for the steps of the cards rendered so far.
    medians: RefCell<HashMap<RoleStepId, Timestamp>>,
}

impl<'a> PartSource<'a> {
    pub(super) fn new(tx: &'a Tx<'a>, texts: &'static Texts, scene: &'a Scene) -> Result<Self, Error> {
        let (organization, role) = (&scene.organization.id, &scene.role.id);
        let counts = board::counts(tx, organization, role)?.into_iter().collect();
        let applications = board::applications(tx, organization, role)?;
        Ok(Self { tx, texts, scene, counts, applications, medians: RefCell::default() })
    }

    /// Returns the number of applications in each status.
    pub(super) fn applications(&self) -> ApplicationCounts {
        self.applications
    }

    /// Returns the number of candidates at a step.
    pub(super) fn count(&self, step: &RoleStepId) -> i64 {
        self.counts.get(step).copied().unwrap_or_default()
    }

    /// Returns the number of candidates at each step, and of hired candidates.
    pub(super) fn counts(&self) -> Result<Vec<StepCount>, Error> {
        let (tx, organization, role) = (self.tx, &self.scene.organization.id, &self.scene.role.id);
        let number = |count: i64| self.texts.number(count as f64);
        let steps = board::steps(tx, organization, role)?.into_iter();
        let mut counts: Vec<StepCount> =
            steps.map(|step| StepCount { text: number(self.count(&step.id)), id: step.id.into() }).collect();
        counts.push(StepCount { id: HIRED.to_owned(), text: number(self.applications.hired) });
        Ok(counts)
    }

    /// Returns the median time of arrival at a step. Caches it, because the cards of one answer are at few steps.
    fn median(&self, step: &RoleStepId) -> Result<Timestamp, Error> {
        if let Some(median) = self.medians.borrow().get(step) {
            return Ok(*median);
        }
        let (organization, role) = (&self.scene.organization.id, &self.scene.role.id);
        let found = board::since_at(self.tx, organization, role, step, self.count(step) / 2)?;
        let median = found.unwrap_or(self.tx.now);
        self.medians.borrow_mut().insert(step.clone(), median);
        Ok(median)
    }

    /// Returns the part for an application: its card with the position. If the application has ended or has no current
    /// step, the part removes the card.
    pub(super) fn part(&self, id: &ApplicationId) -> Result<Part, Error> {
        let (tx, organization, role) = (self.tx, &self.scene.organization.id, &self.scene.role.id);
        let Some(card) = board::card(tx, organization, role, id)? else {
            return Ok(Part { id: id.clone(), step: String::new(), before: None, cards: Vec::new() });
        };
        let step = &card.role_step_id;
        let next = board::page(tx, organization, role, step, (card.since.micros(), id.as_str()), 1)?;
        let late_after = board_rule::late_after(tx.now.since(self.median(step)?));
        let is_late = tx.now.since(card.since) > late_after;
        let today = when::today(&self.scene.organization.time_zone, tx.now);
        let facts = CardFacts { texts: self.texts, now: tx.now, today };
        Ok(Part {
            id: id.clone(),
            step: step.to_string(),
            before: next.into_iter().next().map(|entry| entry.candidate_role_id),
            cards: vec![Card::new(&facts, card, is_late)],
        })
    }
}
