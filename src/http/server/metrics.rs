//! The text of `GET /metrics`: the counters and gauges of the service.

use super::ctx::Ctx;
use crate::domain::activity::ChainHead;

/// The facts that only the database has. A fact that cannot be read has no gauge.
#[derive(Default)]
pub(super) struct StoredFacts {
    attachment_bytes: Option<u64>,
    chain_head: Option<ChainHead>,
}

impl StoredFacts {
    pub(super) fn read(ctx: &Ctx) -> Self {
        Self { attachment_bytes: ctx.store.attachment_bytes().ok(), chain_head: ctx.store.chain_head().ok() }
    }
}

pub(super) fn exposition(ctx: &Ctx, stored: &StoredFacts) -> String {
    let unfinished = u8::from(ctx.store.erasures().are_unfinished());
    let retention = ctx.store.retention();
    let (due, waiting) = retention.last().map_or((0, 0), |run| (run.due, run.waiting));
    let mut gauges = vec![
        ("appliance_wal_bytes", "Size of the write-ahead log.", ctx.store.wal_bytes() as f64),
        (
            "appliance_erasure_unfinished",
            "1 while erased data might remain in unused parts of the file or its log, or in dead rows of a database \
             server.",
            f64::from(unfinished),
        ),
        (
            "appliance_disk_full",
            "1 while the disk is full and most changes are refused.",
            f64::from(u8::from(ctx.store.reserve().is_full())),
        ),
        (
            "appliance_usage_rows_owed",
            "Rows of the usage log that wait in memory until the disk has room.",
            ctx.store.reserve().owed_rows() as f64,
        ),
        (
            "appliance_clock_believed",
            "1 while the machine's clock agrees with the believed clock.",
            f64::from(u8::from(ctx.store.clock().read().agrees())),
        ),
        (
            "appliance_retention_erased",
            "Candidates erased by retention since the service started.",
            retention.erased() as f64,
        ),
        ("appliance_retention_due", "Candidates who were due for erasure at the last run of retention.", due as f64),
        (
            "appliance_retention_waiting",
            "Due candidates whose erasure waited for an admin's confirmation at the last run of retention.",
            waiting as f64,
        ),
    ];
    if let Some(disk) = ctx.store.reserve().disk() {
        gauges.push((
            "appliance_disk_free_bytes",
            "Free space on the disk that holds the file.",
            disk.free_bytes as f64,
        ));
    }
    if let Some(bytes) = stored.attachment_bytes {
        gauges.push(("appliance_attachment_bytes", "Size of all attachments, including staged ones.", bytes as f64));
    }
    gauges.extend(backup_gauges(ctx));
    gauges.extend(certificate_gauges(ctx));
    let mut text = ctx.telemetry.prometheus(&gauges);
    if let Some(head) = &stored.chain_head {
        text.push_str(&chain_head(head));
    }
    text.push_str(&job_metrics(ctx));
    text
}

/// Returns the gauges of the certificate. Without a certificate, there is no gauge of the days left, so an alert on a
/// missing gauge also detects a first order that fails.
fn certificate_gauges(ctx: &Ctx) -> Vec<(&'static str, &'static str, f64)> {
    let Some(tls) = &ctx.tls else { return Vec::new() };
    let days = tls.period().map(|period| period.days_left(ctx.world.now()));
    let days = days
        .map(|days| ("appliance_certificate_days_left", "Days until the certificate of the service expires.", days));
    let state = match tls.orders() {
        Some(orders) => (
            "appliance_certificate_order_failures",
            "Failed attempts to get a certificate since the last certificate.",
            f64::from(orders.failures()),
        ),
        None => (
            "appliance_certificate_unusable",
            "1 while the files of the certificate have changed and cannot be used.",
            f64::from(u8::from(tls.has_unusable_files())),
        ),
    };
    days.into_iter().chain([state]).collect()
}

/// Returns the gauges of scheduled backups. Without a schedule, there are none. Without a checked backup, there is no
/// age, so an alert on a missing age also detects a missing backup.
fn backup_gauges(ctx: &Ctx) -> Vec<(&'static str, &'static str, f64)> {
    let Some(status) = ctx.store.backups().status(ctx.world.as_ref()) else { return Vec::new() };
    let mut gauges = vec![
        (
            "appliance_backup_failures",
            "Failed tries to make a backup since the service started.",
            status.failures as f64,
        ),
        (
            "appliance_backup_hook_failures",
            "Failed runs of the backup hook since the service started.",
            status.hook_failures as f64,
        ),
    ];
    if let Some(age) = status.age {
        gauges.push(("appliance_backup_age_seconds", "Age of the newest checked backup.", age.as_secs_f64()));
        gauges.push(("appliance_backup_bytes", "Size of the newest checked backup.", status.bytes as f64));
    }
    gauges
}

/// Returns the gauge of failing background jobs, with one sample per job.
fn job_metrics(ctx: &Ctx) -> String {
    let failing = ctx.store.health().failing();
    let name = "appliance_job_failing";
    let mut text = format!(
        "# HELP {name} 1 while a background job has been failing for longer than its limit.\n# TYPE {name} gauge\n"
    );
    for job in ctx.store.health().jobs() {
        let is_failing = u8::from(failing.contains(job));
        text.push_str(&format!("{name}{{job=\"{}\"}} {is_failing}\n", job.name()));
    }
    text
}

/// Returns the chain head as Prometheus text. The hash is a label, because a sample must be a number.
fn chain_head(head: &ChainHead) -> String {
    let (name, number, hash) = ("appliance_activity_chain_head", head.number, head.hash_text());
    format!(
        "# HELP {name} Number and hash of the newest activity row, for `appliance check --chain-head`.\n\
         # TYPE {name} gauge\n{name}{{hash=\"{hash}\"}} {number}\n"
    )
}
