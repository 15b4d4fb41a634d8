-- The schema for PostgreSQL 15 and later, in the order of `schema.sql`, which has the comments on the tables. A test
-- compares the two schemas.
--
-- Every text column has the collation "C", so that PostgreSQL compares and sorts text by its bytes, as SQLite does,
-- regardless of the collation of the database. Booleans are bigint with the values 0 and 1, so that the same statements
-- run on both engines.
--
-- A `number` that SQLite assigns is an identity column here. Its values increase, but transactions can commit in
-- another order, and a rolled-back transaction leaves a gap. The numbers of `activities` have no gaps and follow the
-- order of commits, because the program assigns them in order.

CREATE TABLE organizations (
  id text COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  slug text COLLATE "C" NOT NULL,
  slug_key text COLLATE "C" NOT NULL UNIQUE CHECK
    (length(slug_key) BETWEEN 1 AND 64 AND slug_key = lower(slug) AND slug_key !~ '[^a-z0-9-]'),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  domain text COLLATE "C" NOT NULL,
  logo text COLLATE "C" NOT NULL,
  portal_enabled bigint NOT NULL CHECK (portal_enabled IN (0, 1)),
  portal_theme text COLLATE "C" NOT NULL CHECK (json_typeof(portal_theme::json) = 'object'),
  require_external_position_id bigint NOT NULL CHECK (require_external_position_id IN (0, 1)),
  enabled bigint NOT NULL CHECK (enabled IN (0, 1)),
  time_zone text COLLATE "C" NOT NULL CHECK (time_zone <> ''),
  pay_transparency bigint NOT NULL CHECK (pay_transparency IN (0, 1)),
  retention_days bigint CHECK (retention_days BETWEEN 1 AND 3650),
  privacy_notice text COLLATE "C" NOT NULL,
  decision_visible_after_hours bigint CHECK (decision_visible_after_hours BETWEEN 0 AND 8760),
  require_second_factor bigint NOT NULL CHECK (require_second_factor IN (0, 1)),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX organizations_by_time ON organizations (created_at, id);

CREATE TABLE organization_logos (
  organization_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES organizations (id),
  media_type text COLLATE "C" NOT NULL CHECK (media_type IN ('image/png', 'image/jpeg', 'image/webp', 'image/gif')),
  content bytea NOT NULL CHECK (length(content) BETWEEN 1 AND 262144),
  digest bytea NOT NULL CHECK (length(digest) = 32),
  updated_at bigint NOT NULL
);

CREATE TABLE hr_integrations (
  organization_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES organizations (id),
  url text COLLATE "C" NOT NULL CHECK (url <> ''),
  secret text COLLATE "C" CHECK (secret ~ '^whsec_.'),
  previous_secret text COLLATE "C" CHECK (previous_secret ~ '^whsec_.'),
  previous_secret_until bigint,
  enabled bigint NOT NULL CHECK (enabled IN (0, 1)),
  disabled_reason text COLLATE "C" CHECK (disabled_reason <> ''),
  timed_out bigint NOT NULL CHECK (timed_out IN (0, 1)),
  updated_at bigint NOT NULL,
  CHECK (enabled = 0 OR secret IS NOT NULL),
  CHECK (enabled = 0 OR disabled_reason IS NULL),
  CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL))
);

CREATE TABLE organization_statuses (
  organization_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES organizations (id),
  open_roles bigint NOT NULL CHECK (open_roles >= 0),
  open_positions bigint NOT NULL CHECK (open_positions >= 0),
  in_progress bigint NOT NULL CHECK (in_progress >= 0),
  hired bigint NOT NULL CHECK (hired >= 0),
  not_selected bigint NOT NULL CHECK (not_selected >= 0),
  withdrawn bigint NOT NULL CHECK (withdrawn >= 0)
);

