//! Imports responses of Greenhouse's Harvest API (v1), saved as files: "List Jobs", "List Job Stages", "List Candidates",
//! "List Applications", "List Rejection Reasons" and "List Offers" of its documentation. They become roles with steps and
//! candidates in an existing organization.
//!
//! `reader` splits the files into items, `item` reads the members of one item, `job`, `person` and `application` define what
//! is needed of each resource, `plan` combines them and compares them with the file. Other members are ignored.

mod application;
mod html;
mod id;
mod item;
mod job;
mod person;
mod pipeline;
mod plan;
mod reader;

use std::collections::{HashMap, HashSet};

pub use plan::plan;

use self::application::{Application, Offer, Reason};
use self::item::Item;
use self::job::{Job, Stage};
use self::person::Person;
use super::addition::RefusedItem;
use super::findings::escaped;
use crate::domain::words::words;

words! {
    /// A resource of the API. Files and members have its name.
    Resource {
        /// Jobs, which become roles.
        Jobs = "jobs",
        /// The stages of jobs, which become steps.
        JobStages = "job_stages",
        /// People.
        Candidates = "candidates",
        /// Applications of candidates to jobs.
        Applications = "applications",
        /// The reasons that rejected applications refer to.
        RejectionReasons = "rejection_reasons",
        /// Offers, for the dates of hires.
        Offers = "offers",
    }
}

impl Resource {
    /// The resources that every import needs.
    const REQUIRED: [Self; 3] = [Self::Jobs, Self::Candidates, Self::Applications];

    /// The resource of a file, from its name: `jobs.json`, or `jobs-2.json` for a second page.
    pub fn of_file(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".json")?;
        let page = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let page = if page.len() < stem.len() { page.trim_end_matches(['-', '_', '.']) } else { stem };
        Self::parse(page)
    }
}

/// A parsed export, not yet compared with the file.
#[derive(Debug, Default)]
pub struct Export {
    found: HashSet<Resource>,
    ids: HashMap<(Resource, u64), String>,
    jobs: Vec<Job>,
    stages: Vec<Stage>,
    people: Vec<Person>,
    applications: Vec<Application>,
    reasons: HashMap<u64, Reason>,
    offers: HashMap<u64, Offer>,
    refused: Vec<RefusedItem>,
    notices: Vec<String>,
}

impl Export {
    /// Parses a file: an array of the resource that the file is named after, or an object whose members are such arrays.
    ///
    /// # Errors
    /// A sentence if it is neither, or not JSON. [`plan()`] reports faults of single items.
    pub fn read(&mut self, name: &str, bytes: &[u8]) -> Result<(), String> {
        reader::read(name, bytes, self).map_err(|error| escaped(&format!("{name}: {error}")))
    }

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

    fn start_resource(&mut self, resource: Resource) {
        self.found.insert(resource);
    }

    /// Parses an item into its resource, or records its faults.
    fn add_item(&mut self, mut item: Item) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_consist_of_resource_and_page() {
        for (name, resource) in [
            ("jobs.json", Resource::Jobs),
            ("job_stages.json", Resource::JobStages),
            ("candidates-12.json", Resource::Candidates),
            ("candidates_2.json", Resource::Candidates),
            ("offers.3.json", Resource::Offers),
        ] {
            assert_eq!(Resource::of_file(name), Some(resource), "{name}");
        }
        for name in ["jobs", "users.json", "jobs-.json", "job.json", "my-jobs.json", ".json", "jobs.json.gz"] {
            assert_eq!(Resource::of_file(name), None, "{name}");
        }
    }
}
