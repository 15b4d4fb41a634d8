//! Imports an OpenCATS database: the SQL dump inside the backup that OpenCATS makes (`database`), or a dump by
//! `mysqldump`. The CSV export of OpenCATS has no job orders, so it is imported as a table of candidates (`csv`).
//!
//! `sql` splits a dump into rows, and `row` reads the columns of one row. The tables and columns follow the schema in
//! the source code of OpenCATS.

mod mapping;
mod row;
mod sql;

use self::mapping::read;
use super::ats::Export;
use super::ats::export::System;
use super::ats::item::IdKind;

/// OpenCATS.
pub static OPENCATS: System = System {
    export_noun: "an OpenCATS dump",
    prefix: "oc",
    ids: IdKind::Number,
    jobs: "joborder",
    people: "candidate",
    stage: "status",
    has_stages_of_jobs: false,
    are_stages_named: false,
    attachment_folders: &["attachments"],
    has_column_names: false,
    resources: &[],
    envelope: None,
    paging: &[],
    is_file: |_, name| name == "database" || name.ends_with(".sql"),
    read,
    complete: require_dump,
};

/// Checks that a dump was read.
fn require_dump(export: &mut Export) -> Result<(), String> {
    if export.jobs.is_empty() && export.people.is_empty() && export.refused.is_empty() {
        return Err("the export lacks a SQL dump; unpack the backup of OpenCATS, which contains the dump as the file \
                    database, or save the output of mysqldump as a file whose name ends in .sql"
            .to_owned());
    }
    Ok(())
}
