//! Telemetry for the operator: counters as Prometheus text, and a log on standard error with one line for each request,
//! defect, delivery attempt and event of the service.
//!
//! The line of a request never contains a path, query, address or user agent, because these can contain tokens and
//! personal data.

mod log;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use self::log::Log;
use crate::domain::text::counted;
use crate::domain::timestamp::Timestamp;

/// The upper bounds of the duration histogram's buckets, in seconds.
const BUCKETS_S: [f64; 9] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object for each line.
    Json,
    /// No log, for tests.
    Off,
}

/// The priority of a log line (RFC 5424 section 6.2.1). The journal of systemd reads it from the beginning of the line
/// (sd-daemon(3)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Error,
    Warning,
    Notice,
    Info,
}

impl Priority {
    /// Returns the beginning of a line of this priority for the journal.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Error => "<3>",
            Self::Warning => "<4>",
            Self::Notice => "<5>",
            Self::Info => "<6>",
        }
    }
}

/// The log line of a request.
#[derive(Debug, Clone)]
pub struct RequestLine<'a> {
    /// The time at which the request was answered.
    pub at: Timestamp,
    pub request_id: &'a str,
    /// The method, from a closed set.
    pub method: &'static str,
    /// The route's template, or `-` for an unknown route.
    pub route: &'static str,
    pub status: u16,
    /// The time from the request's head to the answer.
    pub duration: Duration,
    /// The size of the answer's body.
    pub bytes: u64,
    /// The id of the caller's API key, if any.
    pub key_id: Option<&'a str>,
}

/// Counters and the log.
#[derive(Debug)]
pub struct Telemetry {
    format: LogFormat,
    /// Whether lines begin with their priority, for the journal of systemd.
    has_priorities: bool,
    routes: Mutex<BTreeMap<RouteStatus, Histogram>>,
    hr_attempts: Mutex<BTreeMap<&'static str, u64>>,
    log: Option<Log>,
}

/// Method, route and status.
type RouteStatus = (&'static str, &'static str, u16);

#[derive(Debug, Default, Clone)]
struct Histogram {
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS_S.len()],
}

impl Telemetry {
    /// Creates empty counters and starts the log thread.
    pub fn new(format: LogFormat) -> Self {
        Self::start(format, false)
    }

    /// Creates empty counters and starts the log thread. Each line begins with its priority, for the journal of
    /// systemd.
    pub fn for_journal(format: LogFormat) -> Self {
        Self::start(format, true)
    }

    fn start(format: LogFormat, has_priorities: bool) -> Self {
        let describe_dropped = move |count| {
            let verb = if count == 1 { "was" } else { "were" };
            let lines = counted(count, "log line");
            let sentence = format!("{lines} {verb} dropped: standard error was not read in time");
            let prefix = if has_priorities { Priority::Warning.prefix() } else { "" };
            match format {
                LogFormat::Json => format!("{prefix}{{\"message\":{}}}\n", json_string(&sentence)),
                LogFormat::Text | LogFormat::Off => format!("{prefix}{sentence}\n"),
            }
        };
        let log = (format != LogFormat::Off).then(|| Log::start(describe_dropped));
        Self { format, has_priorities, routes: Mutex::default(), hr_attempts: Mutex::default(), log }
    }

    /// Counts a request and writes its line.
    pub fn request(&self, line: &RequestLine<'_>) {
        let seconds = line.duration.as_secs_f64();
        {
            let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
            let histogram = routes.entry((line.method, line.route, line.status)).or_default();
            histogram.count += 1;
            histogram.seconds += seconds;
            for (bucket, bound) in histogram.buckets.iter_mut().zip(BUCKETS_S) {
                *bucket += u64::from(seconds <= bound);
            }
        }
        let write = match self.format {
            LogFormat::Off => return,
            LogFormat::Text => text_line,
            LogFormat::Json => json_line,
        };
        let priority = if line.status >= 500 { Priority::Warning } else { Priority::Info };
        self.write(priority, |text| write(text, line));
    }

    /// Counts a delivery attempt by its outcome, a word from a closed set.
    pub fn hr_attempt(&self, outcome: &'static str) {
        *self.hr_attempts.lock().unwrap_or_else(PoisonError::into_inner).entry(outcome).or_default() += 1;
    }

    /// Logs a sentence about an event or a defect. `request_id` links the sentence to the answer of a request.
    pub fn note(&self, at: Timestamp, request_id: Option<&str>, message: &str) {
        let priority = if request_id.is_some() { Priority::Warning } else { Priority::Notice };
        self.log(priority, at, request_id, message);
    }

    /// Logs a sentence about a condition that needs a person's attention.
    pub fn warn(&self, at: Timestamp, message: &str) {
        self.log(Priority::Warning, at, None, message);
    }

