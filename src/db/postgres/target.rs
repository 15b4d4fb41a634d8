//! The address of the server: a `postgres://` URL. `sslmode` and `sslrootcert` have the meaning that they have in
//! libpq, with these main differences: without `sslmode`, the certificate of a server on another machine is verified;
//! without `sslrootcert`, the certificate authorities are those of the system; and `sslmode=allow` is refused.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslMode, TargetSessionAttrs};
use tokio_rustls::rustls::ClientConfig;

use super::open_error::OpenError;
use super::tls::{self, Roots, Verification};
use crate::db::location::{is_ambiguous, is_server};

/// The maximum time for connecting to one address by TCP. In the same data centre, this takes milliseconds; after a
/// lost packet, the system tries again after one second and after three.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings of the keepalive probes, which detect a server that has disappeared without closing the connection. The
/// probes detect this after about 11 s, which is also the value of [`TCP_USER_TIMEOUT`].
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_RETRIES: u32 = 3;

/// The time for which sent data may stay unacknowledged. It is as long as the probes need, because the system sends no
/// probes while data is unacknowledged.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(11);

/// The default of the driver, with which a lost server is detected far too late.
const DRIVER_KEEPALIVE_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// The name of a session in `pg_stat_activity`, unless the URL gives another one.
const APPLICATION_NAME: &str = "appliance";

/// The maximum number of hosts in a URL. A silent host delays those after it.
const HOSTS_MAX: usize = 8;

/// A server, or several servers of which one is the primary.
pub(crate) struct Target {
    hosts: Vec<TargetHost>,
    /// The URL without the user, the password and the parameters.
    shown: String,
}

/// One of the servers.
#[derive(Clone)]
pub(super) struct TargetHost {
    pub(super) config: Config,
    /// `None` without TLS.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

/// The values of `sslmode`. `allow`, which prefers a connection without TLS, is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Target {
    /// Parses a URL. Reads the certificate authorities.
    ///
    /// # Errors
    /// [`OpenError::Url`] if the URL is invalid or has a parameter that is not supported; [`OpenError::Tls`] if there
    /// are no certificate authorities, or their file cannot be read.
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        if !is_server(Path::new(url)) {
            return Err(OpenError::Url("it does not begin with postgres:// or postgresql://".to_owned()));
        }
        if is_ambiguous(url) {
            // The driver would take a part of the password for the host, which messages show.
            let why = "write @, #, ? and / in a user name, password or parameter as %40, %23, %3F and %2F";
            return Err(OpenError::Url(why.to_owned()));
        }
        let mut parameters = Parameters::default();
        let left = parameters.take(query)?;
        let config = format!("{address}?{left}").parse::<Config>().map_err(|error| OpenError::of_url(&error))?;
        refuse_unsupported(&config)?;
        let hosts = hosts(&config)?;
        let shown = shown(&config, &hosts);
        let of_host = |(host, port)| target_host(&config, host, port, &parameters);
        Ok(Self { hosts: hosts.into_iter().map(of_host).collect::<Result<_, _>>()?, shown })
    }

    /// Parses the value of `--db`.
    ///
    /// # Errors
    /// The errors of [`Target::parse`].
    pub(crate) fn of(db: &Path) -> Result<Self, OpenError> {
        Self::parse(db.to_str().ok_or_else(|| OpenError::Url("it is not UTF-8".to_owned()))?)
    }

    pub(super) fn hosts(&self) -> &[TargetHost] {
        &self.hosts
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

/// The parameters that the driver does not know, or knows with fewer values.
#[derive(Default)]
struct Parameters {
    mode: Option<Mode>,
    roots: Option<Roots>,
}

impl Parameters {
    /// Takes its parameters from the query of a URL. Returns the others, for the driver.
    fn take(&mut self, query: &str) -> Result<String, OpenError> {
        let mut left = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8();
            let value = value.map_err(|_| OpenError::Url(format!("the value of {key} is not UTF-8")))?;
            match key {
                "sslmode" => self.mode = Some(mode(&value)?),
                "sslrootcert" if value == "system" => self.roots = Some(Roots::System),
                "sslrootcert" => self.roots = Some(Roots::File(PathBuf::from(&*value))),
                _ => left.push(pair),
            }
        }
        Ok(left.join("&"))
    }
}

