//! Processes: their CPU time, and their end.

use std::process::{Child, Command};
use std::time::Duration;

/// Of `utime` and `stime`; 100 a second for programs on Linux, whatever the kernel counts by (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// A server, which ends with this.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// What all its threads have used.
    pub(crate) fn cpu(&self) -> Duration {
        cpu(&self.0.id().to_string())
    }

    /// A figure of its memory, in kB: `VmRSS`, or `RssAnon`.
    pub(crate) fn memory_kb(&self, name: &str) -> usize {
        figure(&format!("/proc/{}/status", self.0.id()), name)
    }

    /// A figure of its input and output, in bytes: `rchar` is what it has read, `read_bytes` what came from the disk
    /// for that. To be had of a process that has ended too, until somebody has waited for it.
    pub(crate) fn io_bytes(&self, name: &str) -> usize {
        figure(&format!("/proc/{}/io", self.0.id()), name)
    }

    /// Waits until it has ended; it is still there to be looked at.
    pub(crate) fn until_ended(&self) {
        let stat = format!("/proc/{}/stat", self.0.id());
        while !std::fs::read_to_string(&stat).unwrap().rsplit_once(") ").unwrap().1.starts_with('Z') {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// SIGTERM; it has to end by itself, and well.
    pub(crate) fn terminate(&mut self) {
        let id = self.0.id().to_string();
        assert!(Command::new("sh").args(["-c", &format!("kill -TERM {id}")]).status().unwrap().success());
        let status = self.0.wait().unwrap();
        assert!(status.success(), "the service ends with {status}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Whatever fails leaves no process behind.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Of a file with a `name: figure` a line.
fn figure(file: &str, name: &str) -> usize {
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, figure) = lines.find(|(of, _)| *of == name).unwrap_or_else(|| panic!("{file} tells {name}"));
    figure.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

/// What this process has used.
pub(crate) fn own_cpu() -> Duration {
    cpu("self")
}

fn cpu(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The second field is a name in parentheses, which may hold anything; the 14th and 15th are wanted.
    let behind_name = stat.rsplit_once(") ").unwrap().1;
    let ticks = behind_name.split(' ').skip(11).take(2).map(|field| field.parse::<u32>().unwrap());
    TICK * ticks.sum::<u32>()
}
