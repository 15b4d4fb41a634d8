-- From version 5 to version 6: organizations are run over HTTP. Organizations and users can be switched off, steps removed,
-- candidates found by their words, held and erased, and activities are a chain, whose hashes are computed afterwards.
--
-- Tables that others name are made anew; their names in the others stay as they are.
PRAGMA legacy_alter_table = ON;

ALTER TABLE organizations RENAME TO organizations_before;
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
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
INSERT INTO organizations (id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
  require_external_position_id, enabled, time_zone, pay_transparency, retention_days, created_at, updated_at)
SELECT id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
  require_external_position_id, 1, 'UTC', 0, NULL, created_at, updated_at
FROM organizations_before;
DROP TABLE organizations_before;
CREATE INDEX organizations_by_time ON organizations (created_at, id);
CREATE TRIGGER portal_changes_organization
AFTER UPDATE OF slug, slug_key, name, domain, logo, portal_enabled, portal_theme, enabled ON organizations
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT new.id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number;
END;

ALTER TABLE users RENAME TO users_before;
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
INSERT INTO users (id, email, email_key, name, platform_role, enabled, password_hash, created_at, updated_at)
SELECT id, email, email_key, name, platform_role, 1, password_hash, created_at, updated_at
FROM users_before;
DROP TABLE users_before;
CREATE INDEX users_by_time ON users (created_at, id);
CREATE TRIGGER credential_changes_user
AFTER UPDATE OF id, email, platform_role, enabled ON users
BEGIN
  UPDATE credential_changes SET number = number + 1 WHERE id = 1;
END;

ALTER TABLE roles RENAME TO roles_before;
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
  UNIQUE (id, organization_id),
  CHECK (salary_min IS NULL OR salary_max IS NULL OR salary_min <= salary_max),
  CHECK (status <> 'filled' OR hired = positions),
  CHECK (status <> 'open' OR hired < positions),
  CHECK (status = 'closed' OR close_reason IS NULL)
) STRICT;
INSERT INTO roles (id, organization_id, name, description, department, location, work_type, collar_type,
  salary_min, salary_max, salary_currency, salary_period, status, public, positions, hired, close_reason, created_at,
  updated_at)
SELECT id, organization_id, name, description, department, location, work_type, collar_type,
  salary_min, salary_max, salary_currency, salary_period, status, public, positions, hired, NULL, created_at, updated_at
FROM roles_before;
DROP TABLE roles_before;
CREATE INDEX roles_by_time ON roles (organization_id, created_at, id, name);
CREATE INDEX roles_by_status ON roles (organization_id, status, created_at, id);
CREATE INDEX roles_by_public ON roles (organization_id, public, created_at, id);
CREATE INDEX roles_by_department ON roles (organization_id, department, created_at, id);
CREATE INDEX roles_by_location ON roles (organization_id, location, created_at, id);
CREATE INDEX roles_by_work_type ON roles (organization_id, work_type, created_at, id);
CREATE INDEX roles_of_organization ON roles (organization_id, status, public, created_at, id);
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

ALTER TABLE role_steps RENAME TO role_steps_before;
CREATE TABLE role_steps (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  role_id TEXT NOT NULL REFERENCES roles (id),
  name TEXT NOT NULL CHECK (name <> ''),
  step_order INTEGER CHECK (step_order >= 1),
  step_type TEXT NOT NULL CHECK (step_type IN
    ('application', 'screening', 'assessment', 'interview', 'reference_check', 'offer', 'other')),
  UNIQUE (role_id, step_order)
) STRICT;
INSERT INTO role_steps (id, role_id, name, step_order, step_type)
SELECT id, role_id, name, step_order, step_type
FROM role_steps_before;
DROP TABLE role_steps_before;

ALTER TABLE candidates RENAME TO candidates_before;
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
INSERT INTO candidates (number, id, organization_id, name, email, email_key, hold_reason, erased_at, created_at,
  updated_at)
