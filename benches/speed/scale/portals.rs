//! The CPU time per byte of a portal with many roles, compared with that of a portal with 30 roles.

use std::sync::Arc;

use super::Setup;
use super::growth::Side;
use super::measurement::Measurement;
use super::report::Part;
use crate::company::{self, PORTAL_ROLES};
use crate::exchange::get;
use crate::line::alternate;
use crate::load::Course;
use crate::round::Round;

/// The number of connections. It is small, because a large answer exceeds a megabyte.
const CONNECTIONS: usize = 8;

/// The number of spellings of a portal's path: more than the response cache holds for the small portal.
const SPELLINGS: usize = 2_048;

/// The target: the maximum ratio of the CPU time per byte of the large portal to that of the small portal.
const TARGET: f64 = 1.3;

/// Measures the CPU time per byte of both portals in alternating rounds.
pub(crate) fn measure(setup: &Setup, big: &mut Side, part: &mut Part<'_>) {
    eprintln!("requesting a portal of {} roles", big.size.large_portal_roles);
    let organizations = [0, big.size.large()];
    let requests = organizations.map(|organization| Arc::new(vec![get(&company::portal_path(organization), None)]));
    let kilobytes = requests.each_ref().map(|requests| big.server.ask(&requests[0]).body.len() as f64 / 1e3);
    let course = Course::For(setup.lengths.round);
    let same = |big: &mut Side, nth: usize| big.server.round(CONNECTIONS, &requests[nth], &course);
    // Both sides send nearly the same number of bytes.
    let large_at_once = (SPELLINGS as f64 * kilobytes[0] / kilobytes[1]).ceil() as usize;
    let spelled = [(organizations[0], SPELLINGS), (organizations[1], large_at_once)];
    let spelled = spelled.map(|(nth, count)| Arc::new(spellings(&company::portal_path(nth), count)));
    let rendered = |big: &mut Side, nth: usize| big.server.round(CONNECTIONS, &spelled[nth], &Course::Through);
    let mut measurement = |how: &str, round: &dyn Fn(&mut Side, usize) -> Round| {
        let rounds = setup.lengths.rounds;
        let (few, many) = alternate(big, rounds, |big| round(big, 0), |big| round(big, 1));
        let [few_kilobytes, many_kilobytes] = kilobytes;
        let roles = big.size.large_portal_roles;
        let name = format!(
            "portal, {how}: {roles} roles ({many_kilobytes:.0} kB) divided by {PORTAL_ROLES} ({few_kilobytes:.1} kB)"
        );
        Measurement::cpu_of(name, "CPU per kB, µs", (&few, few_kilobytes), (&many, many_kilobytes))
            .target_at_most(TARGET)
    };
    part.add([measurement(&format!("cached, {CONNECTIONS} connections"), &same)]);
    part.add([measurement(&format!("rendered for each request, {CONNECTIONS} connections"), &rendered)]);
}

/// Returns requests for one portal with many spellings of its path. The key of the response cache is the path as it was
/// sent. The response for each spelling is evicted before the spelling occurs again.
fn spellings(path: &str, count: usize) -> Vec<Vec<u8>> {
    let (parent, slug) = path.rsplit_once('/').unwrap();
    let spelled = |nth: usize| -> String {
        let letters = slug.bytes().enumerate().map(|(index, byte)| match nth >> index & 1 {
            0 => char::from(byte).to_string(),
            _ => format!("%{byte:02x}"),
        });
        letters.collect()
    };
    assert!(1 << slug.len() >= count, "a slug has enough spellings");
    (0..count).map(|nth| get(&format!("{parent}/{}", spelled(nth)), None)).collect()
}
