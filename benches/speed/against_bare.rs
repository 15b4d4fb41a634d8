//! Compares read requests to the service with the same requests to a bare server.

use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rusqlite::Connection;

use super::bare::Bare;
use super::company::{self, ORGANIZATIONS};
use super::exchange::{Answer, get, visit};
use super::line::Contest;
use super::load::Course;
use super::random::Random;
use super::round::Round;
use super::server::Server;
use super::setup::Setup;

/// The interval between changes to portals.
const CHANGE_EVERY: Duration = Duration::from_secs(1);
/// The time from the beginning of a round to its first change.
const CHANGE_FIRST_AFTER: Duration = Duration::from_millis(300);

/// The requests of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The portals of all organizations as JSON (`GET /api/public/portal/…`), while the portals change.
    Portals,
    /// The career pages of all organizations as HTML, while the portals change.
    Pages,
    /// The same pages, compressed.
    PagesCompressed,
    /// `GET /api/v1/me` with the keys of all members.
    Me,
    /// `GET /api/v1/me` with one key.
    MeHot,
}

/// The service, and a bare server that sends the same answers.
pub(crate) struct AgainstBare {
    server: Server,
    bare: Bare,
    requests: Arc<Vec<Vec<u8>>>,
    connections: usize,
    course: Course,
    /// `None` if the requests are for `GET /api/v1/me`, because portals do not change then.
    changes: Option<Changes>,
}

impl AgainstBare {
    pub(crate) fn prepare(setup: &Setup, reading: Reading, connections: usize) -> Self {
        let mut server = Server::on(&setup.cores, setup.template.copy());
        let me = |key| get("/api/v1/me", Some(key));
        let (requests, answers) = match reading {
            Reading::Portals => {
                let requests: Vec<_> = (0..ORGANIZATIONS).map(|nth| get(&company::portal_path(nth), None)).collect();
                let answers: Vec<_> = requests.iter().map(|request| server.ask(request)).collect();
                let bytes = answers[0].body.len();
                assert!((19_000..21_000).contains(&bytes), "the portal is {bytes} bytes long instead of about 20 kB");
                (requests, answers)
            }
            Reading::Pages => visits(&server, "identity", 8_000..48_000),
            Reading::PagesCompressed => visits(&server, "gzip, deflate, br, zstd", 1_000..9_000),
            Reading::Me => {
                let requests: Vec<_> = setup.template.texts().map(me).collect();
                let answers = requests.iter().map(|request| server.ask_with_key(request)).collect();
                (requests, answers)
            }
            Reading::MeHot => {
                let request = me(&setup.template.keys[0].text);
                let answer = server.ask_with_key(&request);
                (vec![request], vec![answer])
            }
        };
        let bare = Bare::start(&setup.cores, &answers);
        let changes = !matches!(reading, Reading::Me | Reading::MeHot);
        let changes = changes.then(|| Changes::of(&server));
        let course = Course::For(setup.lengths.reading);
        Self { server, bare, requests: Arc::new(requests), connections, course, changes }
    }
}

impl Contest for AgainstBare {
    fn limit(&mut self) -> Round {
        self.bare.round(self.connections, &self.requests, &self.course)
    }

    fn service(&mut self) -> Round {
        let Self { server, requests, connections, course, changes, .. } = self;
        match changes {
            Some(changes) => changes.round_with_changes(server, || server.round(*connections, requests, course)),
            None => server.round_with_keys(*connections, requests, course),
        }
    }

    fn end(self: Box<Self>) {
        self.server.end();
    }
}

/// Returns requests for the career pages of all organizations, and their answers. Panics if the length of the first
/// answer is not in the range `bytes`.
fn visits(server: &Server, codings: &str, bytes: Range<usize>) -> (Vec<Vec<u8>>, Vec<Answer>) {
    let requests: Vec<_> = (0..ORGANIZATIONS).map(|nth| visit(&company::page_path(nth), codings)).collect();
    let answers: Vec<_> = requests.iter().map(|request| server.ask(request)).collect();
    let length = answers[0].body.len();
    assert!(bytes.contains(&length), "the page is {length} bytes long instead of {bytes:?}");
    let is_compressed = answers[0].fields.iter().any(|(name, _)| name == "content-encoding");
    assert_eq!(is_compressed, codings.contains("gzip"), "a page is compressed if and only if the request accepts gzip");
    (requests, answers)
}

/// A connection that changes portals from outside the service's process.
struct Changes {
    connection: Connection,
    random: Random,
    count: usize,
}

impl Changes {
    fn of(server: &Server) -> Self {
        let connection = Connection::open(server.db()).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        Self { connection, random: Random::new(2), count: 0 }
    }

    /// Changes a portal each second during `round`. Then checks that the service shows the last change of each portal.
    fn round_with_changes(&mut self, server: &Server, round: impl FnOnce() -> Round) -> Round {
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
        // Only the last change of each portal is visible.
        for (nth, (organization, name)) in changed.iter().enumerate() {
            if changed[nth + 1..].iter().all(|(later, _)| later != organization) {
                let portal = server.ask(&get(&company::portal_path(*organization), None));
                let portal = String::from_utf8(portal.body).unwrap();
                assert!(portal.contains(name), "the portal of organization {organization} contains {name:?}");
            }
        }
        round
    }

    /// Renames a role of a portal. All new names have the same length. Returns the organization and the name.
    fn change(&mut self) -> (usize, String) {
        self.count += 1;
        let organization = self.random.below(ORGANIZATIONS);
        let name = format!("Engineer for Water Systems, Change {:03}", self.count);
        let sql = "UPDATE roles
                   SET name = $1, updated_at = updated_at + 1
                   WHERE id = $2";
        let touched = self.connection.execute(sql, (&name, company::portal_role_id(organization))).unwrap();
        assert_eq!(touched, 1, "the portal has this role");
        (organization, name)
    }
}
