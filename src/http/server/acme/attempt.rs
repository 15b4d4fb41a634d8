//! One attempt to get a certificate, on a thread of its own. The attempt reserves disk space, orders the certificate,
//! and stores the certificate and the state.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
#[cfg(feature = "acme")]
use std::time::Duration;

#[cfg(feature = "acme")]
use super::client::DirectoryClient;
use super::exchange::{Issued, RetryAfter};
use super::folder::AcmeFolder;
#[cfg(feature = "acme")]
use super::order;
use super::orders::Orders;
use super::settings::AcmeSettings;
use super::state::State;
use crate::domain::acme::Attempts;
use crate::domain::certificate::ValidityPeriod;
use crate::http::server::tls::certificate::Tls;
use crate::http::server::tls::files::Pair;
use crate::world::World;

/// The maximum time of an attempt. An order usually takes seconds, but an authority can take minutes to issue a
/// certificate.
#[cfg(feature = "acme")]
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(300);

/// Everything that an attempt needs and changes.
pub(super) struct Orderer {
    pub(super) settings: AcmeSettings,
    pub(super) folder: AcmeFolder,
    pub(super) tls: Arc<Tls>,
    pub(super) orders: Arc<Orders>,
    pub(super) world: Arc<dyn World>,
    pub(super) attempts: Attempts,
    /// The directory of the authority that issued the certificate in use; `None` if that is unknown.
    pub(super) ordered_from: Option<String>,
}

/// The result of an attempt, with a line for the log.
pub(super) enum Outcome {
    Renewed(String),
    Failed(String),
}

impl Orderer {
    /// Makes an attempt. A panic in the library, for example on an answer that it does not expect, counts as a failure.
    pub(super) fn attempt(&mut self) -> Outcome {
        let retry_after = RetryAfter::default();
        self.store_begin();
        let tried = catch_unwind(AssertUnwindSafe(|| self.order(&retry_after)));
        let defect = || "a defect in this program ended the attempt".to_owned();
        let ordered = tried.unwrap_or_else(|_| Err(defect()));
        self.orders.clear();
        let now = self.world.now();
        match ordered {
            Ok(note) => {
                self.attempts.succeed(now);
                self.ordered_from = Some(self.settings.directory.clone());
                self.store_state(None);
                let until = self.tls.period().map(|period| period.not_after.to_string()).unwrap_or_default();
                let domain = self.settings.domain.as_str();
                Outcome::Renewed(format!("a new certificate for {domain} is in use; it is valid until {until}{note}"))
            }
            Err(why) => {
                let mut random = [0];
                self.world.fill(&mut random);
                let retry_after = *retry_after.lock().unwrap_or_else(PoisonError::into_inner);
                self.attempts.fail(now, retry_after, random[0]);
                self.store_state(Some(why.clone()));
                let next = self.attempts.next(self.period_in_use());
                let domain = self.settings.domain.as_str();
                Outcome::Failed(format!("no new certificate for {domain}: {why}; the next attempt is at {next}"))
            }
        }
    }

    /// Orders a certificate, starts to use it, and stores it. Returns a note for the log.
    fn order(&self, retry_after: &RetryAfter) -> Result<String, String> {
        let full = |error: std::io::Error| {
            let folder = self.folder.path().display();
            format!(
                "nothing was ordered, because a certificate cannot be stored in {folder}: {error}; make room on \
                     the disk, and let the user of the service write there"
            )
        };
        // An authority limits the number of certificates, so the service orders none that it could not store.
        let reserved = self.folder.reserve_certificate().map_err(full)?;
        let issued = match self.request(retry_after).and_then(|issued| self.pair(&issued).map(|pair| (issued, pair))) {
            Ok(issued) => issued,
            Err(why) => {
                reserved.release();
                return Err(why);
            }
        };
        let (issued, pair) = issued;
        let is_valid = pair.period.check(self.world.now()).is_ok();
        self.tls.replace(pair);
        let stored = reserved.fill(format!("{}\n{}", issued.key.trim_end(), issued.chain).as_bytes());
        Ok(match stored {
            Err(error) => {
                format!(". It could not be stored ({error}), so the service will order another one after a restart")
            }
            Ok(()) if !is_valid => ". By the clock of this machine, it is not valid now; correct the clock".to_owned(),
            Ok(()) => String::new(),
        })
    }

    #[cfg(feature = "acme")]
    fn request(&self, retry_after: &RetryAfter) -> Result<Issued, String> {
        let trust = (self.settings.trust)()?;
        let client = || DirectoryClient {
            trust: Arc::clone(&trust),
            world: Arc::clone(&self.world),
            retry_after: Arc::clone(retry_after),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("no attempt can begin: {error}"))?;
        let ordered = runtime.block_on(async {
            let ordering = order::order(&self.settings, &self.folder, &self.orders, client);
            let late = || format!("the order was not complete within {} seconds", ATTEMPT_TIMEOUT.as_secs());
            tokio::time::timeout(ATTEMPT_TIMEOUT, ordering).await.unwrap_or_else(|_| Err(late()))
        });
        // A lookup of a host name may still block a thread of the runtime, so do not wait for the runtime's threads.
        runtime.shutdown_background();
        ordered
    }

    #[cfg(not(feature = "acme"))]
    fn request(&self, _: &RetryAfter) -> Result<Issued, String> {
        Err("this program was built without the feature acme".to_owned())
    }

    /// Checks the certificate that the authority issued.
    fn pair(&self, issued: &Issued) -> Result<Pair, String> {
        let domain = self.settings.domain.as_str();
        let unusable = |why: String| format!("the authority sent a certificate that cannot be used: {why}");
        let pair = Pair::from_pem(format!("{}\n{}", issued.key, issued.chain).as_bytes()).map_err(unusable)?;
        if pair.is_for(domain) { Ok(pair) } else { Err(unusable(format!("it is not for {domain}"))) }
    }

    /// Returns the period of the certificate in use. Returns `None` if there is no certificate, or if the authority
    /// that issued it is known and is not the authority of the settings. The service thus replaces, for example, a
    /// certificate from a test environment.
    pub(super) fn period_in_use(&self) -> Option<ValidityPeriod> {
        let is_other = self.ordered_from.as_ref().is_some_and(|directory| *directory != self.settings.directory);
        self.tls.period().filter(|_| !is_other)
    }

    /// Stores the attempt as failed before it begins. A service that is killed during each attempt therefore makes
    /// attempts less and less often.
    fn store_begin(&self) {
        let mut begun = self.attempts.clone();
        begun.fail(self.world.now(), None, 0);
        let why = Some("the service ended during the attempt".to_owned());
        let _ = self.folder.write_state(&State::new(&self.settings, &begun, self.ordered_from.clone(), why));
    }

    /// Stores the state. If the state cannot be stored, the wait before the next attempt is lost at a restart. The
    /// service may then make another attempt at once, but orders a certificate only if the disk has room for it.
    fn store_state(&self, last_failure: Option<String>) {
        self.orders.report(&self.attempts);
        let _ = self.folder.write_state(&State::new(
            &self.settings,
            &self.attempts,
            self.ordered_from.clone(),
            last_failure,
        ));
    }
}

/// Runs an attempt on a thread of its own. Returns `None` if the thread cannot be started or panics.
pub(super) async fn attempt(orderer: Arc<Mutex<Orderer>>) -> Option<Outcome> {
    let (report, outcome) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("acme".to_owned());
    let started = thread.spawn(move || {
        let outcome = orderer.lock().unwrap_or_else(PoisonError::into_inner).attempt();
        let _ = report.send(outcome);
    });
    started.ok()?;
    outcome.await.ok()
}
