//! A Greenhouse export: the parsed items of all its files, not yet compared with the database file.

use std::collections::{HashMap, HashSet};

use super::application::{self, HarvestApplication, HarvestOffer, HarvestReason};
use super::item::Item;
use super::job::{self, HarvestJob, HarvestStage};
use super::person::{self, HarvestPerson};
use super::resource::HarvestResource;
use crate::interchange::addition::RefusedItem;
use crate::interchange::findings::escaped;

/// The parsed items of an export, and the items that were refused.
#[derive(Debug, Default)]
pub struct HarvestExport {
    found: HashSet<HarvestResource>,
    pub(super) ids: HashMap<(HarvestResource, u64), String>,
    pub(super) jobs: Vec<HarvestJob>,
    pub(super) stages: Vec<HarvestStage>,
    pub(super) people: Vec<HarvestPerson>,
    pub(super) applications: Vec<HarvestApplication>,
    pub(super) reasons: HashMap<u64, HarvestReason>,
    pub(super) offers: HashMap<u64, HarvestOffer>,
    pub(super) refused: Vec<RefusedItem>,
    pub(super) notices: Vec<String>,
}

impl HarvestExport {
    /// Checks that all required resources were read.
    ///
    /// # Errors
    /// Returns a sentence that names the missing resources.
    pub fn require_complete(&self) -> Result<(), String> {
        let missing = HarvestResource::REQUIRED.into_iter().filter(|resource| !self.found.contains(resource));
        let missing: Vec<&str> = missing.map(HarvestResource::as_str).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (missing, all) = (missing.join(", "), HarvestResource::WORDS.join(".json, "));
        Err(format!(
            "the export lacks {missing}; an export may contain the files {all}.json, or consist of one JSON object with \
             these members"
        ))
    }

    /// Returns the number of applications, not counting prospects.
    pub fn applications(&self) -> usize {
        self.applications.iter().filter(|application| !application.is_prospect).count()
    }

    /// Adds a sentence about ignored input, for the person who runs the import.
    pub fn notice(&mut self, sentence: &str) {
        self.notices.push(escaped(sentence));
    }

    pub(super) fn start_resource(&mut self, resource: HarvestResource) {
        self.found.insert(resource);
    }

    /// Parses an item and adds it to the export, or records its faults.
    pub(super) fn add_item(&mut self, mut item: Item) {
        let resource = item.resource();
        if let Some(id) = item.id("id", "is missing; every item needs one")
            && let Some(first) = self.ids.insert((resource, id), item.location().to_owned())
        {
            item.fault(format!("the id is not unique; {first} has it too"));
        }
        match resource {
            HarvestResource::Jobs => self.jobs.extend(job::job(&mut item)),
            HarvestResource::JobStages => self.stages.extend(job::stage(&mut item)),
            HarvestResource::Candidates => self.people.extend(person::person(&mut item)),
            HarvestResource::Applications => self.applications.extend(application::application(&mut item)),
            HarvestResource::RejectionReasons => self.reasons.extend(application::reason(&mut item)),
            HarvestResource::Offers => {
                if let Some((application, offer)) = application::offer(&mut item) {
                    // The export contains every version of a changed offer. Only the newest accepted version is used.
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
