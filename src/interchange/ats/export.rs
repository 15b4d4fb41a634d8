//! An export: the parsed items of all its files, not yet compared with the database file.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::item::Item;
use super::model::{Application, Job, NamedFile, Offer, Person, Reason, Stage};
use super::system::System;
use crate::interchange::addition::RefusedItem;
use crate::interchange::findings::escaped;

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
    /// Returns a sentence that names the missing files.
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
            "the export lacks {missing}; an export may contain the files {all}.json, or consist of one JSON object with \
             these members"
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
    pub(super) fn add_item(&mut self, mut item: Item) {
        let resource = item.resource();
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
