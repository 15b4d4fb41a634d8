//! The age of the service's newest backup, for platform admins.

use super::when::When;
use crate::domain::user::Principal;
use crate::http::pages::texts::Texts;
use crate::http::pages::texts::console::backup::{BACKUP, BackupTexts};
use crate::http::server::ctx::Ctx;

/// The part of a page that is about backups.
pub(super) struct BackupPart {
    pub(super) words: &'static BackupTexts,
    pub(super) is_on: bool,
    /// The message if the service makes no backups.
    pub(super) off: &'static str,
    pub(super) is_overdue: bool,
    pub(super) newest: Option<When>,
}

/// Returns the part for platform admins, and `None` for everybody else: backups concern the whole service.
pub(super) fn part(ctx: &Ctx, texts: &Texts, who: &Principal, zone: &str) -> Option<BackupPart> {
    if !who.is_admin() {
        return None;
    }
    let status = ctx.store.backups().status(ctx.world.as_ref());
    let now = ctx.world.now();
    let newest = status.and_then(|status| status.age).map(|age| When::new(texts, zone, now.minus(age), now));
    let words = BACKUP.of(texts);
    Some(BackupPart {
        words,
        is_on: status.is_some(),
        off: if ctx.store.is_on_server() { words.on_server } else { words.off },
        is_overdue: status.is_some_and(|status| status.is_overdue),
        newest,
    })
}