CREATE TABLE users (
  id text COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  email text COLLATE "C" NOT NULL,
  email_key text COLLATE "C" NOT NULL UNIQUE CHECK (email_key <> ''),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  platform_role text COLLATE "C" NOT NULL CHECK (platform_role IN ('user', 'admin')),
  enabled bigint NOT NULL CHECK (enabled IN (0, 1)),
  password_hash text COLLATE "C",
  last_seen_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX users_by_time ON users (created_at, id);

CREATE TABLE memberships (
  user_id text COLLATE "C" NOT NULL REFERENCES users (id),
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  org_role text COLLATE "C" NOT NULL CHECK (org_role IN ('owner', 'admin', 'moderator', 'hr_representative', 'member')),
  created_at bigint NOT NULL,
  PRIMARY KEY (user_id, organization_id)
);
CREATE INDEX memberships_of_organization ON memberships (organization_id, created_at, user_id);

CREATE TABLE sessions (
  digest bytea NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  id text COLLATE "C" NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  user_id text COLLATE "C" NOT NULL REFERENCES users (id),
  address text COLLATE "C" NOT NULL,
  user_agent text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  last_seen_at bigint NOT NULL,
  confirmed_at bigint NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id);

CREATE TABLE totp_secrets (
  user_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES users (id),
  secret bytea NOT NULL CHECK (length(secret) = 20),
  confirmed_at bigint NOT NULL,
  last_step bigint NOT NULL
);

CREATE TABLE recovery_codes (
  user_id text COLLATE "C" NOT NULL REFERENCES users (id),
  digest bytea NOT NULL CHECK (length(digest) = 32),
  PRIMARY KEY (user_id, digest)
);

CREATE TABLE sign_in_links (
  digest bytea NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  user_id text COLLATE "C" NOT NULL REFERENCES users (id),
  purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('invitation', 'reset', 'factor_reset', 'demo')),
  invited_by text COLLATE "C" REFERENCES users (id),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX sign_in_links_of_user ON sign_in_links (user_id);

CREATE TABLE user_preferences (
  user_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES users (id),
  language text COLLATE "C",
  single_keys bigint NOT NULL CHECK (single_keys IN (0, 1))
);

CREATE TABLE passkeys (
  id text COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  user_id text COLLATE "C" NOT NULL REFERENCES users (id),
  credential_id bytea NOT NULL UNIQUE CHECK (length(credential_id) BETWEEN 1 AND 1023),
  algorithm text COLLATE "C" NOT NULL CHECK (algorithm IN ('ES256', 'EdDSA', 'RS256')),
  spki bytea NOT NULL CHECK (length(spki) > 0),
  counter bigint NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  created_at bigint NOT NULL,
  last_used_at bigint
);
CREATE INDEX passkeys_of_user ON passkeys (user_id, created_at, id);

CREATE TABLE passkey_challenges (
  digest bytea NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('register', 'sign_in', 'confirm')),
  browser bytea NOT NULL CHECK (length(browser) = 32),
  user_id text COLLATE "C" REFERENCES users (id),
  issued_at bigint NOT NULL
);
CREATE INDEX passkey_challenges_by_time ON passkey_challenges (issued_at);
CREATE INDEX passkey_challenges_of_user ON passkey_challenges (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE api_keys (
  number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  user_id text COLLATE "C" NOT NULL REFERENCES users (id),
  name text COLLATE "C",
  start text COLLATE "C" NOT NULL CHECK (length(start) = 8),
  scopes text COLLATE "C" NOT NULL,
  enabled bigint NOT NULL CHECK (enabled IN (0, 1)),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  scopes_explicit bigint NOT NULL DEFAULT 0 CHECK (scopes_explicit IN (0, 1)),
  ended_at bigint
);
CREATE INDEX api_keys_of_user ON api_keys (user_id);

CREATE TABLE api_key_usage (
  at bigint NOT NULL PRIMARY KEY,
  key_number bigint NOT NULL REFERENCES api_keys (number),
  number bigint NOT NULL CHECK (number >= 1),
  previous_at bigint CHECK (previous_at < at),
  method text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  ip text COLLATE "C" NOT NULL,
  user_agent text COLLATE "C" NOT NULL,
  auth_endpoint text COLLATE "C" NOT NULL
);

CREATE TABLE api_key_usage_marks (
  key_number bigint NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (key_number, at)
);
CREATE TABLE api_key_usage_newest (
  key_number bigint NOT NULL PRIMARY KEY,
  at bigint NOT NULL,
  number bigint NOT NULL CHECK (number >= 1)
);
CREATE TABLE api_key_usage_marking (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  marked_to bigint NOT NULL,
  pruned_to bigint NOT NULL DEFAULT 0
);
INSERT INTO api_key_usage_marking (id, marked_to) VALUES (1, 0);

CREATE TABLE api_key_usage_moves (
  moved_from bigint NOT NULL PRIMARY KEY,
  at bigint NOT NULL
);

CREATE TABLE idempotency_keys (
  key_number bigint NOT NULL REFERENCES api_keys (number),
  idempotency_key text COLLATE "C" NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 255),
  fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32),
  created_at bigint NOT NULL,
  status bigint NOT NULL CHECK (status BETWEEN 200 AND 499),
  answer text COLLATE "C",
  made_id text COLLATE "C",
  candidate_id text COLLATE "C",
  PRIMARY KEY (key_number, idempotency_key)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_of_candidate ON idempotency_keys (candidate_id) WHERE candidate_id IS NOT NULL;

