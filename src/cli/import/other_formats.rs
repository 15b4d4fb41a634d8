//! Imports roles and candidates from other programs into one organization in the database. The input is a table or an
//! export of an applicant tracking system.
//!
//! The report of refused rows and items is data. It goes to standard output before anything is imported.

use std::io;
use std::path::{Path, PathBuf};

use super::advice;
use super::args::{Args, Format, misused};
use super::attachment::Attachments;
use super::folder::Files;
use super::input::{INPUT_BYTES_MAX, read};
use super::record::record_import;
use super::report::report;
use super::strategy::{Strategy, lock_for, show_progress};
use crate::cli::failure::Failure;
use crate::cli::output::print_message;
use crate::domain::id::OrganizationId;
use crate::domain::refusal::Refusal;
use crate::domain::text::Slug;
use crate::interchange::ats::{self, Export, System};
use crate::interchange::csv::{self, Table};
use crate::interchange::{self, Counts, ImportPlan};
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
    import(args, world, organization, rows, &total, None, |tx, id| csv::plan(tx, world, table, id, args.role.as_ref()))
}

/// Imports an export of an applicant tracking system.
pub(super) fn system(args: &Args, world: &dyn World, system: &'static System) -> Result<(), Failure> {
    let organization = organization(args)?;
    if args.role.is_some() {
        let noun = system.export_noun;
        return Err(misused(&format!("--role does not apply to {noun}, whose applications name their jobs")));
    }
    let mut export = Export::new(system);
    let mut bytes_left = INPUT_BYTES_MAX;
    let mut folders = Vec::new();
    for source in &args.documents {
        let files = files(source, &mut export)?;
        if source.is_dir() {
            folders.push((source.as_path(), collect(source, system)?));
        }
        for file in files {
            bytes_left -= read_into(args.format, &mut export, &file, bytes_left)?;
        }
    }
    export.complete().map_err(|sentence| Failure::new(format!("nothing was imported: {sentence}")))?;
    let folder = only_folder(folders)?;
    if let Some((_, files)) = &folder {
        files.paths.iter().for_each(|path| export.add_folder_file(path.clone()));
    }
    let applications = export.applications();
    import(args, world, organization, applications, "the export's items", folder, |tx, id| ats::plan(tx, export, id))
}

/// Collects those files of an export that can be attachments.
fn collect(source: &Path, system: &System) -> Result<Files, Failure> {
    let mut files = Files::default();
    for folder in system.attachment_folders {
        let unreadable = |error| Failure::new(format!("{}/{folder} cannot be read: {error}", source.display()));
        files.collect(source, folder).map_err(unreadable)?;
    }
    Ok(files)
}

/// Returns the only folder with files for attachments.
///
/// # Errors
/// Fails if there are several, because a path would be ambiguous.
fn only_folder(folders: Vec<(&Path, Files)>) -> Result<Option<(&Path, Files)>, Failure> {
    let mut with_files = folders.into_iter().filter(|(_, files)| !files.paths.is_empty() || !files.refused.is_empty());
    let first = with_files.next();
    match with_files.next() {
        None => Ok(first),
        Some((second, _)) => {
            let second = second.display();
            Err(Failure::new(format!(
                "nothing was imported: {second} is a second folder with attachments; import it alone"
            )))
        }
    }
}

/// Returns `source` itself, or, if `source` is a directory, its files that belong to an export, sorted by name.
fn files(source: &Path, export: &mut Export) -> Result<Vec<PathBuf>, Failure> {
    if !source.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let unreadable = |error: io::Error| Failure::new(format!("{} cannot be read: {error}", source.display()));
    let mut files = Vec::new();
    for entry in source.read_dir().map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = name_of(&path);
        if export.system().reads_file(&name) {
            files.push(path);
        } else if !export.system().attachment_folders.contains(&name.as_str()) {
            export.notice(&format!("{name} is ignored"));
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file into the export. Returns the number of bytes read.
fn read_into(format: Format, export: &mut Export, file: &Path, bytes_max: u64) -> Result<u64, Failure> {
    let unreadable = |error: io::Error| Failure::new(format!("{} cannot be read: {error}", file.display()));
    let bytes = read(file, bytes_max).map_err(unreadable)?;
    let malformed = |error| Failure::new(format!("nothing was imported: {error}"));
    advice::require(format, file, &bytes)?;
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

/// Plans the import against the database, reports refused rows or items, and imports the others if the flags allow it.
///
/// `total` describes all rows or items in a message, for example "3 rows".
fn import(
    args: &Args,
    world: &dyn World,
    slug: &Slug,
    applications: usize,
    total: &str,
    folder: Option<(&Path, Files)>,
    plan: impl FnOnce(&Tx<'_>, OrganizationId) -> Result<ImportPlan, Error>,
) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let lock = lock_for(path, applications)?;
    let planned = store::read_alone(path, world, |tx| match store::organization::with_slug(tx, slug)? {
        Some(id) => Ok((plan(tx, id.clone())?, id)),
        None => Err(Refusal::bad_request(no_organization(path, slug)).into()),
    });
    let (plan, organization) = planned.map_err(nothing_imported)?;
    let ImportPlan { addition, refused, attachments, refused_files, notices } = plan;
    notices.iter().for_each(|notice| print_message(notice));
    report(&refused, "nothing was imported")?;
    let verdict = format!("{} of {total} {} refused", refused.len(), if refused.len() == 1 { "was" } else { "were" });
    if !refused.is_empty() && (!args.partial || (addition.roles.is_empty() && attachments.is_empty())) {
        let advice = if args.partial {
            ""
        } else {
            ". Correct the rows or items listed on standard output, or import the others with --partial"
        };
        return Err(Failure::new(format!("{verdict}; nothing was imported{advice}")));
    }
    let strategy = Strategy::choose(path, addition.applications(), lock)?;
    let format = args.format.word();
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
        store::shown(path),
        slug.as_str(),
        imported.lock_report
    ));
    let files = Attachments { path, world, organization, format };
    let refused_files = files.import(folder, &attachments, refused_files)?;
    imported.require_nothing_skipped()?;
    match (refused.is_empty(), refused_files) {
        (true, 0) => Ok(()),
        (true, files) => Err(Failure::new(format!("files refused: {files}; everything else was imported"))),
        (false, 0) => Err(Failure::new(format!("{verdict}; the others were imported"))),
        (false, files) => Err(Failure::new(format!("{verdict}, and files refused: {files}; the others were imported"))),
    }
}

fn nothing_imported(error: Error) -> Failure {
    match error {
        Error::Refused(refusal) => Failure::new(format!("nothing was imported: {}", refusal.sentence())),
        error => error.into(),
    }
}

fn no_organization(path: &Path, slug: &Slug) -> String {
    let (slug, path) = (slug.as_str(), store::shown(path));
    format!(
        "{path} has no organization with the slug {slug}; create it first:\n  appliance organization create --db {path} \
         --slug {slug} --name NAME"
    )
}
