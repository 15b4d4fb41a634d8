//! What Greenhouse's Harvest API answers, as files: jobs, job stages, candidates, applications, rejection reasons and
//! offers, in the shapes of its documentation ("Harvest API", v1: "List Jobs", "List Job Stages", "List Candidates",
//! "List Applications", "List Rejection Reasons", "List Offers"). They become roles with their steps and candidates in an
//! organization that is in the file.
//!
//! `reader` takes the files apart, `item` reads one item's members, `job`, `person` and `application` say what is needed of
//! each resource, `place` brings them together and asks the file. Members that nothing here needs are not looked at.

mod application;
mod html;
mod id;
mod item;
mod job;
mod person;
mod pipeline;
mod place;
mod reader;

use std::collections::{HashMap, HashSet};

pub use place::place;

use self::application::{Application, Offer, Reason};
use self::item::Item;
use self::job::{Job, Stage};
use self::person::Person;
use super::addition::Refused;
use super::findings::escaped;
use crate::domain::words::words;

words! {
    /// A resource of the API, by the name that its file and its member have.
    Resource {
        /// What is recruited for.
        Jobs = "jobs",
        /// The stages of each job.
        JobStages = "job_stages",
        /// Who applied.
        Candidates = "candidates",
        /// Who applied to what, and what became of it.
        Applications = "applications",
        /// Why applications are rejected.
        RejectionReasons = "rejection_reasons",
        /// What was offered.
        Offers = "offers",
    }
}

impl Resource {
    /// Those without which nothing can be imported.
    const NEEDED: [Self; 3] = [Self::Jobs, Self::Candidates, Self::Applications];

    /// The resource that a file has, by its name: `jobs.json`, or `jobs-2.json` for the second page of them.
    pub fn of_file(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".json")?;
        let page = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let page = if page.len() < stem.len() { page.trim_end_matches(['-', '_', '.']) } else { stem };
        Self::parse(page)
    }
}

/// What was read of an export; nothing of the file was asked.
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
    refused: Vec<Refused>,
    notices: Vec<String>,
}

impl Export {
    /// Reads a file: an array of the resource that it is named after, or an object that has such arrays as members.
    ///
    /// # Errors
    /// A sentence where it is neither, or no JSON. What is wrong with an item is told when it is placed.
    pub fn read(&mut self, name: &str, bytes: &[u8]) -> Result<(), String> {
        reader::read(name, bytes, self).map_err(|error| escaped(&format!("{name}: {error}")))
    }

    /// That everything is there without which nothing can be imported.
    ///
    /// # Errors
    /// A sentence that names what is missing.
    pub fn require_complete(&self) -> Result<(), String> {
        let missing = Resource::NEEDED.into_iter().filter(|resource| !self.found.contains(resource));
        let missing: Vec<&str> = missing.map(Resource::as_str).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (missing, all) = (missing.join(", "), Resource::WORDS.join(".json, "));
        Err(format!("the export lacks {missing}; its files are {all}.json, or one object with these members"))
    }

    /// How many applications it has, without the prospects'.
    pub fn applications(&self) -> usize {
        self.applications.iter().filter(|application| !application.is_prospect).count()
    }

    /// A sentence for whoever imports it, about something that is not read.
    pub fn notice(&mut self, sentence: &str) {
        self.notices.push(escaped(sentence));
    }

    fn begin(&mut self, resource: Resource) {
        self.found.insert(resource);
    }

    /// Takes an item in, or notes why it cannot come.
    fn take(&mut self, mut item: Item) {
        let resource = item.resource();
        if let Some(id) = item.id("id", "is missing; every item has one")
            && let Some(first) = self.ids.insert((resource, id), item.place().to_owned())
        {
            item.fault(format!("the id is there twice; it is that of {first} too"));
        }
        match resource {
            Resource::Jobs => self.jobs.extend(job::job(&mut item)),
            Resource::JobStages => self.stages.extend(job::stage(&mut item)),
            Resource::Candidates => self.people.extend(person::person(&mut item)),
            Resource::Applications => self.applications.extend(application::application(&mut item)),
            Resource::RejectionReasons => self.reasons.extend(application::reason(&mut item)),
            Resource::Offers => {
                if let Some((application, offer)) = application::offer(&mut item) {
                    // An offer that was changed is there in several versions.
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
    fn a_file_is_named_after_its_resource_and_page() {
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