CREATE TABLE roles (
  id text COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  description text COLLATE "C" NOT NULL CHECK (json_typeof(description::json) = 'object'),
  department text COLLATE "C" NOT NULL,
  location text COLLATE "C" NOT NULL,
  work_type text COLLATE "C" CHECK (work_type IN ('remote', 'hybrid', 'onsite')),
  collar_type text COLLATE "C" CHECK (collar_type IN ('white', 'gray', 'blue')),
  salary_min double precision CHECK (salary_min >= 0),
  salary_max double precision CHECK (salary_max >= 0),
  salary_currency text COLLATE "C" CHECK (salary_currency ~ '^[A-Z]{3}$'),
  salary_period text COLLATE "C" CHECK (salary_period IN ('hour', 'day', 'week', 'month', 'year')),
  status text COLLATE "C" NOT NULL CHECK (status IN ('draft', 'open', 'filled', 'closed')),
  public bigint NOT NULL CHECK (public IN (0, 1)),
  positions bigint NOT NULL CHECK (positions >= 1),
  hired bigint NOT NULL CHECK (hired BETWEEN 0 AND positions),
  close_reason text COLLATE "C",
  closes_on text COLLATE "C" CHECK (closes_on ~ '^[0-9]{4}-[0-1][0-9]-[0-3][0-9]$'),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  shown_since bigint NOT NULL,
  ended_at bigint,
  UNIQUE (id, organization_id),
  CHECK (salary_min IS NULL OR salary_max IS NULL OR salary_min <= salary_max),
  CHECK (status <> 'filled' OR hired = positions),
  CHECK (status <> 'open' OR hired < positions),
  CHECK (status = 'closed' OR close_reason IS NULL)
);
CREATE INDEX roles_by_time ON roles (organization_id, created_at, id, name);
CREATE INDEX roles_by_status ON roles (organization_id, status, created_at, id);
CREATE INDEX roles_by_public ON roles (organization_id, public, created_at, id);
CREATE INDEX roles_by_department ON roles (organization_id, department, created_at, id);
CREATE INDEX roles_by_location ON roles (organization_id, location, created_at, id);
CREATE INDEX roles_by_work_type ON roles (organization_id, work_type, created_at, id);
CREATE INDEX roles_of_organization ON roles (organization_id, status, public, created_at, id);
CREATE INDEX roles_by_closing_day ON roles (closes_on, id) WHERE status = 'open' AND closes_on IS NOT NULL;

CREATE TABLE role_steps (
  id text COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  role_id text COLLATE "C" NOT NULL REFERENCES roles (id),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  step_order bigint CHECK (step_order >= 1),
  step_type text COLLATE "C" NOT NULL CHECK (step_type IN
    ('application', 'screening', 'assessment', 'interview', 'reference_check', 'offer', 'other')),
  UNIQUE (role_id, step_order)
);

CREATE TABLE invitations (
  token text COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(token) >= 26),
  role_id text COLLATE "C" NOT NULL REFERENCES roles (id),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  ended_at bigint
);
CREATE INDEX invitations_of_role ON invitations (role_id, expires_at);

