-- From version 1 to version 2: deliveries to HR systems are sent, and each attempt is recorded.
--
-- A secret that is not in the form that signs is dropped, and the integration disabled until an admin gives another.

ALTER TABLE hr_integrations RENAME TO hr_integrations_1;
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

INSERT INTO hr_integrations (organization_id, url, secret, previous_secret, previous_secret_until, enabled,
  disabled_reason, timed_out, updated_at)
SELECT organization_id, url, CASE WHEN is_good THEN secret END, NULL, NULL, enabled AND is_good,
  CASE WHEN secret IS NOT NULL AND NOT is_good
    THEN 'its secret was not of the form whsec_ and base 64; set another one' END,
  0, CAST(unixepoch('subsec') * 1000000 AS INTEGER)
FROM (
  SELECT *, coalesce(secret GLOB 'whsec_?*'
    AND rtrim(substr(secret, 7), '=') NOT GLOB '*[^A-Za-z0-9+/]*'
    AND length(rtrim(substr(secret, 7), '=')) % 4 <> 1
    AND length(rtrim(substr(secret, 7), '=')) > 1
    AND length(secret) - length(rtrim(secret, '=')) IN (0, (4 - length(rtrim(substr(secret, 7), '=')) % 4) % 4), 0) AS is_good
  FROM hr_integrations_1
);
DROP TABLE hr_integrations_1;

ALTER TABLE hr_deliveries RENAME TO hr_deliveries_1;
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
INSERT INTO hr_deliveries (number, id, organization_id, candidate_role_id, type, payload, state, attempts,
  failed_attempts, created_at, next_attempt_at)
SELECT d.number, d.id, d.organization_id, d.candidate_role_id, d.type, d.payload, d.state, d.attempts, 0, d.created_at,
  CASE WHEN d.state = 'pending' AND NOT EXISTS (
    SELECT 1 FROM hr_deliveries_1 e
    WHERE e.candidate_role_id = d.candidate_role_id AND e.number < d.number AND e.state <> 'delivered'
  ) THEN d.next_attempt_at END
FROM hr_deliveries_1 d;
DROP TABLE hr_deliveries_1;
CREATE INDEX hr_deliveries_of_application ON hr_deliveries (candidate_role_id, number);
CREATE INDEX hr_deliveries_by_id ON hr_deliveries (id) WHERE attempts > 0;
CREATE INDEX hr_deliveries_of_organization ON hr_deliveries (organization_id, number) WHERE attempts > 0;
CREATE INDEX hr_deliveries_pending ON hr_deliveries (organization_id, next_attempt_at) WHERE state = 'pending';
CREATE INDEX hr_deliveries_pings ON hr_deliveries (organization_id) WHERE type = 'ping' AND state = 'pending';
CREATE INDEX hr_deliveries_failed ON hr_deliveries (number) WHERE state = 'failed';

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
