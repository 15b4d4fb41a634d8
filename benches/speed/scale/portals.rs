//! A portal of many roles against one of 30, by the byte.

use std::sync::Arc;

use super::Setting;
use super::finding::Finding;
use super::growth::Side;
use super::report::Part;
use crate::company::{self, PORTAL_ROLES};
use crate::exchange::get;
use crate::line::in_turns;
use crate::load::Course;
use crate::round::Round;

/// Of those that ask for a portal that does not change. Few, because a large answer is a megabyte and more.
const CONNECTIONS: usize = 8;

/// Ways to write the path of a portal: more than are kept of the small one.
const SPELLINGS: usize = 2_048;

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
    // Of both nearly as many bytes.
    let large_at_once = (SPELLINGS as f64 * kilobytes[0] / kilobytes[1]).ceil() as usize;
    let spelled = [(organizations[0], SPELLINGS), (organizations[1], large_at_once)];
    let spelled = spelled.map(|(nth, count)| Arc::new(spellings(&company::portal_path(nth), count)));
    let anew = |big: &mut Side, nth: usize| big.place.round(CONNECTIONS, &spelled[nth], &Course::Through);
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
    part.add([finding(&format!("rendered anew for each request, {CONNECTIONS} connections"), &anew)]);
}

/// Requests for one portal by paths that are all different: an answer is kept by the path as it was sent, and before a path
/// comes again the others have taken its place.
fn spellings(path: &str, count: usize) -> Vec<Vec<u8>> {
    let (place, slug) = path.rsplit_once('/').unwrap();
    let spelled = |nth: usize| -> String {
        let letters = slug.bytes().enumerate().map(|(place, byte)| match nth >> place & 1 {
            0 => char::from(byte).to_string(),
            _ => format!("%{byte:02x}"),
        });
        letters.collect()
    };
    assert!(1 << slug.len() >= count, "a slug can be spelled in so many ways");
    (0..count).map(|nth| get(&format!("{place}/{}", spelled(nth)), None)).collect()
}
