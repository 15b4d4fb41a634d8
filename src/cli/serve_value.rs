//! Parsers for the flag values of `serve`.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;

use crate::domain::{disk, hr_delivery};
use crate::http;

/// The bounds of `--hr-timeout`. A shorter time is not enough for a TLS handshake. A longer time only prolongs the wait
/// for a target that hangs.
const HR_TIMEOUT_MIN: Duration = Duration::from_millis(100);
const HR_TIMEOUT_MAX: Duration = Duration::from_secs(120);

/// Returns the contact as a URI.
pub(super) fn parse_security_contact(text: &str) -> Result<String, String> {
    http::security_contact(text).ok_or_else(|| {
        "a contact is an email address or a URI, such as security@example.com, https://example.com/security or \
         tel:+1-201-555-0123"
            .to_owned()
    })
}

pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    disk::parse_bytes(text)
        .ok_or_else(|| "a size is a number with K, M, G, T or no unit, such as 500M or 20G".to_owned())
}

pub(super) fn parse_timeout(text: &str) -> Result<Duration, String> {
    let duration = hr_delivery::parse_duration(text, HR_TIMEOUT_MIN..=HR_TIMEOUT_MAX);
    duration.ok_or_else(|| "a time limit must be between 100ms and 2m; for example, 15s".to_owned())
}

/// Parses a network, or a single address as a network.
pub(super) fn parse_network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| "a network looks like 127.0.0.1/32 or 10.0.0.0/8".to_owned())
}