CREATE TABLE candidates (
  number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  email text COLLATE "C" NOT NULL,
  email_key text COLLATE "C" NOT NULL CHECK (email_key <> ''),
  hold_reason text COLLATE "C" CHECK (hold_reason <> ''),
  erased_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  UNIQUE (organization_id, email_key),
  UNIQUE (id, organization_id),
  CHECK (hold_reason IS NULL OR erased_at IS NULL)
);
CREATE INDEX candidates_of_organization ON candidates (organization_id, number);
CREATE INDEX candidates_erased ON candidates (number) WHERE erased_at IS NOT NULL;

CREATE TABLE candidate_words (
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  in_name bigint NOT NULL CHECK (in_name IN (0, 1)),
  word text COLLATE "C" NOT NULL CHECK (word <> ''),
  candidate_number bigint NOT NULL REFERENCES candidates (number),
  block bigint NOT NULL CHECK (block = candidate_number / 1024),
  PRIMARY KEY (organization_id, in_name, word, candidate_number)
);
CREATE INDEX candidate_words_of_block ON candidate_words (organization_id, in_name, block, word, candidate_number);

CREATE TABLE candidate_roles (
  id text COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  organization_id text COLLATE "C" NOT NULL,
  candidate_id text COLLATE "C" NOT NULL,
  candidate_number bigint NOT NULL REFERENCES candidates (number),
  role_id text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('In Progress', 'Not Selected', 'Hired', 'Withdrawn')),
  at_role_step_id text COLLATE "C",
  at_since bigint,
  applied_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  hired_date bigint,
  offer_accepted_date bigint,
  external_position_id text COLLATE "C",
  hire_notes text COLLATE "C",
  later_due_on text COLLATE "C" CHECK (later_due_on ~ '^[0-9]{4}-[0-1][0-9]-[0-3][0-9]$'),
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
);
CREATE INDEX candidate_roles_of_role ON candidate_roles (role_id, status, candidate_number);
CREATE INDEX candidate_roles_of_organization ON candidate_roles (organization_id, status, candidate_number);
CREATE INDEX candidate_roles_later ON candidate_roles (organization_id, later_due_on, id)
  WHERE later_due_on IS NOT NULL;
CREATE INDEX candidate_roles_at_step
ON candidate_roles (role_id, at_role_step_id, at_since, id, later_due_on, candidate_number, status)
WHERE status = 'In Progress';

CREATE TABLE candidate_role_steps (
  id text COLLATE "C" NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  candidate_role_id text COLLATE "C" NOT NULL REFERENCES candidate_roles (id),
  role_step_id text COLLATE "C" NOT NULL REFERENCES role_steps (id),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  step_order bigint NOT NULL CHECK (step_order >= 1),
  step_type text COLLATE "C" NOT NULL CHECK (step_type IN
    ('application', 'screening', 'assessment', 'interview', 'reference_check', 'offer', 'other')),
  status text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'in_progress', 'validated', 'rejected', 'skipped')),
  rejected_at bigint,
  rejection_reason text COLLATE "C",
  outcome_type text COLLATE "C",
  outcome_reason text COLLATE "C",
  validated_at bigint,
  UNIQUE (candidate_role_id, step_order),
  UNIQUE (candidate_role_id, role_step_id),
  CHECK ((status = 'rejected') = (rejected_at IS NOT NULL)),
  CHECK ((status = 'rejected') = (rejection_reason IS NOT NULL)),
  CHECK (status = 'rejected' OR (outcome_type IS NULL AND outcome_reason IS NULL)),
  CHECK ((status = 'validated') = (validated_at IS NOT NULL))
);
CREATE INDEX candidate_role_steps_of_role_step ON candidate_role_steps (role_step_id, status);

