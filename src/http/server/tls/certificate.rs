//! The certificate in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_rustls::TlsAcceptor;

use super::files::{Pair, TlsFiles};
use crate::domain::certificate::ValidityPeriod;
use crate::domain::timestamp::Timestamp;
use crate::http::server::acme::orders::Orders;

/// The certificate and key of the service.
pub struct Tls {
    /// The files from which the certificate comes. `None` if the service orders it.
    pub(super) files: Option<TlsFiles>,
    /// The certificate in use. `None` until the first ordered certificate arrives.
    current: Mutex<Option<Pair>>,
    /// Whether the files have changed to a pair that cannot be used.
    has_unusable_files: AtomicBool,
    /// The state of orders, if the service orders its certificate.
    orders: Option<Arc<Orders>>,
}

impl Tls {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// A sentence for operators, with the remedy.
    pub fn read(files: TlsFiles, now: Timestamp) -> Result<Self, String> {
        let pair = files.read(now)?;
        let current = Mutex::new(Some(pair));
        Ok(Self { files: Some(files), current, has_unusable_files: AtomicBool::new(false), orders: None })
    }

    /// Creates the value for a service that orders its certificate. `stored` is the stored certificate, if any.
    pub(in crate::http::server) fn ordered(stored: Option<Pair>, orders: Arc<Orders>) -> Self {
        let current = Mutex::new(stored);
        Self { files: None, current, has_unusable_files: AtomicBool::new(false), orders: Some(orders) }
    }

    /// Returns whether the certificate names this host. If it does not, browsers refuse the certificate.
    pub fn is_for(&self, host: &str) -> bool {
        self.current().as_ref().is_some_and(|pair| pair.is_for(host))
    }

    /// Returns the number of whole days left, if it is so small that the operator should renew the certificate.
    pub fn reminder(&self, now: Timestamp) -> Option<u64> {
        self.period()?.reminder(now)
    }

    /// Returns a warning while there is no valid certificate, after several failed attempts to renew the certificate,
    /// or while the changed files cannot be used.
    pub(in crate::http) fn warning(&self, now: Timestamp) -> Option<&'static str> {
        let Some(period) = self.period() else {
            return Some("there is no certificate yet; the log shows the reason");
        };
        let is_valid = period.check(now).is_ok();
        match &self.orders {
            Some(_) if !is_valid => Some("the certificate is not valid now; the log shows why there is no new one"),
            None if !is_valid => Some("the certificate is not valid now; renew it"),
            Some(orders) if orders.is_worrying() => Some("the certificate was not renewed; the log shows the reason"),
            _ if self.has_unusable_files() => Some("the new certificate cannot be used; the log shows the reason"),
            _ => None,
        }
    }

    pub(in crate::http::server) fn has_unusable_files(&self) -> bool {
        self.has_unusable_files.load(Ordering::Relaxed)
    }

    pub(super) fn report_files(&self, are_unusable: bool) {
        self.has_unusable_files.store(are_unusable, Ordering::Relaxed);
    }

    /// Returns the state of orders, if the service orders its certificate.
    pub(in crate::http::server) fn orders(&self) -> Option<&Orders> {
        self.orders.as_deref()
    }

    /// Returns the validity period of the certificate in use.
    pub(in crate::http::server) fn period(&self) -> Option<ValidityPeriod> {
        self.current().as_ref().map(|pair| pair.period)
    }

    /// Returns an acceptor with the certificate in use, or `None` while there is no certificate.
    pub(super) fn acceptor(&self) -> Option<TlsAcceptor> {
        self.current().as_ref().map(|pair| TlsAcceptor::from(Arc::clone(&pair.config)))
    }

    pub(in crate::http::server) fn replace(&self, pair: Pair) {
        *self.current() = Some(pair);
    }

    pub(super) fn current(&self) -> MutexGuard<'_, Option<Pair>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
