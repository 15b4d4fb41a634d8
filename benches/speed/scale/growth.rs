//! The same questions to a small file and to a big one.

use std::sync::Arc;

use super::Setting;
use super::data::{self, ADMIN, KEYS, Size, WATCHED};
use super::deciding::{Deciding, Order};
use super::finding::Finding;
use super::report::Part;
use crate::company;
use crate::exchange::get;
use crate::line::in_turns;
use crate::load::Course;
use crate::place::Place;
use crate::round::Round;
use crate::template::Copy;

/// Rows of a page of the usage log, when nobody says how many.
const PAGE_ROWS: usize = 100;

/// A file with a service.
pub(crate) struct Side {
    pub(crate) size: &'static Size,
    pub(crate) place: Place,
}

impl Side {
    pub(crate) fn on(setting: &Setting, size: &'static Size, copy: Copy) -> Self {
        Self { size, place: Place::on(&setting.cores, copy) }
    }
}

/// Something that can be asked of any file.
struct Question {
    name: &'static str,
    connections: usize,
    with_key: bool,
    requests: fn(&Size) -> Vec<Vec<u8>>,
    /// How many times the small file's CPU the big one's may be.
    at_most: Option<f64>,
}

const QUESTIONS: &[Question] = &[
    Question {
        name: "GET /api/v1/me with 1,000 keys at random",
        connections: 64,
        with_key: true,
        requests: |_| data::texts().iter().map(|key| get("/api/v1/me", Some(key))).collect(),
        at_most: Some(1.1),
    },
    Question {
        name: "a portal of 30 roles",
        connections: 64,
        with_key: false,
        requests: |_| vec![get(&company::portal_path(0), None)],
        at_most: Some(1.1),
    },
    Question {
        name: "a role of that portal",
        connections: 64,
        with_key: false,
        requests: |_| {
            let role = data::role_id(0, 7);
            vec![get(&format!("{}/roles/{role}", company::portal_path(0)), None)]
        },
        at_most: Some(1.1),
    },
    Question {
        name: "first page of a key's usage, 100 rows",
        connections: 16,
        with_key: true,
        requests: |_| vec![page("")],
        at_most: Some(1.1),
    },
    Question {
        name: "a page in the middle",
        connections: 16,
        with_key: true,
        requests: |size| vec![page(&format!("?before={}", size.before(0.5)))],
        at_most: Some(1.1),
    },
    Question {
        name: "the last page",
        connections: 16,
        with_key: true,
        requests: |_| vec![page(&format!("?before={}", Size::before_last_page(PAGE_ROWS)))],
        at_most: Some(1.1),
    },
    Question {
        name: "the list of 1,002 keys",
        connections: 16,
        with_key: true,
        requests: |_| vec![get("/api/admin/api-keys", Some(data::secret(ADMIN).reveal()))],
        at_most: Some(1.1),
    },
    // The small file has one such portal only, and all rows of these keys side by side.
    Question {
        name: "all portals of 30 roles that there are, at random",
        connections: 64,
        with_key: false,
        requests: |size| (0..size.organizations).map(|nth| get(&company::portal_path(nth), None)).collect(),
        at_most: None,
    },
    Question {
        name: "the newest 5 rows of the other keys, at random",
        connections: 16,
        with_key: true,
        requests: |_| (1..KEYS).map(|key| usage(key, "?limit=5")).collect(),
        at_most: None,
    },
];

/// Of the key that has rows enough in each file.
fn page(query: &str) -> Vec<u8> {
    usage(WATCHED, query)
}

fn usage(key: usize, query: &str) -> Vec<u8> {
    let path = format!("/api/admin/api-keys/{}/usage{query}", data::key_id(key));
    get(&path, Some(data::secret(ADMIN).reveal()))
}

/// All questions, and decisions, of both files in turns.
pub(crate) fn measure(setting: &Setting, sides: &mut [Side; 2], part: &mut Part<'_>) {
    for question in QUESTIONS {
        part.add([compare(setting, sides, question)]);
    }
    part.add([decide(setting, sides, Order::OfIds).wanted_at_most(1.2)]);
    part.add([decide(setting, sides, Order::Scattered)]);
}

fn compare(setting: &Setting, sides: &mut [Side; 2], question: &Question) -> Finding {
    eprintln!("asking both files: {}", question.name);
    let requests = sides.each_ref().map(|side| Arc::new((question.requests)(side.size)));
    let course = Course::For(setting.lengths.round);
    let round = |sides: &mut [Side; 2], nth: usize| -> Round {
        let place = &mut sides[nth].place;
        if question.with_key {
            place.round_with_keys(question.connections, &requests[nth], &course)
        } else {
            place.round(question.connections, &requests[nth], &course)
        }
    };
    let (small, big) = in_turns(sides, setting.lengths.rounds, |sides| round(sides, 0), |sides| round(sides, 1));
    let finding = Finding::cpu(format!("{}, {} connections", question.name, question.connections), &small, &big);
    match question.at_most {
        Some(most) => finding.wanted_at_most(most),
        None => finding,
    }
}

/// Rejects and hires, and opens the applications again.
fn decide(setting: &Setting, sides: &mut [Side; 2], order: Order) -> Finding {
    eprintln!("deciding in both files, {}", order.words());
    let mut sides = sides.each_mut().map(|side| Deciding::new(side, order));
    let batches = setting.lengths.batches;
    let (small, big) = in_turns(
        &mut sides,
        setting.lengths.rounds,
        |sides: &mut [Deciding<'_>; 2]| sides[0].round(batches),
        |sides| sides[1].round(batches),
    );
    Finding::cpu(format!("reject and hire in turn, {}, 64 connections", order.words()), &small, &big)
}