CREATE TABLE signups (
  number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  organization_id text COLLATE "C" NOT NULL,
  role_id text COLLATE "C" NOT NULL,
  candidate_role_id text COLLATE "C" UNIQUE,
  later_of text COLLATE "C",
  steps text COLLATE "C" CHECK (json_typeof(steps::json) = 'array'),
  name text COLLATE "C" NOT NULL CHECK (name <> ''),
  email text COLLATE "C" NOT NULL,
  email_key text COLLATE "C" NOT NULL CHECK (email_key <> ''),
  phone text COLLATE "C" NOT NULL,
  links text COLLATE "C" NOT NULL CHECK (json_typeof(links::json) = 'array'),
  note text COLLATE "C" NOT NULL,
  locale text COLLATE "C" NOT NULL CHECK (locale <> ''),
  consented_at bigint NOT NULL,
  created_at bigint NOT NULL,
  FOREIGN KEY (role_id, organization_id) REFERENCES roles (id, organization_id),
  FOREIGN KEY (candidate_role_id, organization_id) REFERENCES candidate_roles (id, organization_id),
  FOREIGN KEY (later_of, organization_id) REFERENCES candidate_roles (id, organization_id),
  CHECK (candidate_role_id IS NULL OR later_of IS NULL),
  CHECK ((candidate_role_id IS NULL) = (steps IS NOT NULL))
);
CREATE INDEX signups_later ON signups (later_of) WHERE later_of IS NOT NULL;

CREATE TABLE status_pages (
  number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  candidate_role_id text COLLATE "C" UNIQUE REFERENCES candidate_roles (id),
  signup_id text COLLATE "C" UNIQUE REFERENCES signups (id),
  is_trusted bigint NOT NULL CHECK (is_trusted IN (0, 1)),
  locale text COLLATE "C" NOT NULL CHECK (locale <> ''),
  issued_at bigint NOT NULL,
  withdrawn_at bigint,
  CHECK ((candidate_role_id IS NULL) = (signup_id IS NOT NULL))
);

CREATE TABLE spent_links (
  digest bytea NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  spent_at bigint NOT NULL
);
CREATE INDEX spent_links_by_time ON spent_links (spent_at);

CREATE TABLE erasures_asked (
  candidate_number bigint NOT NULL PRIMARY KEY REFERENCES candidates (number),
  candidate_role_id text COLLATE "C" REFERENCES candidate_roles (id),
  asked_at bigint NOT NULL
);

CREATE TABLE documents (
  number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  signup_id text COLLATE "C" REFERENCES signups (id),
  candidate_role_id text COLLATE "C" REFERENCES candidate_roles (id),
  digest bytea UNIQUE CHECK (length(digest) = 32),
  file_name text COLLATE "C" NOT NULL CHECK (file_name <> ''),
  media_type text COLLATE "C" CHECK (media_type <> ''),
  bytes bigint CHECK (bytes BETWEEN 1 AND 10485760),
  created_at bigint NOT NULL,
  sha256 bytea CHECK (length(sha256) = 32),
  CHECK ((media_type IS NULL) = (bytes IS NULL)),
  CHECK (signup_id IS NULL OR candidate_role_id IS NULL),
  CHECK ((signup_id IS NULL AND candidate_role_id IS NULL) OR bytes IS NOT NULL)
);
CREATE INDEX documents_of_signup ON documents (signup_id) WHERE signup_id IS NOT NULL;
CREATE INDEX documents_of_application ON documents (candidate_role_id) WHERE candidate_role_id IS NOT NULL;
CREATE INDEX documents_staged ON documents (created_at, bytes, signup_id, candidate_role_id)
  WHERE signup_id IS NULL AND candidate_role_id IS NULL;
CREATE TABLE document_pieces (
  document_number bigint NOT NULL REFERENCES documents (number),
  number bigint NOT NULL CHECK (number >= 1),
  content bytea NOT NULL CHECK (length(content) BETWEEN 1 AND 65536),
  PRIMARY KEY (document_number, number)
);

CREATE TABLE service_marks (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  mark bytea NOT NULL CHECK (length(mark) = 16)
);

CREATE TABLE attachment_totals (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  bytes bigint NOT NULL CHECK (bytes >= 0)
);
INSERT INTO attachment_totals (id, bytes) VALUES (1, 0);
CREATE FUNCTION attachment_totals_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE attachment_totals
  SET bytes = bytes - CASE WHEN tg_op = 'INSERT' THEN 0 ELSE length(old.content) END
    + CASE WHEN tg_op = 'DELETE' THEN 0 ELSE length(new.content) END
  WHERE id = 1;
  RETURN NULL;
END $$;
CREATE TRIGGER attachment_totals_added
AFTER INSERT ON document_pieces
FOR EACH ROW EXECUTE FUNCTION attachment_totals_change();
CREATE TRIGGER attachment_totals_changed
AFTER UPDATE OF content ON document_pieces
FOR EACH ROW EXECUTE FUNCTION attachment_totals_change();
CREATE TRIGGER attachment_totals_removed
AFTER DELETE ON document_pieces
FOR EACH ROW EXECUTE FUNCTION attachment_totals_change();

