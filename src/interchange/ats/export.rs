//! Applicant tracking systems and their exports. A [`System`] describes the resources of an applicant tracking system
//! and how to read them. An export is the parsed items of all its files, not yet compared with the database.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::item::{IdKind, Item};
use super::model::{Application, Job, NamedFile, Offer, Person, Reason, Stage};
use crate::interchange::addition::RefusedItem;
use crate::interchange::findings::escaped;

/// An applicant tracking system from whose exports jobs, candidates and applications are imported.
#[derive(Debug)]
pub struct System {
    /// The noun for an export of the system, with its article, for messages.
    pub export_noun: &'static str,
    /// The beginning of all ids that are derived from ids of this system.
    pub(in crate::interchange) prefix: &'static str,
    pub(in crate::interchange) ids: IdKind,
    /// The resource that becomes roles.
    pub(in crate::interchange) jobs: &'static str,
    /// The resource that becomes candidates.
    pub(in crate::interchange) people: &'static str,
    /// The member or column of an application that refers to its stage, for messages.
    pub(in crate::interchange) stage: &'static str,
    /// Whether each stage belongs to one job. Otherwise, several jobs can have the same stage.
    pub(in crate::interchange) has_stages_of_jobs: bool,
    /// Whether an application may refer to a stage by its name instead of its id.
    pub(in crate::interchange) are_stages_named: bool,
    /// The folders of an export that may contain attachments.
    pub attachment_folders: &'static [&'static str],
    /// Whether members may also have the column names of the system's database, in snake case.
    pub(in crate::interchange) has_column_names: bool,
    /// The resources of an export. Empty for a system whose export is not JSON.
    pub(in crate::interchange) resources: &'static [Resource],
    /// The name of the member with the array of items in every response. `None` if that member has the name of the
    /// resource, or if a response consists of the array.
    pub(in crate::interchange) envelope: Option<&'static str>,
    /// Other members of a response, which contain no items.
    pub(in crate::interchange) paging: &'static [&'static str],
    /// Returns whether a file with this name belongs to an export of this system.
    pub(in crate::interchange) is_file: fn(&System, &str) -> bool,
    /// Reads a file, given its name and its content.
    pub(in crate::interchange) read: fn(&mut Export, &str, &[u8]) -> Result<(), String>,
    /// Completes an export after all its files have been read. Returns a sentence if files are missing.
    pub(in crate::interchange) complete: fn(&mut Export) -> Result<(), String>,
}

/// A resource of a system's API. Files and members are named after it.
#[derive(Debug)]
pub(in crate::interchange) struct Resource {
    /// The name of the resource, which is also the name of its file, without `.json`.
    pub(in crate::interchange) name: &'static str,
    /// Whether every import needs the resource.
    pub(in crate::interchange) is_required: bool,
    /// The member that identifies an item.
    pub(in crate::interchange) key: &'static str,
    /// Reads an item, and adds its faults to the item.
    pub(in crate::interchange) read: fn(&mut Export, &mut Item),
}

impl Resource {
    pub(in crate::interchange) const fn required(name: &'static str, read: fn(&mut Export, &mut Item)) -> Self {
        Self { name, is_required: true, key: "id", read }
    }

    pub(in crate::interchange) const fn optional(name: &'static str, read: fn(&mut Export, &mut Item)) -> Self {
        Self { name, is_required: false, key: "id", read }
    }

    /// Returns a copy of the resource in which this member identifies the items.
    pub(in crate::interchange) const fn with_key(self, key: &'static str) -> Self {
        Self { key, ..self }
    }
}

impl System {
    /// Returns the resource with this name.
    pub(in crate::interchange) fn resource(&self, name: &str) -> Option<&'static Resource> {
        self.resources.iter().find(|resource| resource.name == name)
    }

    /// Returns the resource of the file with this name: `jobs.json`, or `jobs-2.json` for a second page.
    pub(in crate::interchange) fn resource_of_file(&self, name: &str) -> Option<&'static Resource> {
        let stem = name.strip_suffix(".json")?;
        let page = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let page = if page.len() < stem.len() { page.trim_end_matches(['-', '_', '.']) } else { stem };
        self.resource(page)
    }

    /// Returns whether a file with this name belongs to an export of this system.
    pub fn reads_file(&self, name: &str) -> bool {
        (self.is_file)(self, name)
    }

    /// Returns whether a file with this name belongs to an export that consists of JSON files.
    pub(in crate::interchange) fn is_json_file(&self, name: &str) -> bool {
        self.resource_of_file(name).is_some()
    }

    /// Returns the names of all resources, separated by `separator`.
    pub(in crate::interchange) fn resource_names(&self, separator: &str) -> String {
        let names: Vec<&str> = self.resources.iter().map(|resource| resource.name).collect();
        names.join(separator)
    }
}

