-- From version 7 to version 8: the service withstands strangers, wrong clocks and full disks.

-- A start looks for erasures on record where the list of them is missing.
CREATE INDEX candidates_erased ON candidates (number) WHERE erased_at IS NOT NULL;

-- Keys remember whether their makers named their scopes. Those of before count as made without.
ALTER TABLE api_keys ADD COLUMN scopes_explicit INTEGER NOT NULL DEFAULT 0 CHECK (scopes_explicit IN (0, 1));

-- Rows of the usage log up to this time were pruned.
ALTER TABLE api_key_usage_marking ADD COLUMN pruned_to INTEGER NOT NULL DEFAULT 0;

-- A random mark of the service that runs on the file, by which it knows the file again when somebody writes over it.
CREATE TABLE service_marks (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  mark BLOB NOT NULL CHECK (length(mark) = 16)
) STRICT;

-- Rows of activity may be of no organization: platform activity. Rows and hashes stay as they are.
PRAGMA legacy_alter_table = ON;
DROP TRIGGER activities_are_appended;
DROP TRIGGER activities_stay;
DROP TRIGGER activities_stay_as_they_are;
ALTER TABLE activities RENAME TO activities_before;
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
INSERT INTO activities (number, id, organization_id, at, action, user_id, api_key_id, role_id, candidate_id,
  candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash)
SELECT number, id, organization_id, at, action, user_id, api_key_id, role_id, candidate_id,
  candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash
FROM activities_before
ORDER BY number;
DROP TABLE activities_before;
PRAGMA legacy_alter_table = OFF;
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
-- The detail of a row can be emptied only where the candidate was erased, or the signup that it tells of was deleted.
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

-- Candidates who had themselves deleted by the link of their page while a hire was still hidden from them, and by which
-- application's page: they are erased once no hire is hidden any more.
CREATE TABLE erasures_asked (
  candidate_number INTEGER NOT NULL PRIMARY KEY REFERENCES candidates (number),
  candidate_role_id TEXT REFERENCES candidate_roles (id),
  asked_at INTEGER NOT NULL
) STRICT;

-- A code step computes the digest of the attachments that are there.
ALTER TABLE documents ADD COLUMN sha256 BLOB CHECK (length(sha256) = 32);

-- Bytes of the content of all attachments, staged ones too. Triggers move the sum with each chunk.
CREATE TABLE attachment_totals (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT;
INSERT INTO attachment_totals (id, bytes)
SELECT 1, coalesce(sum(length(content)), 0) FROM document_pieces;
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

-- A key that has expired says so, whatever the clock says.
ALTER TABLE api_keys ADD COLUMN ended_at INTEGER;
DROP TRIGGER credential_changes_key;
CREATE TRIGGER credential_changes_key
AFTER UPDATE OF number, id, digest, user_id, scopes, enabled, expires_at, ended_at ON api_keys
BEGIN
  UPDATE credential_changes SET number = number + 1 WHERE id = 1;
END;
CREATE TABLE api_key_usage_moves (
  moved_from INTEGER NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT;
CREATE TABLE believed_clock (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  believed_at INTEGER NOT NULL,
  confirmations INTEGER NOT NULL CHECK (confirmations >= 0)
) STRICT;
CREATE TABLE retention_due (
  candidate_number INTEGER NOT NULL PRIMARY KEY REFERENCES candidates (number),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  due_since INTEGER NOT NULL,
  counted_from INTEGER NOT NULL,
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1))
) STRICT;
CREATE INDEX retention_due_of_organization ON retention_due (organization_id, candidate_number);
CREATE TABLE retention_days (
  organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (id),
  day INTEGER NOT NULL,
  erased INTEGER NOT NULL CHECK (erased >= 0)
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