CREATE TABLE form_secrets (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  secret bytea NOT NULL CHECK (length(secret) = 32)
);

CREATE TABLE activities (
  number bigint NOT NULL PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  organization_id text COLLATE "C" REFERENCES organizations (id),
  at bigint NOT NULL,
  action text COLLATE "C" NOT NULL CHECK (action <> ''),
  user_id text COLLATE "C" REFERENCES users (id),
  api_key_id text COLLATE "C" REFERENCES api_keys (id),
  role_id text COLLATE "C",
  candidate_id text COLLATE "C" REFERENCES candidates (id),
  candidate_role_id text COLLATE "C",
  candidate_role_step_id text COLLATE "C" REFERENCES candidate_role_steps (id),
  detail text COLLATE "C" NOT NULL CHECK (json_typeof(detail::json) = 'object'),
  salt bytea CHECK (length(salt) = 16),
  detail_hash bytea NOT NULL CHECK (length(detail_hash) = 32),
  hash bytea NOT NULL CHECK (length(hash) = 32),
  FOREIGN KEY (candidate_role_id, organization_id) REFERENCES candidate_roles (id, organization_id),
  CHECK (salt IS NOT NULL OR detail = '{}'),
  CHECK (organization_id IS NOT NULL
    OR coalesce(role_id, candidate_id, candidate_role_id, candidate_role_step_id) IS NULL)
);
CREATE INDEX activities_of_organization ON activities (organization_id, number);
CREATE INDEX activities_by_action ON activities (organization_id, action, number);
CREATE INDEX activities_of_role ON activities (role_id, number) WHERE role_id IS NOT NULL;
CREATE INDEX activities_of_role_alone ON activities (role_id, number)
  WHERE role_id IS NOT NULL AND candidate_id IS NULL;
CREATE INDEX activities_of_candidate ON activities (candidate_id, number) WHERE candidate_id IS NOT NULL;
CREATE FUNCTION activities_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'activities are only appended' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE FUNCTION activities_append() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF new.number <> (SELECT coalesce(max(number), 0) + 1 FROM activities) THEN
    RAISE EXCEPTION 'activities are only appended' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN new;
END $$;
-- In PostgreSQL, the condition of a trigger cannot contain a query. The function therefore checks which rows may lose
-- their detail.
CREATE FUNCTION activities_erase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (new.detail = '{}' AND new.salt IS NULL AND new.number = old.number AND new.id = old.id
    AND new.organization_id IS NOT DISTINCT FROM old.organization_id AND new.at = old.at AND new.action = old.action
    AND new.user_id IS NOT DISTINCT FROM old.user_id AND new.api_key_id IS NOT DISTINCT FROM old.api_key_id
    AND new.role_id IS NOT DISTINCT FROM old.role_id AND new.candidate_id IS NOT DISTINCT FROM old.candidate_id
    AND new.candidate_role_id IS NOT DISTINCT FROM old.candidate_role_id
    AND new.candidate_role_step_id IS NOT DISTINCT FROM old.candidate_role_step_id
    AND new.detail_hash = old.detail_hash AND new.hash = old.hash
    AND (EXISTS (SELECT 1 FROM candidates c WHERE c.id = new.candidate_id AND c.erased_at IS NOT NULL)
      OR new.action IN ('candidate.added', 'candidate.changed') AND EXISTS (
        SELECT 1 FROM activities d
        WHERE d.candidate_id = new.candidate_id AND d.action = 'candidate_role.signup_deleted'
          AND d.number > new.number))) THEN
    RAISE EXCEPTION 'activities are only appended' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN new;
END $$;
CREATE TRIGGER activities_are_appended
BEFORE INSERT ON activities
FOR EACH ROW EXECUTE FUNCTION activities_append();
CREATE TRIGGER activities_stay
BEFORE DELETE ON activities
FOR EACH ROW EXECUTE FUNCTION activities_refuse();
CREATE TRIGGER activities_stay_as_they_are
BEFORE UPDATE ON activities
FOR EACH ROW EXECUTE FUNCTION activities_erase();
-- SQLite has no TRUNCATE. In PostgreSQL, TRUNCATE fires no row trigger, so a statement trigger refuses it.
CREATE TRIGGER activities_are_not_truncated
BEFORE TRUNCATE ON activities
FOR EACH STATEMENT EXECUTE FUNCTION activities_refuse();

