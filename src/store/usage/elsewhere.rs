//! The requests that other servers have added to the usage log. The usage log writer reads the end of the log before it
//! appends rows, so finding these requests needs no additional query.

use std::sync::OnceLock;
use std::time::Duration;

/// A function that receives, for each request, the number of its key and the time since the request, oldest first.
type Note = dyn Fn(&[(i64, Duration)]) + Send + Sync;

/// Passes the requests to the layer above. A request is passed at most once. Some are not passed: after a rollback,
/// after a lost connection, or if other servers have appended too many rows at once.
#[derive(Default)]
pub(crate) struct RequestsElsewhere(OnceLock<Box<Note>>);

impl RequestsElsewhere {
    /// Sets the function that receives the requests. It runs inside a transaction of the writer, so it must not wait.
    pub(crate) fn connect(&self, note: impl Fn(&[(i64, Duration)]) + Send + Sync + 'static) {
        let _ = self.0.set(Box::new(note));
    }

    #[cfg(feature = "postgres")]
    pub(super) fn note(&self, requests: &[(i64, Duration)]) {
        if let Some(note) = self.0.get().filter(|_| !requests.is_empty()) {
            note(requests);
        }
    }
}
