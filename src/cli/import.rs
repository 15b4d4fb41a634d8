//! `appliance import`: a document into the file, all or nothing; or what another program has of candidates, into one of
//! the file's organizations.

mod elsewhere;
mod way;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::BoolishValueParser;
use serde_json::json;

use super::{DbArg, EXIT_USAGE, Failure, say, slug};
use crate::domain::id::{Id, RoleId};
use crate::domain::refusal::{FieldError, Refusal};
use crate::domain::text::Slug;
use crate::interchange::{self, Counts, Findings};
use crate::store::file::{self, Lock, Missing, Older};
use crate::store::{self, Error, OpenError, Tx};
use crate::world::World;
use way::Way;

/// Applications that are imported while a server runs. More hold its writes up for longer than its callers wait.
const APPLICATIONS_BESIDE_SERVER_MAX: usize = 20_000;

/// The most bytes that one import reads, over all its files. They are held in memory, together with what is made of them: a
/// document of 100,000 candidates has some 100 MB, so this is several times the largest organization, and no endless stream.
const INPUT_BYTES_MAX: u64 = 512 << 20;

/// Bring users, organizations, roles and candidates into the file, or candidates from elsewhere.
///
/// A document is what `appliance export` writes; examples/demo.json is one. All or nothing: where anything is wrong with
/// it, every finding is told with its place as a JSON Pointer, and the file stays as it was. Ids are kept, missing ones are
/// made; an id, email or slug that is already in the file is an error. Makes the file where there is none. Required: email
/// and name of users and candidates, slug and name of organizations, name of roles and steps.
///
/// `--format csv` takes a table of candidates, `--format greenhouse` what Greenhouse's Harvest API has of jobs, candidates
/// and applications; both into an organization that is in the file. What is refused is reported on standard output, each
/// with its place and everything that is wrong with it, and nothing is imported unless `--partial` is given. Exit status 0
/// when everything was imported, 1 when anything was refused.
///
/// Works while `serve` runs, up to 20,000 candidates, and keeps no request waiting: more than 200 are staged first, where
/// nobody sees them, and come a few at a time once all are staged and decided. What is decided comes whole, even if the import is
/// killed: then `serve` goes on with it. Reads at most 512 MiB.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("{}\n\n{}", elsewhere::CSV_HELP, elsewhere::EXAMPLES))]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// What is imported.
    #[arg(long, env = "APPLIANCE_FORMAT", value_name = "FORMAT", default_value = "document")]
    format: Format,

    /// The organization, by its slug, that a table or a Greenhouse export is for.
    #[arg(long, env = "APPLIANCE_ORGANIZATION", value_name = "SLUG", value_parser = slug)]
    organization: Option<Slug>,

    /// The role, by its id, that all rows of a table are for. Without it the table has a column `role`.
    #[arg(long, env = "APPLIANCE_ROLE", value_name = "ID", value_parser = role_id)]
    role: Option<RoleId>,

    /// Import what is right of a table or a Greenhouse export, though something was refused.
    #[arg(long, env = "APPLIANCE_PARTIAL", value_parser = BoolishValueParser::new())]
    partial: bool,

    /// The document, a JSON file; a CSV file; or Greenhouse's JSON files, or the directory that has them. `-` is standard
    /// input.
    #[arg(value_name = "DOCUMENT", required = true)]
    documents: Vec<PathBuf>,
}

/// What is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A document, as `appliance export` writes it.
    Document,
    /// A table of candidates, with a line of headings.
    Csv,
    /// JSON of Greenhouse's Harvest API.
    Greenhouse,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where the document cannot be read or is wrong, the file does not allow it, or a server has the file
/// and the document is large. Nothing is imported then, and no file is made for a wrong document. Of what comes from
/// elsewhere also where anything was refused. 2 where the flags are not the format's.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    match args.format {
        Format::Document => document(args, world),
        Format::Csv => elsewhere::csv(args, world),
        Format::Greenhouse => elsewhere::greenhouse(args, world),
    }
}