CREATE TABLE decision_batches (
  number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  organization_id text COLLATE "C" NOT NULL,
  role_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL REFERENCES users (id),
  action text COLLATE "C" NOT NULL CHECK (action IN ('reject', 'move', 'validate', 'later')),
  created_at bigint NOT NULL,
  undone_at bigint,
  FOREIGN KEY (role_id, organization_id) REFERENCES roles (id, organization_id)
);
CREATE INDEX decision_batches_by_time ON decision_batches (created_at);
CREATE TABLE decision_batch_items (
  batch_number bigint NOT NULL REFERENCES decision_batches (number),
  position bigint NOT NULL CHECK (position >= 1),
  activity_number bigint NOT NULL REFERENCES activities (number),
  PRIMARY KEY (batch_number, position)
);

CREATE TABLE hr_intake (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  activity_number bigint NOT NULL CHECK (activity_number >= 0)
);
INSERT INTO hr_intake (id, activity_number) VALUES (1, 0);

CREATE TABLE hr_deliveries (
  number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^A-Za-z0-9_-]'),
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  candidate_role_id text COLLATE "C",
  type text COLLATE "C" NOT NULL CHECK (type IN ('candidate.hired', 'candidate.hire_reversed', 'ping')),
  payload text COLLATE "C" NOT NULL CHECK (payload <> ''),
  state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts bigint NOT NULL,
  failed_attempts bigint NOT NULL CHECK (failed_attempts BETWEEN 0 AND attempts),
  created_at bigint NOT NULL,
  next_attempt_at bigint,
  FOREIGN KEY (candidate_role_id, organization_id) REFERENCES candidate_roles (id, organization_id),
  CHECK ((type = 'ping') = (candidate_role_id IS NULL)),
  CHECK (state = 'pending' OR next_attempt_at IS NULL)
);
CREATE INDEX hr_deliveries_of_application ON hr_deliveries (candidate_role_id, number);
CREATE INDEX hr_deliveries_by_id ON hr_deliveries (id) WHERE attempts > 0;
CREATE INDEX hr_deliveries_of_organization ON hr_deliveries (organization_id, number) WHERE attempts > 0;
CREATE INDEX hr_deliveries_pending ON hr_deliveries (organization_id, next_attempt_at) WHERE state = 'pending';
CREATE INDEX hr_deliveries_pings ON hr_deliveries (organization_id) WHERE type = 'ping' AND state = 'pending';
CREATE INDEX hr_deliveries_failed ON hr_deliveries (number) WHERE state = 'failed';

CREATE TABLE hr_attempts (
  delivery_number bigint NOT NULL REFERENCES hr_deliveries (number),
  number bigint NOT NULL CHECK (number >= 1),
  at bigint NOT NULL,
  duration bigint NOT NULL CHECK (duration >= 0),
  status bigint CHECK (status BETWEEN 100 AND 999),
  error text COLLATE "C" CHECK (error <> ''),
  answer text COLLATE "C" CHECK (octet_length(answer) <= 1024),
  PRIMARY KEY (delivery_number, number),
  CHECK (status IS NOT NULL OR error IS NOT NULL)
);

CREATE TABLE imports (
  number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  started_at bigint NOT NULL,
  decided_at bigint,
  skipped bigint NOT NULL CHECK (skipped >= 0)
);
CREATE TABLE import_rows (
  number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  import_number bigint NOT NULL REFERENCES imports (number),
  organization_id text COLLATE "C" NOT NULL,
  role_id text COLLATE "C" NOT NULL,
  candidate_id text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('In Progress', 'Not Selected', 'Hired', 'Withdrawn')),
  application text COLLATE "C" NOT NULL CHECK (json_typeof(application::json) = 'object')
);
CREATE INDEX import_rows_of_import ON import_rows (import_number);
CREATE INDEX import_rows_of_candidate ON import_rows (candidate_id);
CREATE INDEX import_rows_hired ON import_rows (role_id) WHERE status = 'Hired';

