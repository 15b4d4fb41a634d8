//! The certificate in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::server::ParsedCertificate;

use super::files::{Pair, TlsFiles};
use crate::domain::certificate::ValidityPeriod;
use crate::domain::timestamp::Timestamp;

/// The certificate and key of the service.
pub struct Tls {
    pub(super) files: TlsFiles,
    current: Mutex<Pair>,
    /// Whether the files have changed to a pair that cannot be used.
    has_unusable_files: AtomicBool,
}

impl Tls {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// A sentence for operators, with the remedy.
    pub fn read(files: TlsFiles, now: Timestamp) -> Result<Self, String> {
        let pair = files.read(now)?;
        Ok(Self { files, current: Mutex::new(pair), has_unusable_files: AtomicBool::new(false) })
    }

    /// Returns whether the certificate names this host. Otherwise, browsers refuse the certificate.
    pub fn is_for(&self, host: &str) -> bool {
        let pair = self.current();
        let Ok(certificate) = ParsedCertificate::try_from(&pair.certificate) else { return false };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        ServerName::try_from(host).is_ok_and(|name| verify_server_name(&certificate, &name).is_ok())
    }

    /// Returns the whole days that are left if they are so few that the operator should renew the certificate.
    pub fn reminder(&self, now: Timestamp) -> Option<u64> {
        self.period().reminder(now)
    }

    /// Returns a warning while the certificate is not valid, or while the changed files cannot be used.
    pub(in crate::http) fn warning(&self, now: Timestamp) -> Option<&'static str> {
        if self.period().check(now).is_err() {
            Some("the certificate is not valid now; renew it")
        } else if self.has_unusable_files() {
            Some("the new certificate cannot be used; the log shows the reason")
        } else {
            None
        }
    }

    pub(in crate::http::server) fn has_unusable_files(&self) -> bool {
        self.has_unusable_files.load(Ordering::Relaxed)
    }

    pub(super) fn report_files(&self, are_unusable: bool) {
        self.has_unusable_files.store(are_unusable, Ordering::Relaxed);
    }

    /// Returns the validity period of the certificate in use.
    pub(in crate::http::server) fn period(&self) -> ValidityPeriod {
        self.current().period
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.current().config))
    }

    pub(super) fn replace(&self, pair: Pair) {
        *self.current() = pair;
    }

    pub(super) fn current(&self) -> MutexGuard<'_, Pair> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
