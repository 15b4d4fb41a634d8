//! The columns and the cards of a board.

use jiff::civil::Date;

use crate::domain::board;
use crate::domain::id::ApplicationId;
use crate::domain::timestamp::Timestamp;
use crate::http::pages::console::due;
use crate::http::pages::texts::console::board::BOARD;
use crate::http::pages::texts::{Texts, fill};
use crate::store::board::{BoardCard, BoardStep};

/// The maximum number of cards in a list. The stylesheet sets `content-visibility` for full lists, so browsers do not
/// lay them out while they are out of view.
const LIST_CARDS: usize = 50;

/// The facts that all cards of a board share.
pub(super) struct CardFacts {
    pub(super) texts: &'static Texts,
    pub(super) now: Timestamp,
    /// The current day in the organization's time zone.
    pub(super) today: Date,
}

/// A step and its candidates.
pub(super) struct Column {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) count: String,
    pub(super) is_removed: bool,
    /// Whether a narrow screen shows this column.
    pub(super) is_here: bool,
    pub(super) cards: Vec<Card>,
}

/// A candidate at a step.
pub(super) struct Card {
    /// The id of the application.
    pub(super) id: ApplicationId,
    /// The id of the candidate step, which is the value of the card in forms.
    pub(super) step: String,
    pub(super) candidate_id: String,
    pub(super) name: String,
    /// The time for which the candidate has been at the step.
    pub(super) wait: String,
    /// Whether the candidate has waited longer than [`board::late_after`] allows; false while the candidate is put
    /// aside.
    pub(super) is_late: bool,
    pub(super) has_attachment: bool,
    /// The text that names the other roles to which the candidate has applied.
    pub(super) also: Option<String>,
    /// The later mark, in words.
    pub(super) mark: Option<String>,
    /// Whether the candidate is put aside: there is a later mark, and it is not due.
    pub(super) is_aside: bool,
}

impl Column {
    pub(super) fn new(facts: &CardFacts, step: BoardStep, cards: Vec<BoardCard>) -> Self {
        let waits: Vec<_> = cards.iter().map(|card| facts.now.since(card.since)).collect();
        let late_after = board::late_after(board::median(&waits));
        let cards = cards.into_iter().zip(waits);
        let cards: Vec<Card> = cards.map(|(card, wait)| Card::new(facts, card, wait > late_after)).collect();
        Self {
            id: step.id.into(),
            name: step.name,
            count: facts.texts.number(cards.len() as f64),
            is_removed: step.order.is_none(),
            is_here: false,
            cards,
        }
    }

    /// Returns the cards in lists. An empty column has one empty list.
    pub(super) fn lists(&self) -> Vec<&[Card]> {
        if self.cards.is_empty() { vec![&[]] } else { self.cards.chunks(LIST_CARDS).collect() }
    }

    /// Returns whether a list has the maximum number of cards.
    pub(super) fn is_full(&self, list: &[Card]) -> bool {
        list.len() == LIST_CARDS
    }
}

impl Card {
    pub(super) fn new(facts: &CardFacts, card: BoardCard, is_late: bool) -> Self {
        let words = BOARD.of(facts.texts);
        let days = board::days(facts.now.since(card.since));
        let is_aside = card.later_due_on.is_some_and(|due_on| due_on.0 > facts.today);
        let other_roles: Vec<&str> = card.other_roles.iter().map(|role| role.name.as_str()).collect();
        let also = (!other_roles.is_empty()).then(|| fill(words.also, &[("roles", &other_roles.join(", "))]));
        Self {
            wait: match days {
                0 => words.since_today.to_owned(),
                days => facts.texts.counted(&words.days_here, usize::try_from(days).unwrap_or(usize::MAX)),
            },
            also,
            id: card.application_id,
            step: card.candidate_step_id.into(),
            candidate_id: card.candidate_id.into(),
            name: card.candidate_name,
            mark: card.later_due_on.map(|due_on| due::mark(facts.texts, facts.today, due_on)),
            is_aside,
            is_late: is_late && !is_aside,
            has_attachment: card.has_attachment,
        }
    }
}
