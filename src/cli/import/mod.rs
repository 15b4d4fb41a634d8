//! `appliance import`: imports an interchange document, all or nothing; or candidates from another program into an
//! existing organization.

mod other_formats;
mod strategy;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::BoolishValueParser;
use serde_json::json;

use super::{DbArg, EXIT_USAGE, Failure, parse_slug, print_message};
use crate::domain::id::{Id, RoleId};
use crate::domain::refusal::{FieldError, Refusal};
use crate::domain::text::Slug;
use crate::interchange::{self, Counts, Findings};
use crate::store::file::{self, Lock, Missing, Older};
use crate::store::{self, Error, OpenError, Tx};
use crate::world::World;
use strategy::Strategy;

/// The most applications that are imported beside a server. More would delay its writes longer than callers wait.
const APPLICATIONS_BESIDE_SERVER_MAX: usize = 20_000;

/// The most bytes that one import reads, over all its files. The import holds them and the parsed values in memory. A
/// document of 100,000 candidates has some 100 MB, so this is several times the largest organization and stops an endless
/// stream.
const INPUT_BYTES_MAX: u64 = 512 << 20;

/// Import users, organizations, roles and candidates into the file.
///
/// By default, imports a document that `appliance export` wrote; examples/demo.json is an example. The import is all or
/// nothing: if anything is wrong with the document, the command reports every finding with its JSON Pointer, and the file
/// does not change. Ids in the document are used; missing ones are generated. An id, email or slug that already exists in
/// the file is an error. Creates the file if it does not exist. Required: email and name of users and candidates, slug and
/// name of organizations, name of roles and steps.
///
/// `--format csv` imports a table of candidates. `--format greenhouse` imports jobs, candidates and applications from
/// Greenhouse's Harvest API. Both need an organization that exists in the file. The command writes each refused row or item
/// to standard output, with its location and all reasons. If any is refused, nothing is imported unless `--partial` is
/// given. Exit status 0 if everything was imported, 1 if anything was refused.
///
/// Works while `serve` runs, for up to 20,000 applications, without blocking requests: more than 200 are first staged,
/// invisible to everybody, and become visible a few at a time once the import is committed. A committed import is always
/// completed: if the command is killed, `serve` continues it. Reads at most 512 MiB.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("{}\n\n{}", other_formats::FORMAT_HELP, other_formats::EXAMPLES))]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The format of the input.
    #[arg(long, env = "APPLIANCE_FORMAT", value_name = "FORMAT", default_value = "document")]
    format: Format,

    /// The slug of the organization that receives a table or a Greenhouse export.
    #[arg(long, env = "APPLIANCE_ORGANIZATION", value_name = "SLUG", value_parser = parse_slug)]
    organization: Option<Slug>,

    /// The id of the role that all rows of a table apply to. Without this flag the table needs a column `role`.
    #[arg(long, env = "APPLIANCE_ROLE", value_name = "ID", value_parser = parse_role_id)]
    role: Option<RoleId>,

    /// Import the correct rows or items of a table or Greenhouse export, even if others were refused.
    #[arg(long, env = "APPLIANCE_PARTIAL", value_parser = BoolishValueParser::new())]
    partial: bool,

    /// The document (a JSON file), a CSV file, or Greenhouse's JSON files or their directory. `-` means standard input.
    #[arg(value_name = "DOCUMENT", required = true)]
    documents: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A document that `appliance export` wrote.
    Document,
    /// A table of candidates, with a heading line.
    Csv,
    /// JSON from Greenhouse's Harvest API.
    Greenhouse,
}

/// # Errors
/// Exit status 1 if the document cannot be read or is wrong, conflicts with the file, or is too large to import beside a
/// running server. Nothing is imported then, and a wrong document creates no file. The other formats also fail if any row
/// or item was refused. Exit status 2 if the flags do not fit the format.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    match args.format {
        Format::Document => document(args, world),
        Format::Csv => other_formats::csv(args, world),
        Format::Greenhouse => other_formats::greenhouse(args, world),
    }
}