/// `--format document`.
fn document(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let flags =
        [("--organization", args.organization.is_some()), ("--role", args.role.is_some()), ("--partial", args.partial)];
    if let Some((flag, _)) = flags.into_iter().find(|(_, is_given)| *is_given) {
        return Err(misused(&format!("{flag} is not for a document; name another --format, or leave it out")));
    }
    let source = only(&args.documents)?;
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
    let way = Way::of(path, document.applications(), lock)?;
    let on_record = |tx: &Tx<'_>, counts: Counts| {
        for user in &document.users {
            store::user::record_created(tx, &store::activity::stamp(world), None, user)?;
        }
        record(tx, world, "document", &counts)?;
        Ok(counts)
    };
    let all = |tx: &Tx<'_>| on_record(tx, interchange::insert(tx, &document)?);
    let frame = |tx: &Tx<'_>| on_record(tx, interchange::insert_frame(tx, &document)?);
    let came = way.bring(path, world, all, frame, || interchange::rows(&document))?;
    for notice in document.notices() {
        say(&notice);
    }
    say(&format!("imported into {}: {}; {}", path.display(), came.counts, came.held));
    came.require_all()
}

/// The one document that the format takes.
fn only(documents: &[PathBuf]) -> Result<&Path, Failure> {
    match documents {
        [document] => Ok(document),
        [_, second, ..] => {
            Err(misused(&format!("unexpected argument '{}'; this format takes one file", second.display())))
        }
        [] => Err(misused("the DOCUMENT is missing")),
    }
}

/// Flags that do not go together, which only a look at several of them shows.
fn misused(what: &str) -> Failure {
    Failure { exit: EXIT_USAGE, sentence: format!("{what}\nFor more information, try 'appliance import --help'.") }
}

/// A role's id as a flag has it.
fn role_id(text: &str) -> Result<RoleId, String> {
    RoleId::parse(text).ok_or_else(|| "an id has 1 to 64 characters of A-Z a-z 0-9 _ -".to_owned())
}

/// Reads a file, or standard input, of at most so many bytes. A regular file that is larger is not read at all.
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
        let why = format!("an import reads at most {most} MiB, all its files together; import a part at a time");
        return Err(io::Error::other(why));
    }
    Ok(bytes)
}

/// That no server has the file, for a document so large that one would suffer.
fn lock_for(path: &Path, applications: usize) -> Result<Option<Lock>, Failure> {
    if applications <= APPLICATIONS_BESIDE_SERVER_MAX {
        return Ok(None);
    }
    match Lock::take(path) {
        Ok(lock) => Ok(Some(lock)),
        Err(OpenError::Held(_)) => Err(Failure::new(format!(
            "the document has {applications} candidates, and `appliance serve` has {}; stop it for an import of more \
             than {APPLICATIONS_BESIDE_SERVER_MAX}, nothing was imported",
            path.display()
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Puts the import on record.
fn record(tx: &Tx<'_>, world: &dyn World, format: &str, counts: &Counts) -> Result<(), Error> {
    let facts = json!({ "format": format, "imported": counts.to_string() });
    store::activity::platform::record_command(tx, world, "import", &facts)
}

fn require_none(findings: &Findings) -> Result<(), Failure> {
    if findings.is_empty() { Ok(()) } else { Err(refused(findings)) }
}

fn refused(findings: &Findings) -> Failure {
    let things = if findings.count() == 1 { "1 thing is" } else { &format!("{} things are", findings.count()) };
    Failure::new(format!("{things} wrong with the document, nothing was imported\n{findings}"))
}

/// What came between the look at the file and the inserts.
fn failed(error: Error) -> Failure {
    match error {
        Error::Refused(Refusal::Invalid(fields)) => {
            let line = |field: &FieldError| format!("\n{}: {}", field.field, field.detail);
            let lines: String = fields.iter().map(line).collect();
            Failure::new(format!("the file has changed meanwhile, nothing was imported{lines}"))
        }
        error => error.into(),
    }
}
