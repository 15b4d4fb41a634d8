//! Reading, against a bare server.

use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rusqlite::Connection;

use super::bare::Bare;
use super::company::{self, ORGANIZATIONS};
use super::exchange::{Answer, get, visit};
use super::line::Contest;
use super::load::Course;
use super::place::Place;
use super::random::Random;
use super::round::Round;
use super::setting::Setting;

/// Between two changes of portals, and before the first of a round.
const CHANGE_EVERY: Duration = Duration::from_secs(1);
const CHANGE_FIRST_AFTER: Duration = Duration::from_millis(300);

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The portals of all organizations, while they change.
    Portals,
    /// The same as pages.
    Pages,
    /// The same, compressed.
    PagesCompressed,
    /// The caller, with the keys of all members.
    Me,
    /// The caller, with one key.
    MeHot,
}

/// The service and a bare server with its answers.
pub(crate) struct AgainstBare {
    place: Place,
    bare: Bare,
    requests: Arc<Vec<Vec<u8>>>,
    connections: usize,
    course: Course,
    /// There where portals are read.
    changes: Option<Changes>,
}

impl AgainstBare {
    pub(crate) fn prepare(setting: &Setting, reading: Reading, connections: usize) -> Self {
        let mut place = Place::on(&setting.cores, setting.template.copy());
        let me = |key| get("/api/v1/me", Some(key));
        let (requests, answers) = match reading {
            Reading::Portals => {
                let requests: Vec<_> = (0..ORGANIZATIONS).map(|nth| get(&company::portal_path(nth), None)).collect();
                let answers: Vec<_> = requests.iter().map(|request| place.ask(request)).collect();
                let bytes = answers[0].body.len();
                assert!((19_000..21_000).contains(&bytes), "a portal has some 20 kB, and not {bytes} bytes");
                (requests, answers)
            }
            Reading::Pages => visits(&place, "identity", 8_000..48_000),
            Reading::PagesCompressed => visits(&place, "gzip, deflate, br, zstd", 1_000..9_000),
            Reading::Me => {
                let requests: Vec<_> = setting.template.texts().map(me).collect();
                let answers = requests.iter().map(|request| place.ask_with_key(request)).collect();
                (requests, answers)
            }
            Reading::MeHot => {
                let request = me(&setting.template.keys[0].text);
                let answer = place.ask_with_key(&request);
                (vec![request], vec![answer])
            }
        };
        let bare = Bare::start(&setting.cores, &answers);
        let changes = !matches!(reading, Reading::Me | Reading::MeHot);
        let changes = changes.then(|| Changes::of(&place));
        let course = Course::For(setting.lengths.reading);
        Self { place, bare, requests: Arc::new(requests), connections, course, changes }
    }
}

impl Contest for AgainstBare {
    fn limit(&mut self) -> Round {
        self.bare.round(self.connections, &self.requests, &self.course)
    }

    fn service(&mut self) -> Round {
        let Self { place, requests, connections, course, changes, .. } = self;
        match changes {
            Some(changes) => changes.beside(place, || place.round(*connections, requests, course)),
            None => place.round_with_keys(*connections, requests, course),
        }
    }

    fn end(self: Box<Self>) {
        self.place.end();
    }
}

/// Requests for the pages of all organizations, and their answers, each of some bytes within these.
fn visits(place: &Place, codings: &str, bytes: Range<usize>) -> (Vec<Vec<u8>>, Vec<Answer>) {
    let requests: Vec<_> = (0..ORGANIZATIONS).map(|nth| visit(&company::page_path(nth), codings)).collect();
    let answers: Vec<_> = requests.iter().map(|request| place.ask(request)).collect();
    let told = answers[0].body.len();
    assert!(bytes.contains(&told), "a page has some {bytes:?} bytes, and not {told}");
    let is_compressed = answers[0].fields.iter().any(|(name, _)| name == "content-encoding");
    assert_eq!(is_compressed, codings.contains("gzip"), "a page is compressed where that is wanted");
    (requests, answers)
}

/// What changes portals: another process than the service.
struct Changes {
    connection: Connection,
    random: Random,
    made: usize,
}

impl Changes {
    fn of(place: &Place) -> Self {
        let connection = Connection::open(place.db()).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        Self { connection, random: Random::new(2), made: 0 }
    }

    /// Changes a portal each second while `round` goes on. Behind it, the service shows every change.
    fn beside(&mut self, place: &Place, round: impl FnOnce() -> Round) -> Round {
        let (end, ended) = mpsc::channel::<()>();
        let (round, changed) = std::thread::scope(|scope| {
            let changer = scope.spawn(move || {
                let mut changed = Vec::new();
                let mut wait = CHANGE_FIRST_AFTER;
                while ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                    changed.push(self.change());
                    wait = CHANGE_EVERY;
                }
                changed
            });
            let round = round();
            drop(end);
            (round, changer.join().unwrap())
        });
        assert!(!changed.is_empty(), "a portal was changed");
        // Of one that was changed twice the last.
        for (nth, (organization, name)) in changed.iter().enumerate() {
            if changed[nth + 1..].iter().all(|(later, _)| later != organization) {
                let portal = place.ask(&get(&company::portal_path(*organization), None));
                let portal = String::from_utf8(portal.body).unwrap();
                assert!(portal.contains(name), "the portal of organization {organization} has {name:?}");
            }
        }
        round
    }

    /// A role of the portal has another name, as long as any other; whose portal, and the name.
    fn change(&mut self) -> (usize, String) {
        self.made += 1;
        let organization = self.random.below(ORGANIZATIONS);
        let name = format!("Engineer for Water Systems, Change {:03}", self.made);
        let sql = "UPDATE roles
                   SET name = $1, updated_at = updated_at + 1
                   WHERE id = $2";
        let touched = self.connection.execute(sql, (&name, company::portal_role_id(organization))).unwrap();
        assert_eq!(touched, 1, "the portal has such a role");
        (organization, name)
    }
}
