//! The options of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::BoolishValueParser;
use ipnet::IpNet;

use crate::cli::backup_schedule_arg::BackupScheduleArg;
use crate::cli::db_arg::DB_DEFAULT;
use crate::cli::demo;
use crate::cli::listen::parse_address;
use crate::cli::serve_value::{parse_bytes, parse_network, parse_security_contact, parse_timeout};
use crate::cli::settings_file::SettingsArg;
use crate::cli::tls_args::TlsArgs;
use crate::cli::value::parse_base_url;
use crate::domain::hr_delivery::RetrySchedule;
use crate::domain::usage;

/// Run the service.
///
/// Creates the file if it does not exist. Upgrades a file from an older version, and leaves a copy of the old file next
/// to the new one. Prints `listening on http://…` (with TLS https://…) to standard error when ready. SIGTERM and SIGINT
/// stop the service: it answers the requests that have begun, and exits with 0. It exits with 1 if the last checkpoint
/// failed. It exits with 78 if a restart would not help, for example if the file was removed, replaced or overwritten
/// while the service was running, or if the certificate cannot be used. Under systemd, the service accepts a socket
/// (LISTEN_FDS), reports that it is ready (NOTIFY_SOCKET), and reports to the watchdog (WATCHDOG_USEC).
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  appliance serve --demo
      serves a sample company on http://127.0.0.1:8080, from demo.db
  appliance serve --db jobs.db --base-url https://jobs.example.com --trusted-proxy 127.0.0.1/32
      serves your own file, behind a TLS proxy on the same machine
  appliance serve --listen 0.0.0.0:443 --base-url https://jobs.example.com --tls-cert chain.pem --tls-key key.pem
      serves appliance.db with TLS, without a proxy
  appliance serve --listen 0.0.0.0:443 --redirect-from 0.0.0.0:80 --acme-domain jobs.example.com
      the same, and orders the certificate from Let's Encrypt
  APPLIANCE_DB=jobs.db APPLIANCE_LOG_FORMAT=json appliance serve
      sets options with environment variables
  appliance serve --settings appliance.toml
      sets options with a settings file; `appliance settings` shows where each value comes from")]
