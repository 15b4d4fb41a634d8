//! Replaces the certificate when its files change. Logs a new certificate, files that cannot be used, and the need to
//! renew the certificate. Without a certificate, a SIGHUP has no effect except a log line.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::time::MissedTickBehavior;

use super::certificate::Tls;
use super::files::{Stamps, TlsFiles};
use crate::domain::text::counted;
use crate::domain::timestamp::Timestamp;
use crate::http::server::ctx::Ctx;

/// The time between two checks of the files. Each check makes two system calls.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Checks the files once a second, and reads them when they have changed or when a SIGHUP arrives. If the pair is not
/// accepted, the certificate in use remains, and later checks read the files again. Runs until the future is dropped.
pub async fn follow(ctx: Arc<Ctx>, mut hangups: Signal) {
    let Some((tls, files)) = ctx.tls.clone().and_then(|tls| tls.files.clone().map(|files| (tls, files))) else {
        while hangups.recv().await.is_some() {
            ctx.telemetry.note(ctx.world.now(), None, "SIGHUP has no effect, because the service has no certificate");
        }
        return;
    };
    let mut follower = Follower::new(tls, files);
    let mut checks = tokio::time::interval(CHECK_EVERY);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_asked = tokio::select! {
            _ = checks.tick() => false,
            Some(()) = hangups.recv() => true,
        };
        let now = ctx.world.now();
        // Reading a file can wait for the disk.
        let checked = tokio::task::spawn_blocking(move || {
            let news = follower.check(now, is_asked);
            (follower, news)
        });
        let Ok((next, news)) = checked.await else { return };
        follower = next;
        for line in news {
            ctx.telemetry.note(now, None, &line);
        }
    }
}

/// The state between two checks of the files.
struct Follower {
    tls: Arc<Tls>,
    files: TlsFiles,
    /// The stamps of the files when the certificate in use was read.
    in_use: Stamps,
    /// The stamps at the last check.
    last: Stamps,
    /// The reason why the last pair was not accepted; `None` if it was accepted.
    refused: Option<String>,
    /// The last reminder.
    reminder: Option<String>,
}

impl Follower {
    fn new(tls: Arc<Tls>, files: TlsFiles) -> Self {
        // The files might have changed since they were read, so the second check reads them again.
        Self { in_use: Stamps::NONE, last: Stamps::NONE, tls, files, refused: None, reminder: None }
    }

    /// Checks the files, and returns the lines to log.
    fn check(&mut self, now: Timestamp, is_asked: bool) -> Vec<String> {
        let stamps = self.files.stamps();
        // The certificate and the key are replaced one after the other. Therefore, unless a SIGHUP arrives, changed
        // files are read only when two checks in a row find the same files.
        let is_settled = std::mem::replace(&mut self.last, stamps) == stamps;
        let is_due = is_settled && (stamps != self.in_use || self.refused.is_some());
        let mut news = Vec::new();
        if is_asked || is_due {
            news.extend(self.read(stamps, now));
            self.tls.report_files(self.refused.is_some());
        }
        news.extend(self.remind(now));
        news
    }

    fn read(&mut self, stamps: Stamps, now: Timestamp) -> Option<String> {
        match self.files.read(now) {
            Ok(pair) => {
                let is_other =
                    self.tls.current().as_ref().is_none_or(|current| current.certificate != pair.certificate);
                let is_new = is_other || self.refused.is_some();
                let line = format!("the certificate was read again; it is valid until {}", pair.period.not_after);
                self.tls.replace(pair);
                (self.in_use, self.refused) = (stamps, None);
                is_new.then_some(line)
            }
            Err(why) => {
                let line = format!("the new certificate is not used, and the previous one stays in use: {why}");
                let is_new = self.refused.as_ref() != Some(&why);
                self.refused = Some(why);
                is_new.then_some(line)
            }
        }
    }

