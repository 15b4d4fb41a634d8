//! A portal of many roles against one of 30, by the byte.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::Setting;
use super::data;
use super::finding::Finding;
use super::growth::Side;
use super::report::Part;
use crate::company::{self, PORTAL_ROLES};
use crate::exchange::{ask_on, get};
use crate::line::in_turns;
use crate::load::{Course, Load};
use crate::round::Round;

/// Of those that ask for a portal that does not change. Few, because a large answer is a megabyte and more.
const CONNECTIONS: usize = 8;

/// How many times the CPU of a byte of the other portal.
const WANTED: f64 = 1.3;

/// The CPU a byte of both portals, in turns.
pub(crate) fn measure(setting: &Setting, big: &mut Side, part: &mut Part<'_>) {
    eprintln!("asking for a portal of {} roles", big.size.large_portal_roles);
    let organizations = [0, big.size.large()];
    let requests = organizations.map(|organization| Arc::new(vec![get(&company::portal_path(organization), None)]));
    let kilobytes = requests.each_ref().map(|requests| big.place.ask(&requests[0]).body.len() as f64 / 1e3);
    let course = Course::For(setting.lengths.round);
    let same = |big: &mut Side, nth: usize| big.place.round(CONNECTIONS, &requests[nth], &course);
    let connection = Connection::open(big.place.db()).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let changed = |big: &mut Side, nth: usize| {
        changed(big, &connection, organizations[nth], &requests[nth][0], setting.lengths.round)
    };
    let mut finding = |how: &str, round: &dyn Fn(&mut Side, usize) -> Round| {
        let rounds = setting.lengths.rounds;
        let (few, many) = in_turns(big, rounds, |big| round(big, 0), |big| round(big, 1));
        let [few_kilobytes, many_kilobytes] = kilobytes;
        let roles = big.size.large_portal_roles;
        let name = format!(
            "portal, {how}: {roles} roles ({many_kilobytes:.0} kB) against {PORTAL_ROLES} ({few_kilobytes:.1} kB)"
        );
        Finding::cpu_of(name, "CPU a kB, µs", (&few, few_kilobytes), (&many, many_kilobytes)).wanted_at_most(WANTED)
    };
    part.add([finding(&format!("as it was, {CONNECTIONS} connections"), &same)]);
    part.add([finding("changed before each request, 1 connection", &changed)]);
}

/// Changes one role of the portal and asks for it, again and again. The change is another process's work.
fn changed(big: &mut Side, connection: &Connection, organization: usize, request: &[u8], duration: Duration) -> Round {
    let sql = "UPDATE roles SET updated_at = updated_at + 1, name = $1 WHERE id = $2";
    let mut change = connection.prepare_cached(sql).unwrap();
    big.place.round_of(|address| {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let began = Instant::now();
        let mut latencies = Vec::new();
        while began.elapsed() < duration {
            let name = format!("Engineer for Water Systems, Change {:06}", latencies.len());
            assert_eq!(change.execute((&name, data::role_id(organization, 0))).unwrap(), 1, "there is such a role");
            let asked = Instant::now();
            let answer = ask_on(&stream, request).unwrap().expect(200);
            latencies.push(u32::try_from(asked.elapsed().as_nanos()).unwrap_or(u32::MAX));
            // The oldest role, so its name stands near the end.
            assert!(contains(&answer.body, name.as_bytes()), "the portal has the change");
        }
        (Load { elapsed: began.elapsed(), latencies }, 0)
    })
}

fn contains(body: &[u8], name: &[u8]) -> bool {
    let end = &body[body.len().saturating_sub(4_096)..];
    end.windows(name.len()).any(|window| window == name)
}
