//! Asks questions on a terminal. Each answer is checked at once, and a question with an invalid answer is repeated.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::cli::failure::Failure;

/// Returns whether a person can answer questions.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until the answer is valid. An empty answer means the default, if there is one.
///
/// # Errors
/// Fails at the end of input, or if the terminal cannot be used.
pub(super) fn ask<T>(
    question: &str,
    default: Option<&str>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    loop {
        let hint = default.map(|default| format!(" [{default}]")).unwrap_or_default();
        write(&format!("{question}{hint}: "))?;
        let line = read_line()?;
        let answer = match (line.trim(), default) {
            ("", Some(default)) => default,
            (answer, _) => answer,
        };
        match parse(answer) {
            Ok(value) => return Ok(value),
            Err(why) => write(&format!("  {why}\n"))?,
        }
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stderr().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::new(format!("the question cannot be shown: {error}; nothing was changed")))
}

fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) => {
            write("\n")?;
            Err(Failure::new("the input ended before the last question was answered; nothing was changed"))
        }
        Ok(_) => Ok(line),
        Err(error) => Err(Failure::new(format!("the answer cannot be read: {error}; nothing was changed"))),
    }
}
