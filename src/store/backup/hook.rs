//! The command that runs after each scheduled backup, for example to copy the backup to another machine.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::db::sqlite::gentle::Interrupt;
use crate::world::World;

/// The time limit of the command. Copying a large backup over a slow line can take hours. A command that hangs must end
/// before the next nightly backup.
const DEADLINE: Duration = Duration::from_secs(6 * 3_600);

/// The interval at which the service checks whether the command has ended.
const POLL: Duration = Duration::from_millis(20);

/// The maximum number of polls for which the service waits after SIGTERM before it sends SIGKILL: a second.
const POLLS_TO_END: u32 = 50;

/// The maximum number of polls for which the start waits while the command's file is open for writing: a minute.
const POLLS_TO_START: u32 = 3_000;

/// Runs the command with the path of the backup as its only argument, without a shell. The command and its children are
/// one process group, which is ended at the deadline and when the service stops.
///
/// # Errors
/// The reason, if the command cannot be started, fails or takes too long, if its exit status cannot be read, or if the
/// service stops.
pub(super) fn run(command: &Path, backup: &Path, world: &dyn World, interrupt: &Interrupt) -> Result<(), String> {
    let begun = world.monotonic();
    let mut child = start(command, backup, interrupt).map_err(|error| format!("it cannot be started: {error}"))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(failure(status)),
            Ok(None) => {}
            Err(error) => return Err(format!("its exit status cannot be read: {error}")),
        }
        if interrupt.is_set() {
            end(&mut child);
            return Err("it was ended because the service is stopping".to_owned());
        }
        if world.monotonic().saturating_sub(begun) >= DEADLINE {
            end(&mut child);
            return Err(format!("it was ended after {} hours", DEADLINE.as_secs() / 3_600));
        }
        std::thread::sleep(POLL);
    }
}

/// Starts the command. Linux refuses to run a file that is open for writing (`ETXTBSY`), so the start is repeated: the
/// operator may be replacing the file.
fn start(command: &Path, backup: &Path, interrupt: &Interrupt) -> std::io::Result<Child> {
    // The command inherits the standard error of the service, so its messages are in the service's log.
    let mut command = Command::new(command);
    command.arg(backup).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    for _ in 0..POLLS_TO_START {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && !interrupt.is_set() => {
                std::thread::sleep(POLL);
            }
            outcome => return outcome,
        }
    }
    command.spawn()
}

fn failure(status: ExitStatus) -> String {
    status.code().map_or_else(|| "a signal ended it".to_owned(), |code| format!("it exited with {code}"))
}

fn end(child: &mut Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    let _ = kill_process_group(group, Signal::TERM);
    for _ in 0..POLLS_TO_END {
        if !matches!(child.try_wait(), Ok(None)) {
            break;
        }
        std::thread::sleep(POLL);
    }
    // Children of the command may have ignored the first signal.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use super::*;
    use crate::domain::timestamp::Timestamp;
    use crate::world::Scripted;

    struct Fixture {
        dir: tempfile::TempDir,
        world: Arc<Scripted>,
        interrupt: Interrupt,
    }

    impl Fixture {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let world = Arc::new(Scripted::at(Timestamp::from_micros(0)));
            Self { dir, world, interrupt: Interrupt::default() }
        }

        fn run(&self, script: &str) -> Result<(), String> {
            let command = self.dir.path().join("hook");
            std::fs::write(&command, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&command, std::fs::Permissions::from_mode(0o700)).unwrap();
            run(&command, &self.dir.path().join("a b.db"), self.world.as_ref(), &self.interrupt)
        }

        /// Runs `then` when the hook has begun.
        fn run_until(&self, script: &str, then: impl Fn() + Sync) -> Result<(), String> {
            let begun = self.dir.path().join("begun");
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !begun.exists() {
                        std::thread::yield_now();
                    }
                    then();
                });
                self.run(&format!("touch \"${{1%/*}}/begun\"; {script}"))
            })
        }
    }

    #[test]
    fn the_hook_gets_the_path_as_one_argument() {
        let fixture = Fixture::new();
        fixture.run("test $# = 1 && echo \"$1\" > \"${1%/*}/seen\"").unwrap();
        let seen = std::fs::read_to_string(fixture.dir.path().join("seen")).unwrap();
        assert_eq!(seen.trim_end(), fixture.dir.path().join("a b.db").to_str().unwrap());
    }

    #[test]
    fn failures_are_reported_with_their_reason() {
        let fixture = Fixture::new();
        assert_eq!(fixture.run("exit 3"), Err("it exited with 3".to_owned()));
        assert_eq!(fixture.run("kill -KILL $$"), Err("a signal ended it".to_owned()));
        let missing = fixture.dir.path().join("missing");
        let outcome = run(&missing, &missing, fixture.world.as_ref(), &fixture.interrupt);
        assert!(outcome.unwrap_err().starts_with("it cannot be started: "));
    }

    #[test]
    fn a_hook_that_is_being_replaced_starts_when_it_is_complete() {
        let fixture = Fixture::new();
        let command = fixture.dir.path().join("hook");
        let writer = std::fs::File::create(&command).unwrap();
        std::fs::write(&command, "#!/bin/sh\nexit 3\n").unwrap();
        std::fs::set_permissions(&command, std::fs::Permissions::from_mode(0o700)).unwrap();
        let busy = Command::new(&command).spawn().unwrap_err();
        assert_eq!(busy.kind(), ErrorKind::ExecutableFileBusy);
        let outcome = std::thread::scope(|scope| {
            let hook = scope.spawn(|| run(&command, &command, fixture.world.as_ref(), &fixture.interrupt));
            drop(writer);
            hook.join().unwrap()
        });
        assert_eq!(outcome, Err("it exited with 3".to_owned()));
        let _writer = std::fs::File::options().append(true).open(&command).unwrap();
        fixture.interrupt.set();
        let outcome = run(&command, &command, fixture.world.as_ref(), &fixture.interrupt);
        assert!(outcome.unwrap_err().contains("busy"));
    }

    #[test]
    fn a_hook_that_hangs_is_ended_at_its_deadline() {
        let fixture = Fixture::new();
        let outcome = fixture.run_until("sleep 1000 & wait", || fixture.world.pass(DEADLINE));
        assert_eq!(outcome, Err("it was ended after 6 hours".to_owned()));
    }

    #[test]
    fn a_hook_that_ignores_the_signal_is_ended_when_the_service_stops() {
        let fixture = Fixture::new();
        let script = "trap '' TERM; while :; do sleep 1000; done";
        let outcome = fixture.run_until(script, || fixture.interrupt.set());
        assert_eq!(outcome, Err("it was ended because the service is stopping".to_owned()));
    }
}