fn mode(value: &str) -> Result<Mode, OpenError> {
    match value {
        "disable" => Ok(Mode::Disable),
        "prefer" => Ok(Mode::Prefer),
        "require" => Ok(Mode::Require),
        "verify-ca" => Ok(Mode::VerifyCa),
        "verify-full" => Ok(Mode::VerifyFull),
        _ => {
            let known = "disable, prefer, require, verify-ca or verify-full";
            Err(OpenError::Url(format!("sslmode must be {known}")))
        }
    }
}

fn refuse_unsupported(config: &Config) -> Result<(), OpenError> {
    let refuse = |why: &str| Err(OpenError::Url(why.to_owned()));
    if !config.get_hostaddrs().is_empty() {
        return refuse("hostaddr is not supported; give the address as the host");
    }
    if config.get_channel_binding() == ChannelBinding::Require {
        return refuse("channel_binding=require is not supported; use sslmode=verify-full");
    }
    if config.get_target_session_attrs() == TargetSessionAttrs::ReadOnly {
        return refuse("the service needs a server that accepts writes, so target_session_attrs must not be read-only");
    }
    if config.get_options().is_some() {
        return refuse("options is not supported, because the service chooses the settings of its sessions");
    }
    Ok(())
}

fn hosts(config: &Config) -> Result<Vec<(Host, u16)>, OpenError> {
    let (hosts, ports) = (config.get_hosts(), config.get_ports());
    if hosts.is_empty() {
        return Err(OpenError::Url("it has no host".to_owned()));
    }
    if hosts.len() > HOSTS_MAX {
        return Err(OpenError::Url(format!("it has more than {HOSTS_MAX} hosts")));
    }
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(OpenError::Url("it needs one port, or one port for each host".to_owned()));
    }
    let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5_432);
    Ok(hosts.iter().enumerate().map(|(index, host)| (host.clone(), port(index))).collect())
}

/// Returns the URL without the user, the password and the parameters.
fn shown(config: &Config, hosts: &[(Host, u16)]) -> String {
    let host = |(host, port): &(Host, u16)| match host {
        Host::Tcp(name) if name.contains(':') => format!("[{name}]:{port}"),
        Host::Tcp(name) => format!("{name}:{port}"),
        Host::Unix(path) => format!("{}:{port}", path.display()),
    };
    let hosts: Vec<String> = hosts.iter().map(host).collect();
    format!("postgres://{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

/// Returns whether data for this host does not leave the machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
        Host::Unix(_) => true,
    }
}

fn target_host(config: &Config, host: Host, port: u16, parameters: &Parameters) -> Result<TargetHost, OpenError> {
    // PostgreSQL has no TLS on a Unix socket, and data on the socket does not leave the machine.
    let mode = match (&host, parameters.mode) {
        (Host::Unix(_), _) => Mode::Disable,
        (_, Some(mode)) => mode,
        (_, None) if is_local(&host) => Mode::Prefer,
        (_, None) => Mode::VerifyFull,
    };
    let roots = parameters.roots.clone();
    let tls = match (mode, &roots) {
        (Mode::Disable, _) => None,
        (Mode::Prefer, _) | (Mode::Require, None) => Some(Verification::Nothing),
        // With a file of authorities, libpq verifies the authority even if the mode is `require`.
        (Mode::Require | Mode::VerifyCa, _) => Some(Verification::Authority(roots.unwrap_or(Roots::System))),
        (Mode::VerifyFull, _) => Some(Verification::Full(roots.unwrap_or(Roots::System))),
    };
    let tls = tls.map(|verification| tls::client_config(&verification)).transpose().map_err(OpenError::Tls)?;
    let mut single = single_host(config, host, port);
    single.ssl_mode(match mode {
        Mode::Disable => SslMode::Disable,
        Mode::Prefer => SslMode::Prefer,
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
    });
    Ok(TargetHost { config: single, tls })
}

