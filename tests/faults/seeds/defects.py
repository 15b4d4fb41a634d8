"""The deliberate defects: exact replacements in the source, and the experiment that must catch each.

The build adds `crate::has_defect` to its copy of the source. A replacement keeps the original behaviour while its
defect is off.
"""

from collections import namedtuple

Defect = namedtuple("Defect", "name experiment rounds what changes")


def defect(name, experiment, what, *changes, rounds=None):
    return Defect(name, experiment, rounds, what, changes)


def on(name):
    return f'crate::has_defect("{name}")'


ENGINE, ACCESS, SCHEMA = "src/db/sqlite/engine/mod.rs", "src/store/access.rs", "src/db/sqlite/schema.rs"

DEFECTS = [
    defect("rows-rolled-back", "kills", "requests are answered although their usage rows are not committed", (
        ENGINE, "Ok((verdicts, changes)) => match self.commit() {",
        f'Ok((verdicts, changes)) => match if {on("rows-rolled-back")} {{ self.undo() }} else {{ self.commit() }} {{')),
    defect("no-transaction", "positions", "the statements of an act commit one by one", (
        "src/db/tx.rs", "    connection.begin(Access::Write)\n",
        f'    if {on("no-transaction")} {{ return Ok(()); }}\n    connection.begin(Access::Write)\n'), (
        ENGINE, "    fn commit(&self) -> Result<(), Error> {\n",
        f'    fn commit(&self) -> Result<(), Error> {{\n        if {on("no-transaction")} {{ return Ok(()); }}\n'),
        rounds=8),
    defect("sync-off", "power_loss", "decisions are answered before they are on disk", (
        ENGINE, "self.connection.set_durable(durable)?;",
        f'self.connection.set_durable(durable && !{on("sync-off")})?;'), rounds=400),
    defect("list-unsynced", "power_loss", "the erasure list is not synced", (
        "src/store/erasure/list.rs", "        list.sync_all()?;\n        if is_new {",
        f'        if {on("list-unsynced")} {{ return Ok(()); }}\n        list.sync_all()?;\n        if is_new {{'), rounds=400),
    defect("checkpoint-unsynced", "power_loss", "the last checkpoint does not sync the file before it empties the log", (
        ENGINE, "    fn empty_log(&self) -> Result<(), Error> {\n",
        f'    fn empty_log(&self) -> Result<(), Error> {{\n        if {on("checkpoint-unsynced")} {{ '
        'self.connection.sqlite().execute_batch("PRAGMA synchronous = OFF")?; }\n'), rounds=1000),
    defect("commit-error-ignored", "errors", "a failed commit is answered like a successful one", (
        ENGINE, "        let Err(error) = committed else { return Ok(()) };",
        "        let Err(error) = committed else { return Ok(()) };\n"
        f'        if {on("commit-error-ignored")} {{ let _ = self.roll_back(); return Ok(()); }}'), rounds=35),
    defect("commit-not-overwritten", "errors", "a commit that failed to sync stays in the log although its act was refused", (
        ENGINE, "if known || self.overwrite_commit() {",
        f'if known || {on("commit-not-overwritten")} || self.overwrite_commit() {{'), rounds=35),
    defect("list-error-ignored", "errors", "an erasure is answered although its line in the list could not be written", (
        "src/store/erasure/list.rs", "        self.write(end, &lines).map_err(|error| unwritable(&error))",
        f'        let written = self.write(end, &lines);\n        if {on("list-error-ignored")} {{ return Ok(()); }}\n'
        "        written.map_err(|error| unwritable(&error))"), rounds=35),
    defect("reserve-held", "full_disk", "the reserved space is not released on a full disk", (
        "src/db/sqlite/reserve.rs", "filter(|_| bytes > 0)",
        f'filter(|_| bytes > 0 && !{on("reserve-held")})')),
    defect("no-room-check", "histories", "a hire does not check the number of positions", (
        "src/domain/candidate_step/hire.rs", "    require_room(facts.seats)?;",
        f'    if !{on("no-room-check")} {{ require_room(facts.seats)?; }}')),
    defect("hire-twice", "histories", "a candidate who was already hired or rejected can be hired", (
        "src/domain/candidate_step/hire.rs", "    require_undecided(facts)?;",
        f'    if !{on("hire-twice")} {{ require_undecided(facts)?; }}')),
    defect("lost-reversal", "histories", "a rejected hire does not free its position", (
        "src/domain/candidate_step/reject.rs", "        seats = seats.freed();",
        f'        if !{on("lost-reversal")} {{ seats = seats.freed(); }}')),
    defect("stale-key", "revocation", "a cached key is not compared with the file", (
        "src/store/api_key/cache.rs",
        "        if let Some(state) = self.state_at(change_number::credentials(tx)?) {",
        f'        if {on("stale-key")} {{ return Ok(Some(self.principal.clone())); }}\n'
        "        if let Some(state) = self.state_at(change_number::credentials(tx)?) {")),
    defect("revocation-lost", "revocation", "a revocation over HTTP is answered but not written", (
        "src/store/api_key/mod.rs", "    let Some((user_id, is_enabled)) = found else { return Ok(false) };",
        "    let Some((user_id, is_enabled)) = found else { return Ok(false) };\n"
        f'    let is_enabled = is_enabled && !{on("revocation-lost")};')),
    defect("panic", "mutations", "an invalid time in a query parameter causes a panic", (
        "src/http/api/usage.rs", "    let moment = Timestamp::parse(&text.replace(' ', \"+\"), Rounding::Up);",
        "    let moment = Timestamp::parse(&text.replace(' ', \"+\"), Rounding::Up);\n"
        f'    assert!(moment.is_some() || !{on("panic")});'), rounds=40_000),
    defect("hang", "mutations", "a request with an unusable credential is answered after a minute", (
        "src/http/server/authentication.rs", "        Authorization::Unusable => Err(Refusal::Unauthorized { sent: true }),",
        f'        Authorization::Unusable => {{\n            if {on("hang")} {{ '
        "std::thread::sleep(std::time::Duration::from_secs(60)); }\n"
        "            Err(Refusal::Unauthorized { sent: true })\n        }"), rounds=400),
    defect("stop-drops", "stops", "requests in progress are dropped at a stop", (
        "src/http/server/accept.rs", "            acceptor.drain().await;\n            acceptor.graceful.shutdown().await;",
        f'            if {on("stop-drops")} {{ return; }}\n'
        "            acceptor.drain().await;\n            acceptor.graceful.shutdown().await;")),
    defect("backup-without-log", "backups", "a backup copies the file without its write-ahead log", (
        "src/db/sqlite/file/backup.rs", '        let copied = connection.sqlite().execute("VACUUM INTO $1", [target]);',
        f'        let copied = if {on("backup-without-log")} {{\n'
        '            std::fs::copy(path, target).map_err(unavailable)?;\n            Ok(1)\n        } else {\n'
        '            connection.sqlite().execute("VACUUM INTO $1", [target])\n        };')),
    defect("clock-believed", "clock", "the system clock is always believed at once", (
        "src/domain/clock.rs", "    wall.clamp(believed, believed.plus(elapsed.saturating_mul(2)))",
        f'    if {on("clock-believed")} {{ return wall; }}\n'
        "    wall.clamp(believed, believed.plus(elapsed.saturating_mul(2)))")),
    defect("foreign-candidate", "tenancy", "everybody may see every candidate", (
        ACCESS, "WHERE c.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)\";\n"
        "    tx.one(sql, (who.user_id.as_str(), candidate.as_str(), who.is_admin()), |row| {",
        "WHERE c.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)\";\n"
        f'    tx.one(sql, (who.user_id.as_str(), candidate.as_str(), who.is_admin() || {on("foreign-candidate")}), |row| {{')),
    defect("foreign-step", "tenancy", "everybody may see every candidate step", (
        ACCESS, "    tx.one(sql, (who.user_id.as_str(), step.as_str(), who.is_admin()), |row| {",
        f'    tx.one(sql, (who.user_id.as_str(), step.as_str(), who.is_admin() || {on("foreign-step")}), |row| {{'), (
        "src/store/candidate_step/mod.rs", "    let params = (who.user_id.as_str(), step.as_str(), who.is_admin());",
        f'    let params = (who.user_id.as_str(), step.as_str(), who.is_admin() || {on("foreign-step")});')),
    defect("key-in-log", "secrets", "a key is written to standard error", (
        "src/http/server/authentication.rs", "            let secret = KeySecret::parse(token).ok_or(",
        f'            if {on("key-in-log")} {{ eprintln!("the key {{token}}"); }}\n'
        "            let secret = KeySecret::parse(token).ok_or(")),
    defect("link-in-log", "secrets", "the header fields of a request are written to standard error", (
        "src/http/server/authentication.rs", "pub(in crate::http) fn key_in_memory(ctx: &Ctx, fields: &HeaderMap) -> "
        "Option<Arc<CachedKey>> {\n",
        "pub(in crate::http) fn key_in_memory(ctx: &Ctx, fields: &HeaderMap) -> Option<Arc<CachedKey>> {\n"
        f'    if {on("link-in-log")} {{ eprintln!("{{fields:?}}"); }}\n')),
    defect("identity-unchecked", "place", "the names of the files are not compared with the open files", (
        "src/db/sqlite/identity/mod.rs", "        let beside = self.beside.get().into_iter().flatten();\n",
        f'        if {on("identity-unchecked")} {{ return None; }}\n'
        "        let beside = self.beside.get().into_iter().flatten();\n")),
    defect("busy-heartbeat", "silence", "the heartbeat is written in every step of its job", (
        "src/db/clock.rs", "        let is_due = is_last ||",
        f'        let is_due = is_last || {on("busy-heartbeat")} ||')),
    defect("upgrade-in-pieces", "upgrades", "the steps of an upgrade commit one by one", (
        SCHEMA, "            EngineStep::Sql(sql) => tx.execute_batch(sql)?,",
        "            EngineStep::Sql(sql) => {\n                tx.execute_batch(sql)?;\n"
        f'                if {on("upgrade-in-pieces")} {{ tx.execute_batch("COMMIT; BEGIN IMMEDIATE")?; }}\n            }}'),
        rounds=60),
    defect("leak", "memory", "each request with a credential leaks 64 KiB", (
        "src/http/server/authentication.rs", "    let found = match credential {\n",
        f'    if {on("leak")} {{ std::mem::forget(vec![1_u8; 65_536]); }}\n    let found = match credential {{\n')),
]

# The next version of the schema. Its upgrade has several steps, one of which updates every candidate.
NEXT_VERSION = [
    ("src/store/schema/mod.rs", "    version: 1,\n", "    version: 2,\n"),
    ("src/store/schema/mod.rs", "    upgrades: &[],\n",
     "    upgrades: &[crate::db::upgrade::Upgrade { name: \"notes\", steps: &[\n"
     '        crate::db::upgrade::Step::Sql("ALTER TABLE candidates ADD COLUMN faults_note TEXT"),\n'
     '        crate::db::upgrade::Step::Sql("UPDATE candidates SET faults_note = hex(randomblob(200))"),\n'
     '        crate::db::upgrade::Step::Sql("CREATE INDEX faults_notes ON candidates (faults_note)"),\n'
     "    ] }],\n"),
]
