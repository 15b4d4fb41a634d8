//! Processes: their CPU time, memory, input and output, and how to end them.

use std::process::{Child, Command};
use std::time::Duration;

/// The unit of `utime` and `stime`. Linux reports 100 per second to programs (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// A server process, killed on drop.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Returns the CPU time of all threads.
    pub(crate) fn cpu(&self) -> Duration {
        cpu(&self.0.id().to_string())
    }

    /// Returns a memory figure in kB, such as `VmRSS` or `RssAnon`.
    pub(crate) fn memory_kb(&self, name: &str) -> usize {
        figure(&format!("/proc/{}/status", self.0.id()), name)
    }

    /// Returns an I/O figure in bytes: `rchar` is the number of bytes read, and `read_bytes` is the number of bytes
    /// read from disk. The figure stays available after the process has ended, until its parent waits for it.
    pub(crate) fn io_bytes(&self, name: &str) -> usize {
        figure(&format!("/proc/{}/io", self.0.id()), name)
    }

    /// Waits until the process has ended, but leaves its figures available.
    pub(crate) fn until_ended(&self) {
        let stat = format!("/proc/{}/stat", self.0.id());
        while !std::fs::read_to_string(&stat).unwrap().rsplit_once(") ").unwrap().1.starts_with('Z') {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends SIGTERM, waits until the process ends, and checks that it reports success.
    pub(crate) fn terminate(&mut self) {
        let id = self.0.id().to_string();
        assert!(Command::new("sh").args(["-c", &format!("kill -TERM {id}")]).status().unwrap().success());
        let status = self.0.wait().unwrap();
        assert!(status.success(), "the service ends with {status}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A failed bench must not leave a process behind.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads a figure from a file with lines of the form `name: figure`.
fn figure(file: &str, name: &str) -> usize {
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, figure) = lines.find(|(of, _)| *of == name).unwrap_or_else(|| panic!("{file} does not contain {name}"));
    figure.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

/// Returns the CPU time of this process.
pub(crate) fn own_cpu() -> Duration {
    cpu("self")
}

fn cpu(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The second field is a name in parentheses, which can contain any characters. The 14th and 15th fields are the
    // times.
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let ticks = after_name.split(' ').skip(11).take(2).map(|field| field.parse::<u32>().unwrap());
    TICK * ticks.sum::<u32>()
}
