-- From version 6 to version 7: candidates apply and see where they stand in a browser. Organizations say what candidates
-- consent to and when decisions show, and have a picture.
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
  privacy_notice TEXT NOT NULL,
  decision_visible_after_hours INTEGER CHECK (decision_visible_after_hours BETWEEN 0 AND 8760),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
INSERT INTO organizations (id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
  require_external_position_id, enabled, time_zone, pay_transparency, retention_days, privacy_notice,
  decision_visible_after_hours, created_at, updated_at)
SELECT id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
  require_external_position_id, enabled, time_zone, pay_transparency, retention_days, '', 72, created_at, updated_at
FROM organizations_before;
DROP TABLE organizations_before;
CREATE INDEX organizations_by_time ON organizations (created_at, id);
CREATE TRIGGER portal_changes_organization
AFTER UPDATE OF slug, slug_key, name, domain, logo, portal_enabled, portal_theme, enabled, time_zone,
  privacy_notice ON organizations
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT new.id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
  ON CONFLICT (organization_id) DO UPDATE SET number = excluded.number;
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
  shown_since INTEGER NOT NULL,
  UNIQUE (id, organization_id),
  CHECK (salary_min IS NULL OR salary_max IS NULL OR salary_min <= salary_max),
  CHECK (status <> 'filled' OR hired = positions),
  CHECK (status <> 'open' OR hired < positions),
  CHECK (status = 'closed' OR close_reason IS NULL)
) STRICT;
-- When a role was last changed may be when somebody was hired; when it was made tells of nobody.
INSERT INTO roles (id, organization_id, name, description, department, location, work_type, collar_type,
  salary_min, salary_max, salary_currency, salary_period, status, public, positions, hired, close_reason, created_at,
  updated_at, shown_since)
SELECT id, organization_id, name, description, department, location, work_type, collar_type,
  salary_min, salary_max, salary_currency, salary_period, status, public, positions, hired, close_reason, created_at,
  updated_at, created_at
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

CREATE TABLE organization_logos (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  media_type TEXT NOT NULL CHECK (media_type IN ('image/png', 'image/jpeg', 'image/webp', 'image/gif')),
  content BLOB NOT NULL CHECK (length(content) BETWEEN 1 AND 262144),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  updated_at INTEGER NOT NULL
) STRICT;
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
CREATE TABLE spent_links (
  digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
  spent_at INTEGER NOT NULL
) STRICT;
CREATE INDEX spent_links_by_time ON spent_links (spent_at);

CREATE TABLE documents (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  signup_id TEXT REFERENCES signups (id),
  digest BLOB UNIQUE CHECK (length(digest) = 32),
  file_name TEXT NOT NULL CHECK (file_name <> ''),
  media_type TEXT CHECK (media_type <> ''),
  bytes INTEGER CHECK (bytes BETWEEN 1 AND 10485760),
  created_at INTEGER NOT NULL,
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

CREATE TABLE form_secrets (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  secret BLOB NOT NULL CHECK (length(secret) = 32)
) STRICT;

PRAGMA legacy_alter_table = OFF;

-- Lists of members are read in their order.
DROP INDEX memberships_of_organization;
CREATE INDEX memberships_of_organization ON memberships (organization_id, created_at, user_id);
