//! Problems in the options that prevent `serve` from starting. An option can come from a flag, a variable or the
//! settings file.

use super::failure::{EXIT_CONFIG, EXIT_USAGE, Failure};
use super::settings_file::{Origin, Resolved};

#[derive(Debug)]
pub(super) struct Finding {
    /// The name of the option that must change.
    pub(super) option: &'static str,
    pub(super) sentence: String,
}

impl Finding {
    /// Returns a finding if an option is set and another one, which it needs, is not.
    pub(super) fn needs(option: &'static str, is_set: bool, other: &str, has_other: bool) -> Option<Self> {
        (is_set && !has_other)
            .then(|| Self { option, sentence: format!("--{option} needs --{other}, which is not set") })
    }

    /// Returns the sentence, preceded by the location or the variable that sets the option, if there is one.
    pub(super) fn with_location(&self, resolved: &Resolved) -> String {
        let sentence = &self.sentence;
        match resolved.origin(self.option) {
            Some(Origin::File { path, line, column }) => format!("{}:{line}:{column}: {sentence}", path.display()),
            Some(Origin::Variable(name)) => format!("variable {name}: {sentence}"),
            _ => sentence.clone(),
        }
    }

    /// Returns the failure of `serve`: exit status 78 if the option is set in the settings file, and 2 otherwise.
    pub(super) fn failure(&self, resolved: &Resolved) -> Failure {
        let message = self.with_location(resolved);
        match resolved.origin(self.option) {
            Some(Origin::File { .. }) => Failure { exit: EXIT_CONFIG, message },
            _ => {
                let message = format!("{message}\nFor more information, try 'appliance serve --help'.");
                Failure { exit: EXIT_USAGE, message }
            }
        }
    }
}
