//! `--format document`: imports an interchange document.

use super::advice;
use super::args::{Args, Format, misused};
use super::input::{INPUT_BYTES_MAX, read};
use super::record::record_import;
use super::strategy::{Strategy, lock_for, show_progress};
use crate::cli::failure::Failure;
use crate::cli::output::print_message;
use crate::interchange::{self, Counts, Findings};
use crate::store::file::{self, Missing, Older};
use crate::store::{self, Tx};
use crate::world::World;

pub(super) fn import(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let flags =
        [("--organization", args.organization.is_some()), ("--role", args.role.is_some()), ("--partial", args.partial)];
    if let Some((flag, _)) = flags.into_iter().find(|(_, is_given)| *is_given) {
        return Err(misused(&format!("{flag} does not apply to a document; use another --format, or omit the flag")));
    }
    let source = args.only_path()?;
    let (path, name) = (args.db.db.as_path(), source.display());
    let bytes =
        read(source, INPUT_BYTES_MAX).map_err(|error| Failure::new(format!("{name} cannot be read: {error}")))?;
    advice::require(Format::Document, source, &bytes)?;
    let document = interchange::parse(&bytes, world).map_err(|findings| refused(&findings))?;
    drop(bytes);
    if !store::is_server(path) && path.try_exists().is_ok_and(|exists| !exists) {
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
        record_import(tx, world, "document", &counts)?;
        Ok(counts)
    };
    let all = |tx: &Tx<'_>| recorded(tx, interchange::insert(tx, &document)?);
    let base = |tx: &Tx<'_>| recorded(tx, interchange::insert_without_applications(tx, &document)?);
    let progress = show_progress(document.applications());
    let imported = strategy.import(path, world, all, base, || interchange::staged_rows(&document));
    drop(progress);
    let imported = imported?;
    for notice in document.notices() {
        print_message(&notice);
    }
    print_message(&format!("imported into {}: {}; {}", store::shown(path), imported.counts, imported.lock_report));
    imported.require_nothing_skipped()
}

fn require_none(findings: &Findings) -> Result<(), Failure> {
    if findings.is_empty() { Ok(()) } else { Err(refused(findings)) }
}

fn refused(findings: &Findings) -> Failure {
    let errors = if findings.count() == 1 { "1 error" } else { &format!("{} errors", findings.count()) };
    Failure::new(format!("{errors} in the document; nothing was imported\n{findings}"))
}
