//! Appends rows to the usage log.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;
#[cfg(feature = "postgres")]
use std::time::Duration;

use super::elsewhere::RequestsElsewhere;
#[cfg(feature = "postgres")]
use super::index::rows_from;
use super::index::{NewestRow, newest_indexed_of, newest_unindexed};
use crate::db::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;
use crate::domain::usage;

/// If other servers have appended this many rows, the cache is rebuilt instead of extended. Extending the cache by this
/// many rows takes about as long as rebuilding it, which reads all rows that are not indexed: at most a few tens of
/// thousands.
#[cfg(feature = "postgres")]
const CATCH_UP_MAX: i64 = 4_096;

/// A request to log.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// The number of the key that authenticated the request.
    pub key_number: i64,
    pub method: Cow<'static, str>,
    /// The path without the query, shortened and with secrets masked
    /// ([`stored_path`](crate::domain::usage::stored_path)).
    pub path: Cow<'static, str>,
    /// The client's address.
    pub ip: IpAddr,
    /// The user agent, truncated to the stored length.
    pub user_agent: String,
    /// The path template of the route.
    pub auth_endpoint: &'static str,
}

/// A cache of the end of the usage log, so that most appends need no queries. The cache is valid inside the
/// transactions of the writing connection, and is dropped when one of them is rolled back.
#[derive(Default)]
pub(crate) struct LogTail {
    state: RefCell<TailState>,
    /// Whether this transaction has redated rows.
    has_moved: Cell<bool>,
    elsewhere: Arc<RequestsElsewhere>,
}

#[derive(Default)]
enum TailState {
    #[default]
    Unknown,
    /// Another server may have appended rows.
    #[cfg(feature = "postgres")]
    Outdated(KnownTail),
    Known(KnownTail),
}

struct KnownTail {
    /// The time of the newest row, pruned rows included.
    newest_at: Option<Timestamp>,
    /// The newest row of each key that has unindexed rows or has been looked up; `None` for a key without rows.
    newest_of_key: HashMap<i64, Option<NewestRow>>,
}

/// The time and the number of the next row of a key, and the time of the key's previous row.
struct NextRow {
    at: Timestamp,
    number: i64,
    previous_at: Option<Timestamp>,
}

impl LogTail {
    pub(crate) fn new(elsewhere: Arc<RequestsElsewhere>) -> Self {
        Self { elsewhere, ..Self::default() }
    }

    pub(crate) fn invalidate(&self) {
        self.state.replace(TailState::Unknown);
        self.has_moved.set(false);
    }

    /// Invalidates the cache, because the transaction has redated rows.
    pub(super) fn note_moved(&self) {
        self.invalidate();
        self.has_moved.set(true);
    }

    /// Returns whether the transaction has redated rows. The caches of other servers may then be wrong.
    #[cfg(feature = "postgres")]
    pub(crate) fn has_moved(&self) -> bool {
        self.has_moved.get()
    }

    /// Marks the cache as outdated at the beginning of a transaction, because another server may have appended rows.
    #[cfg(feature = "postgres")]
    pub(crate) fn outdate(&self) {
        self.has_moved.set(false);
        let mut state = self.state.borrow_mut();
        *state = match std::mem::take(&mut *state) {
            TailState::Known(tail) => TailState::Outdated(tail),
            other => other,
        };
    }

    fn advance(&self, tx: &Tx<'_>, key_number: i64) -> Result<NextRow, Error> {
        let mut state = self.state.borrow_mut();
        let tail = match &mut *state {
            TailState::Known(tail) => tail,
            other => other.make_known(tx, &self.elsewhere)?,
        };
        let newest = match tail.newest_of_key.entry(key_number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(newest_indexed_of(tx, key_number)?),
        };
        let at = usage::next_row_time(tail.newest_at, tx.now);
        let number = newest.map_or(0, |newest| newest.number) + 1;
        let previous_at = newest.map(|newest| newest.at);
        *newest = Some(NewestRow { at, number });
        tail.newest_at = Some(at);
        Ok(NextRow { at, number, previous_at })
    }
}

