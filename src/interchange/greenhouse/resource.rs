//! The resources of Greenhouse's Harvest API that an export may contain.

use crate::domain::words::words;

words! {
    /// A resource of the Harvest API. Files and members are named after it.
    HarvestResource {
        /// Jobs, which become roles.
        Jobs = "jobs",
        /// The stages of jobs, which become steps.
        JobStages = "job_stages",
        /// Candidates, including prospects.
        Candidates = "candidates",
        /// Applications of candidates to jobs.
        Applications = "applications",
        /// The reasons that rejected applications refer to.
        RejectionReasons = "rejection_reasons",
        /// Offers, which contain the dates on which candidates accepted them.
        Offers = "offers",
    }
}

impl HarvestResource {
    /// The resources that every import needs.
    pub(super) const REQUIRED: [Self; 3] = [Self::Jobs, Self::Candidates, Self::Applications];

    /// Returns the resource of a file, from its name: `jobs.json`, or `jobs-2.json` for a second page.
    pub fn of_file(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".json")?;
        let page = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let page = if page.len() < stem.len() { page.trim_end_matches(['-', '_', '.']) } else { stem };
        Self::parse(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_consist_of_a_resource_and_an_optional_page() {
        for (name, resource) in [
            ("jobs.json", HarvestResource::Jobs),
            ("job_stages.json", HarvestResource::JobStages),
            ("candidates-12.json", HarvestResource::Candidates),
            ("candidates_2.json", HarvestResource::Candidates),
            ("offers.3.json", HarvestResource::Offers),
        ] {
            assert_eq!(HarvestResource::of_file(name), Some(resource), "{name}");
        }
        for name in ["jobs", "users.json", "jobs-.json", "job.json", "my-jobs.json", ".json", "jobs.json.gz"] {
            assert_eq!(HarvestResource::of_file(name), None, "{name}");
        }
    }
}