/// `--format document`.
fn document(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let flags =
        [("--organization", args.organization.is_some()), ("--role", args.role.is_some()), ("--partial", args.partial)];
    if let Some((flag, _)) = flags.into_iter().find(|(_, is_given)| *is_given) {
        return Err(misused(&format!("{flag} does not apply to a document; use another --format, or omit the flag")));
    }
    let source = only_path(&args.documents)?;
    let (path, name) = (args.db.db.as_path(), source.display());
    let bytes =
        read(source, INPUT_BYTES_MAX).map_err(|error| Failure::new(format!("{name} cannot be read: {error}")))?;
    let document = interchange::parse(&bytes, world).map_err(|findings| refused(&findings))?;
    drop(bytes);
    if path.try_exists().is_ok_and(|exists| !exists) {
        require_none(&interchange::check_for_new_file(&document))?;
    }
    let lock = lock_for(path, document.applications())?;
    file::prepare(path, Missing::Create, Older::Refuse)?;
    require_none(&store::read_alone(path, world, |tx| interchange::check(tx, &document))?)?;
    let strategy = Strategy::choose(path, document.applications(), lock)?;
    let recorded = |tx: &Tx<'_>, counts: Counts| {
        for user in &document.users {
            store::user::record_created(tx, &store::activity::stamp(world), None, user)?;
        }
        record(tx, world, "document", &counts)?;
        Ok(counts)
    };
    let all = |tx: &Tx<'_>| recorded(tx, interchange::insert(tx, &document)?);
    let base = |tx: &Tx<'_>| recorded(tx, interchange::insert_without_applications(tx, &document)?);
    let imported = strategy.import(path, world, all, base, || interchange::staged_rows(&document))?;
    for notice in document.notices() {
        print_message(&notice);
    }
    print_message(&format!("imported into {}: {}; {}", path.display(), imported.counts, imported.lock_report));
    imported.require_nothing_skipped()
}

/// The format takes one file; clap lets any number through.
fn only_path(documents: &[PathBuf]) -> Result<&Path, Failure> {
    match documents {
        [document] => Ok(document),
        [_, second, ..] => {
            Err(misused(&format!("unexpected argument '{}'; this format takes one file", second.display())))
        }
        [] => Err(misused("the DOCUMENT is missing")),
    }
}

/// A wrong combination of flags, reported as clap reports wrong flags.
fn misused(problem: &str) -> Failure {
    Failure { exit: EXIT_USAGE, message: format!("{problem}\nFor more information, try 'appliance import --help'.") }
}

fn parse_role_id(text: &str) -> Result<RoleId, String> {
    RoleId::parse(text).ok_or_else(|| "an id has 1 to 64 characters of A-Z a-z 0-9 _ -".to_owned())
}

/// Reads a file, or standard input, of at most `bytes_max`. Refuses a larger regular file without reading it.
fn read(document: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let (source, size): (Box<dyn Read>, u64) = if document == Path::new("-") {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let file = File::open(document)?;
        let size = file.metadata()?.len();
        (Box::new(file), size)
    };
    let mut bytes = Vec::new();
    if size <= bytes_max {
        source.take(bytes_max + 1).read_to_end(&mut bytes)?;
    }
    if size.max(bytes.len() as u64) > bytes_max {
        let most = INPUT_BYTES_MAX >> 20;
        let why = format!("an import reads at most {most} MiB over all its files; split it into several imports");
        return Err(io::Error::other(why));
    }
    Ok(bytes)
}

/// Locks out servers for an import that is so large that one would suffer.
fn lock_for(path: &Path, applications: usize) -> Result<Option<Lock>, Failure> {
    if applications <= APPLICATIONS_BESIDE_SERVER_MAX {
        return Ok(None);
    }
    match Lock::take(path) {
        Ok(lock) => Ok(Some(lock)),
        Err(OpenError::Held(_)) => Err(Failure::new(format!(
            "nothing was imported: the input has {applications} applications, and `appliance serve` runs on {}; stop it \
             to import more than {APPLICATIONS_BESIDE_SERVER_MAX}",
            path.display()
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Records the import as platform activity.
fn record(tx: &Tx<'_>, world: &dyn World, format: &str, counts: &Counts) -> Result<(), Error> {
    let facts = json!({ "format": format, "imported": counts.to_string() });
    store::activity::platform::record_command(tx, world, "import", &facts)
}

fn require_none(findings: &Findings) -> Result<(), Failure> {
    if findings.is_empty() { Ok(()) } else { Err(refused(findings)) }
}

fn refused(findings: &Findings) -> Failure {
    let things = if findings.count() == 1 { "1 error" } else { &format!("{} errors", findings.count()) };
    Failure::new(format!("{things} in the document, nothing was imported\n{findings}"))
}

/// Another process can change the file between the check and the inserts; the constraints then refuse the import.
fn insert_failed(error: Error) -> Failure {
    match error {
        Error::Refused(Refusal::Invalid(fields)) => {
            let line = |field: &FieldError| format!("\n{}: {}", field.field, field.detail);
            let lines: String = fields.iter().map(line).collect();
            Failure::new(format!("the file was changed during the import, nothing was imported{lines}"))
        }
        error => error.into(),
    }
}
