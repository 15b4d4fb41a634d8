-- The schema of the file, in the order in which tables depend on each other.
--
-- Ids are text that the program generates or an import supplies, times are integer microseconds since 1970 in UTC,
-- booleans are 0 or 1, and JSON is text. Constraints repeat rules of the program, so that a defect in a rule causes an
-- error instead of a wrong row.

-- A customer of the service. It owns its roles and candidates, with all their records. Only admins see a disabled
-- organization, and it has no portal. `retention_days`: the retention period; null to retain candidates forever.
-- `privacy_notice`: the text that candidates consent to, in Markdown; blank for the service's own text.
-- `decision_visible_after_hours`: candidates see a rejection, a hire or the reversal of a hire after this delay; null
-- for never. `require_second_factor`: all members must have a second factor, not only owners and admins.
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
  require_second_factor INTEGER NOT NULL CHECK (require_second_factor IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX organizations_by_time ON organizations (created_at, id);

-- The uploaded logo of an organization. The service serves the logo itself, so that no page loads anything from another
-- host.
CREATE TABLE organization_logos (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  media_type TEXT NOT NULL CHECK (media_type IN ('image/png', 'image/jpeg', 'image/webp', 'image/gif')),
  content BLOB NOT NULL CHECK (length(content) BETWEEN 1 AND 262144),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  updated_at INTEGER NOT NULL
) STRICT;

-- An organization's settings for its HR system. A row without a secret is never enabled. After a rotation, the service
-- also signs with the previous secret, until `previous_secret_until`. `disabled_reason` is set if the service itself
-- disabled the integration. `timed_out`: the last attempt timed out, so the next attempt waits behind attempts for
-- other organizations.
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

-- The status cache: one row per organization, always equal to a recount (`appliance check` verifies this).
CREATE TABLE organization_statuses (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  open_roles INTEGER NOT NULL CHECK (open_roles >= 0),
  open_positions INTEGER NOT NULL CHECK (open_positions >= 0),
  in_progress INTEGER NOT NULL CHECK (in_progress >= 0),
  hired INTEGER NOT NULL CHECK (hired >= 0),
  not_selected INTEGER NOT NULL CHECK (not_selected >= 0),
  withdrawn INTEGER NOT NULL CHECK (withdrawn >= 0)
) STRICT, WITHOUT ROWID;

-- A person who can sign in. `email_key` is the lower-cased copy by which addresses are compared. Keys and sessions of a
-- disabled user are not valid. `last_seen_at`: the last use of a session, to the minute; null before the first.
CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE CHECK (email_key <> ''),
  name TEXT NOT NULL CHECK (name <> ''),
  platform_role TEXT NOT NULL CHECK (platform_role IN ('user', 'admin')),
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  password_hash TEXT,
  last_seen_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX users_by_time ON users (created_at, id);

-- A user's membership in an organization, with the organization role. Lists of keys show the oldest membership of each
-- key's user by `created_at`, so an import of several memberships gives them increasing times.
CREATE TABLE memberships (
  user_id TEXT NOT NULL REFERENCES users (id),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  org_role TEXT NOT NULL CHECK (org_role IN ('owner', 'admin', 'moderator', 'hr_representative', 'member')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, organization_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_of_organization ON memberships (organization_id, created_at, user_id);

-- A signed-in browser. The file has only the SHA-256 of the cookie's value. The user sees each session with the network
-- address and the browser of the sign-in, and can end a session by its `id`. `confirmed_at`: when the user last used a
-- second factor or, without one, entered the password. Dangerous acts require a recent confirmation.
CREATE TABLE sessions (
  digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  user_id TEXT NOT NULL REFERENCES users (id),
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  confirmed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_user ON sessions (user_id);

-- The secret that the service shares with a user's authenticator app (TOTP, RFC 6238). `confirmed_at`: when the user
-- proved with a code that the app has the secret. `last_step`: the step of the last accepted code. Codes of this step
-- and of earlier steps are refused, so that each code is accepted once.
CREATE TABLE totp_secrets (
  user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
  secret BLOB NOT NULL CHECK (length(secret) = 20),
  confirmed_at INTEGER NOT NULL,
  last_step INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The unused recovery codes of users. The file has only their SHA-256. A code is deleted when it is used.
CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL REFERENCES users (id),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  PRIMARY KEY (user_id, digest)
) STRICT, WITHOUT ROWID;

-- A link by which a user signs in once without a password (`/join/{token}`): an invitation, a reset, or the link of
-- `serve --demo`. The file has only the SHA-256 of the token. `invited_by`: the user who made the link; null for a
-- command.
CREATE TABLE sign_in_links (
  digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  user_id TEXT NOT NULL REFERENCES users (id),
  purpose TEXT NOT NULL CHECK (purpose IN ('invitation', 'reset', 'factor_reset', 'demo')),
  invited_by TEXT REFERENCES users (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_links_of_user ON sign_in_links (user_id);

-- A user's choices for the staff console. `language`: null for the language of the browser. `single_keys`: whether
-- single letters are keyboard shortcuts.
CREATE TABLE user_preferences (
  user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
  language TEXT,
  single_keys INTEGER NOT NULL CHECK (single_keys IN (0, 1))
) STRICT, WITHOUT ROWID;

-- A passkey of a user (WebAuthn). `credential_id` and `user_id` identify it to the authenticator. `spki` is the public
-- key. `counter` is the last signature counter, which is always 0 for an authenticator that does not count.
CREATE TABLE passkeys (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  user_id TEXT NOT NULL REFERENCES users (id),
  credential_id BLOB NOT NULL UNIQUE CHECK (length(credential_id) BETWEEN 1 AND 1023),
  algorithm TEXT NOT NULL CHECK (algorithm IN ('ES256', 'EdDSA', 'RS256')),
  spki BLOB NOT NULL CHECK (length(spki) > 0),
  counter INTEGER NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
  name TEXT NOT NULL CHECK (name <> ''),
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT;
CREATE INDEX passkeys_of_user ON passkeys (user_id, created_at, id);

-- The challenges that browsers have not answered yet. Each is valid for a few minutes. The file has only their SHA-256.
-- A challenge is deleted when it is answered. `browser`: the digest of the browser's cookie. `user_id`: null before a
-- sign-in.
CREATE TABLE passkey_challenges (
  digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  purpose TEXT NOT NULL CHECK (purpose IN ('register', 'sign_in', 'confirm')),
  browser BLOB NOT NULL CHECK (length(browser) = 32),
  user_id TEXT REFERENCES users (id),
  issued_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX passkey_challenges_by_time ON passkey_challenges (issued_at);
CREATE INDEX passkey_challenges_of_user ON passkey_challenges (user_id) WHERE user_id IS NOT NULL;

-- A key that acts as a user. The file has the SHA-256 and the first 8 characters (`start`) of the key, but not the key
-- itself. Revoked keys stay in the table, for audits.
-- `scopes_explicit`: the creator of the key named its scopes, so the key may use `/api/admin` only with an admin scope.
-- `ended_at`: when the service recorded that the key had expired. After that, the key stays expired even if the clock
-- goes back.
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

-- One row for each request that a key authenticated, unless it was answered with 429 or 503. `at` always increases over
-- all keys, so each insert is an append. `number` is the position among the key's rows, so the newest row has the key's
-- statistics. `previous_at` is the time of the key's previous row, so a page can follow the rows of one key from any
-- row.
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

-- The usage index: the rows at which a query can begin to follow the rows of a key. These are the key's newest row, and
-- one row in 64 (an index entry). The service adds entries for many rows at once, so that a request costs almost
-- nothing extra. Rows after `api_key_usage_marking.marked_to` might have no entry. Rows up to `pruned_to` were deleted
-- with their index entries. The row of a key in `api_key_usage_newest` still has the number of the key's requests.
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

-- Usage rows that a wrong clock had dated in the future, by their original time. A cursor with an original time
-- continues at the corrected time of its row.
CREATE TABLE api_key_usage_moves (
  moved_from INTEGER NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT;

-- Stored responses to requests with an Idempotency-Key. A response is valid for a day. `fingerprint` is the SHA-256 of
-- the request. If a response contains a secret, only the id of the created record is stored. If the candidate of a
-- response was erased, the row has no body, and its fingerprint is 32 zero bytes.
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

-- A job at an organization, with one or more equal positions. `hired` is the number of filled `positions`: all of them
-- in a filled role, and fewer in an open one. `close_reason`: why the role was closed. `shown_since`: when the public
-- part of the role last changed, except by a decision, because decisions become visible later. `closes_on`: the last
-- day on which the role accepts signups, in the organization's time zone; the service closes the role on the next day.
-- `ended_at`: the time since which the role has been filled or closed.
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
  closes_on TEXT CHECK (closes_on GLOB '[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]'),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  shown_since INTEGER NOT NULL,
  ended_at INTEGER,
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
CREATE INDEX roles_by_closing_day ON roles (closes_on, id) WHERE status = 'open' AND closes_on IS NOT NULL;

-- One step of a role's pipeline. A removed step has no `step_order`, and its row stays for the applications that copied
-- the step.
CREATE TABLE role_steps (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  role_id TEXT NOT NULL REFERENCES roles (id),
  name TEXT NOT NULL CHECK (name <> ''),
  step_order INTEGER CHECK (step_order >= 1),
  step_type TEXT NOT NULL CHECK (step_type IN
    ('application', 'screening', 'assessment', 'interview', 'reference_check', 'offer', 'other')),
  UNIQUE (role_id, step_order)
) STRICT;

-- A signup link, by which people apply for a role. The link works until it expires, or until the service ends it
-- (`ended_at`) because the role is no longer open.
CREATE TABLE invitations (
  token TEXT NOT NULL PRIMARY KEY CHECK (length(token) >= 26),
  role_id TEXT NOT NULL REFERENCES roles (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_of_role ON invitations (role_id, expires_at);

-- A person who applies to one organization. The address is unique in the organization. `number` is the order of
-- creation. A candidate under a legal hold (`hold_reason`) is not erased. An erased candidate is a tombstone.
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

-- The words by which a search finds candidates, folded (without case and accents): the words of names, and the other
-- words of addresses. Words of names are separate, so that a search for a name does not read words that all addresses
-- share. A rare word is looked up directly. A frequent word is searched in one `block` of candidates after another,
-- newest first, so that a page costs the same for any number of candidates.
CREATE TABLE candidate_words (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  in_name INTEGER NOT NULL CHECK (in_name IN (0, 1)),
  word TEXT NOT NULL CHECK (word <> ''),
  candidate_number INTEGER NOT NULL REFERENCES candidates (number),
  block INTEGER NOT NULL CHECK (block = candidate_number / 1024),
  PRIMARY KEY (organization_id, in_name, word, candidate_number)
) STRICT, WITHOUT ROWID;
CREATE INDEX candidate_words_of_block ON candidate_words (organization_id, in_name, block, word, candidate_number);

-- A candidate's application to one role of the same organization. Only a hired application has values in the hire
-- columns. `candidate_number` is a copy of the candidate's number, for lists in that order. While the application is in
-- progress, `at_role_step_id` is the step that the candidate reached at `at_since`; null if the candidate has passed
-- every step. The column has no foreign key, so that a role step can be deleted without a scan of all applications. The
-- application's own steps reference the role steps. `later_due_on`: the day, in the organization's time zone, until
-- which staff put the application aside.
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
  later_due_on TEXT CHECK (later_due_on GLOB '[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]'),
  FOREIGN KEY (candidate_id, organization_id) REFERENCES candidates (id, organization_id),
  FOREIGN KEY (role_id, organization_id) REFERENCES roles (id, organization_id),
  UNIQUE (candidate_id, role_id),
  UNIQUE (id, organization_id),
  CHECK (status = 'In Progress' OR at_role_step_id IS NULL),
  CHECK (status = 'In Progress' OR later_due_on IS NULL),
  CHECK ((at_role_step_id IS NULL) = (at_since IS NULL)),
  CHECK ((status = 'Hired') = (hired_date IS NOT NULL)),
  CHECK (status = 'Hired' OR
    (offer_accepted_date IS NULL AND external_position_id IS NULL AND hire_notes IS NULL))
) STRICT;
CREATE INDEX candidate_roles_of_role ON candidate_roles (role_id, status, candidate_number);
CREATE INDEX candidate_roles_of_organization ON candidate_roles (organization_id, status, candidate_number);
CREATE INDEX candidate_roles_later ON candidate_roles (organization_id, later_due_on, id) WHERE later_due_on IS NOT NULL;
-- The last two columns let a board read all its applications from the index alone.
CREATE INDEX candidate_roles_at_step
ON candidate_roles (role_id, at_role_step_id, at_since, id, later_due_on, candidate_number, status)
WHERE status = 'In Progress';

-- One step of an application, copied from the role step when the application was created.
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

-- A submitted application form, as entered (`/signup/{token}`). A later signup has no application: a candidate with the
-- same address had applied to the role before (`later_of`), and an address alone proves nothing. The status page of a
-- later signup shows only the submitted form and `steps`, the names of the role's steps at that time. `links` and
-- `steps` are JSON arrays of strings; `locale` is the language of the form.
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

-- The status page (`/status/{token}`) of an application, or of a later signup. The file has only the SHA-256 of the
-- token; a new link replaces the old one. `is_trusted`: the service treats the holder of the link as the candidate,
-- because the holder's signup created the candidate, or staff issued the link. `withdrawn_at`: when the holder withdrew
-- the application.
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

-- The SHA-256 of the tokens of spent links. They are stored for at least a day, because the form that created a link
-- can be submitted again for a day.
CREATE TABLE spent_links (
  digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  spent_at INTEGER NOT NULL
) STRICT;
CREATE INDEX spent_links_by_time ON spent_links (spent_at);

-- Candidates who asked for their erasure on a status page while a hire was still hidden from them. `candidate_role_id`:
-- the application of that page; null for the page of a later signup. The service decides about the erasure again when
-- none of their hires is hidden.
CREATE TABLE erasures_asked (
  candidate_number INTEGER NOT NULL PRIMARY KEY REFERENCES candidates (number),
  candidate_role_id TEXT REFERENCES candidate_roles (id),
  asked_at INTEGER NOT NULL
) STRICT;

-- Attachments, in chunks of at most 64 KiB. Each chunk is written by a separate job, so that each write is short.
-- Until a signup claims an uploaded attachment, it is staged under a token, and `digest` is the SHA-256 of the token.
-- Staged attachments are deleted after an hour. `bytes`, `media_type` and `sha256` are set when the upload is complete.
-- A file that an import added belongs to an application (`candidate_role_id`) instead of a signup, because nobody
-- submitted a form. After the deletion of its signup, or the erasure of its candidate, an attachment is detached: its
-- `created_at` is 0, and the sweep deletes it in slices. `sha256` is the digest of the whole content; downloads and
-- `check` verify it.
CREATE TABLE documents (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  signup_id TEXT REFERENCES signups (id),
  candidate_role_id TEXT REFERENCES candidate_roles (id),
  digest BLOB UNIQUE CHECK (length(digest) = 32),
  file_name TEXT NOT NULL CHECK (file_name <> ''),
  media_type TEXT CHECK (media_type <> ''),
  bytes INTEGER CHECK (bytes BETWEEN 1 AND 10485760),
  created_at INTEGER NOT NULL,
  sha256 BLOB CHECK (length(sha256) = 32),
  CHECK ((media_type IS NULL) = (bytes IS NULL)),
  CHECK (signup_id IS NULL OR candidate_role_id IS NULL),
  CHECK ((signup_id IS NULL AND candidate_role_id IS NULL) OR bytes IS NOT NULL)
) STRICT;
CREATE INDEX documents_of_signup ON documents (signup_id) WHERE signup_id IS NOT NULL;
CREATE INDEX documents_of_application ON documents (candidate_role_id) WHERE candidate_role_id IS NOT NULL;
CREATE INDEX documents_staged ON documents (created_at, bytes, signup_id, candidate_role_id)
  WHERE signup_id IS NULL AND candidate_role_id IS NULL;
CREATE TABLE document_pieces (
  document_number INTEGER NOT NULL REFERENCES documents (number),
  number INTEGER NOT NULL CHECK (number >= 1),
  content BLOB NOT NULL CHECK (length(content) BETWEEN 1 AND 65536),
  PRIMARY KEY (document_number, number)
) STRICT;

-- A random mark by which the running service notices that the file was overwritten with another copy.
CREATE TABLE service_marks (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  mark BLOB NOT NULL CHECK (length(mark) = 16)
) STRICT;

-- The total size of all attachments, including staged ones. Triggers update it for each chunk.
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

-- The secret with which the service signs forms, so that it can verify the age of a form even after a restart.
CREATE TABLE form_secrets (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  secret BLOB NOT NULL CHECK (length(secret) = 32)
) STRICT;

-- Activity: who acted (a user and their key; null for the service, a command or a candidate), when, on which records,
-- and the facts as JSON. `number` is the order of the acts. The rows are a chain: `hash` is the SHA-256 of the previous
-- hash and of the row's columns, with `detail_hash` instead of the detail. The detail can contain personal data, so the
-- detail itself is not part of the chain: `detail_hash` is its SHA-256 with a random salt. An erasure removes the
-- detail and the salt, so the hash then reveals nothing. The id of a deleted draft stays in `role_id`. A row without an
-- organization is platform activity: changes to keys and users, sign-ins, commands on the file. Only two kinds of rows
-- lose their detail: those of an erased candidate, and those with a candidate's name from a signup that was deleted
-- later. `check` reports any other row that lacks its detail.
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
CREATE INDEX activities_of_role_alone ON activities (role_id, number) WHERE role_id IS NOT NULL AND candidate_id IS NULL;
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

-- A decision batch: the decisions that a user made in one request on applications to one role. A batch omits the
-- decisions that the service refused. When a batch is stored, a few batches that are more than a day old are deleted.
-- The activity row of each decision has the state before the decision, which an undo restores.
CREATE TABLE decision_batches (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  organization_id TEXT NOT NULL,
  role_id TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES users (id),
  action TEXT NOT NULL CHECK (action IN ('reject', 'move', 'validate', 'later')),
  created_at INTEGER NOT NULL,
  undone_at INTEGER,
  FOREIGN KEY (role_id, organization_id) REFERENCES roles (id, organization_id)
) STRICT;
CREATE INDEX decision_batches_by_time ON decision_batches (created_at);
CREATE TABLE decision_batch_items (
  batch_number INTEGER NOT NULL REFERENCES decision_batches (number),
  position INTEGER NOT NULL CHECK (position >= 1),
  activity_number INTEGER NOT NULL REFERENCES activities (number),
  PRIMARY KEY (batch_number, position)
) STRICT, WITHOUT ROWID;

-- The `number` of the last activity row that the outbox has processed. Deliveries for hires and reversals in later rows
-- are owed too. The service creates them a moment later, because an additional write would delay the answer to a hire.
CREATE TABLE hr_intake (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  activity_number INTEGER NOT NULL CHECK (activity_number >= 0)
) STRICT;
INSERT INTO hr_intake (id, activity_number) VALUES (1, 0);

-- The outbox: the deliveries that the service owes to HR systems. `number` is the order within an application; a `ping`
-- belongs to no application. `attempts` counts all attempts. `failed_attempts` counts the failures since the last of
-- these events: the delivery was queued, an admin retried it, or an enabled integration was saved. This count is the
-- position in the retry schedule. A pending row has a time for its next attempt, unless an earlier delivery of its
-- application has not arrived. The row does not record whether the integration is enabled. Two of the indexes contain a
-- delivery only after its first attempt, so that queueing stays cheap. Deliveries without an attempt are in the index
-- of pending deliveries.
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

-- The attempts: the status of the answer, the error, and the beginning of the answer's body. The newest fifty of each
-- delivery are retained. `duration` is in microseconds.
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

-- Unfinished imports that began while the service was running. An import without `decided_at` is still running, or was
-- interrupted and is dropped with its rows. If its `skipped` is also above 0, its rows are gone, and their pages must
-- be wiped. A decided import is always completed: its rows are moved to their tables, a few in each transaction. Its
-- `skipped` counts the rows that the file no longer allowed. `application` is JSON with the application, its steps and
-- its candidate.
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

-- Change numbers, by which caches in memory notice changes. Triggers increment them, no matter which process makes a
-- change. Each portal has a number for its public content. One more number is for all keys and users.
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
  salary_currency, salary_period, status, public, closes_on, created_at ON roles
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

-- The believed time, written every few minutes and when the service stops. `confirmations` is the number of times that
-- an admin has confirmed that the machine's clock is right.
CREATE TABLE believed_clock (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  believed_at INTEGER NOT NULL,
  confirmations INTEGER NOT NULL CHECK (confirmations >= 0)
) STRICT;

-- Due candidates: when the retention scan found them (`due_since`), and the start of their retention period at that
-- scan (`counted_from`). They are erased on a later day if `counted_from` has not changed. `confirmed`: an admin has
-- confirmed their erasure, so the daily limit does not apply.
CREATE TABLE retention_due (
  candidate_number INTEGER NOT NULL PRIMARY KEY REFERENCES candidates (number),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  due_since INTEGER NOT NULL,
  counted_from INTEGER NOT NULL,
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1))
) STRICT;
CREATE INDEX retention_due_of_organization ON retention_due (organization_id, candidate_number);

-- The last day on which retention erased candidates of an organization: when the day began, and how many candidates
-- were erased on it without confirmation.
CREATE TABLE retention_days (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  day INTEGER NOT NULL,
  erased INTEGER NOT NULL CHECK (erased >= 0)
) STRICT, WITHOUT ROWID;

-- The row that `GET /readyz` writes to prove that the file is writable. The writer also writes it to overwrite a failed
-- commit in the write-ahead log.
CREATE TABLE readiness (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
) STRICT;
