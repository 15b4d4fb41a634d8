-- The schema of the SQLite database file. Each table comes after the tables to which it refers. The comments also apply
-- to the tables in `postgres.sql`.
--
-- Ids are text that the program generates or an import supplies. Times are integer microseconds since 1970 in UTC.
-- Booleans are 0 or 1, and JSON is text. Constraints repeat rules of the program, so that a defect in a rule causes an
-- error instead of a wrong row.

-- A customer of the service. It owns its roles and candidates, with all their records. Only admins see a disabled
-- organization, and its portal is not available. `retention_days`: the retention period; null to retain candidates
-- forever. `privacy_notice`: the text that candidates consent to, in Markdown; blank for the service's own text.
-- `decision_visible_after_hours`: candidates see a rejection, a hire, the reversal of a hire or the end of the role
-- after this delay; null for never. `require_second_factor`: all members must have a second factor, not only owners and
-- admins.
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
-- disabled the integration. `timed_out`: the last attempt timed out. The service then attempts due deliveries of other
-- organizations first, unless their last attempts timed out too.
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

-- A person who can sign in. `email_key` is the address in lower case, by which the service compares addresses. The keys
-- and sessions of a disabled user are not valid. `last_seen_at`: the last use of a session, to the minute; null before
-- the first.
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

