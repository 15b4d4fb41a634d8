//! The options of `appliance init`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::BoolishValueParser;

use crate::cli::acme_args::parse_directory;
use crate::cli::settings_file::SettingsArg;
use crate::cli::value::{parse_base_url, parse_name, parse_new_email, parse_slug};
use crate::domain::backup::{EVERY, Keep};
use crate::domain::hr_delivery;
use crate::domain::text::{Email, Slug};

/// The answer that means no backups.
pub(super) const NO_BACKUPS: &str = "none";

/// Set up the service: settings file, database, organization and first admin.
///
/// On a terminal, the command asks for the answers that the options do not give. It does not ask for --db, --settings,
/// --force, --acme-directory or --acme-ca-file. Without a terminal, --organization-name, --email and --base-url are
/// required. --slug is required if the command cannot make one from the name, --tls if the base URL is https, and
/// --tls-cert and --tls-key with --tls files.
///
/// The command writes the settings file, creates the database if it does not exist, and creates the organization and
/// the admin if they do not exist. An existing user with the admin's address becomes an admin and is enabled. The admin
/// becomes an owner of the organization. The command prints the address of the career portal, if the portal is on. It
/// also prints a link by which the admin can sign in once, within a week. Both go to standard output.
///
/// Nothing is changed before the last question is answered. If the settings file has options and the database is set
/// up, the command changes nothing, unless --force is given. As root, the command gives the database to the owner and
/// the group of its directory. This group can also read the settings file.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  sudo appliance init
      asks questions, and sets up the service on this machine
  sudo appliance init --organization-name Acme --email you@example.com --base-url https://jobs.example.com --tls proxy
      asks no questions in a script; the slug is acme, and the portal and daily backups are on
  sudo appliance init --organization-name Acme --email you@example.com --base-url https://jobs.example.com --tls acme
      the same without a proxy: the service orders a certificate for jobs.example.com
  appliance init --settings jobs.toml --db jobs.db
      sets up a service in this directory, without root; for a service on this machine only, give
      http://127.0.0.1:8080 as the public URL")]
pub(in crate::cli) struct Args {
    /// The SQLite file that holds all data. Its directory must exist.
    #[arg(long, env = "APPLIANCE_DB", value_name = "FILE", default_value = "/var/lib/appliance/appliance.db")]
    pub(super) db: PathBuf,

    #[command(flatten)]
    pub(super) settings: SettingsArg,

    /// The organization's name.
    #[arg(long, env = "APPLIANCE_ORGANIZATION_NAME", value_name = "NAME", value_parser = parse_name)]
    pub(super) organization_name: Option<String>,

    /// The organization's slug, which is part of the portal's address. The default is made from the name.
    #[arg(long, env = "APPLIANCE_SLUG", value_name = "SLUG", value_parser = parse_slug)]
    pub(super) slug: Option<Slug>,

    /// Whether the public career portal is on. The default is on.
    #[arg(long, env = "APPLIANCE_PORTAL", value_name = "STATE")]
    pub(super) portal: Option<Portal>,

    /// The admin's email address.
    #[arg(long, env = "APPLIANCE_EMAIL", value_name = "EMAIL", value_parser = parse_new_email)]
    pub(super) email: Option<Email>,

    /// The admin's name. The default is the part of the address before the @.
    #[arg(long, env = "APPLIANCE_NAME", value_name = "NAME", value_parser = parse_name)]
    pub(super) name: Option<String>,

    /// The public URL of the service, without a path.
    #[arg(long, env = "APPLIANCE_BASE_URL", value_name = "URL", value_parser = parse_base_url)]
    pub(super) base_url: Option<String>,

    /// The program that speaks TLS. Without a terminal, this option is required if the base URL is https.
    #[arg(long, env = "APPLIANCE_TLS", value_name = "KIND")]
    pub(super) tls: Option<Tls>,

    /// The certificate, for --tls files.
    #[arg(long, env = "APPLIANCE_TLS_CERT", value_name = "FILE")]
    pub(super) tls_cert: Option<PathBuf>,

    /// The private key of the certificate, for --tls files.
    #[arg(long, env = "APPLIANCE_TLS_KEY", value_name = "FILE")]
    pub(super) tls_key: Option<PathBuf>,

    /// An email address for the certificate authority, for --tls acme. The default is the admin's address.
    #[arg(long, env = "APPLIANCE_ACME_CONTACT", value_name = "ADDRESS", value_parser = parse_new_email)]
    pub(super) acme_contact: Option<Email>,

    /// The directory of an authority other than Let's Encrypt, for --tls acme.
    #[arg(long, env = "APPLIANCE_ACME_DIRECTORY", value_name = "URL", value_parser = parse_directory)]
    pub(super) acme_directory: Option<String>,

    /// A PEM file with the root certificate of the directory server's certificate chain, for --tls acme. By default,
    /// the service accepts every authority that the system trusts.
    #[arg(long, env = "APPLIANCE_ACME_CA_FILE", value_name = "FILE")]
    pub(super) acme_ca_file: Option<PathBuf>,

    /// The directory for backups, or `none`. The default is the directory `backups` next to the database. A directory
    /// on another disk is better.
    #[arg(long, env = "APPLIANCE_BACKUP_DIR", value_name = "DIR")]
    pub(super) backup_dir: Option<PathBuf>,

    /// The time between two backups, from 1m to 744h. The default is 24h.
    #[arg(long, env = "APPLIANCE_BACKUP_EVERY", value_name = "DURATION", value_parser = parse_every)]
    pub(super) backup_every: Option<String>,

    /// The backups to keep: a number, or tiers such as daily=7,weekly=4,monthly=6, which are the default.
    #[arg(long, env = "APPLIANCE_BACKUP_KEEP", value_name = "COUNTS", value_parser = parse_keep)]
    pub(super) backup_keep: Option<String>,

    /// Replace an existing settings file. An existing database keeps its data.
    #[arg(long, env = "APPLIANCE_FORCE", value_parser = BoolishValueParser::new())]
    pub(super) force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Portal {
    /// Everybody can read the career portal, and candidates can apply.
    On,
    /// There is no career portal.
    Off,
}

/// The program that speaks TLS to browsers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Tls {
    /// A proxy on this machine, such as Caddy or nginx. The service listens on 127.0.0.1:8080.
    Proxy,
    /// The service itself, with a certificate that it orders from Let's Encrypt and renews. It listens on the port of
    /// the base URL and on port 80. You agree to the terms of service of the authority.
    Acme,
    /// The service itself, with the certificate and its key in two files. It listens on the port of the base URL. If
    /// that port is 443, the service also redirects requests from port 80.
    Files,
}

/// Checks a time between two backups, and returns it as it was written.
pub(super) fn parse_every(text: &str) -> Result<String, String> {
    let every: Option<Duration> = hr_delivery::parse_duration(text, EVERY);
    every
        .map(|_| text.trim().to_owned())
        .ok_or_else(|| "the time must be between 1m and 744h; for example, 24h".to_owned())
}

/// Checks a value of `--backup-keep`, and returns it as it was written.
pub(super) fn parse_keep(text: &str) -> Result<String, String> {
    Keep::parse(text).map(|_| text.trim().to_owned())
}