impl TailState {
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "no other server appends to a file"))]
    fn make_known(&mut self, tx: &Tx<'_>, elsewhere: &RequestsElsewhere) -> Result<&mut KnownTail, Error> {
        let known = match std::mem::take(self) {
            #[cfg(feature = "postgres")]
            Self::Outdated(tail) => tail.caught_up(tx, elsewhere)?,
            _ => KnownTail::read(tx)?,
        };
        *self = Self::Known(known);
        match self {
            Self::Known(tail) => Ok(tail),
            _ => Err(Error::Defect("the end of the usage log is unknown".to_owned())),
        }
    }
}

impl KnownTail {
    /// Adds the rows that other servers have appended. Rebuilds the cache if the newest known row no longer exists, or
    /// if other servers have appended too many rows.
    #[cfg(feature = "postgres")]
    fn caught_up(mut self, tx: &Tx<'_>, elsewhere: &RequestsElsewhere) -> Result<Self, Error> {
        let Some(newest_at) = self.newest_at else { return Self::read(tx) };
        let rows = rows_from(tx, newest_at, CATCH_UP_MAX)?;
        let is_next = rows.first().is_some_and(|(_, first)| first.at == newest_at);
        if !is_next || rows.len() as i64 == CATCH_UP_MAX {
            return Self::read(tx);
        }
        // The first row is known.
        let requests: Vec<(i64, Duration)> =
            rows.iter().skip(1).map(|(key_number, row)| (*key_number, tx.now.since(row.at))).collect();
        elsewhere.note(&requests);
        for (key_number, row) in rows {
            self.newest_at = Some(row.at);
            self.newest_of_key.insert(key_number, Some(row));
        }
        Ok(self)
    }

    /// Reads the few rows that are not indexed yet, and the time of the newest row, which may have been pruned. New
    /// rows must be later than pruned rows, too.
    fn read(tx: &Tx<'_>) -> Result<Self, Error> {
        let sql = "SELECT CASE WHEN u.newest_at > m.pruned_to THEN u.newest_at ELSE m.pruned_to END
                   FROM api_key_usage_marking m
                   CROSS JOIN (SELECT max(at) AS newest_at FROM api_key_usage) AS u
                   WHERE m.id = 1 AND (m.pruned_to > 0 OR u.newest_at IS NOT NULL)";
        let newest_at = tx.value(sql, [])?.map(Timestamp::from_micros);
        let newest = newest_unindexed(tx)?.into_iter().map(|(key_number, newest)| (key_number, Some(newest)));
        Ok(Self { newest_at, newest_of_key: newest.collect() })
    }
}

/// Appends one row.
pub fn append(tx: &Tx<'_>, entry: &LogEntry) -> Result<(), Error> {
    append_all(tx, std::iter::once(entry))
}

/// Appends rows in the given order.
pub(super) fn append_all<'a>(tx: &Tx<'_>, entries: impl Iterator<Item = &'a LogEntry>) -> Result<(), Error> {
    let tail =
        tx.state::<LogTail>().ok_or_else(|| Error::Defect("only the service appends to the usage log".to_owned()))?;
    let sql = "INSERT INTO api_key_usage
                 (at, key_number, number, previous_at, method, path, ip, user_agent, auth_endpoint)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    tx.run_each(sql, entries, |entry| {
        let NextRow { at, number, previous_at } = tail.advance(tx, entry.key_number)?;
        let LogEntry { key_number, method, path, ip, user_agent, auth_endpoint } = entry;
        Ok((
            at.micros(),
            *key_number,
            number,
            previous_at.map(Timestamp::micros),
            method.as_ref(),
            path.as_ref(),
            ip.to_string(),
            user_agent.as_str(),
            *auth_endpoint,
        ))
    })
}