SELECT row_number() OVER (ORDER BY created_at, id), id, organization_id, name, email, email_key, NULL, NULL, created_at,
  updated_at
FROM candidates_before
ORDER BY created_at, id;
DROP TABLE candidates_before;
CREATE INDEX candidates_of_organization ON candidates (organization_id, number);

CREATE TABLE candidate_words (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  in_name INTEGER NOT NULL CHECK (in_name IN (0, 1)),
  word TEXT NOT NULL CHECK (word <> ''),
  candidate_number INTEGER NOT NULL REFERENCES candidates (number),
  block INTEGER NOT NULL CHECK (block = candidate_number / 1024),
  PRIMARY KEY (organization_id, in_name, word, candidate_number)
) STRICT, WITHOUT ROWID;
CREATE INDEX candidate_words_of_block ON candidate_words (organization_id, in_name, block, word, candidate_number);

ALTER TABLE candidate_roles RENAME TO candidate_roles_before;
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
INSERT INTO candidate_roles (id, organization_id, candidate_id, candidate_number, role_id, status, at_role_step_id, at_since,
  applied_at, updated_at, hired_date, offer_accepted_date, external_position_id, hire_notes)
SELECT b.id, b.organization_id, b.candidate_id, c.number, b.role_id, b.status, b.at_role_step_id,
  CASE WHEN b.at_role_step_id IS NOT NULL THEN max(b.applied_at, coalesce(b.validated_at, b.applied_at)) END,
  b.applied_at, b.updated_at, b.hired_date, b.offer_accepted_date, b.external_position_id, b.hire_notes
FROM (
  SELECT a.*,
    CASE WHEN a.status = 'In Progress' THEN (
      SELECT s.role_step_id FROM candidate_role_steps s
      WHERE s.candidate_role_id = a.id AND s.status IN ('in_progress', 'pending')
      ORDER BY s.status, s.step_order
      LIMIT 1
    ) END AS at_role_step_id,
    (SELECT max(s.validated_at) FROM candidate_role_steps s WHERE s.candidate_role_id = a.id) AS validated_at
  FROM candidate_roles_before a
) b
JOIN candidates c ON c.id = b.candidate_id;
DROP TABLE candidate_roles_before;
CREATE INDEX candidate_roles_of_role ON candidate_roles (role_id, status, candidate_number);
CREATE INDEX candidate_roles_of_organization ON candidate_roles (organization_id, status, candidate_number);
CREATE INDEX candidate_roles_at_step ON candidate_roles (role_id, at_role_step_id, at_since, id)
WHERE status = 'In Progress';

DROP INDEX candidate_role_steps_of_role_step;
CREATE INDEX candidate_role_steps_of_role_step ON candidate_role_steps (role_step_id, status);

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

ALTER TABLE activities RENAME TO activities_before;
CREATE TABLE activities (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
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
  CHECK (salt IS NOT NULL OR detail = '{}')
) STRICT;
INSERT INTO activities (number, id, organization_id, at, action, user_id, api_key_id, role_id, candidate_id,
  candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash)
SELECT row_number() OVER (ORDER BY number), id, organization_id, at, action, user_id, api_key_id, role_id, candidate_id,
  candidate_role_id, candidate_role_step_id, detail, randomblob(16), zeroblob(32), zeroblob(32)
FROM activities_before;
UPDATE hr_intake
SET activity_number = (SELECT count(*) FROM activities_before WHERE number <= activity_number)
WHERE id = 1;
DROP TABLE activities_before;
CREATE INDEX activities_of_organization ON activities (organization_id, number);
CREATE INDEX activities_by_action ON activities (organization_id, action, number);
CREATE INDEX activities_of_role ON activities (role_id, number) WHERE role_id IS NOT NULL;
CREATE INDEX activities_of_candidate ON activities (candidate_id, number) WHERE candidate_id IS NOT NULL;

PRAGMA legacy_alter_table = OFF;
