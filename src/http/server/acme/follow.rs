//! Orders the certificate and renews it while the service runs. The log has one line for each attempt.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::time::MissedTickBehavior;

use super::attempt::{self, Orderer, Outcome};
use super::folder::AcmeFolder;
use super::orders::Orders;
use super::settings::AcmeSettings;
use crate::domain::acme::Attempts;
use crate::http::server::ctx::Ctx;
use crate::http::server::tls::certificate::Tls;
use crate::http::server::tls::files::Pair;
use crate::world::World;

/// The time between two checks of whether an attempt is due. The clock may jump, so a single long wait could end too
/// late.
const REST: Duration = Duration::from_secs(1);

/// The stored certificate and the state of orders, which the service reads before it accepts connections.
pub struct Acme {
    orderer: Orderer,
    /// Lines for the log: about an unusable stored certificate, the wait for the first certificate, and the last failed
    /// attempt.
    pub notes: Vec<String>,
}

impl Acme {
    /// Opens the folder, and reads the stored certificate. The service uses a stored certificate that names its domain
    /// even if the clock shows a time outside the certificate's period, because the clock may be wrong, and there is no
    /// better certificate.
    ///
    /// # Errors
    /// A sentence for operators if the folder cannot be used.
    pub fn open(settings: AcmeSettings, folder: AcmeFolder, world: Arc<dyn World>) -> Result<Self, String> {
        folder.create()?;
        let mut notes = Vec::new();
        let stored = match read_stored(&folder) {
            Ok(stored) => stored,
            Err(why) => {
                notes.push(why);
                None
            }
        };
        let state = folder.state();
        let is_same = state.is_of(&settings);
        let attempts = if is_same { state.attempts() } else { Attempts::default() };
        let orders = Arc::new(Orders::default());
        orders.report(&attempts);
        let domain = settings.domain.as_str();
        let stored = stored.filter(|pair| pair.is_for(domain));
        if stored.is_none() {
            let directory = &settings.directory;
            notes.push(format!(
                "waiting for the first certificate for {domain} from {directory}; until it arrives, connections with \
                 TLS are closed"
            ));
        }
        if let Some(why) = state.last_failure.filter(|_| is_same) {
            let next = attempts.next(stored.as_ref().map(|pair| pair.period));
            notes.push(format!("the last attempt failed: {why}; the next attempt is at {next}, or on SIGHUP"));
        }
        let tls = Arc::new(Tls::ordered(stored, Arc::clone(&orders)));
        let ordered_from = state.ordered_from;
        Ok(Self { orderer: Orderer { settings, folder, tls, orders, world, attempts, ordered_from }, notes })
    }

    pub fn tls(&self) -> Arc<Tls> {
        Arc::clone(&self.orderer.tls)
    }
}

/// Reads the stored certificate. Moves an unusable certificate aside.
///
/// # Errors
/// A sentence for operators if the certificate cannot be read or used.
fn read_stored(folder: &AcmeFolder) -> Result<Option<Pair>, String> {
    let shown = folder.certificate_path();
    let why = match folder.read_certificate() {
        Ok(None) => return Ok(None),
        Ok(Some(pem)) => match Pair::from_pem(&pem) {
            Ok(pair) => return Ok(Some(pair)),
            Err(why) => why,
        },
        Err(error) if error.kind() == ErrorKind::InvalidData => error.to_string(),
        Err(error) => return Err(format!("the stored certificate {} cannot be read: {error}", shown.display())),
    };
    let moved = match folder.set_certificate_aside() {
        Ok(aside) => format!("it was moved to {}, and the service orders a new one", aside.display()),
        Err(error) => format!("it cannot be moved aside ({error}), and the service orders a new one"),
    };
    Err(format!("the stored certificate {} cannot be used: {why}; {moved}", shown.display()))
}

/// Makes an attempt whenever one is due, or when a SIGHUP asks for one and [`Attempts::next_on_demand`] allows it. Runs
/// until the future is dropped.
pub async fn follow(acme: Acme, ctx: Arc<Ctx>, mut hangups: Signal) {
    let orderer = Arc::new(Mutex::new(acme.orderer));
    let mut checks = tokio::time::interval(REST);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_asked = tokio::select! {
            _ = checks.tick() => false,
            Some(()) = hangups.recv() => true,
        };
        let now = ctx.world.now();
        let next = {
            let mut orderer = orderer.lock().unwrap_or_else(PoisonError::into_inner);
            orderer.attempts.correct(now);
            if is_asked { orderer.attempts.next_on_demand() } else { orderer.attempts.next(orderer.period_in_use()) }
        };
        if now >= next {
            match attempt::attempt(Arc::clone(&orderer)).await {
                Some(Outcome::Renewed(line)) => ctx.telemetry.note(ctx.world.now(), None, &line),
                Some(Outcome::Failed(line)) => ctx.telemetry.warn(ctx.world.now(), &line),
                None => {
                    orderer.lock().unwrap_or_else(PoisonError::into_inner).attempts.fail(now, None, 0);
                    ctx.telemetry.warn(ctx.world.now(), "cannot order a certificate: the system has no free thread");
                }
            }
        } else if is_asked {
            ctx.telemetry.note(now, None, &format!("SIGHUP: no attempt to get a certificate is allowed before {next}"));
        }
    }
}
