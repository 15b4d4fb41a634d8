//! `GET /healthz` shows that the process is running. `GET /readyz` shows whether the service can read and write its
//! database, and whether its background jobs are working.

use std::time::Duration;

use hyper::Method;

use crate::domain::backup::age_in_words;
use crate::domain::refusal::Refusal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::backup::Status;
use crate::store::health::BackgroundJob;
use crate::store::{self, Error, Grade, Tx};

/// The time after which the answer of `/readyz` mentions a backup that is still reading the file. The write-ahead log
/// cannot be emptied while the backup reads.
const LONG_READ: Duration = Duration::from_secs(300);

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::plain(Audience::Api, Method::GET, "/healthz", live).answering(&[(200, "")]),
        Route::open(Audience::Api, Method::GET, "/readyz", |_, _| Ok(()), ready)
            .writes(Grade::Logged)
            .answering(&[(200, "")]),
    ]
}

/// `GET /healthz`: answers while the process is running.
fn live(_: &Ctx) -> Reply {
    Reply::text("ok\n")
}

/// `GET /readyz`: tries to read and write the database. Warns about an overdue or failed backup, a failed backup hook,
/// a backup that has been reading the file for at least [`LONG_READ`], and a certificate that needs attention. These
/// warnings do not make the service unready, because it still works.
///
/// # Errors
/// `unavailable` if the database cannot be written, if its file is no longer the one that the service opened, or if a
/// background job has been failing for a while. In the last case, the answer names the failing jobs.
fn ready(ctx: &Ctx, tx: &Tx<'_>, (): &()) -> Result<Reply, Error> {
    ctx.store.require_same_files()?;
    let failing: Vec<&str> = ctx.store.health().failing().into_iter().map(BackgroundJob::name).collect();
    if !failing.is_empty() {
        return Err(Refusal::NotReady(format!("failing: {}; the log shows the reason", failing.join(", "))).into());
    }
    store::health::touch(tx)?;
    let backup = ctx.store.backups().status(ctx.world.as_ref()).and_then(|backups| backup_warning(&backups));
    let backup_read = ctx.store.health().backup_read().filter(|read| *read >= LONG_READ).map(backup_read_warning);
    let certificate = ctx.tls.as_ref().and_then(|tls| tls.warning(ctx.world.now())).map(str::to_owned);
    let warnings =
        [backup, backup_read, certificate].into_iter().flatten().map(|warning| format!("warning: {warning}\n"));
    Ok(Reply::text(format!("ready\n{}", warnings.collect::<String>())))
}

fn backup_read_warning(read: Duration) -> String {
    let minutes = read.as_secs() / 60;
    format!("a backup has been reading the file for {minutes} minutes; the write-ahead log grows until the backup ends")
}

/// Returns the most urgent warning about scheduled backups, if any.
fn backup_warning(backups: &Status) -> Option<String> {
    if backups.is_overdue {
        Some(match backups.age {
            Some(age) => format!("the newest backup is {} old; the log shows the reason", age_in_words(age)),
            None => "there is no backup; the log shows the reason".to_owned(),
        })
    } else if backups.has_failed {
        Some("the last backup failed; the log shows the reason".to_owned())
    } else if backups.has_hook_failed {
        Some("the backup hook failed after the last backup; the log shows the reason".to_owned())
    } else {
        None
    }
}