pub struct Args {
    #[cfg_attr(not(feature = "postgres"), doc = "The SQLite file that holds all data.")]
    #[cfg_attr(
        feature = "postgres",
        doc = "The SQLite file that holds all data, or the URL of a PostgreSQL server, such as \
               postgres://USER@HOST/NAME."
    )]
    /// The default is appliance.db, or demo.db with --demo.
    #[arg(long, env = "APPLIANCE_DB", value_name = "FILE")]
    pub(super) db: Option<PathBuf>,

    #[command(flatten)]
    pub(super) settings: SettingsArg,

    /// The address to listen on, such as 127.0.0.1:8080, localhost:8080, [::1]:8080, 8080 (this machine only) or :8080
    /// (every IPv4 interface); port 0 selects a free port. A socket from systemd replaces this address.
    #[allow(rustdoc::broken_intra_doc_links, reason = "the brackets of an IPv6 address are not a link")]
    #[arg(long, env = "APPLIANCE_LISTEN", value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = parse_address)]
    pub(in crate::cli) listen: SocketAddr,

    /// The public URL of the service, without a path. Absolute links begin with this URL. The default is http:// and
    /// the listen address; with --tls-cert, https:// and the listen address; with --acme-domain, https:// and the name.
    /// With --demo, localhost replaces 127.0.0.1.
    #[arg(long, env = "APPLIANCE_BASE_URL", value_name = "URL", value_parser = parse_base_url)]
    pub(super) base_url: Option<String>,

    #[command(flatten)]
    pub(super) tls: TlsArgs,

    /// A second address, such as 0.0.0.0:80, that redirects plain HTTP to the same path of --base-url.
    #[arg(long, env = "APPLIANCE_REDIRECT_FROM", value_name = "ADDR", value_parser = parse_address)]
    pub(super) redirect_from: Option<SocketAddr>,

    /// Serve a sample company, which the first start creates.
    #[arg(long, env = "APPLIANCE_DEMO", value_parser = BoolishValueParser::new())]
    pub(in crate::cli) demo: bool,

    /// The maximum number of requests per minute for each API key or signed-in user; 0 means no limit.
    #[arg(long, env = "APPLIANCE_RATE_LIMIT", value_name = "PER_MINUTE", default_value_t = 1_200,
        value_parser = clap::value_parser!(u32).range(..=60_000_000))]
    pub(super) rate_limit: u32,

    /// The maximum number of signups per hour from one address (or IPv6 /64), through the form and the API together; 0
    /// means no limit. Signups with errors count too. A /56 may send twice as many, and a /48 four times as many.
    #[arg(long, env = "APPLIANCE_SIGNUP_LIMIT", value_name = "PER_HOUR", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(super) signup_limit: u32,

    /// Refuse uploads while the disk has less free space than this, such as 500M or 2G. Make no backup that would leave
    /// less on its disk. The default is 1 GB or 5 % of the disk, whichever is less. Other requests work until the disk
    /// is full.
    #[arg(long, env = "APPLIANCE_MIN_FREE", value_name = "BYTES", value_parser = parse_bytes)]
    pub(super) min_free: Option<u64>,

    /// Refuse an upload that would make the total size of the attachments larger than this, such as 20G. The default is
    /// no limit.
    #[arg(long, env = "APPLIANCE_ATTACHMENTS_MAX", value_name = "BYTES", value_parser = parse_bytes)]
    pub(super) attachments_max: Option<u64>,

    #[command(flatten)]
    pub(super) backups: BackupScheduleArg,

    /// A network of trusted proxies, such as 127.0.0.1/32. The service trusts X-Forwarded-For from these proxies. The
    /// flag can be repeated.
    #[arg(long, env = "APPLIANCE_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', value_parser = parse_network)]
    pub(super) trusted_proxy: Vec<IpNet>,

    /// A contact for reporting vulnerabilities: an email address, or an https, mailto or tel URI. Enables
    /// /.well-known/security.txt (RFC 9116). The flag can be repeated.
    #[arg(long, env = "APPLIANCE_SECURITY_CONTACT", value_name = "CONTACT", value_delimiter = ',',
        value_parser = parse_security_contact)]
    pub(super) security_contact: Vec<String>,

    /// A separate address that serves GET /metrics (Prometheus text). Without this flag, there are no metrics.
    #[arg(long, env = "APPLIANCE_METRICS_LISTEN", value_name = "ADDR", value_parser = parse_address)]
    pub(super) metrics_listen: Option<SocketAddr>,

    /// The delays between attempts to send a delivery to an HR system. After the last attempt, only an admin can send
    /// the delivery again.
    #[arg(long, env = "APPLIANCE_HR_RETRY_SCHEDULE", value_name = "DELAYS",
        default_value = "5s,5m,30m,2h,5h,10h,14h,20h,24h", value_parser = RetrySchedule::parse)]
    pub(super) hr_retry_schedule: RetrySchedule,

    /// The time limit of one attempt to send a delivery, from 100ms to 2m.
    #[arg(long, env = "APPLIANCE_HR_TIMEOUT", value_name = "DURATION", default_value = "15s", value_parser = parse_timeout)]
    pub(super) hr_timeout: Duration,

    /// Allow HR systems on loopback, private and other special addresses. With this flag, anyone who may save an HR
    /// integration can make this machine send requests into its private network.
    #[arg(long, env = "APPLIANCE_ALLOW_PRIVATE_HR_TARGETS", value_parser = BoolishValueParser::new())]
    pub(super) allow_private_hr_targets: bool,

    /// The number of days after which rows in the usage log are deleted; 0 means never. Request counts still include
    /// deleted rows.
    #[arg(long, env = "APPLIANCE_USAGE_RETENTION_DAYS", value_name = "DAYS", default_value_t = usage::RETENTION_DAYS_DEFAULT,
        value_parser = clap::value_parser!(u32).range(..=i64::from(usage::RETENTION_DAYS_MAX)))]
    pub(super) usage_retention_days: u32,

    /// The format of the log on standard error, which has one line per request.
    #[arg(long, env = "APPLIANCE_LOG_FORMAT", value_enum, default_value_t = Format::Text)]
    pub(super) log_format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// Plain text for people.
    Text,
    /// One JSON object per line.
    Json,
}

impl Args {
    /// Returns the value of `--db` or, if it is not given, the path of the default file.
    pub(in crate::cli) fn path(&self) -> PathBuf {
        self.db.clone().unwrap_or_else(|| PathBuf::from(if self.demo { demo::FILE } else { DB_DEFAULT }))
    }

    /// Returns the public URL of a service that listens on this address.
    pub(in crate::cli) fn base_url_at(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_set() { "https" } else { "http" };
        let url = self.tls.acme.base_url().unwrap_or_else(|| format!("{scheme}://{address}"));
        let default = if self.demo { demo::base_url(&url) } else { url };
        self.base_url.clone().unwrap_or(default)
    }
}
