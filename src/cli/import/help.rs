//! The parts of `import --help` about the formats, with examples.

/// The part of `import --help` about tables and exports of other systems.
pub(super) const FORMATS: &str = "\
A table is a CSV file (RFC 4180) in UTF-8, with cells separated by commas, semicolons or tabs. UTF-16 with a byte order
mark and windows-1252 are also accepted. The first line contains the headings, in any order and case. White space around
the content of a cell is ignored. Columns:
  name                the candidate's name; the name of a candidate who already exists does not change
  email               the candidate's address; rows with the same address are applications of one candidate
  role                the role's id, or its name if only one role has it; not needed with --role
  appliedAt           a date (2026-11-21), or an RFC 3339 date-time with an offset; default: now
  status              In Progress (the default), Not Selected, Hired or Withdrawn
  step                the name or id of the step that the application has reached, or at which it ended; defaults to
                      the first step for In Progress and the last for Hired; required otherwise, unless the
                      role has only one step
  rejectedAt          when the application ended; only for Not Selected; default: now
  outcomeType         rejected_by_organization, rejected_by_candidate or other; only for Not Selected
  outcomeReason       for example lacking_skills; only for Not Selected
  outcomeNotes        for Not Selected, the reason in words; for Hired, a note
  hiredDate           only for Hired; default: now
  externalPositionId  the position's code in the HR system; only for Hired

A Greenhouse export consists of responses of the Harvest API, saved as jobs.json, candidates.json, applications.json and
optionally job_stages.json, rejection_reasons.json and offers.json (further pages as jobs-2.json, …), or as one object
with the fields jobs, candidates, and so on. Jobs become roles that are not public. Prospects are skipped. Jobs and
applications from an earlier import are skipped and counted, so that refused items can be corrected and imported later.

Exports of the other systems are imported in the same way, from these files (* marks a required file):
  lever     postings.json*, opportunities.json*, applications.json, stages.json, archive_reasons.json
  ashby     jobs.json*, candidates.json*, applications.json*, interview_stages.json, archive_reasons.json, offers.json
  workable  jobs.json*, candidates.json*, stages.json
  opencats  the file `database` of an unpacked backup, or a file whose name ends in .sql
  reqcore   jobs.json*, candidates.json*, applications.json*, stages.json, documents.json

The files in the folder `files` of the export's directory are imported as attachments (for OpenCATS, those in
`attachments`). The name of each file, or of its folder, begins with the id of the application, candidate or file, as in
files/ID.pdf or files/ID/cv.pdf. Exports of OpenCATS and Reqcore name the path of each file instead. A refused file is
reported and does not prevent the import.";

pub(super) const EXAMPLES: &str = "Examples:
  appliance import --db jobs.db company.json
  appliance import --db jobs.db --format csv --organization acme candidates.csv
  appliance import --db jobs.db --format csv --organization acme --role role_01k… --partial candidates.csv
  appliance import --db jobs.db --format greenhouse --organization acme harvest/
  appliance import --db jobs.db --format lever --organization acme --partial lever/";