-- A user's membership in an organization, with the organization role. Lists of keys show one membership of each key's
-- user: the one with the earliest `created_at`. An import therefore gives its new memberships increasing times.
CREATE TABLE memberships (
  user_id TEXT NOT NULL REFERENCES users (id),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  org_role TEXT NOT NULL CHECK (org_role IN ('owner', 'admin', 'moderator', 'hr_representative', 'member')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, organization_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_of_organization ON memberships (organization_id, created_at, user_id);

-- A signed-in browser. The table has only the SHA-256 of the cookie's value. The user sees each session with the
-- network address and the browser of the sign-in, and can end a session by its `id`. `confirmed_at`: when the user
-- signed in or last confirmed their identity. Users confirm their identity with a second factor or, if they have none,
-- with the password. Dangerous acts require a recent confirmation.
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
-- entered a code as proof that the app has the secret. `last_step`: the step of the last accepted code. The service
-- refuses codes of this step and of earlier steps, so that it accepts each code only once.
CREATE TABLE totp_secrets (
  user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
  secret BLOB NOT NULL CHECK (length(secret) = 20),
  confirmed_at INTEGER NOT NULL,
  last_step INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The unused recovery codes of users. The table has only their SHA-256. The service deletes a code when a user uses it.
CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL REFERENCES users (id),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  PRIMARY KEY (user_id, digest)
) STRICT, WITHOUT ROWID;

-- A link by which a user signs in once without a password (`/join/{token}`): an invitation, a reset, or the link of
-- `serve --demo`. The table has only the SHA-256 of the token. `invited_by`: the user who made the link; null if a
-- command made it.
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

-- A passkey of a user (WebAuthn). `credential_id` and `user_id` identify the passkey to the authenticator. `spki` is
-- the public key. `counter` is the last signature counter, which is always 0 for an authenticator that does not count.
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

-- The challenges that browsers have not answered yet. Each is valid for a few minutes. The table has only their
-- SHA-256. The service deletes a challenge when a browser answers it. `browser`: the digest of the browser's cookie.
-- `user_id`: null before a sign-in.
CREATE TABLE passkey_challenges (
  digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  purpose TEXT NOT NULL CHECK (purpose IN ('register', 'sign_in', 'confirm')),
  browser BLOB NOT NULL CHECK (length(browser) = 32),
  user_id TEXT REFERENCES users (id),
  issued_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX passkey_challenges_by_time ON passkey_challenges (issued_at);
CREATE INDEX passkey_challenges_of_user ON passkey_challenges (user_id) WHERE user_id IS NOT NULL;

-- A key with which a program acts as a user. The table has the SHA-256 and the first 8 characters (`start`) of the key,
-- but not the key itself. Revoked keys stay in the table, for audits.
-- `scopes_explicit`: the creator of the key named its scopes, so the key may use `/api/admin` only with an admin scope.
-- `ended_at`: when the service recorded that the key had expired. From then on, the key stays expired even if the clock
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

-- One row for each request that a key authenticated, unless the service answered it with 429 or 503. `at` strictly
-- increases across all keys, so each insert is an append. `number` counts the key's rows, starting with 1. The newest
-- row therefore has the statistics of the key: its last request (`at`) and its number of requests (`number`).
-- `previous_at` is the `at` of the key's previous row. From any row, a query can therefore follow the key's earlier
-- rows.
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

-- The usage index: the rows at which a query can begin to follow the rows of a key. `api_key_usage_marks` has an index
-- entry for one in 64 rows of a key. `api_key_usage_newest` has the newest indexed row of each key. The service indexes
-- many rows at once, so that a request costs almost nothing extra. Rows after `api_key_usage_marking.marked_to` might
-- not be indexed yet. The service has deleted all rows up to `pruned_to` with their index entries. A key's row in
-- `api_key_usage_newest` stays, so that the number of requests is not lost.
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

-- The corrected times of usage rows that a wrong clock had dated in the future. `moved_from` is the original time. A
-- cursor with an original time continues at the corrected time of its row.
CREATE TABLE api_key_usage_moves (
  moved_from INTEGER NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT;

-- Stored responses to requests with an Idempotency-Key. A response is valid for a day. `fingerprint` is the SHA-256 of
-- the request. If a response contains a secret, the row has only the id of the created record (`made_id`). If the
-- candidate of a response was erased, or the signup of a response was deleted, the row has no body, its fingerprint is
-- 32 zero bytes, and a digest replaces the caller's key.
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

-- A job at an organization, with one or more identical positions. `hired` is the number of filled `positions`: all of
-- them in a filled role, and fewer in an open one. `close_reason`: why the role was closed. `shown_since`: when the
-- public part of the role last changed. Changes that a decision causes do not count, because decisions become visible
-- later. `closes_on`: the last day on which the role accepts signups, in the organization's time zone. The service
-- closes the role on the next day. `ended_at`: when the role was filled or closed. If a filled role is closed later,
-- this time does not change.
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

-- One step of a role's pipeline. A removed step has no `step_order`. Its row stays, because applications that copied
-- the step refer to it.
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
-- creation. The service does not erase a candidate under a legal hold (`hold_reason`). An erased candidate is a
-- tombstone.
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

-- The words by which a search finds candidates, folded (without case and accents): the words of a candidate's name, and
-- those words of the address that are not in the name. The words of names are separate, so that a search for a name
-- does not read words that all addresses share. If few rows match a word, the search reads all of them. For a frequent
-- word, the search reads one `block` of candidates after another, newest first. The cost of a page therefore does not
-- grow with the number of candidates.
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
-- every step. The column has no foreign key, so that a role step can be deleted without a scan of all applications.
-- Instead, the application's own steps refer to the role steps. `later_due_on`: the day, in the organization's time
-- zone, until which staff have put the application aside.
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
-- The last two columns let the query of a board read its applications from this index alone.
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

-- A submitted application form, as entered (`/signup/{token}`). A later signup has no application of its own, because a
-- candidate with the same address had already applied for the role (`later_of`). The address alone does not prove that
-- the sender is this candidate. The status page of a later signup therefore shows only the submitted form and `steps`,
-- the names of the role's steps at that time. `links` and `steps` are JSON arrays of strings. `locale` is the language
-- of the form.
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

-- The status page (`/status/{token}`) of an application, or of a later signup. The table has only the SHA-256 of the
-- token. A new link replaces the old one. `is_trusted`: the service treats the holder of the link as the candidate,
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

-- The SHA-256 of the tokens of spent links. A form can be submitted again for a day. It must not create its spent link
-- again, so the service stores the digest of the link for at least as long.
CREATE TABLE spent_links (
  digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  spent_at INTEGER NOT NULL
) STRICT;
CREATE INDEX spent_links_by_time ON spent_links (spent_at);

-- Candidates who asked for their erasure on a status page while a hire was still hidden from them. `candidate_role_id`:
-- the application of that page; null for the page of a later signup. When the candidate no longer has a hidden hire,
-- the service decides about the erasure again.
CREATE TABLE erasures_asked (
  candidate_number INTEGER NOT NULL PRIMARY KEY REFERENCES candidates (number),
  candidate_role_id TEXT REFERENCES candidate_roles (id),
  asked_at INTEGER NOT NULL
) STRICT;

-- Attachments, in chunks of at most 64 KiB. An upload writes each chunk in a separate job. An import writes at most 8
-- chunks in one transaction. Each write is therefore short.
-- An uploaded attachment is staged under a token until a signup claims it. `digest` is the SHA-256 of the token. An
-- import stages a file in the same way until the file is complete. The service deletes staged attachments after an
-- hour. An imported file belongs to an application (`candidate_role_id`) instead of a signup, because nobody submitted
-- a form.
-- `bytes`, `media_type` and `sha256` are set when the content is complete. `sha256` is the digest of the whole content;
-- downloads and `check` verify it.
-- After the deletion of its signup, or the erasure of its candidate, an attachment is detached: its `created_at` is 0,
-- and the sweep deletes it in slices.
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

-- A random mark by which the running service notices that an older copy has overwritten the file. The service writes a
-- new mark when it starts, so older copies do not contain it.
CREATE TABLE service_marks (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  mark BLOB NOT NULL CHECK (length(mark) = 16)
) STRICT;

-- The total size of all attachments, including staged ones. Triggers update the total for each chunk.
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

-- Activity: who acted, when, on which records, and the facts as JSON (`detail`). `user_id` and `api_key_id` are null
-- for an act of the service, a command or a candidate. `number` is the order of the acts. The id of a deleted draft
-- stays in `role_id`. A row without an organization is platform activity: changes to keys and users, sign-ins,
-- commands.
-- The rows are a chain: `hash` is the SHA-256 of the previous hash and of the row's columns, with `detail_hash` instead
-- of the detail. The detail can contain personal data, so the detail itself is not part of the chain. `detail_hash` is
-- the SHA-256 of the detail and a random salt. An erasure removes the detail and the salt, so the hash then reveals
-- nothing.
-- Only two kinds of rows lose their detail: those of an erased candidate, and those with a candidate's name from a
-- signup that was deleted later. `check` reports any other row that lacks its detail.
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
-- decisions that the service refused. When the service stores a batch, it also deletes a few batches that are more than
-- a day old. The activity row of each decision records the state before the decision, which an undo restores.
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

-- The `number` of the last activity row that the outbox has processed. The service also owes deliveries for the hires
-- and reversals in later rows. It creates these deliveries a moment later, because an additional write would delay the
-- answer to a hire.
CREATE TABLE hr_intake (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  activity_number INTEGER NOT NULL CHECK (activity_number >= 0)
) STRICT;
INSERT INTO hr_intake (id, activity_number) VALUES (1, 0);

-- The outbox: the deliveries that the service owes to HR systems. `number` is the order within an application; a `ping`
-- belongs to no application. `attempts` counts all attempts. `failed_attempts` counts the failures since the retry
-- schedule began, and is the position in this schedule. The schedule begins again when an admin retries the delivery,
-- and when an enabled integration is saved while the delivery is pending. A pending row has a time for its next
-- attempt, unless an earlier delivery of its application has not arrived. The row does not record whether the
-- integration is enabled.
-- The indexes `hr_deliveries_by_id` and `hr_deliveries_of_organization` contain a delivery only after its first
-- attempt, so that queueing a delivery costs little. Until then, queries find the delivery in an index of pending
-- deliveries.
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

-- The attempts: the status of the answer, the error, and the beginning of the answer's body. The service stores the
-- newest fifty attempts of each delivery. `duration` is in microseconds.
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

-- Staged imports. A large import is staged while a service uses the file, or if the database is on a PostgreSQL server.
-- `import_rows` has the applications that are not published yet. `application` is JSON with the application, its steps
-- and its candidate. `decided_at` and `skipped` together show the state of an import:
--
-- - `decided_at` is null and `skipped` is 0: the import is staging rows, or was interrupted. The next import or the
--   next start of the service drops the rows of an interrupted import, then sets its `skipped` to 1 as a mark.
-- - `decided_at` is set: the import is committed. The command moves the rows to their tables, a few in each
--   transaction. If the command ended early, the service moves the rest; this row then stays in `imports` until the
--   next import begins. `skipped` counts the rows that were deleted instead, because the data had changed since they
--   were staged.
-- - `decided_at` is null and `skipped` is above 0: the import was dropped, or it has skipped some rows and is complete.
--   Its rows are gone, but the pages of the database can still contain their bytes. The service deletes the import
--   after page wiping.
--
-- A complete import that skipped no rows is deleted without page wiping.
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

-- Change numbers, by which caches in memory notice changes. Triggers increase them, no matter which process makes a
-- change. When the public content of a portal changes, a trigger gives the portal a number that is greater than all
-- earlier ones. The number in `credential_changes` counts the changes to keys and users that affect cached keys.
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

-- The believed time. The service writes it every few minutes and when it stops. The time is also set when an admin
-- confirms that the machine's clock is right. `confirmations` is the number of these confirmations.
CREATE TABLE believed_clock (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  believed_at INTEGER NOT NULL,
  confirmations INTEGER NOT NULL CHECK (confirmations >= 0)
) STRICT;

-- Due candidates: when the retention scan found them (`due_since`), and the start of their retention period at that
-- scan (`counted_from`). Retention erases them on a later day, if they are still due and `counted_from` is still
-- correct. `confirmed`: an admin has confirmed their erasure, so the daily limit does not apply.
CREATE TABLE retention_due (
  candidate_number INTEGER NOT NULL PRIMARY KEY REFERENCES candidates (number),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  due_since INTEGER NOT NULL,
  counted_from INTEGER NOT NULL,
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1))
) STRICT;
CREATE INDEX retention_due_of_organization ON retention_due (organization_id, candidate_number);

-- The last day on which retention erased candidates of an organization: when the day began (`day`), and how many
-- candidates retention erased on it without confirmation (`erased`).
CREATE TABLE retention_days (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  day INTEGER NOT NULL,
  erased INTEGER NOT NULL CHECK (erased >= 0)
) STRICT, WITHOUT ROWID;

-- The row that `GET /readyz` writes to prove that the database is writable. If a commit to the file fails, the writer
-- also writes this row, to overwrite the failed commit in the write-ahead log.
CREATE TABLE readiness (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
) STRICT;
