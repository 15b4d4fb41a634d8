//! The options with which `serve` orders its certificate by ACME.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::value::parse_new_email;
use crate::domain::acme::Domain;
use crate::domain::text::Email;
use crate::hr::{trusting_config, trusting_config_of};
use crate::http::{self, AcmeFolder, AcmeSettings};
use crate::store::file::resolve;

/// The directory of Let's Encrypt, which most small organizations use and whose certificates are free.
const DIRECTORY: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// The sentence for a build that cannot order certificates; `None` with the feature `acme`.
pub(super) const MISSING: Option<&str> = if cfg!(feature = "acme") {
    None
} else {
    Some("this program was built without ACME, so it cannot order certificates")
};

#[derive(Debug, clap::Args)]
pub(super) struct AcmeArgs {
    /// Order the certificate for this name, and renew it, by ACME (RFC 8555). With this option, you agree to the terms
    /// of service of the authority (Let's Encrypt: `https://letsencrypt.org/repository/`). The authority checks the
    /// name on port 80, so --redirect-from is needed. The account and the certificate are in the folder FILE.acme
    /// next to the database. On SIGHUP, the service makes the next attempt early.
    #[arg(long, env = "APPLIANCE_ACME_DOMAIN", value_name = "NAME", value_parser = Domain::parse)]
    acme_domain: Option<Domain>,

    /// An email address for the authority. Let's Encrypt sends no mail; other authorities may send warnings.
    #[arg(long, env = "APPLIANCE_ACME_CONTACT", value_name = "ADDRESS", value_parser = parse_new_email)]
    acme_contact: Option<Email>,

    /// The directory of another authority, or of the test environment of Let's Encrypt:
    /// `https://acme-staging-v02.api.letsencrypt.org/directory`. The default is Let's Encrypt.
    #[arg(long, env = "APPLIANCE_ACME_DIRECTORY", value_name = "URL", value_parser = parse_directory)]
    acme_directory: Option<String>,

    /// A PEM file with the root certificate of the directory server's certificate chain. By default, the service
    /// accepts every authority that the system trusts. The directory of an authority inside an organization usually
    /// needs this option.
    #[arg(long, env = "APPLIANCE_ACME_CA_FILE", value_name = "FILE")]
    acme_ca_file: Option<PathBuf>,
}

impl AcmeArgs {
    pub(super) fn is_set(&self) -> bool {
        self.acme_domain.is_some()
    }

    /// Returns the base URL that the name of `--acme-domain` suggests.
    pub(super) fn base_url(&self) -> Option<String> {
        self.acme_domain.as_ref().map(|domain| format!("https://{}", domain.as_str()))
    }

    /// Returns a finding for each option that contradicts another option, or that needs an option that is not set or a
    /// feature that the build lacks.
    pub(super) fn contradictions(&self, has_files: bool, base_url: Option<&str>, redirects: bool) -> Vec<Finding> {
        let has_domain = self.is_set();
        let needs = |option, is_set| Finding::needs(option, is_set, "acme-domain", has_domain);
        let both = (has_files && has_domain).then(|| {
            "--acme-domain orders a certificate, but --tls-cert and --tls-key name one; use one or the other".to_owned()
        });
        let port = (has_domain && !redirects).then(|| {
            "--acme-domain needs --redirect-from 0.0.0.0:80, because the authority checks the name on port 80"
                .to_owned()
        });
        let missing = MISSING
            .filter(|_| has_domain)
            .map(|why| format!("--acme-domain: {why}; use --tls-cert, or a proxy that speaks TLS"));
        let domain =
            [missing, both, port].into_iter().flatten().map(|sentence| Finding { option: "acme-domain", sentence });
        let host = base_url.and_then(http::host).map(|host| host.to_ascii_lowercase());
        let other = self.acme_domain.as_ref().zip(host).filter(|(domain, host)| domain.as_str() != host);
        let other = other.map(|(domain, host)| Finding {
            option: "base-url",
            sentence: format!(
                "the certificate is for {}, and the host of --base-url is {host}; use the same name for both",
                domain.as_str()
            ),
        });
        domain
            .chain(other)
            .chain(needs("acme-contact", self.acme_contact.is_some()))
            .chain(needs("acme-directory", self.acme_directory.is_some()))
            .chain(needs("acme-ca-file", self.acme_ca_file.is_some()))
            .collect()
    }

    /// Returns the reason why the root certificates for the connection to the directory cannot be used.
    pub(super) fn flaw_of_trust(&self) -> Option<String> {
        self.is_set().then(|| self.settings())??.trust.as_ref()().err()
    }

    /// Returns the reason why the folder for the certificate cannot be used.
    pub(super) fn flaw_of_folder(&self, db: &Path) -> Option<String> {
        self.is_set().then(|| AcmeFolder::of(&resolve(db)).check().err())?
    }

    /// Returns the settings, or `None` if the service does not order its certificate.
    pub(super) fn settings(&self) -> Option<AcmeSettings> {
        let domain = self.acme_domain.clone()?;
        let contact = self.acme_contact.as_ref().map(|email| email.as_str().to_owned());
        let directory = self.acme_directory.clone().unwrap_or_else(|| DIRECTORY.to_owned());
        let ca_file = self.acme_ca_file.clone();
        let trust = Box::new(move || match &ca_file {
            Some(path) => trusting_config_of(path),
            None => trusting_config(),
        });
        Some(AcmeSettings { domain, contact, directory, trust })
    }
}

pub(super) fn parse_directory(text: &str) -> Result<String, String> {
    let text = text.trim();
    let uri = http::url_parts(text).filter(|(scheme, host)| scheme == "https" && !host.is_empty());
    uri.map(|_| text.to_owned())
        .ok_or_else(|| format!("the directory of an authority must be an https URL, such as {DIRECTORY}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_an_https_url() {
        for good in [DIRECTORY, "https://localhost:14000/dir", " https://[::1]:1/a "] {
            assert_eq!(parse_directory(good).as_deref(), Ok(good.trim()));
        }
        for bad in ["", "http://acme.example/directory", "acme.example", "https://", "https:///a", "/a", "https://a b/"]
        {
            assert!(parse_directory(bad).unwrap_err().contains("https URL"), "{bad}");
        }
    }
}
