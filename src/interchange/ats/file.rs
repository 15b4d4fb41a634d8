//! Assigns the files in the folder of an export to applications.
//!
//! A file belongs to an application if the export names the path of the file. A file in the folder `files` also belongs
//! to an application if its path there begins with the id of the application, of the candidate or of the file:
//! `files/ID.pdf`, `files/ID-name.pdf` or `files/ID/name.pdf`. This module reads no file.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::export::System;
use super::model::{FileOwner, NamedFile};
use crate::domain::id::ApplicationId;
use crate::interchange::addition::{PlannedAttachment, RefusedItem};
use crate::interchange::findings::escaped;

/// The folder for files whose paths below it begin with an id.
pub(in crate::interchange) const FILES: &str = "files";

/// The maximum number of missing files that a notice lists by name.
const MISSING_LISTED_MAX: usize = 5;

/// The applications that can have files.
#[derive(Default)]
pub(super) struct Owners {
    applications: HashMap<String, ApplicationId>,
    /// For each candidate, the application that gets the candidate's own files: the first of the candidate's
    /// applications that was added.
    people: HashMap<String, ApplicationId>,
}

impl Owners {
    pub(super) fn add(&mut self, application: &str, person: &str, id: &ApplicationId) {
        self.applications.insert(application.to_owned(), id.clone());
        self.people.entry(person.to_owned()).or_insert_with(|| id.clone());
    }

    fn find(&self, owner: &FileOwner) -> Option<&ApplicationId> {
        match owner {
            FileOwner::Application(id) => self.applications.get(id),
            FileOwner::Person(id) => self.people.get(id),
        }
    }
}

/// The files of an export after their assignment: planned attachments, refused files, and notices about the others.
#[derive(Default)]
pub(super) struct AssignedFiles {
    pub(super) attachments: Vec<PlannedAttachment>,
    pub(super) refused: Vec<RefusedItem>,
    pub(super) notices: Vec<String>,
}

/// Assigns the files of a folder.
pub(super) fn assign(
    system: &System,
    folder: &BTreeSet<String>,
    named: &[NamedFile],
    owners: &Owners,
) -> AssignedFiles {
    let mut assigned = AssignedFiles::default();
    let mut used: HashSet<&str> = HashSet::new();
    let mut missing: Vec<&NamedFile> = Vec::new();
    let (by_path, by_owner): (Vec<_>, Vec<_>) = named.iter().partition(|file| !file.paths.is_empty());
    for file in by_path {
        let Some(application) = owners.find(&file.owner) else { continue };
        match file.paths.iter().map(|path| find(folder, path)).find(|found| *found != Ok(None)) {
            Some(Ok(Some(path))) => {
                used.insert(path);
                assigned.attachments.push(planned(system, application, &file.id, path, &file.name));
            }
            Some(Err(reason)) => {
                let location = format!("{} {}", FILES, file.id);
                assigned.refused.push(RefusedItem { location, reasons: vec![reason] });
            }
            Some(Ok(None)) | None => missing.push(file),
        }
    }
    let ids: HashMap<&str, &FileOwner> = named.iter().map(|file| (file.id.as_str(), &file.owner)).collect();
    let mut found: HashMap<&ApplicationId, usize> = HashMap::new();
    let mut unassigned = 0;
    for path in folder.iter().filter(|path| !used.contains(path.as_str())) {
        let Some(rest) = path.strip_prefix(FILES).and_then(|rest| rest.strip_prefix('/')) else { continue };
        let Some((application, name)) = owner_of_path(rest, owners, &ids) else {
            unassigned += 1;
            continue;
        };
        *found.entry(application).or_default() += 1;
        assigned.attachments.push(planned(system, application, rest, path, name));
    }
    for file in by_owner {
        match owners.find(&file.owner).map(|application| found.entry(application).or_default()) {
            Some(0) => missing.push(file),
            Some(count) => *count -= 1,
            None => {}
        }
    }
    assigned.notices.extend(missing_notice(&missing));
    if unassigned > 0 {
        assigned.notices.push(format!(
            "files skipped: {unassigned}, because their names in the folder {FILES} do not begin with the id of an \
             imported item"
        ));
    }
    assigned
}

fn planned(system: &System, application: &ApplicationId, file: &str, path: &str, name: &str) -> PlannedAttachment {
    PlannedAttachment {
        id: system.attachment_id(application, file),
        application: application.clone(),
        path: path.to_owned(),
        name: if name.is_empty() { path.to_owned() } else { name.to_owned() },
    }
}

/// Finds a path of the export in its folder, or in the folder `files`.
///
/// # Errors
/// A clause if the path leads out of the folder.
fn find<'a>(folder: &'a BTreeSet<String>, path: &str) -> Result<Option<&'a str>, String> {
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") || path.starts_with(['/', '\\']) {
        return Err(format!("the path {path:?} leads out of the folder of the export"));
    }
    let path = parts.join("/");
    let found = folder.get(&path).or_else(|| folder.get(&format!("{FILES}/{path}")));
    Ok(found.map(String::as_str))
}

