//! What another program has of candidates, into one organization of the file: a table, or a Greenhouse export.
//!
//! Rows and items that are refused are data, and go to standard output, before anything is imported.

use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::way::Way;
use super::{Args, Format, INPUT_BYTES_MAX, lock_for, misused, only, read, record};
use crate::cli::{Failure, say};
use crate::domain::id::OrganizationId;
use crate::domain::refusal::Refusal;
use crate::domain::text::Slug;
use crate::interchange::csv::{self, Table};
use crate::interchange::greenhouse::{self, Export, Resource};
use crate::interchange::{self, Counts, Refused, Sorted};
use crate::store::file::{self, Missing, Older};
use crate::store::{self, Error, Tx};
use crate::world::World;

/// What a table may hold.
pub(super) const CSV_HELP: &str =
    "A table is CSV in UTF-8 (RFC 4180), its separator a comma, a semicolon or a tab, its \
first line the headings, in any order and case. UTF-16 with a byte order mark and windows-1252 are read too. White space around a cell is dropped. Columns:
  name                the candidate's name; one who is there already, by their address, keeps theirs
  email               the candidate's address; the same in several rows is one candidate with several applications
  role                the role's id, or its name where only one role has it; not needed with --role
  appliedAt           a date (2026-11-21), or an RFC 3339 date-time with an offset; now where it is blank
  status              In Progress (where it is blank), Not Selected, Hired or Withdrawn
  step                the name (or id) of the role's step where the candidate is, or where it ended; blank is the first
                      step while In Progress and the final one when Hired, the others need it
  rejectedAt          when it ended; only when Not Selected; now where it is blank
  outcomeType         rejected_by_organization, rejected_by_candidate or other; only when Not Selected
  outcomeReason       such as lacking_skills; only when Not Selected
  outcomeNotes        the reason in words when Not Selected, a note when Hired
  hiredDate           only when Hired; now where it is blank
  externalPositionId  the position's code in the HR system; only when Hired

A Greenhouse export is what the Harvest API answers, saved as jobs.json, candidates.json, applications.json and, where there
are any, job_stages.json, rejection_reasons.json and offers.json (further pages as jobs-2.json, …), or one object with these
members. Jobs become roles that the portal does not show yet. Prospects are passed over. Jobs and applications that an earlier
import brought are passed over and counted, so items that it refused can come once they are mended.";

/// How it is done.
pub(super) const EXAMPLES: &str = "Examples:
  appliance import --db jobs.db company.json
  appliance import --db jobs.db --format csv --organization acme candidates.csv
  appliance import --db jobs.db --format csv --organization acme --role role_01k… --partial candidates.csv
  appliance import --db jobs.db --format greenhouse --organization acme harvest/";

/// `--format csv`.
pub(super) fn csv(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let organization = organization(args)?;
    let source = only(&args.documents)?;
    let name = source.display();
    let bytes =
        read(source, INPUT_BYTES_MAX).map_err(|error| Failure::new(format!("{name} cannot be read: {error}")))?;
    let table = Table::parse(&bytes, world.now());
    drop(bytes);
    let table =
        table.map_err(|wrong| Failure::new(format!("{name} cannot be imported, nothing was\n{}", wrong.join("\n"))))?;
    let rows = table.rows();
    let of = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    bring(args, world, organization, rows, &of, |tx, id| csv::place(tx, world, table, id, args.role.as_ref()))
}

/// `--format greenhouse`.
pub(super) fn greenhouse(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let organization = organization(args)?;
    if args.role.is_some() {
        return Err(misused("--role is not for a Greenhouse export, whose applications name their jobs"));
    }
    let mut export = Export::default();
    let mut bytes_left = INPUT_BYTES_MAX;
    for source in &args.documents {
        for file in files(source, &mut export)? {
            bytes_left -= read_into(&mut export, &file, bytes_left)?;
        }
    }
    let nothing = |sentence: String| Failure::new(format!("nothing was imported: {sentence}"));
    export.require_complete().map_err(nothing)?;
    let applications = export.applications();
    bring(args, world, organization, applications, "the export's items", |tx, id| greenhouse::place(tx, export, id))
}

