//! Keys that are revoked while in use.

use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::data::{self, ADMIN, KEYS};
use super::mix::SPARE_KEYS;
use crate::exchange::{ask, ask_on, delete, get};

/// The number of keys to revoke, one after the other.
pub(crate) const KEYS_REVOKED: usize = SPARE_KEYS;

/// The number of connections that use a key.
const CONNECTIONS: usize = 4;

/// The times for which a key is used before and after its revocation.
const USED_FOR: Duration = Duration::from_millis(150);
const TRIED_FOR: Duration = Duration::from_millis(150);

/// The results of the revocations.
#[derive(Debug, Default)]
pub(crate) struct Revoked {
    /// The number of requests that were sent after the answer to the revocation and were still answered with 200.
    pub(crate) late: usize,
    /// The number of answers to requests with a valid key.
    pub(crate) with_keys: usize,
}

/// Revokes the spare keys while they are in use.
pub(crate) fn revoke(address: SocketAddr) -> Revoked {
    let mut all = Revoked::default();
    for key in KEYS - KEYS_REVOKED..KEYS {
        let Revoked { late, with_keys } = revoke_one(address, key);
        all.late += late;
        all.with_keys += with_keys;
    }
    all
}

fn revoke_one(address: SocketAddr, key: usize) -> Revoked {
    let me = get("/api/v1/me", Some(data::secret(key).reveal()));
    let revoked_at = OnceLock::new();
    std::thread::scope(|scope| {
        let users: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(|| use_key(address, &me, &revoked_at))).collect();
        std::thread::sleep(USED_FOR);
        let path = format!("/api/admin/api-keys/{}", data::key_id(key));
        ask(address, &delete(&path, data::secret(ADMIN).reveal())).unwrap().expect(200);
        revoked_at.set(Instant::now()).unwrap();
        let mut revoked = Revoked { late: 0, with_keys: 1 };
        for user in users {
            let Revoked { late, with_keys } = user.join().unwrap();
            revoked.late += late;
            revoked.with_keys += with_keys;
        }
        revoked
    })
}

/// Sends requests on one connection until some time after the revocation.
fn use_key(address: SocketAddr, me: &[u8], revoked_at: &OnceLock<Instant>) -> Revoked {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut revoked = Revoked::default();
    let (mut used, mut refused) = (0, 0);
    while revoked_at.get().is_none_or(|at| at.elapsed() < TRIED_FOR) {
        let is_late = revoked_at.get().is_some();
        match ask_on(&stream, me).unwrap().status {
            200 => {
                used += 1;
                revoked.late += usize::from(is_late);
            }
            401 => refused += 1,
            status => panic!("unexpected status {status}"),
        }
    }
    assert!(used > 0 && refused > 0, "the key was used before and after its revocation");
    revoked.with_keys = used;
    revoked
}
