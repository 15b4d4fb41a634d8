//! A command on a pseudo-terminal, and a simulated person who reads and types.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::support::{Output, PATIENCE, WorkDir};

pub(crate) struct TerminalSession {
    child: Child,
    keyboard: ChildStdin,
    screen: Receiver<Vec<u8>>,
    /// Everything that the terminal has received.
    shown: String,
    /// The position in `shown` after the last text that `wait_for` has found.
    seen: usize,
}

impl TerminalSession {
    pub(crate) fn start(dir: &WorkDir, args: &[&str]) -> Self {
        let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
        // A shell that starts the tests in the background makes them ignore Ctrl-C.
        let exec = "exec env --default-signal=INT";
        let line = format!("stty cols 200 -echo; {exec} {} {}", env!("CARGO_BIN_EXE_appliance"), quoted.join(" "));
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]).current_dir(dir.path(""));
        command.env_clear().env("TERM", "xterm").env("PATH", "/usr/bin:/bin");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (keyboard, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                let _ = sender.send(bytes[..count].to_vec());
            }
        });
        Self { child, keyboard, screen, shown: String::new(), seen: 0 }
    }

    /// Waits until the terminal shows a text. The text must follow the one that the previous call found.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        loop {
            if let Some(at) = self.shown[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(why) => panic!("{why}; the terminal shows no further {text:?}: {:?}", self.shown),
            }
        }
    }

    /// Types a line.
    pub(crate) fn enter(&mut self, line: &str) {
        self.press(&format!("{line}\n"));
    }

    /// Types characters, for example a control character.
    pub(crate) fn press(&mut self, characters: &str) {
        self.keyboard.write_all(characters.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits until the command has ended. The standard output of the result is everything that the terminal received.
    pub(crate) fn finish(mut self) -> Output {
        loop {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(why) => panic!("{why}; the command does not end after {:?}", self.shown),
            }
        }
        let code = self.child.wait().unwrap().code();
        Output { code, stdout: std::mem::take(&mut self.shown), stderr: String::new() }
    }
}
