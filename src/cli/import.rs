//! `appliance import`: a document into the file, all or nothing.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{DbArg, Failure, say};
use crate::document::{self, Findings};
use crate::domain::refusal::{FieldError, Refusal};
use crate::store::file::{self, Lock, Missing, Older};
use crate::store::{self, Error, OpenError};
use crate::world::World;

/// Applications that are imported while a server runs. More hold its writes up for longer than its callers wait.
const APPLICATIONS_BESIDE_SERVER_MAX: usize = 20_000;

/// The longest document that is read: several times the largest organization, and no endless stream.
const DOCUMENT_BYTES_MAX: u64 = 4 << 30;

/// Bring users, organizations, roles and candidates into the file.
///
/// All or nothing: where anything is wrong with the document, every finding is told with its place as a JSON Pointer,
/// and the file stays as it was. Ids are kept, missing ones are made; an id, email or slug that is already in the file
/// is an error. Makes the file where there is none. Works while `serve` runs, up to 20,000 candidates.
///
/// The document is what `appliance export` writes; examples/demo.json is one. Required: email and name of users and
/// candidates, slug and name of organizations, name of roles and steps.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    db: DbArg,

    /// The document, a JSON file; `-` is standard input.
    #[arg(value_name = "DOCUMENT")]
    document: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// Exit status 1 where the document cannot be read or is wrong, the file does not allow it, or a server has the file
/// and the document is large. Nothing is imported then, and no file is made for a wrong document.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let (path, name) = (args.db.db.as_path(), args.document.display());
    let bytes = read(&args.document).map_err(|error| Failure::new(format!("{name} cannot be read: {error}")))?;
    let document = document::parse(&bytes, world).map_err(|findings| refused(&findings))?;
    drop(bytes);
    if path.try_exists().is_ok_and(|exists| !exists) {
        require_none(&document::check_for_new_file(&document))?;
    }
    let _lock = lock_for(path, document.applications())?;
    file::prepare(path, Missing::Create, Older::Refuse)?;
    require_none(&store::read_alone(path, world, |tx| document::check(tx, &document))?)?;
    let began = Cell::new(Duration::ZERO);
    let counts = store::act_alone(path, world, |tx| {
        began.set(world.monotonic());
        document::insert(tx, &document)
    });
    let held = world.monotonic().saturating_sub(began.get());
    let counts = counts.map_err(failed)?;
    for notice in document.notices() {
        say(&notice);
    }
    say(&format!("imported into {}: {counts}; the write lock was held for {} ms", path.display(), held.as_millis()));
    Ok(())
}

fn read(document: &Path) -> io::Result<Vec<u8>> {
    let source: Box<dyn Read> =
        if document == Path::new("-") { Box::new(io::stdin().lock()) } else { Box::new(File::open(document)?) };
    let mut bytes = Vec::new();
    source.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
        return Err(io::Error::other(format!("it is larger than {DOCUMENT_BYTES_MAX} bytes")));
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