CREATE TABLE portal_changes (
  organization_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES organizations (id),
  number bigint NOT NULL UNIQUE
);

-- The numbers are unique, so two transactions that take the same number conflict. The numbers are therefore committed
-- in increasing order. Otherwise, a cache that has seen a number would miss a smaller one.
CREATE FUNCTION portal_changes_count(changed text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO portal_changes (organization_id, number)
  SELECT changed, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number
$$;
CREATE FUNCTION portal_changes_of_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM portal_changes_count(new.id);
  RETURN NULL;
END $$;
CREATE FUNCTION portal_changes_of_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM portal_changes_count(CASE WHEN tg_op = 'DELETE' THEN old.organization_id ELSE new.organization_id END);
  RETURN NULL;
END $$;
CREATE TRIGGER portal_changes_organization
AFTER UPDATE OF slug, slug_key, name, domain, logo, portal_enabled, portal_theme, enabled, time_zone,
  privacy_notice ON organizations
FOR EACH ROW EXECUTE FUNCTION portal_changes_of_organization();
CREATE TRIGGER portal_changes_logo_added
AFTER INSERT ON organization_logos
FOR EACH ROW EXECUTE FUNCTION portal_changes_of_part();
CREATE TRIGGER portal_changes_logo
AFTER UPDATE ON organization_logos
FOR EACH ROW EXECUTE FUNCTION portal_changes_of_part();
CREATE TRIGGER portal_changes_logo_removed
AFTER DELETE ON organization_logos
FOR EACH ROW EXECUTE FUNCTION portal_changes_of_part();
CREATE TRIGGER portal_changes_role_added
AFTER INSERT ON roles FOR EACH ROW WHEN (new.public = 1 AND new.status = 'open')
EXECUTE FUNCTION portal_changes_of_part();
CREATE TRIGGER portal_changes_role
AFTER UPDATE OF organization_id, name, description, department, location, work_type, collar_type, salary_min, salary_max,
  salary_currency, salary_period, status, public, closes_on, created_at ON roles
FOR EACH ROW WHEN ((new.public = 1 AND new.status = 'open') OR (old.public = 1 AND old.status = 'open'))
EXECUTE FUNCTION portal_changes_of_part();
CREATE TRIGGER portal_changes_role_removed
AFTER DELETE ON roles FOR EACH ROW WHEN (old.public = 1 AND old.status = 'open')
EXECUTE FUNCTION portal_changes_of_part();

CREATE TABLE credential_changes (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  number bigint NOT NULL
);
INSERT INTO credential_changes (id, number) VALUES (1, 1);
CREATE FUNCTION credential_changes_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE credential_changes SET number = number + 1 WHERE id = 1;
  RETURN NULL;
END $$;
CREATE TRIGGER credential_changes_key
AFTER UPDATE OF number, id, digest, user_id, scopes, enabled, expires_at, ended_at ON api_keys
FOR EACH ROW EXECUTE FUNCTION credential_changes_count();
CREATE TRIGGER credential_changes_key_removed
AFTER DELETE ON api_keys
FOR EACH ROW EXECUTE FUNCTION credential_changes_count();
CREATE TRIGGER credential_changes_user
AFTER UPDATE OF id, email, platform_role, enabled ON users
FOR EACH ROW EXECUTE FUNCTION credential_changes_count();

CREATE TABLE believed_clock (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  believed_at bigint NOT NULL,
  confirmations bigint NOT NULL CHECK (confirmations >= 0)
);

CREATE TABLE retention_due (
  candidate_number bigint NOT NULL PRIMARY KEY REFERENCES candidates (number),
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id),
  due_since bigint NOT NULL,
  counted_from bigint NOT NULL,
  confirmed bigint NOT NULL CHECK (confirmed IN (0, 1))
);
CREATE INDEX retention_due_of_organization ON retention_due (organization_id, candidate_number);

CREATE TABLE retention_days (
  organization_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES organizations (id),
  day bigint NOT NULL,
  erased bigint NOT NULL CHECK (erased >= 0)
);

CREATE TABLE readiness (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  at bigint NOT NULL
);