/// Returns the application to which a path in the folder `files` belongs, and the file name that people see.
fn owner_of_path<'a, 'p>(
    path: &'p str,
    owners: &'a Owners,
    files: &HashMap<&str, &FileOwner>,
) -> Option<(&'a ApplicationId, &'p str)> {
    let first = path.split('/').next()?;
    let find = |id: &str| {
        let of_item = owners.applications.get(id).or_else(|| owners.people.get(id));
        of_item.or_else(|| owners.find(files.get(id)?))
    };
    // The longest id counts, because an id may contain a hyphen itself.
    let ends = first.char_indices().filter(|(_, c)| matches!(c, '.' | '-' | '_')).map(|(at, _)| at);
    let ends: Vec<usize> = ends.chain([first.len()]).collect();
    ends.into_iter().rev().find_map(|end| {
        let application = find(&first[..end])?;
        let rest = path[end..].trim_start_matches(['/', '-', '_']);
        let name = if rest.starts_with('.') || rest.is_empty() { path } else { rest };
        Some((application, name))
    })
}

fn missing_notice(missing: &[&NamedFile]) -> Option<String> {
    let listed = missing.iter().take(MISSING_LISTED_MAX).map(|file| {
        let name = file.paths.first().unwrap_or(&file.name);
        if name.is_empty() { file.id.clone() } else { name.clone() }
    });
    let listed: Vec<String> = listed.collect();
    let more = if missing.len() > listed.len() { ", …" } else { "" };
    let listed = escaped(&listed.join(", "));
    (!missing.is_empty()).then(|| {
        format!(
            "files missing: {}; the export names them, but its folder does not contain them: {listed}{more}",
            missing.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::greenhouse::GREENHOUSE;
    use super::*;
    use crate::domain::id::Id as _;

    fn owners() -> Owners {
        let mut owners = Owners::default();
        for (application, person) in [("a-1", "p"), ("a-1-2", "q"), ("b", "p")] {
            owners.add(application, person, &ApplicationId::parse(application).unwrap());
        }
        owners
    }

    fn assigned(paths: &[&str], named: &[NamedFile]) -> AssignedFiles {
        assign(&GREENHOUSE, &paths.iter().map(|path| (*path).to_owned()).collect(), named, &owners())
    }

    #[test]
    fn files_belong_to_the_longest_id_at_the_beginning_of_their_name() {
        for (path, application, name) in [
            ("files/b.pdf", "b", "b.pdf"),
            ("files/b-my.cv.pdf", "b", "my.cv.pdf"),
            ("files/a-1/x/cv.pdf", "a-1", "x/cv.pdf"),
            ("files/a-1-2-cv.pdf", "a-1-2", "cv.pdf"),
            ("files/a-1-3.pdf", "a-1", "3.pdf"),
            ("files/p_cv.pdf", "a-1", "cv.pdf"),
        ] {
            let attachments = assigned(&[path], &[]).attachments;
            assert_eq!(
                (attachments[0].application.as_str(), attachments[0].name.as_str()),
                (application, name),
                "{path}"
            );
        }
        let other = assigned(&["files/c.pdf", "files/bb.pdf", "files/", "jobs.json", "filesb.pdf"], &[]);
        assert!(
            other.attachments.is_empty() && other.notices[0].starts_with("files skipped: 3, "),
            "{:?}",
            other.notices
        );
    }

    #[test]
    fn named_paths_are_found_or_refused_or_reported_as_missing() {
        let named = |path: &str| NamedFile {
            owner: FileOwner::Person("q".to_owned()),
            id: "9".to_owned(),
            name: "cv.pdf".to_owned(),
            paths: vec![path.to_owned()],
        };
        for path in ["k/cv.pdf", "./k//cv.pdf", "k\\cv.pdf"] {
            for folder in ["k/cv.pdf", "files/k/cv.pdf"] {
                assert_eq!(assigned(&[folder], &[named(path)]).attachments[0].name, "cv.pdf", "{path}");
            }
        }
        for path in ["../cv.pdf", "/etc/passwd", "k/../../cv.pdf", "\\x", "k\\..\\x"] {
            let refused = assigned(&["cv.pdf", "etc/passwd"], &[named(path)]).refused;
            assert!(refused[0].reasons[0].contains("leads out of the folder"), "{path}: {refused:?}");
        }
        assert!(assigned(&["cv.pdf"], &[named("k/cv.pdf")]).notices[0].contains("files missing: 1;"));
        let by_owner = NamedFile { paths: Vec::new(), ..named("") };
        assert!(assigned(&[], std::slice::from_ref(&by_owner)).notices[0].ends_with("does not contain them: cv.pdf"));
        assert!(assigned(&["files/q.pdf"], &[by_owner]).notices.is_empty());
    }
}
