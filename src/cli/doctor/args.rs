//! The options of `appliance doctor`, which are also options of `serve`.

use std::net::SocketAddr;

use ipnet::IpNet;

use crate::cli::backup_schedule_arg::BackupScheduleArg;
use crate::cli::db_arg::DbArg;
use crate::cli::listen::parse_address;
use crate::cli::serve_value::{parse_bytes, parse_network};
use crate::cli::tls_args::TlsArgs;
use crate::cli::value::parse_base_url;

/// Examine an installation, and print the problems to correct, the most urgent first.
///
/// Examines the file and its permissions, the clock, the disk, the base URL and the proxy in front of the service, the
/// certificate, and the backups. Set the options (or environment variables) that the command shares with `serve` to the
/// same values. The command works while the service runs and while it is stopped. The command itself changes nothing,
/// but a running service records the time of the request that the command sends. Run the command as the user of the
/// service or as root.
///
/// Each problem is one line: the urgency (`now` or `soon`), the area, a sentence, and the command that corrects the
/// problem or shows more. Standard error names the parts that could not be examined. The exit status is 1 if there is a
/// problem, and 0 otherwise.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) db: DbArg,

    /// The address on which the service listens.
    #[arg(long, env = "APPLIANCE_LISTEN", value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = parse_address)]
    pub(super) listen: SocketAddr,

    /// The public URL of the service. The command sends a request to it.
    #[arg(long, env = "APPLIANCE_BASE_URL", value_name = "URL", value_parser = parse_base_url)]
    pub(super) base_url: Option<String>,

    #[command(flatten)]
    pub(super) tls: TlsArgs,

    /// A network of trusted proxies. The flag can be repeated.
    #[arg(long, env = "APPLIANCE_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', value_parser = parse_network)]
    pub(super) trusted_proxy: Vec<IpNet>,

    /// The minimum free space. While the disk has less, the service refuses uploads. A backup must leave this much
    /// space on its disk.
    #[arg(long, env = "APPLIANCE_MIN_FREE", value_name = "BYTES", value_parser = parse_bytes)]
    pub(super) min_free: Option<u64>,

    #[command(flatten)]
    pub(super) backups: BackupScheduleArg,
}