/// Returns the driver's configuration for one host, with the service's defaults.
fn single_host(config: &Config, host: Host, port: u16) -> Config {
    let mut single = Config::new();
    match host {
        Host::Tcp(name) => single.host(name),
        Host::Unix(path) => single.host_path(path),
    };
    single.port(port);
    if let Some(user) = config.get_user() {
        single.user(user);
    }
    if let Some(password) = config.get_password() {
        single.password(password);
    }
    if let Some(database) = config.get_dbname() {
        single.dbname(database);
    }
    let idle = config.get_keepalives_idle();
    single
        .application_name(config.get_application_name().unwrap_or(APPLICATION_NAME))
        .connect_timeout(*config.get_connect_timeout().unwrap_or(&CONNECT_TIMEOUT))
        .tcp_user_timeout(*config.get_tcp_user_timeout().unwrap_or(&TCP_USER_TIMEOUT))
        .keepalives(config.get_keepalives())
        .keepalives_idle(if idle == DRIVER_KEEPALIVE_IDLE { KEEPALIVE_IDLE } else { idle })
        .keepalives_interval(config.get_keepalives_interval().unwrap_or(KEEPALIVE_INTERVAL))
        .keepalives_retries(config.get_keepalives_retries().unwrap_or(KEEPALIVE_RETRIES))
        .channel_binding(ChannelBinding::Disable)
        // Reads also go to the primary, because a standby shows a commit later.
        .target_session_attrs(TargetSessionAttrs::ReadWrite);
    single
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(url: &str) -> Vec<(SslMode, bool)> {
        let target = Target::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        target.hosts.iter().map(|host| (host.config.get_ssl_mode(), host.tls.is_some())).collect()
    }

    #[test]
    fn certificates_are_verified_by_default_unless_the_server_is_on_this_machine() {
        for (url, mode, has_tls) in [
            ("postgres://u:p@127.0.0.1/d", SslMode::Prefer, true),
            ("postgres://u@[::1]/d", SslMode::Prefer, true),
            ("postgres://localhost/d", SslMode::Prefer, true),
            ("postgres:///d?host=/run/postgresql&sslmode=verify-full", SslMode::Disable, false),
            ("postgres://db.example.com/d", SslMode::Require, true),
            ("postgres://db.example.com/d?sslmode=disable", SslMode::Disable, false),
            ("postgres://db.example.com/d?sslmode=verify-ca&sslrootcert=system", SslMode::Require, true),
        ] {
            assert_eq!(modes(url), [(mode, has_tls)], "{url}");
        }
    }

    #[test]
    fn each_host_has_its_port_and_the_password_is_not_shown() {
        let target =
            Target::parse("postgresql://u:geheim@a:1,localhost:2/d?sslmode=require&connect_timeout=2").unwrap();
        assert_eq!(target.to_string(), "postgres://a:1,localhost:2/d");
        let ports: Vec<&[u16]> = target.hosts.iter().map(|host| host.config.get_ports()).collect();
        assert_eq!(ports, [&[1], &[2]]);
        let config = &target.hosts[0].config;
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(2)));
        assert_eq!(config.get_keepalives_idle(), KEEPALIVE_IDLE);
        assert_eq!(config.get_application_name(), Some(APPLICATION_NAME));
    }

    #[test]
    fn an_invalid_url_is_refused_with_one_sentence_without_the_password() {
        for (url, why) in [
            ("mysql://a/b", "does not begin with postgres://"),
            ("postgres://a/b?sslmode=allow", "sslmode must be"),
            ("postgres://a/b?sslcert=x", "unknown option `sslcert`"),
            ("postgres://u:geheim@a:port/b", "invalid value for option `port`"),
            ("postgres:///b", "it has no host"),
            ("postgres://a:1,b:2,c/b?port=1", "port"),
            ("postgres://a/b?target_session_attrs=read-only", "accepts writes"),
            ("postgres://a/b?options=-cfsync%3Doff", "options is not supported"),
            ("postgres://a/b?channel_binding=require", "verify-full"),
            ("postgres://a/b?hostaddr=1.2.3.4", "hostaddr"),
            ("postgres://u:geheim@geheim@a/b", "%40"),
            ("postgres://u:geheim#geheim@a/b", "%23"),
            ("postgres://u:1?geheim@a/b", "%3F"),
            ("postgres://a/b?sslrootcert=/does/not/exist", "/does/not/exist"),
        ] {
            let Err(error) = Target::parse(url) else { panic!("{url}") };
            let sentence = error.to_string();
            assert!(sentence.contains(why) && !sentence.contains("geheim") && !sentence.contains('\n'), "{sentence}");
            assert!(!error.may_pass(), "{sentence}");
        }
    }
}
