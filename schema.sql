-- The whole file, in the order in which one table needs another.
--
-- Ids are text made by the program, times are integer microseconds since 1970 in UTC, truth is 0 or 1, JSON is
-- text. Checks and constraints hold what the rules hold, so a defect in a rule is an error and not a wrong row.

-- A company on this appliance. Everything but users belongs to exactly one. One that is switched off has no portal, and
-- only admins see it. `retention_days`: that long after the last decision a candidate is erased; null for never.
-- `privacy_notice`: what candidates consent to, Markdown; blank for the service's own words.
-- `decision_visible_after_hours`: that long after a decision its candidate sees it; null for never.
CREATE TABLE organizations (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  slug TEXT NOT NULL,
  slug_key TEXT NOT NULL UNIQUE CHECK
    (length(slug_key) BETWEEN 1 AND 64 AND slug_key = lower(slug) AND slug_key NOT GLOB '*[^a-z0-9-]*'),
  name TEXT NOT NULL CHECK (name <> ''),
  domain TEXT NOT NULL,
  logo TEXT NOT NULL,
  portal_enabled INTEGER NOT NULL CHECK (portal_enabled IN (0, 1)),
  portal_theme TEXT NOT NULL CHECK (json_type(portal_theme) = 'object'),
  require_external_position_id INTEGER NOT NULL CHECK (require_external_position_id IN (0, 1)),
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  time_zone TEXT NOT NULL CHECK (time_zone <> ''),
  pay_transparency INTEGER NOT NULL CHECK (pay_transparency IN (0, 1)),
  retention_days INTEGER CHECK (retention_days BETWEEN 1 AND 3650),
  privacy_notice TEXT NOT NULL,
  decision_visible_after_hours INTEGER CHECK (decision_visible_after_hours BETWEEN 0 AND 8760),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX organizations_by_time ON organizations (created_at, id);

-- The picture that an organization's pages show, so that nothing of them is loaded from elsewhere.
CREATE TABLE organization_logos (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  media_type TEXT NOT NULL CHECK (media_type IN ('image/png', 'image/jpeg', 'image/webp', 'image/gif')),
  content BLOB NOT NULL CHECK (length(content) BETWEEN 1 AND 262144),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  updated_at INTEGER NOT NULL
) STRICT;

-- Where an organization's HR system listens. A row without a secret is never enabled. After a rotation the previous
-- secret signs too, until its time. `disabled_reason` is there where the service itself has disabled it. `timed_out`:
-- its last attempt did, so it waits behind others.
CREATE TABLE hr_integrations (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  url TEXT NOT NULL CHECK (url <> ''),
  secret TEXT CHECK (secret GLOB 'whsec_?*'),
  previous_secret TEXT CHECK (previous_secret GLOB 'whsec_?*'),
  previous_secret_until INTEGER,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  disabled_reason TEXT CHECK (disabled_reason <> ''),
  timed_out INTEGER NOT NULL CHECK (timed_out IN (0, 1)),
  updated_at INTEGER NOT NULL,
  CHECK (enabled = 0 OR secret IS NOT NULL),
  CHECK (enabled = 0 OR disabled_reason IS NULL),
  CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL))
) STRICT, WITHOUT ROWID;

-- The status cache: one row an organization, always equal to a recount (`appliance check` proves it).
CREATE TABLE organization_statuses (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  open_roles INTEGER NOT NULL CHECK (open_roles >= 0),
  open_positions INTEGER NOT NULL CHECK (open_positions >= 0),
  in_progress INTEGER NOT NULL CHECK (in_progress >= 0),
  hired INTEGER NOT NULL CHECK (hired >= 0),
  not_selected INTEGER NOT NULL CHECK (not_selected >= 0),
  withdrawn INTEGER NOT NULL CHECK (withdrawn >= 0)
) STRICT, WITHOUT ROWID;

-- A person of staff. `email_key` is the lower-cased copy that addresses are compared by. Keys and sessions of a user who is
-- disabled do not count.
CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE CHECK (email_key <> ''),
  name TEXT NOT NULL CHECK (name <> ''),
  platform_role TEXT NOT NULL CHECK (platform_role IN ('user', 'admin')),
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  password_hash TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX users_by_time ON users (created_at, id);

