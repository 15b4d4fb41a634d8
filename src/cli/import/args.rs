//! The flags of `appliance import`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::BoolishValueParser;

use super::help;
use crate::cli::db_arg::DbArg;
use crate::cli::failure::{EXIT_USAGE, Failure};
use crate::cli::value::parse_slug;
use crate::domain::id::{Id, RoleId};
use crate::domain::text::Slug;
use crate::interchange::ashby::ASHBY;
use crate::interchange::ats::System;
use crate::interchange::greenhouse::GREENHOUSE;
use crate::interchange::lever::LEVER;
use crate::interchange::opencats::OPENCATS;
use crate::interchange::reqcore::REQCORE;
use crate::interchange::workable::WORKABLE;

/// Import users, organizations, roles and candidates into the file.
///
/// By default, the input is a document from `appliance export`; examples/demo.json is an example. If the document has
/// errors, the command reports the first 20 with their JSON Pointers, and imports nothing. The command uses the ids in
/// the document and generates missing ones. An id, email or slug that already exists in the database is an error. The
/// command creates the file if it does not exist. The required fields are the email and name of users and candidates,
/// the slug and name of organizations, and the name of roles and steps.
///
/// `--format csv` imports a table of candidates. `--format greenhouse`, `lever`, `ashby`, `workable`, `opencats` and
/// `reqcore` import jobs, candidates, applications and files from these systems. All these formats need an organization
/// that exists in the file. The command writes each refused row, item or file to standard output, with its location and
/// all reasons. If any row or item is refused, nothing is imported unless `--partial` is given. The exit status is 0 if
/// everything was imported, and 1 if anything was refused.
///
/// Up to 20,000 applications can be imported while `serve` runs, without blocking requests. If there are more than 200,
/// they are first staged, and nobody can see them. They become visible a few at a time after the import is committed. A
/// committed import is always completed: if the command is killed, `serve` or the next import completes it. An import
/// reads at most 512 MiB, not counting attachments.
#[cfg_attr(
    feature = "postgres",
    doc = "",
    doc = "The command also imports into a PostgreSQL server, at most 20,000 applications at a time, whether or not \
           `serve` runs."
)]
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("{}\n\n{}", help::FORMATS, help::EXAMPLES))]
pub struct Args {
    #[command(flatten)]
    pub(super) db: DbArg,

    /// The format of the input.
    #[arg(long, env = "APPLIANCE_FORMAT", value_name = "FORMAT", default_value = "document")]
    pub(super) format: Format,

    /// The slug of the organization into which a table or an export of another system is imported.
    #[arg(long, env = "APPLIANCE_ORGANIZATION", value_name = "SLUG", value_parser = parse_slug)]
    pub(super) organization: Option<Slug>,

    /// The id of the role to which all candidates in a table have applied. Without this flag, the table needs a column
    /// `role`.
    #[arg(long, env = "APPLIANCE_ROLE", value_name = "ID", value_parser = parse_role_id)]
    pub(super) role: Option<RoleId>,

    /// Import the valid rows or items of a table or an export, even if others are refused.
    #[arg(long, env = "APPLIANCE_PARTIAL", value_parser = BoolishValueParser::new())]
    pub(super) partial: bool,

    /// The document (a JSON file), a CSV file, the files of another system, or the directory that contains these files.
    /// `-` means standard input.
    #[arg(value_name = "DOCUMENT", required = true)]
    pub(super) documents: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A document from `appliance export`.
    Document,
    /// A table of candidates, with a heading line.
    Csv,
    /// JSON from Greenhouse's Harvest API.
    Greenhouse,
    /// JSON from Lever's API.
    Lever,
    /// JSON from Ashby's API.
    Ashby,
    /// JSON from Workable's API.
    Workable,
    /// A SQL dump of OpenCATS.
    #[value(name = "opencats")]
    OpenCats,
    /// JSON from Reqcore's API or database.
    Reqcore,
}

impl Format {
    /// Returns the value of `--format`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Csv => "csv",
            Self::Greenhouse => "greenhouse",
            Self::Lever => "lever",
            Self::Ashby => "ashby",
            Self::Workable => "workable",
            Self::OpenCats => "opencats",
            Self::Reqcore => "reqcore",
        }
    }

    /// Returns the system whose exports the format imports.
    pub(super) fn system(self) -> Option<&'static System> {
        match self {
            Self::Document | Self::Csv => None,
            Self::Greenhouse => Some(&GREENHOUSE),
            Self::Lever => Some(&LEVER),
            Self::Ashby => Some(&ASHBY),
            Self::Workable => Some(&WORKABLE),
            Self::OpenCats => Some(&OPENCATS),
            Self::Reqcore => Some(&REQCORE),
        }
    }
}

impl Args {
    /// Returns the only file. The format accepts exactly one, but clap accepts several, because another format needs
    /// them.
    ///
    /// # Errors
    /// Exit status 2 unless exactly one file is given.
    pub(super) fn only_path(&self) -> Result<&Path, Failure> {
        match self.documents.as_slice() {
            [document] => Ok(document),
            [_, second, ..] => {
                Err(misused(&format!("unexpected argument '{}'; this format accepts one file", second.display())))
            }
            [] => Err(misused("the DOCUMENT is missing")),
        }
    }
}

/// Returns the failure for an invalid combination of arguments, in the format of clap's errors.
pub(super) fn misused(problem: &str) -> Failure {
    Failure { exit: EXIT_USAGE, message: format!("{problem}\nFor more information, try 'appliance import --help'.") }
}

fn parse_role_id(text: &str) -> Result<RoleId, String> {
    RoleId::parse(text).ok_or_else(|| "an id has 1 to 64 characters from A-Z a-z 0-9 _ -".to_owned())
}