    /// Returns a reminder once a day while the certificate should be renewed, and once after it has expired.
    fn remind(&mut self, now: Timestamp) -> Option<String> {
        let period = self.tls.period()?;
        let until = period.not_after;
        let reminder = period.reminder(now).map(|days| match period.check(now) {
            Ok(()) => format!("renew the certificate: it has {} left and is valid until {until}", counted(days, "day")),
            Err(_) => format!("renew the certificate: it expired at {until}"),
        });
        if std::mem::replace(&mut self.reminder, reminder.clone()) == reminder { None } else { reminder }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Rounding;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text, Rounding::Down).unwrap()
    }

    /// The files of a service and their follower.
    struct Fixture {
        dir: tempfile::TempDir,
        follower: Follower,
    }

    impl Fixture {
        /// Writes a certificate that is valid in 2026 and begins to follow it.
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let (certificate, key) = pair();
            write(&dir, "certificate", &certificate);
            write(&dir, "key", &key);
            let files = TlsFiles { certificate: dir.path().join("certificate"), key: dir.path().join("key") };
            let tls = Tls::read(files.clone(), at("2026-06-01")).unwrap();
            let mut fixture = Self { dir, follower: Follower::new(Arc::new(tls), files) };
            assert_eq!([fixture.check("2026-06-01"), fixture.check("2026-06-01")], [vec![] as Vec<String>, vec![]]);
            fixture
        }

        fn check(&mut self, now: &str) -> Vec<String> {
            self.follower.check(at(now), false)
        }

        fn warning(&self, now: &str) -> Option<&'static str> {
            self.follower.tls.warning(at(now))
        }
    }

    fn pair() -> (String, String) {
        let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        (params.not_before, params.not_after) = (rcgen::date_time_ymd(2026, 1, 1), rcgen::date_time_ymd(2027, 1, 1));
        let key = rcgen::KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    /// Replaces a file. A renamed file has another inode, even if the clock of the file system has not moved.
    fn write(dir: &tempfile::TempDir, name: &str, text: &str) {
        std::fs::write(dir.path().join("new"), text).unwrap();
        std::fs::rename(dir.path().join("new"), dir.path().join(name)).unwrap();
    }

    #[test]
    fn changed_files_are_read_when_two_checks_in_a_row_find_the_same_files() {
        let mut fixture = Fixture::new();
        let (certificate, key) = pair();
        // Between these two writes, the key belongs to another certificate.
        write(&fixture.dir, "certificate", &certificate);
        assert_eq!(fixture.check("2026-06-01"), [] as [String; 0]);
        write(&fixture.dir, "key", &key);
        assert_eq!(fixture.check("2026-06-01"), [] as [String; 0]);
        let line = "the certificate was read again; it is valid until 2027-01-01T00:00:00.000000Z";
        assert_eq!(fixture.check("2026-06-01"), [line]);
        assert_eq!((fixture.check("2026-06-01"), fixture.warning("2026-06-01")), (vec![], None));
    }

    #[test]
    fn unusable_files_are_reported_once_and_read_again_until_they_are_usable() {
        let mut fixture = Fixture::new();
        let in_use = |fixture: &Fixture| fixture.follower.tls.current().as_ref().unwrap().certificate.clone();
        let used = in_use(&fixture);
        write(&fixture.dir, "key", &pair().1);
        let lines = fixture.follower.check(at("2026-06-01"), true);
        assert!(lines.len() == 1 && lines[0].contains("the previous one stays in use: the key "), "{lines:?}");
        assert_eq!((fixture.check("2026-06-01"), fixture.check("2026-06-01")), (vec![], vec![]));
        let warning = "the new certificate cannot be used; the log shows the reason";
        assert_eq!(fixture.warning("2026-06-01"), Some(warning));
        assert_eq!(in_use(&fixture), used);
        let (certificate, key) = pair();
        write(&fixture.dir, "certificate", &certificate);
        write(&fixture.dir, "key", &key);
        assert_eq!((fixture.check("2026-06-01").len(), fixture.check("2026-06-01").len()), (0, 1));
        assert_ne!(in_use(&fixture), used);
        assert_eq!(fixture.warning("2026-06-01"), None);
    }

    #[test]
    fn the_reminder_comes_once_a_day_and_names_the_expiry() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.check("2026-12-18"), [] as [String; 0]);
        let until = "2027-01-01T00:00:00.000000Z";
        let days = |days| vec![format!("renew the certificate: it has {days} left and is valid until {until}")];
        assert_eq!(fixture.check("2026-12-18T00:00:01Z"), days("13 days"));
        assert_eq!(fixture.check("2026-12-18T23:00:00Z"), [] as [String; 0]);
        assert_eq!(fixture.check("2026-12-20"), days("12 days"));
        assert_eq!(fixture.check("2026-12-30T12:00:00Z"), days("1 day"));
        assert_eq!(fixture.check("2026-12-31T12:00:00Z"), days("0 days"));
        assert_eq!(fixture.warning("2026-12-31T12:00:00Z"), None);
        let expired = format!("renew the certificate: it expired at {until}");
        assert_eq!((fixture.check("2027-01-02"), fixture.check("2027-01-03")), (vec![expired], vec![]));
        assert_eq!(fixture.warning("2027-01-02"), Some("the certificate is not valid now; renew it"));
    }
}