-- What a user is in one organization. The oldest by `created_at` is the one that key owners show, so a document
-- that brings several gives them increasing times.
CREATE TABLE memberships (
  user_id TEXT NOT NULL REFERENCES users (id),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  org_role TEXT NOT NULL CHECK (org_role IN ('owner', 'admin', 'moderator', 'hr_representative', 'member')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, organization_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_of_organization ON memberships (organization_id, created_at, user_id);

-- A signed-in browser. Only the SHA-256 of the cookie's value is here.
CREATE TABLE sessions (
  digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  user_id TEXT NOT NULL REFERENCES users (id),
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_user ON sessions (user_id);

-- A key that acts as a user. Only the SHA-256 of its text is here. Revoked keys stay, for the audit. `scopes_explicit`:
-- the key's maker named its scopes, so they say whether it enters `/api/admin`. `ended_at`: when the
-- service saw that the key had expired. It stays expired then, also where the clock goes back.
CREATE TABLE api_keys (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  user_id TEXT NOT NULL REFERENCES users (id),
  name TEXT,
  start TEXT NOT NULL CHECK (length(start) = 8),
  scopes TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  scopes_explicit INTEGER NOT NULL DEFAULT 0 CHECK (scopes_explicit IN (0, 1)),
  ended_at INTEGER
) STRICT;
CREATE INDEX api_keys_of_user ON api_keys (user_id);

-- One row a request that a key authenticated. `at` only ever grows, over all keys, so a row is an append. `number` counts
-- within the key, so its newest row is its statistics, and `previous_at` is the key's row before, so a page follows the rows
-- of one key from any of them on.
CREATE TABLE api_key_usage (
  at INTEGER NOT NULL PRIMARY KEY,
  key_number INTEGER NOT NULL REFERENCES api_keys (number),
  number INTEGER NOT NULL CHECK (number >= 1),
  previous_at INTEGER CHECK (previous_at < at),
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  ip TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  auth_endpoint TEXT NOT NULL
) STRICT;

-- Where to begin to follow: one row in many of each key (marks), and the newest of each. Made for many rows at once, so that
-- a request pays next to nothing for them. Rows behind `api_key_usage_marking.marked_to` may have neither. Rows up to
-- `pruned_to` are gone, with their marks; the newest of each key still tells how many requests there were.
CREATE TABLE api_key_usage_marks (
  key_number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (key_number, at)
) STRICT, WITHOUT ROWID;
CREATE TABLE api_key_usage_newest (
  key_number INTEGER NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL,
  number INTEGER NOT NULL CHECK (number >= 1)
) STRICT;
CREATE TABLE api_key_usage_marking (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  marked_to INTEGER NOT NULL,
  pruned_to INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO api_key_usage_marking (id, marked_to) VALUES (1, 0);

-- Rows of the usage log that a wrong clock had dated in the future, by the time that they had then: a page that was begun at
-- such a time goes on from where its row is now.
CREATE TABLE api_key_usage_moves (
  moved_from INTEGER NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT;

-- What a request with an Idempotency-Key was answered, for a day. `fingerprint` is the SHA-256 of what was asked. An answer
-- that holds a secret is not kept, only the id of what was made; of an answer about a candidate who was erased nothing is.
CREATE TABLE idempotency_keys (
  key_number INTEGER NOT NULL REFERENCES api_keys (number),
  idempotency_key TEXT NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 255),
  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
  created_at INTEGER NOT NULL,
  status INTEGER NOT NULL CHECK (status BETWEEN 200 AND 499),
  answer TEXT,
  made_id TEXT,
  candidate_id TEXT,
  PRIMARY KEY (key_number, idempotency_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_of_candidate ON idempotency_keys (candidate_id) WHERE candidate_id IS NOT NULL;

-- A job that the organization recruits for. `hired` is how many of its `positions` are taken: never more than
-- there are, all of them when it is filled, not all of them while it is open. `close_reason`: why it was closed by hand.
-- `shown_since`: when staff last changed what its portal shows of it. A decision, which shows later, does not move it.
CREATE TABLE roles (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL CHECK (name <> ''),
  description TEXT NOT NULL CHECK (json_type(description) = 'object'),
  department TEXT NOT NULL,
  location TEXT NOT NULL,
  work_type TEXT CHECK (work_type IN ('remote', 'hybrid', 'onsite')),
  collar_type TEXT CHECK (collar_type IN ('white', 'gray', 'blue')),
  salary_min REAL CHECK (salary_min >= 0),
  salary_max REAL CHECK (salary_max >= 0),
  salary_currency TEXT CHECK (salary_currency GLOB '[A-Z][A-Z][A-Z]'),
  salary_period TEXT CHECK (salary_period IN ('hour', 'day', 'week', 'month', 'year')),
  status TEXT NOT NULL CHECK (status IN ('draft', 'open', 'filled', 'closed')),
  public INTEGER NOT NULL CHECK (public IN (0, 1)),
  positions INTEGER NOT NULL CHECK (positions >= 1),
  hired INTEGER NOT NULL CHECK (hired BETWEEN 0 AND positions),
  close_reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  shown_since INTEGER NOT NULL,
  UNIQUE (id, organization_id),
  CHECK (salary_min IS NULL OR salary_max IS NULL OR salary_min <= salary_max),
  CHECK (status <> 'filled' OR hired = positions),
  CHECK (status <> 'open' OR hired < positions),
  CHECK (status = 'closed' OR close_reason IS NULL)
) STRICT;
CREATE INDEX roles_by_time ON roles (organization_id, created_at, id, name);
CREATE INDEX roles_by_status ON roles (organization_id, status, created_at, id);
CREATE INDEX roles_by_public ON roles (organization_id, public, created_at, id);
CREATE INDEX roles_by_department ON roles (organization_id, department, created_at, id);
CREATE INDEX roles_by_location ON roles (organization_id, location, created_at, id);
CREATE INDEX roles_by_work_type ON roles (organization_id, work_type, created_at, id);
CREATE INDEX roles_of_organization ON roles (organization_id, status, public, created_at, id);

-- One step of a role's pipeline. One that was removed has no place in it any more; applications that have it keep it.
CREATE TABLE role_steps (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  role_id TEXT NOT NULL REFERENCES roles (id),
  name TEXT NOT NULL CHECK (name <> ''),
  step_order INTEGER CHECK (step_order >= 1),
  step_type TEXT NOT NULL CHECK (step_type IN
    ('application', 'screening', 'assessment', 'interview', 'reference_check', 'offer', 'other')),
  UNIQUE (role_id, step_order)
) STRICT;

-- A link by which candidates sign up for a role. It ends with its time, or when the role stops being open.
CREATE TABLE invitations (
  token TEXT NOT NULL PRIMARY KEY CHECK (length(token) >= 26),
  role_id TEXT NOT NULL REFERENCES roles (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_of_role ON invitations (role_id, expires_at);

-- A person who applies to one organization, unique there by address. `number` is the order in which they came. One who is
-- held (`hold_reason`) is not erased; of one who was erased only the applications' figures are left.
CREATE TABLE candidates (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL CHECK (name <> ''),
  email TEXT NOT NULL,
  email_key TEXT NOT NULL CHECK (email_key <> ''),
  hold_reason TEXT CHECK (hold_reason <> ''),
  erased_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (organization_id, email_key),
  UNIQUE (id, organization_id),
  CHECK (hold_reason IS NULL OR erased_at IS NULL)
) STRICT;
CREATE INDEX candidates_of_organization ON candidates (organization_id, number);
CREATE INDEX candidates_erased ON candidates (number) WHERE erased_at IS NOT NULL;

-- The words that candidates are found by, folded (without case and accents): those of their names, and the parts of their
-- addresses that are not. Words of names are by themselves, so that who looks for a name never reads what all addresses
-- have. A rare word is found by itself; one that many have is looked for in one `block` of candidates after the other, from
-- the newest on, so that a page of them costs the same however many there are.
CREATE TABLE candidate_words (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  in_name INTEGER NOT NULL CHECK (in_name IN (0, 1)),
  word TEXT NOT NULL CHECK (word <> ''),
  candidate_number INTEGER NOT NULL REFERENCES candidates (number),
  block INTEGER NOT NULL CHECK (block = candidate_number / 1024),
  PRIMARY KEY (organization_id, in_name, word, candidate_number)
) STRICT, WITHOUT ROWID;
CREATE INDEX candidate_words_of_block ON candidate_words (organization_id, in_name, block, word, candidate_number);

-- A candidate's application to one role, of the same organization. The hire fields are there only while hired.
-- `candidate_number` is the candidate's, so that lists of candidates come in their order. While it is in progress,
-- `at_role_step_id` is the step where the candidate is, since `at_since`: one of the application's own, which hold on to
-- the role's, so that a step which nobody has can be deleted without a look at every application.
CREATE TABLE candidate_roles (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  organization_id TEXT NOT NULL,
  candidate_id TEXT NOT NULL,
  candidate_number INTEGER NOT NULL REFERENCES candidates (number),
  role_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('In Progress', 'Not Selected', 'Hired', 'Withdrawn')),
  at_role_step_id TEXT,
  at_since INTEGER,
  applied_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  hired_date INTEGER,
  offer_accepted_date INTEGER,
  external_position_id TEXT,
  hire_notes TEXT,
  FOREIGN KEY (candidate_id, organization_id) REFERENCES candidates (id, organization_id),
  FOREIGN KEY (role_id, organization_id) REFERENCES roles (id, organization_id),
  UNIQUE (candidate_id, role_id),
  UNIQUE (id, organization_id),
  CHECK (status = 'In Progress' OR at_role_step_id IS NULL),
  CHECK ((at_role_step_id IS NULL) = (at_since IS NULL)),
  CHECK ((status = 'Hired') = (hired_date IS NOT NULL)),
  CHECK (status = 'Hired' OR
    (offer_accepted_date IS NULL AND external_position_id IS NULL AND hire_notes IS NULL))
) STRICT;
CREATE INDEX candidate_roles_of_role ON candidate_roles (role_id, status, candidate_number);
CREATE INDEX candidate_roles_of_organization ON candidate_roles (organization_id, status, candidate_number);
CREATE INDEX candidate_roles_at_step ON candidate_roles (role_id, at_role_step_id, at_since, id)
WHERE status = 'In Progress';

-- One step of an application, copied from the role's steps when the application was made.
CREATE TABLE candidate_role_steps (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  candidate_role_id TEXT NOT NULL REFERENCES candidate_roles (id),
  role_step_id TEXT NOT NULL REFERENCES role_steps (id),
  name TEXT NOT NULL CHECK (name <> ''),
  step_order INTEGER NOT NULL CHECK (step_order >= 1),
  step_type TEXT NOT NULL CHECK (step_type IN
    ('application', 'screening', 'assessment', 'interview', 'reference_check', 'offer', 'other')),
  status TEXT NOT NULL CHECK (status IN ('pending', 'in_progress', 'validated', 'rejected', 'skipped')),
  rejected_at INTEGER,
  rejection_reason TEXT,
  outcome_type TEXT,
  outcome_reason TEXT,
  validated_at INTEGER,
  UNIQUE (candidate_role_id, step_order),
  UNIQUE (candidate_role_id, role_step_id),
  CHECK ((status = 'rejected') = (rejected_at IS NOT NULL)),
  CHECK ((status = 'rejected') = (rejection_reason IS NOT NULL)),
  CHECK (status = 'rejected' OR (outcome_type IS NULL AND outcome_reason IS NULL)),
  CHECK ((status = 'validated') = (validated_at IS NOT NULL))
) STRICT;
CREATE INDEX candidate_role_steps_of_role_step ON candidate_role_steps (role_step_id, status);

-- What somebody applied with, as they typed it (`/signup/{token}`). One without an application has changed nothing: the same
-- address had applied to the role already (`later_of`), and an address alone proves nothing. Its page tells whoever sent it no
-- more than what they sent, beside `steps`, the names of the role's steps when they did. `links` and `steps` are JSON arrays
-- of texts, `locale` the language of the page that it was sent from.
CREATE TABLE signups (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  organization_id TEXT NOT NULL,
  role_id TEXT NOT NULL,
  candidate_role_id TEXT UNIQUE,
  later_of TEXT,
  steps TEXT CHECK (json_type(steps) = 'array'),
  name TEXT NOT NULL CHECK (name <> ''),
  email TEXT NOT NULL,
  email_key TEXT NOT NULL CHECK (email_key <> ''),
  phone TEXT NOT NULL,
  links TEXT NOT NULL CHECK (json_type(links) = 'array'),
  note TEXT NOT NULL,
  locale TEXT NOT NULL CHECK (locale <> ''),
  consented_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  FOREIGN KEY (role_id, organization_id) REFERENCES roles (id, organization_id),
  FOREIGN KEY (candidate_role_id, organization_id) REFERENCES candidate_roles (id, organization_id),
  FOREIGN KEY (later_of, organization_id) REFERENCES candidate_roles (id, organization_id),
  CHECK (candidate_role_id IS NULL OR later_of IS NULL),
  CHECK ((candidate_role_id IS NULL) = (steps IS NOT NULL))
) STRICT;
CREATE INDEX signups_later ON signups (later_of) WHERE later_of IS NOT NULL;

-- The page where a candidate sees where they stand (`/status/{token}`): of an application, or of a signup that has none. Only
-- the SHA-256 of the token is here; a new link takes the place of the old one. `is_trusted`: whoever has the link is the
-- candidate, as far as anybody knows, because what they sent made the candidate, or staff gave it to them. `withdrawn_at`:
-- when they took it back.
CREATE TABLE status_pages (
  number INTEGER NOT NULL PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  candidate_role_id TEXT UNIQUE REFERENCES candidate_roles (id),
  signup_id TEXT UNIQUE REFERENCES signups (id),
  is_trusted INTEGER NOT NULL CHECK (is_trusted IN (0, 1)),
  locale TEXT NOT NULL CHECK (locale <> ''),
  issued_at INTEGER NOT NULL,
  withdrawn_at INTEGER,
  CHECK ((candidate_role_id IS NULL) = (signup_id IS NOT NULL))
) STRICT;

-- The SHA-256 of tokens whose pages are gone, for the day in which the form that made one may come again.
CREATE TABLE spent_links (
  digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  spent_at INTEGER NOT NULL
) STRICT;
CREATE INDEX spent_links_by_time ON spent_links (spent_at);

-- Candidates who had themselves deleted by the link of their page while a hire was still hidden from them, and by which
-- application's page: they are erased once no hire is hidden any more.
CREATE TABLE erasures_asked (
  candidate_number INTEGER NOT NULL PRIMARY KEY REFERENCES candidates (number),
  candidate_role_id TEXT REFERENCES candidate_roles (id),
  asked_at INTEGER NOT NULL
) STRICT;

-- What was uploaded, in pieces of at most 64 KiB, each its own short write. Without a signup it is staged: sent, and not yet
-- applied with, under a token of which the SHA-256 is here. What stays staged goes after an hour. `bytes` and `media_type`
-- are there once all of it is. Where what it came with was deleted, it is nobody's, made at 0, and swept in slices.
-- `sha256` is the digest of the whole content. The last chunk of an upload sets it; downloads and `check` compare it.
CREATE TABLE documents (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  signup_id TEXT REFERENCES signups (id),
  digest BLOB UNIQUE CHECK (length(digest) = 32),
  file_name TEXT NOT NULL CHECK (file_name <> ''),
  media_type TEXT CHECK (media_type <> ''),
  bytes INTEGER CHECK (bytes BETWEEN 1 AND 10485760),
  created_at INTEGER NOT NULL,
  sha256 BLOB CHECK (length(sha256) = 32),
  CHECK ((media_type IS NULL) = (bytes IS NULL)),
  CHECK (signup_id IS NULL OR bytes IS NOT NULL)
) STRICT;
CREATE INDEX documents_of_signup ON documents (signup_id) WHERE signup_id IS NOT NULL;
CREATE INDEX documents_staged ON documents (created_at, bytes, signup_id) WHERE signup_id IS NULL;
CREATE TABLE document_pieces (
  document_number INTEGER NOT NULL REFERENCES documents (number),
  number INTEGER NOT NULL CHECK (number >= 1),
  content BLOB NOT NULL CHECK (length(content) BETWEEN 1 AND 65536),
  PRIMARY KEY (document_number, number)
) STRICT;

-- A random mark of the service that runs on the file, by which it knows the file again when somebody writes over it.
CREATE TABLE service_marks (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  mark BLOB NOT NULL CHECK (length(mark) = 16)
) STRICT;

-- Bytes of the content of all attachments, staged ones too. Triggers move the sum with each chunk.
CREATE TABLE attachment_totals (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT;
INSERT INTO attachment_totals (id, bytes) VALUES (1, 0);
CREATE TRIGGER attachment_totals_added
AFTER INSERT ON document_pieces
BEGIN
  UPDATE attachment_totals SET bytes = bytes + length(new.content) WHERE id = 1;
END;
CREATE TRIGGER attachment_totals_changed
AFTER UPDATE OF content ON document_pieces
BEGIN
  UPDATE attachment_totals SET bytes = bytes - length(old.content) + length(new.content) WHERE id = 1;
END;
CREATE TRIGGER attachment_totals_removed
AFTER DELETE ON document_pieces
BEGIN
  UPDATE attachment_totals SET bytes = bytes - length(old.content) WHERE id = 1;
END;

-- What forms are signed with, so that a form proves when it was made, also behind a restart.
CREATE TABLE form_secrets (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  secret BLOB NOT NULL CHECK (length(secret) = 32)
) STRICT;

-- What was done: who (a user and the key they used; nobody where the service does it by itself), when, to what, and the
-- facts as JSON. `number` is the order in which it happened. Rows are a chain: `hash` is the SHA-256 of the row's own
-- columns with `detail_hash` in place of the detail, and of the hash of the row before. The detail may hold personal data
-- and so stands outside: `detail_hash` is the SHA-256 of it behind a random salt, and an erasure takes both, without which
-- the hash tells nothing. A role that was deleted as a draft leaves its id. A row without an organization is platform
-- activity: keys, users, sign-ins, commands on the file. Only the rows of a candidate who was erased lose their detail, and
-- those that name a candidate as a signup did that was deleted since; `check` reports any other.
CREATE TABLE activities (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  organization_id TEXT REFERENCES organizations (id),
  at INTEGER NOT NULL,
  action TEXT NOT NULL CHECK (action <> ''),
  user_id TEXT REFERENCES users (id),
  api_key_id TEXT REFERENCES api_keys (id),
  role_id TEXT,
  candidate_id TEXT REFERENCES candidates (id),
  candidate_role_id TEXT,
  candidate_role_step_id TEXT REFERENCES candidate_role_steps (id),
  detail TEXT NOT NULL CHECK (json_type(detail) = 'object'),
  salt BLOB CHECK (length(salt) = 16),
  detail_hash BLOB NOT NULL CHECK (length(detail_hash) = 32),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  FOREIGN KEY (candidate_role_id, organization_id) REFERENCES candidate_roles (id, organization_id),
  CHECK (salt IS NOT NULL OR detail = '{}'),
  CHECK (organization_id IS NOT NULL OR coalesce(role_id, candidate_id, candidate_role_id, candidate_role_step_id) IS NULL)
) STRICT;
CREATE INDEX activities_of_organization ON activities (organization_id, number);
CREATE INDEX activities_by_action ON activities (organization_id, action, number);
CREATE INDEX activities_of_role ON activities (role_id, number) WHERE role_id IS NOT NULL;
CREATE INDEX activities_of_candidate ON activities (candidate_id, number) WHERE candidate_id IS NOT NULL;
CREATE TRIGGER activities_are_appended
BEFORE INSERT ON activities
WHEN new.number <> (SELECT coalesce(max(number), 0) + 1 FROM activities)
BEGIN
  SELECT raise(ABORT, 'activities are only appended');
END;
CREATE TRIGGER activities_stay
BEFORE DELETE ON activities
BEGIN
  SELECT raise(ABORT, 'activities are only appended');
END;
CREATE TRIGGER activities_stay_as_they_are
BEFORE UPDATE ON activities
WHEN NOT (new.detail = '{}' AND new.salt IS NULL AND new.number = old.number AND new.id = old.id
  AND new.organization_id IS old.organization_id AND new.at = old.at AND new.action = old.action
  AND new.user_id IS old.user_id AND new.api_key_id IS old.api_key_id AND new.role_id IS old.role_id
  AND new.candidate_id IS old.candidate_id AND new.candidate_role_id IS old.candidate_role_id
  AND new.candidate_role_step_id IS old.candidate_role_step_id AND new.detail_hash = old.detail_hash
  AND new.hash = old.hash
  AND (EXISTS (SELECT 1 FROM candidates c WHERE c.id = new.candidate_id AND c.erased_at IS NOT NULL)
    OR new.action IN ('candidate.added', 'candidate.changed') AND EXISTS (
      SELECT 1 FROM activities d
      WHERE d.candidate_id = new.candidate_id AND d.action = 'candidate_role.signup_deleted' AND d.number > new.number)))
BEGIN
  SELECT raise(ABORT, 'activities are only appended');
END;

-- How far the outbox has taken up the activities: the `number` of the last one. What comes behind it is in the outbox as
-- well, only not yet as messages: whatever a hire writes besides, the person who hires waits for.
CREATE TABLE hr_intake (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  activity_number INTEGER NOT NULL CHECK (activity_number >= 0)
) STRICT;
INSERT INTO hr_intake (id, activity_number) VALUES (1, 0);

-- The outbox: the messages that an organization's HR system is owed. `number` is the order within an application; a
-- `ping` belongs to none. `attempts` counts all there were, `failed_attempts` those since it was queued or sent again: its
-- place in the schedule. A pending row has a time for its next attempt unless an earlier row of its application has not
-- arrived. Whether its integration lets it go is not told here. Two of the indexes are filled with the first attempt, so
-- that taking up stays cheap; what was not tried yet is found among the pending.
CREATE TABLE hr_deliveries (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  candidate_role_id TEXT,
  type TEXT NOT NULL CHECK (type IN ('candidate.hired', 'candidate.hire_reversed', 'ping')),
  payload TEXT NOT NULL CHECK (payload <> ''),
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  failed_attempts INTEGER NOT NULL CHECK (failed_attempts BETWEEN 0 AND attempts),
  created_at INTEGER NOT NULL,
  next_attempt_at INTEGER,
  FOREIGN KEY (candidate_role_id, organization_id) REFERENCES candidate_roles (id, organization_id),
  CHECK ((type = 'ping') = (candidate_role_id IS NULL)),
  CHECK (state = 'pending' OR next_attempt_at IS NULL)
) STRICT;
CREATE INDEX hr_deliveries_of_application ON hr_deliveries (candidate_role_id, number);
CREATE INDEX hr_deliveries_by_id ON hr_deliveries (id) WHERE attempts > 0;
CREATE INDEX hr_deliveries_of_organization ON hr_deliveries (organization_id, number) WHERE attempts > 0;
CREATE INDEX hr_deliveries_pending ON hr_deliveries (organization_id, next_attempt_at) WHERE state = 'pending';
CREATE INDEX hr_deliveries_pings ON hr_deliveries (organization_id) WHERE type = 'ping' AND state = 'pending';
CREATE INDEX hr_deliveries_failed ON hr_deliveries (number) WHERE state = 'failed';

-- What came of each attempt: the answer's status, what went wrong, and the beginning of the answer's body. The newest
-- fifty of a delivery are kept. `duration` is in microseconds.
CREATE TABLE hr_attempts (
  delivery_number INTEGER NOT NULL REFERENCES hr_deliveries (number),
  number INTEGER NOT NULL CHECK (number >= 1),
  at INTEGER NOT NULL,
  duration INTEGER NOT NULL CHECK (duration >= 0),
  status INTEGER CHECK (status BETWEEN 100 AND 999),
  error TEXT CHECK (error <> ''),
  answer TEXT CHECK (length(CAST(answer AS BLOB)) <= 1024),
  PRIMARY KEY (delivery_number, number),
  CHECK (status IS NOT NULL OR error IS NOT NULL)
) STRICT, WITHOUT ROWID;

-- Imports that came beside a running service and are not done. One that was not decided leaves nothing: its rows are dropped.
-- One that was comes whole: its rows are brought to where they belong, a few in a transaction. `skipped` counts those that the
-- file did not allow any more. An import that is not decided and has `skipped` was dropped, and waits until its pages are wiped.
-- `application` is JSON with the application, its steps and its candidate.
CREATE TABLE imports (
  number INTEGER NOT NULL PRIMARY KEY,
  started_at INTEGER NOT NULL,
  decided_at INTEGER,
  skipped INTEGER NOT NULL CHECK (skipped >= 0)
) STRICT;
CREATE TABLE import_rows (
  number INTEGER NOT NULL PRIMARY KEY,
  import_number INTEGER NOT NULL REFERENCES imports (number),
  organization_id TEXT NOT NULL,
  role_id TEXT NOT NULL,
  candidate_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('In Progress', 'Not Selected', 'Hired', 'Withdrawn')),
  application TEXT NOT NULL CHECK (json_type(application) = 'object')
) STRICT;
CREATE INDEX import_rows_of_import ON import_rows (import_number);
CREATE INDEX import_rows_of_candidate ON import_rows (candidate_id);
CREATE INDEX import_rows_hired ON import_rows (role_id) WHERE status = 'Hired';

-- What memory keeps of the file stays true by two kinds of numbers, which triggers move whoever changes something: a
-- portal's, by what it shows, and the one of all keys, by what they and their users may do.
CREATE TABLE portal_changes (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  number INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
CREATE TRIGGER portal_changes_organization
AFTER UPDATE OF slug, slug_key, name, domain, logo, portal_enabled, portal_theme, enabled, time_zone,
  privacy_notice ON organizations
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT new.id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number;
END;
CREATE TRIGGER portal_changes_logo_added
AFTER INSERT ON organization_logos
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT new.organization_id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number;
END;
CREATE TRIGGER portal_changes_logo
AFTER UPDATE ON organization_logos
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT new.organization_id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number;
END;
CREATE TRIGGER portal_changes_logo_removed
AFTER DELETE ON organization_logos
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT old.organization_id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number;
END;
CREATE TRIGGER portal_changes_role_added
AFTER INSERT ON roles WHEN new.public = 1 AND new.status = 'open'
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT new.organization_id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number;
END;
CREATE TRIGGER portal_changes_role
AFTER UPDATE OF organization_id, name, description, department, location, work_type, collar_type, salary_min, salary_max,
  salary_currency, salary_period, status, public, created_at ON roles
WHEN (new.public = 1 AND new.status = 'open') OR (old.public = 1 AND old.status = 'open')
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT new.organization_id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number;
END;
CREATE TRIGGER portal_changes_role_removed
AFTER DELETE ON roles WHEN old.public = 1 AND old.status = 'open'
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT old.organization_id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number;
END;

CREATE TABLE credential_changes (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL
) STRICT;
INSERT INTO credential_changes (id, number) VALUES (1, 1);
CREATE TRIGGER credential_changes_key
AFTER UPDATE OF number, id, digest, user_id, scopes, enabled, expires_at, ended_at ON api_keys
BEGIN
  UPDATE credential_changes SET number = number + 1 WHERE id = 1;
END;
CREATE TRIGGER credential_changes_key_removed
AFTER DELETE ON api_keys
BEGIN
  UPDATE credential_changes SET number = number + 1 WHERE id = 1;
END;
CREATE TRIGGER credential_changes_user
AFTER UPDATE OF id, email, platform_role, enabled ON users
BEGIN
  UPDATE credential_changes SET number = number + 1 WHERE id = 1;
END;

-- The heartbeat: the believed time, written every few minutes and when the service ends. `confirmations` counts how often an
-- admin has said that the machine's clock is right.
CREATE TABLE believed_clock (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  believed_at INTEGER NOT NULL,
  confirmations INTEGER NOT NULL CHECK (confirmations >= 0)
) STRICT;

-- Candidates whom the retention has found due: since when, and since when their time counted then (`counted_from`). They are
-- erased on a later day, if that has not changed. `confirmed`: an admin has confirmed it, however many they are.
CREATE TABLE retention_due (
  candidate_number INTEGER NOT NULL PRIMARY KEY REFERENCES candidates (number),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  due_since INTEGER NOT NULL,
  counted_from INTEGER NOT NULL,
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1))
) STRICT;
CREATE INDEX retention_due_of_organization ON retention_due (organization_id, candidate_number);

-- How many candidates of an organization the retention has erased without a confirmation in its last day, which began at `day`.
CREATE TABLE retention_days (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  day INTEGER NOT NULL,
  erased INTEGER NOT NULL CHECK (erased >= 0)
) STRICT, WITHOUT ROWID;

-- One row that `GET /readyz` writes, to know that the file can be written.
CREATE TABLE readiness (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
) STRICT;
