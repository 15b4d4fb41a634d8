//! Compares the same requests on a small file and on a big file.

use std::sync::Arc;

use super::Setup;
use super::data::{self, ADMIN, KEYS, Size, WATCHED};
use super::deciding::{Deciding, Order};
use super::measurement::Measurement;
use super::report::Part;
use crate::company;
use crate::exchange::get;
use crate::line::alternate;
use crate::load::Course;
use crate::round::Round;
use crate::server::Server;
use crate::template::Copy;

/// The default number of rows on a page of the usage log.
const PAGE_ROWS: usize = 100;

/// A service with a file of this size.
pub(crate) struct Side {
    pub(crate) size: &'static Size,
    pub(crate) server: Server,
}

impl Side {
    pub(crate) fn on(setup: &Setup, size: &'static Size, copy: Copy) -> Self {
        Self { size, server: Server::on(&setup.cores, copy) }
    }
}

/// Requests that suit both files.
struct Question {
    name: &'static str,
    connections: usize,
    with_key: bool,
    requests: fn(&Size) -> Vec<Vec<u8>>,
    /// The target: the maximum ratio of the CPU time on the big file to that on the small file.
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
    // The last two questions have no target: the small file has only one portal of 30 roles, and the rows of its keys
    // are close together.
    Question {
        name: "all portals of 30 roles, at random",
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

/// Returns a request for a usage page of the key that has enough rows in each file.
fn page(query: &str) -> Vec<u8> {
    usage(WATCHED, query)
}

fn usage(key: usize, query: &str) -> Vec<u8> {
    let path = format!("/api/admin/api-keys/{}/usage{query}", data::key_id(key));
    get(&path, Some(data::secret(ADMIN).reveal()))
}

/// Measures all questions and the decisions, in alternating rounds on both files.
pub(crate) fn measure(setup: &Setup, sides: &mut [Side; 2], part: &mut Part<'_>) {
    for question in QUESTIONS {
        part.add([compare(setup, sides, question)]);
    }
    part.add([decide(setup, sides, Order::OfIds).target_at_most(1.2)]);
    part.add([decide(setup, sides, Order::Scattered)]);
}

fn compare(setup: &Setup, sides: &mut [Side; 2], question: &Question) -> Measurement {
    eprintln!("measuring on both files: {}", question.name);
    let requests = sides.each_ref().map(|side| Arc::new((question.requests)(side.size)));
    let course = Course::For(setup.lengths.round);
    let round = |sides: &mut [Side; 2], nth: usize| -> Round {
        let server = &mut sides[nth].server;
        if question.with_key {
            server.round_with_keys(question.connections, &requests[nth], &course)
        } else {
            server.round(question.connections, &requests[nth], &course)
        }
    };
    let (small, big) = alternate(sides, setup.lengths.rounds, |sides| round(sides, 0), |sides| round(sides, 1));
    let measurement =
        Measurement::cpu(format!("{}, {} connections", question.name, question.connections), &small, &big);
    match question.at_most {
        Some(most) => measurement.target_at_most(most),
        None => measurement,
    }
}

/// Measures rejections and hires. The applications are reopened after each batch.
fn decide(setup: &Setup, sides: &mut [Side; 2], order: Order) -> Measurement {
    eprintln!("deciding on both files, {}", order.words());
    let mut sides = sides.each_mut().map(|side| Deciding::new(side, order));
    let batches = setup.lengths.batches;
    let (small, big) = alternate(
        &mut sides,
        setup.lengths.rounds,
        |sides: &mut [Deciding<'_>; 2]| sides[0].round(batches),
        |sides| sides[1].round(batches),
    );
    Measurement::cpu(format!("reject and hire alternately, {}, 64 connections", order.words()), &small, &big)
}
