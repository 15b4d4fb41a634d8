//! The options that a settings file may set, taken from the flags of `serve`.

use std::ffi::{OsStr, OsString};

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

use super::mistake::Mistake;

/// The command whose options a settings file sets.
const SERVE: &str = "serve";

/// The command that shows these options, and the flag that names the file.
pub(super) const SETTINGS: &str = "settings";

/// The flags of `serve`, in a command that reads no variables. All flags take a value here, even `--demo`.
pub(super) struct Options {
    command: Command,
    switches: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Options {
    pub(super) fn of(root: &Command) -> Self {
        let serve = root.find_subcommand(SERVE).cloned().unwrap_or_default();
        let is_switch = |arg: &Arg| matches!(arg.get_action(), ArgAction::SetTrue);
        let name = |arg: &Arg| arg.get_long().map(str::to_owned);
        let variable = |arg: &Arg| Some((name(arg)?, arg.get_env()?.to_str()?.to_owned()));
        let switches = serve.get_arguments().filter(|arg| is_switch(arg)).filter_map(name).collect();
        let variables = serve.get_arguments().filter_map(variable).filter(|(name, _)| name != SETTINGS).collect();
        let command = serve.mut_args(|arg| {
            let arg = without_variable(arg);
            if is_switch(&arg) { arg.action(ArgAction::Set).num_args(1) } else { arg }
        });
        Self { command, switches, variables }
    }

    /// Returns whether a settings file may set the option. A settings file cannot name another settings file.
    pub(super) fn has(&self, name: &str) -> bool {
        self.variables.iter().any(|(option, _)| option == name)
    }

    /// Returns whether the option is a switch: its value is `true` or `false`.
    pub(super) fn is_switch(&self, name: &str) -> bool {
        self.switches.iter().any(|switch| switch == name)
    }

    /// Returns whether the option may have several values.
    pub(super) fn is_list(&self, name: &str) -> bool {
        let mut args = self.command.get_arguments();
        args.any(|arg| arg.get_long() == Some(name) && matches!(arg.get_action(), ArgAction::Append))
    }

    /// Returns the option whose name is most similar to this name, if one is similar enough.
    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        let dashed = name.replace('_', "-");
        if self.has(&dashed) {
            return Some(dashed);
        }
        let error = self.parse(name, OsStr::new("")).err()?;
        match error.get(ContextKind::SuggestedArg) {
            Some(ContextValue::String(flag)) => Some(flag.trim_start_matches('-').to_owned()),
            Some(ContextValue::Strings(flags)) => flags.first().map(|flag| flag.trim_start_matches('-').to_owned()),
            _ => None,
        }
        .filter(|nearest| self.has(nearest))
    }

    /// Returns the reason why the option cannot have this value, or `None` if it can.
    pub(super) fn flaw(&self, name: &str, value: &OsStr) -> Option<String> {
        let error = self.parse(name, value).err()?;
        // Any other error, such as a missing second option, does not concern the value alone.
        if !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::InvalidUtf8) {
            return None;
        }
        let value = value.to_string_lossy();
        let why = match (std::error::Error::source(&error), error.get(ContextKind::ValidValue)) {
            (Some(source), _) => source.to_string(),
            (None, Some(ContextValue::Strings(words))) if !words.is_empty() => {
                format!("it must be one of {}", words.join(", "))
            }
            _ => "it must have a value".to_owned(),
        };
        Some(format!("`{name}` cannot be {value:?}: {why}"))
    }

    /// Returns each option whose variable has a value that the option cannot have, with the mistake.
    pub(super) fn wrong_variables(&self) -> Vec<(String, Mistake)> {
        let wrong = |(name, variable): &(String, String)| {
            let value = std::env::var_os(variable)?;
            let flaw = self.flaw(name, &value)?;
            Some((name.clone(), Mistake::of(&format!("variable {variable}"), &flaw)))
        };
        self.variables.iter().filter_map(wrong).collect()
    }

    fn parse(&self, name: &str, value: &OsStr) -> Result<(), clap::Error> {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value);
        self.command.clone().try_get_matches_from([OsString::from("appliance"), flag]).map(drop)
    }
}

pub(super) fn without_variable(arg: Arg) -> Arg {
    arg.env(Resettable::<clap::builder::OsStr>::Reset)
}
