//! An export: the items of all its files, parsed and not yet compared with the file.

use std::collections::{HashMap, HashSet};

use super::application::{self, Application, Offer, Reason};
use super::item::Item;
use super::job::{self, Job, Stage};
use super::person::{self, Person};
use super::resource::Resource;
use crate::interchange::addition::RefusedItem;
use crate::interchange::findings::escaped;

/// A parsed export, not yet compared with the file.
#[derive(Debug, Default)]
pub struct Export {
    found: HashSet<Resource>,
    pub(super) ids: HashMap<(Resource, u64), String>,
    pub(super) jobs: Vec<Job>,
    pub(super) stages: Vec<Stage>,
    pub(super) people: Vec<Person>,
    pub(super) applications: Vec<Application>,
    pub(super) reasons: HashMap<u64, Reason>,
    pub(super) offers: HashMap<u64, Offer>,
    pub(super) refused: Vec<RefusedItem>,
    pub(super) notices: Vec<String>,
}

impl Export {
    /// Checks that all required resources were read.
    ///
    /// # Errors
    /// A sentence that names the missing ones.
    pub fn require_complete(&self) -> Result<(), String> {
        let missing = Resource::REQUIRED.into_iter().filter(|resource| !self.found.contains(resource));
        let missing: Vec<&str> = missing.map(Resource::as_str).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (missing, all) = (missing.join(", "), Resource::WORDS.join(".json, "));
        Err(format!("the export lacks {missing}; its files are {all}.json, or one object with these members"))
    }

    /// The number of applications, without prospects.
    pub fn applications(&self) -> usize {
        self.applications.iter().filter(|application| !application.is_prospect).count()
    }

    /// Adds a sentence for the person who imports, about input that is ignored.
    pub fn notice(&mut self, sentence: &str) {
        self.notices.push(escaped(sentence));
    }

    pub(super) fn start_resource(&mut self, resource: Resource) {
        self.found.insert(resource);
    }

    /// Parses an item into its resource, or records its faults.
    pub(super) fn add_item(&mut self, mut item: Item) {
        let resource = item.resource();
        if let Some(id) = item.id("id", "is missing; every item needs one")
            && let Some(first) = self.ids.insert((resource, id), item.location().to_owned())
        {
            item.fault(format!("the id is not unique; {first} has it too"));
        }
        match resource {
            Resource::Jobs => self.jobs.extend(job::job(&mut item)),
            Resource::JobStages => self.stages.extend(job::stage(&mut item)),
            Resource::Candidates => self.people.extend(person::person(&mut item)),
            Resource::Applications => self.applications.extend(application::application(&mut item)),
            Resource::RejectionReasons => self.reasons.extend(application::reason(&mut item)),
            Resource::Offers => {
                if let Some((application, offer)) = application::offer(&mut item) {
                    // The export contains every version of a changed offer; the newest counts.
                    let newest = self.offers.entry(application).or_insert_with(|| offer.clone());
                    if offer.version > newest.version {
                        *newest = offer;
                    }
                }
            }
        }
        self.refused.extend(item.into_refused());
    }
}