    fn log(&self, priority: Priority, at: Timestamp, request_id: Option<&str>, message: &str) {
        let line = match self.format {
            LogFormat::Off => return,
            LogFormat::Text => format!("{at} {} {}\n", request_id.unwrap_or("-"), one_line(message)),
            LogFormat::Json => {
                let id = request_id.map_or_else(|| "null".to_owned(), json_string);
                format!("{{\"time\":\"{at}\",\"requestId\":{id},\"message\":{}}}\n", json_string(message))
            }
        };
        self.write(priority, |text| text.write_str(&line));
    }

    /// Returns the counters and these gauges (name, help and value) as Prometheus text (exposition format 0.0.4).
    pub fn prometheus(&self, gauges: &[(&str, &str, f64)]) -> String {
        let mut text = String::from(
            "# HELP appliance_request_duration_seconds Time from a request's head to its answer.\n\
             # TYPE appliance_request_duration_seconds histogram\n",
        );
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for ((method, route, status), histogram) in &routes {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            let name = "appliance_request_duration_seconds";
            for (bound, count) in BUCKETS_S.iter().zip(histogram.buckets) {
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
            }
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", histogram.count);
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", histogram.seconds);
            let _ = writeln!(text, "{name}_count{{{labels}}} {}", histogram.count);
        }
        let name = "appliance_hr_attempts_total";
        let _ = writeln!(text, "# HELP {name} Delivery attempts to HR systems.\n# TYPE {name} counter");
        for (outcome, count) in self.hr_attempts.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = writeln!(text, "{name}{{outcome=\"{outcome}\"}} {count}");
        }
        for (name, help, value) in gauges {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        text
    }

    /// Waits until all earlier lines are written, but no longer than a second.
    pub fn flush(&self) {
        if let Some(log) = &self.log {
            log.flush();
        }
    }

    fn write(&self, priority: Priority, line: impl FnOnce(&mut String) -> std::fmt::Result) {
        let Some(log) = &self.log else { return };
        log.push(|text| {
            if self.has_priorities {
                text.push_str(priority.prefix());
            }
            // Writing to a string cannot fail.
            let _ = line(text);
        });
    }
}

/// Writes the line of a request as text. Appends most parts one by one, because a single format string would take twice
/// as long, and every request has a line.
fn text_line(text: &mut String, line: &RequestLine<'_>) -> std::fmt::Result {
    // Tenths of a millisecond, rounded.
    let tenths = (line.duration.as_micros() + 50) / 100;
    write!(text, "{}", line.at)?;
    for word in [line.request_id, line.method, line.route] {
        text.push(' ');
        text.push_str(word);
    }
    write!(text, " {} {}.{}ms {}B ", line.status, tenths / 10, tenths % 10, line.bytes)?;
    text.push_str(line.key_id.unwrap_or("-"));
    text.push('\n');
    Ok(())
}

fn json_line(text: &mut String, line: &RequestLine<'_>) -> std::fmt::Result {
    writeln!(
        text,
        "{{\"time\":\"{}\",\"requestId\":{},\"method\":{},\"route\":{},\"status\":{},\"durationMs\":{:.3},\"bytes\":{},\"keyId\":{}}}",
        line.at,
        json_string(line.request_id),
        json_string(line.method),
        json_string(line.route),
        line.status,
        line.duration.as_secs_f64() * 1_000.0,
        line.bytes,
        line.key_id.map_or_else(|| "null".to_owned(), json_string),
    )
}

fn one_line(message: &str) -> String {
    message.replace(['\n', '\r'], " ")
}

/// Encodes a string as JSON (RFC 8259 §7). This layer does not use a serializer.
fn json_string(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_strings_escape_quotes_backslashes_and_control_characters() {
        assert_eq!(json_string("a\"b\\c\n\u{1}ä"), "\"a\\\"b\\\\c\\u000a\\u0001ä\"");
    }

    #[test]
    fn counters_are_reported_as_prometheus_text() {
        let telemetry = Telemetry::new(LogFormat::Off);
        let line = RequestLine {
            at: Timestamp::from_micros(0),
            request_id: "req_1",
            method: "GET",
            route: "/api/v1/me",
            status: 200,
            duration: Duration::from_millis(3),
            bytes: 10,
            key_id: None,
        };
        telemetry.request(&line);
        telemetry.hr_attempt("delivered");
        telemetry.hr_attempt("delivered");
        let text = telemetry.prometheus(&[("appliance_wal_bytes", "Size of the WAL.", 5.0)]);
        let labels = "method=\"GET\",route=\"/api/v1/me\",status=\"200\"";
        assert!(text.contains(&format!("_bucket{{{labels},le=\"0.0025\"}} 0")));
        assert!(text.contains(&format!("_bucket{{{labels},le=\"0.005\"}} 1")));
        assert!(text.contains(&format!("_count{{{labels}}} 1")));
        assert!(text.contains("appliance_hr_attempts_total{outcome=\"delivered\"} 2"));
        assert!(text.contains("appliance_wal_bytes 5"));
    }
}