/// The parsed items of an export, and the items that were refused.
#[derive(Debug)]
pub struct Export {
    pub(in crate::interchange) system: &'static System,
    found: HashSet<&'static str>,
    /// The location of every item, including refused items, by its resource and id.
    pub(super) ids: HashMap<(&'static str, String), String>,
    pub(in crate::interchange) jobs: Vec<Job>,
    pub(in crate::interchange) stages: Vec<Stage>,
    pub(in crate::interchange) people: Vec<Person>,
    pub(in crate::interchange) applications: Vec<Application>,
    /// The jobs of applications whose items do not name their job, by the id of the application.
    pub(in crate::interchange) jobs_of_applications: HashMap<String, String>,
    pub(in crate::interchange) reasons: HashMap<String, Reason>,
    /// The accepted offers, by the id of the application.
    pub(in crate::interchange) offers: HashMap<String, Offer>,
    pub(in crate::interchange) named_files: Vec<NamedFile>,
    /// The paths of the files in the folder of the export, with `/` between their parts.
    pub(super) folder: BTreeSet<String>,
    pub(in crate::interchange) refused: Vec<RefusedItem>,
    pub(in crate::interchange) notices: Vec<String>,
}

impl Export {
    /// Creates an export of this system without items.
    pub fn new(system: &'static System) -> Self {
        Self {
            system,
            found: HashSet::new(),
            ids: HashMap::new(),
            jobs: Vec::new(),
            stages: Vec::new(),
            people: Vec::new(),
            applications: Vec::new(),
            jobs_of_applications: HashMap::new(),
            reasons: HashMap::new(),
            offers: HashMap::new(),
            named_files: Vec::new(),
            folder: BTreeSet::new(),
            refused: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Returns the system of the export.
    pub fn system(&self) -> &'static System {
        self.system
    }

    /// Reads a file of the export.
    ///
    /// # Errors
    /// A sentence with the position of the error if the file does not have the system's format. [`plan`](super::plan())
    /// reports faults in individual items.
    pub fn read(&mut self, name: &str, bytes: &[u8]) -> Result<(), String> {
        (self.system.read)(self, name, bytes)
    }

    /// Completes the export after its last file.
    ///
    /// # Errors
    /// A sentence that names the missing files.
    pub fn complete(&mut self) -> Result<(), String> {
        (self.system.complete)(self)
    }

    /// Checks that all required resources were read.
    pub(in crate::interchange) fn require_resources(&mut self) -> Result<(), String> {
        let resources = self.system.resources.iter();
        let missing = resources.filter(|resource| resource.is_required && !self.found.contains(resource.name));
        let missing: Vec<&str> = missing.map(|resource| resource.name).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (missing, all) = (missing.join(", "), self.system.resource_names(".json, "));
        Err(format!(
            "the export lacks {missing}; an export may contain the files {all}.json, or consist of one JSON object \
             whose members have these names without .json"
        ))
    }

    /// Returns the number of applications, not counting prospects.
    pub fn applications(&self) -> usize {
        self.applications.iter().filter(|application| !application.is_prospect).count()
    }

    /// Adds the path of a file in the folder of the export, with `/` between its parts. The file may be an attachment.
    pub fn add_folder_file(&mut self, path: String) {
        self.folder.insert(path);
    }

    /// Adds a sentence about ignored input, for the person who runs the import.
    pub fn notice(&mut self, sentence: &str) {
        self.notices.push(escaped(sentence));
    }

    pub(super) fn start_resource(&mut self, resource: &'static str) {
        self.found.insert(resource);
    }

    /// Parses an item and adds it to the export, or records its faults.
    pub(super) fn add_item(&mut self, resource: &'static Resource, mut item: Item) {
        if let Some(id) = item.id(resource.key, "is missing; every item needs one")
            && let Some(first) = self.add_id(resource.name, id, item.location().to_owned())
        {
            item.fault(format!("the {} is not unique; {first} has it too", resource.key));
        }
        (resource.read)(self, &mut item);
        self.refused.extend(item.into_refused());
    }

    /// Records the location of an item. Returns the location of an earlier item with the same id.
    pub(in crate::interchange) fn add_id(
        &mut self,
        resource: &'static str,
        id: String,
        location: String,
    ) -> Option<String> {
        self.ids.insert((resource, id), location)
    }

    /// Adds an accepted offer of an application. An export contains every version of a changed offer. Only the newest
    /// version is used.
    pub(in crate::interchange) fn add_offer(&mut self, application: String, offer: Offer) {
        let newest = self.offers.entry(application).or_insert_with(|| offer.clone());
        if offer.version > newest.version {
            *newest = offer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::greenhouse::GREENHOUSE;

    #[test]
    fn file_names_consist_of_a_resource_and_an_optional_page() {
        for (name, resource) in [
            ("jobs.json", "jobs"),
            ("job_stages.json", "job_stages"),
            ("candidates-12.json", "candidates"),
            ("candidates_2.json", "candidates"),
            ("offers.3.json", "offers"),
        ] {
            assert_eq!(GREENHOUSE.resource_of_file(name).map(|resource| resource.name), Some(resource), "{name}");
        }
        for name in ["jobs", "users.json", "jobs-.json", "job.json", "my-jobs.json", ".json", "jobs.json.gz"] {
            assert!(GREENHOUSE.resource_of_file(name).is_none(), "{name}");
        }
    }
}