/// The file that is named, or those of a directory that have something of an export, in the order of their names.
fn files(source: &Path, export: &mut Export) -> Result<Vec<PathBuf>, Failure> {
    if !source.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let unreadable = |error: io::Error| Failure::new(format!("{} cannot be read: {error}", source.display()));
    let mut found = Vec::new();
    for entry in source.read_dir().map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = name_of(&path);
        if Resource::of_file(&name).is_some() {
            found.push(path);
        } else {
            export.notice(&format!("{name} is not read"));
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a file into the export. How many bytes it has.
fn read_into(export: &mut Export, file: &Path, bytes_max: u64) -> Result<u64, Failure> {
    let unreadable = |error: io::Error| Failure::new(format!("{} cannot be read: {error}", file.display()));
    let bytes = read(file, bytes_max).map_err(unreadable)?;
    let wrong = |error| Failure::new(format!("nothing was imported: {error}"));
    export.read(&name_of(file), &bytes).map_err(wrong)?;
    Ok(bytes.len() as u64)
}

/// The name of a file, without the way to it.
fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn organization(args: &Args) -> Result<&Slug, Failure> {
    args.organization
        .as_ref()
        .ok_or_else(|| misused("--organization is missing: the slug of the organization it is for"))
}

/// Asks the file, reports what is refused, and brings the rest where that is wanted.
fn bring(
    args: &Args,
    world: &dyn World,
    slug: &Slug,
    applications: usize,
    of: &str,
    sort: impl FnOnce(&Tx<'_>, OrganizationId) -> Result<Sorted, Error>,
) -> Result<(), Failure> {
    let path = args.db.db.as_path();
    file::prepare(path, Missing::Refuse, Older::Refuse)?;
    let lock = lock_for(path, applications)?;
    let sorted = store::read_alone(path, world, |tx| match store::organization::with_slug(tx, slug)? {
        Some(id) => sort(tx, id),
        None => Err(Refusal::bad_request(no_organization(path, slug)).into()),
    });
    let Sorted { addition, refused, notices } = sorted.map_err(nothing_imported)?;
    notices.iter().for_each(|notice| say(notice));
    report(&refused)?;
    let verdict = format!("{} of {of} {} refused", refused.len(), if refused.len() == 1 { "was" } else { "were" });
    if !refused.is_empty() && (!args.partial || addition.roles.is_empty()) {
        let advice =
            if args.partial { "" } else { "; mend what standard output tells, or give --partial for the others" };
        return Err(Failure::new(format!("{verdict}, nothing was imported{advice}")));
    }
    let way = Way::of(path, addition.applications(), lock)?;
    let format = if args.format == Format::Csv { "csv" } else { "greenhouse" };
    let on_record = |tx: &Tx<'_>, counts: Counts| record(tx, world, format, &counts).map(|()| counts);
    let all = |tx: &Tx<'_>| on_record(tx, interchange::add(tx, &addition)?);
    let frame = |tx: &Tx<'_>| on_record(tx, interchange::add_frame(tx, &addition)?);
    let came = way.bring(path, world, all, frame, || interchange::addition_rows(&addition))?;
    let (roles, candidates, applications) = (came.counts.roles, came.counts.candidates, came.counts.applications);
    say(&format!(
        "imported into {} for {}: roles {roles}, candidates {candidates}, applications {applications}; {}",
        path.display(),
        slug.as_str(),
        came.held
    ));
    came.require_all()?;
    if refused.is_empty() { Ok(()) } else { Err(Failure::new(format!("{verdict}; the others were imported"))) }
}

fn nothing_imported(error: Error) -> Failure {
    match error {
        Error::Refused(refusal) => Failure::new(format!("nothing was imported: {}", refusal.sentence())),
        error => error.into(),
    }
}

/// A line for each that is refused.
fn report(refused: &[Refused]) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = refused.iter().try_for_each(|refused| writeln!(out, "{refused}")).and_then(|()| out.flush());
    written.map_err(|error| Failure::new(format!("standard output cannot be written, nothing was imported: {error}")))
}

fn no_organization(path: &Path, slug: &Slug) -> String {
    let (slug, path) = (slug.as_str(), path.display());
    format!(
        "{path} has no organization with the slug {slug}; make it first:\n  appliance organization create --db {path} \
         --slug {slug} --name NAME"
    )
}
