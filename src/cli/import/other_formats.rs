//! Imports roles and candidates from other programs into one organization in the file. The input is a table or a
//! Greenhouse export.
//!
//! The report of refused rows and items is data. It goes to standard output before anything is imported.

use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::advice;
use super::args::{Args, Format, misused};
use super::input::{INPUT_BYTES_MAX, read};
use super::record::record_import;
use super::strategy::{Strategy, lock_for, show_progress};
use crate::cli::failure::Failure;
use crate::cli::output::print_message;
use crate::domain::id::OrganizationId;
use crate::domain::refusal::Refusal;
use crate::domain::text::Slug;
use crate::interchange::csv::{self, Table};
use crate::interchange::greenhouse::{self, HarvestExport, HarvestResource};
use crate::interchange::{self, Counts, ImportPlan, RefusedItem};
use crate::store::file::{self, Missing, Older};
use crate::store::{self, Error, Tx};
use crate::world::World;

pub(super) fn csv(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let organization = organization(args)?;
    let source = args.only_path()?;
    let name = source.display();
    let bytes =
        read(source, INPUT_BYTES_MAX).map_err(|error| Failure::new(format!("{name} cannot be read: {error}")))?;
    advice::require(Format::Csv, source, &bytes)?;
    let table = Table::parse(&bytes, world.now());
    drop(bytes);
    let table =
        table.map_err(|faults| Failure::new(format!("nothing was imported from {name}\n{}", faults.join("\n"))))?;
    let rows = table.rows();
    let total = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    import(args, world, organization, rows, &total, |tx, id| csv::plan(tx, world, table, id, args.role.as_ref()))
}

pub(super) fn greenhouse(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let organization = organization(args)?;
    if args.role.is_some() {
        return Err(misused("--role does not apply to a Greenhouse export, whose applications name their jobs"));
    }
    let mut export = HarvestExport::default();
    let mut bytes_left = INPUT_BYTES_MAX;
    for source in &args.documents {
        for file in files(source, &mut export)? {
            bytes_left -= read_into(&mut export, &file, bytes_left)?;
        }
    }
    let incomplete = |sentence: String| Failure::new(format!("nothing was imported: {sentence}"));
    export.require_complete().map_err(incomplete)?;
    let applications = export.applications();
    import(args, world, organization, applications, "the export's items", |tx, id| greenhouse::plan(tx, export, id))
}

/// Returns `source` itself, or, if `source` is a directory, its files that are named after a resource, sorted by name.
fn files(source: &Path, export: &mut HarvestExport) -> Result<Vec<PathBuf>, Failure> {
    if !source.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let unreadable = |error: io::Error| Failure::new(format!("{} cannot be read: {error}", source.display()));
    let mut files = Vec::new();
    for entry in source.read_dir().map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = name_of(&path);
        if HarvestResource::of_file(&name).is_some() {
            files.push(path);
        } else {
            export.notice(&format!("{name} is ignored"));
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file into the export. Returns the number of bytes read.
fn read_into(export: &mut HarvestExport, file: &Path, bytes_max: u64) -> Result<u64, Failure> {
    let unreadable = |error: io::Error| Failure::new(format!("{} cannot be read: {error}", file.display()));
    let bytes = read(file, bytes_max).map_err(unreadable)?;
    let malformed = |error| Failure::new(format!("nothing was imported: {error}"));
    advice::require(Format::Greenhouse, file, &bytes)?;
    export.read(&name_of(file), &bytes).map_err(malformed)?;
    Ok(bytes.len() as u64)
}

fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn organization(args: &Args) -> Result<&Slug, Failure> {
    args.organization
        .as_ref()
        .ok_or_else(|| misused("--organization is required: the slug of the organization that receives the candidates"))
}

/// Plans the import against the file, reports refused rows or items, and imports the others if the flags allow it.
///
/// `total` describes all rows or items in a message, for example "3 rows".
fn import(
    args: &Args,
    world: &dyn World,
    slug: &Slug,
    applications: usize,
    total: &str,
    plan: impl FnOnce(&Tx<'_>, OrganizationId) -> Result<ImportPlan, Error>,
) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let lock = lock_for(path, applications)?;
    let planned = store::read_alone(path, world, |tx| match store::organization::with_slug(tx, slug)? {
        Some(id) => plan(tx, id),
        None => Err(Refusal::bad_request(no_organization(path, slug)).into()),
    });
    let ImportPlan { addition, refused, notices } = planned.map_err(nothing_imported)?;
    notices.iter().for_each(|notice| print_message(notice));
    report(&refused)?;
    let verdict = format!("{} of {total} {} refused", refused.len(), if refused.len() == 1 { "was" } else { "were" });
    if !refused.is_empty() && (!args.partial || addition.roles.is_empty()) {
        let advice = if args.partial {
            ""
        } else {
            ". Correct the rows or items listed on standard output, or import the others with --partial"
        };
        return Err(Failure::new(format!("{verdict}; nothing was imported{advice}")));
    }
    let strategy = Strategy::choose(path, addition.applications(), lock)?;
    let format = if args.format == Format::Csv { "csv" } else { "greenhouse" };
    let recorded = |tx: &Tx<'_>, counts: Counts| record_import(tx, world, format, &counts).map(|()| counts);
    let all = |tx: &Tx<'_>| recorded(tx, interchange::add(tx, &addition)?);
    let base = |tx: &Tx<'_>| recorded(tx, interchange::add_without_applications(tx, &addition)?);
    let progress = show_progress(addition.applications());
    let imported = strategy.import(path, world, all, base, || interchange::staged_addition_rows(&addition));
    drop(progress);
    let imported = imported?;
    let (roles, candidates, applications) =
        (imported.counts.roles, imported.counts.candidates, imported.counts.applications);
    print_message(&format!(
        "imported into {} for {}: roles {roles}, candidates {candidates}, applications {applications}; {}",
        path.display(),
        slug.as_str(),
        imported.lock_report
    ));
    imported.require_nothing_skipped()?;
    if refused.is_empty() { Ok(()) } else { Err(Failure::new(format!("{verdict}; the others were imported"))) }
}

fn nothing_imported(error: Error) -> Failure {
    match error {
        Error::Refused(refusal) => Failure::new(format!("nothing was imported: {}", refusal.sentence())),
        error => error.into(),
    }
}

/// Writes one line for each refused row or item. Succeeds even if the reader closes the pipe early, as `head` does.
fn report(refused: &[RefusedItem]) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = refused.iter().try_for_each(|refused| writeln!(out, "{refused}")).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written
            .map_err(|error| Failure::new(format!("nothing was imported: cannot write to standard output: {error}"))),
    }
}

fn no_organization(path: &Path, slug: &Slug) -> String {
    let (slug, path) = (slug.as_str(), path.display());
    format!(
        "{path} has no organization with the slug {slug}; create it first:\n  appliance organization create --db {path} \
         --slug {slug} --name NAME"
    )
}
