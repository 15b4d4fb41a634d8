//! TLS of the service itself. The certificate comes from two files, which are read again when they change, or from an
//! authority (`acme`). A connection keeps the certificate with which it began.

pub(in crate::http) mod certificate;
pub(in crate::http) mod files;
pub(in crate::http) mod follow;
pub(super) mod handshake;
