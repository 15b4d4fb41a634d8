//! The binary: everything is in the library.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    appliance::cli::Cli::parse().run()
}
