-- From version 3 to version 4: the usage log is sorted by key many rows at once instead of row by row, and what memory
-- keeps of portals and keys is told by triggers when it changes.

DROP INDEX api_key_usage_of_key;
CREATE TABLE api_key_usage_by_key (
  key_number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (key_number, at)
) STRICT, WITHOUT ROWID;
CREATE TABLE api_key_usage_sorting (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  sorted_to INTEGER NOT NULL
) STRICT;
INSERT INTO api_key_usage_sorting (id, sorted_to)
SELECT 1, coalesce(max(at), 0) FROM api_key_usage;
INSERT INTO api_key_usage_by_key (key_number, at)
SELECT key_number, at FROM api_key_usage ORDER BY key_number, at;

CREATE TABLE portal_changes (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  number INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
CREATE TRIGGER portal_changes_organization
AFTER UPDATE OF slug, slug_key, name, domain, logo, portal_enabled, portal_theme ON organizations
BEGIN
  INSERT INTO portal_changes (organization_id, number)
  SELECT new.id, coalesce(max(number), 0) + 1 FROM portal_changes WHERE true
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
AFTER UPDATE OF number, id, digest, user_id, scopes, enabled, expires_at ON api_keys
BEGIN
  UPDATE credential_changes SET number = number + 1 WHERE id = 1;
END;
CREATE TRIGGER credential_changes_key_removed
AFTER DELETE ON api_keys
BEGIN
  UPDATE credential_changes SET number = number + 1 WHERE id = 1;
END;
CREATE TRIGGER credential_changes_user
AFTER UPDATE OF id, email, platform_role ON users
BEGIN
  UPDATE credential_changes SET number = number + 1 WHERE id = 1;
END;
