//! The description of a system: its resources, its ids, and the words of its reports.

use super::export::Export;
use super::item::Item;

/// An applicant tracking system from whose exports jobs, candidates and applications are imported.
#[derive(Debug)]
pub struct System {
    /// An export of the system, with its article, for messages.
    pub export_noun: &'static str,
    /// The beginning of all ids that are derived from ids of this system.
    pub(in crate::interchange) prefix: &'static str,
    pub(in crate::interchange) ids: IdKind,
    /// The resource that becomes roles.
    pub(in crate::interchange) jobs: &'static str,
    /// The resource that becomes candidates.
    pub(in crate::interchange) people: &'static str,
    /// The name of an application's stage, for messages.
    pub(in crate::interchange) stage: &'static str,
    /// Whether each stage belongs to one job. Otherwise, several jobs can have the same stage.
    pub(in crate::interchange) has_stages_of_jobs: bool,
    /// Whether an application may refer to a stage by its name instead of its id.
    pub(in crate::interchange) are_stages_named: bool,
    /// The folders of an export that may contain attachments.
    pub attachment_folders: &'static [&'static str],
    /// Whether members may also have the names of the columns of the system's database, in snake case.
    pub(in crate::interchange) has_column_names: bool,
    /// The resources of an export. Empty for a system whose export is not JSON.
    pub(in crate::interchange) resources: &'static [Resource],
    /// The member of a response that contains the array of items. In exports of systems without such a member, the
    /// member has the name of the resource, or the file consists of the array.
    pub(in crate::interchange) envelope: Option<&'static str>,
    /// Other members of a response, which contain no items.
    pub(in crate::interchange) paging: &'static [&'static str],
    /// Returns whether a file with this name belongs to an export of this system.
    pub(in crate::interchange) is_file: fn(&System, &str) -> bool,
    /// Reads a file, from its name and its content.
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

/// The form of a system's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interchange) enum IdKind {
    Number,
    Text,
}

impl Resource {
    pub(in crate::interchange) const fn required(name: &'static str, read: fn(&mut Export, &mut Item)) -> Self {
        Self { name, is_required: true, key: "id", read }
    }

    pub(in crate::interchange) const fn optional(name: &'static str, read: fn(&mut Export, &mut Item)) -> Self {
        Self { name, is_required: false, key: "id", read }
    }

    /// Returns the resource whose items are identified by this member.
    pub(in crate::interchange) const fn with_key(self, key: &'static str) -> Self {
        Self { key, ..self }
    }
}

impl System {
    /// Returns the resource with this name.
    pub(in crate::interchange) fn resource(&self, name: &str) -> Option<&'static Resource> {
        self.resources.iter().find(|resource| resource.name == name)
    }

    /// Returns the resource of a file, from its name: `jobs.json`, or `jobs-2.json` for a second page.
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
