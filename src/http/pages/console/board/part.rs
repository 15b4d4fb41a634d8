//! The parts of a board that have changed: cards with their new positions, and counts.

use std::collections::HashMap;

use super::column::{Card, CardFacts};
use super::scene::{HIRED, Scene};
use crate::domain::board as board_rule;
use crate::domain::id::{ApplicationId, RoleStepId};
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
    /// The card; empty if the application has ended.
    pub(super) cards: Vec<Card>,
}

/// The number of candidates at a step.
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
}

impl<'a> PartSource<'a> {
    pub(super) fn new(tx: &'a Tx<'a>, texts: &'static Texts, scene: &'a Scene) -> Result<Self, Error> {
        let counts = board::counts(tx, &scene.organization.id, &scene.role.id)?.into_iter().collect();
        Ok(Self { tx, texts, scene, counts })
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
        let applications = board::applications(tx, organization, role)?;
        counts.push(StepCount { id: HIRED.to_owned(), text: number(applications.hired) });
        counts.push(StepCount { id: "ended".to_owned(), text: number(applications.not_selected) });
        Ok(counts)
    }

    /// Returns the card of an application in its place.
    pub(super) fn part(&self, id: &ApplicationId) -> Result<Part, Error> {
        let (tx, organization, role) = (self.tx, &self.scene.organization.id, &self.scene.role.id);
        let Some(card) = board::card(tx, organization, role, id)? else {
            return Ok(Part { id: id.clone(), step: String::new(), before: None, cards: Vec::new() });
        };
        let step = &card.role_step_id;
        let next = board::page(tx, organization, role, step, (card.since.micros(), id.as_str()), 1)?;
        let median = board::since_at(tx, organization, role, step, self.count(step) / 2)?.unwrap_or(tx.now);
        let late_after = board_rule::late_after(tx.now.since(median));
        let is_late = tx.now.since(card.since) > late_after;
        let other_roles = board::other_roles_of(tx, organization, id)?;
        let other_roles = HashMap::from_iter((!other_roles.is_empty()).then(|| (id.clone(), other_roles)));
        let today = when::today(&self.scene.organization.time_zone, tx.now);
        let facts = CardFacts { texts: self.texts, now: tx.now, today, other_roles };
        Ok(Part {
            id: id.clone(),
            step: step.to_string(),
            before: next.into_iter().next().map(|entry| entry.candidate_role_id),
            cards: vec![Card::new(&facts, card, is_late)],
        })
    }
}
