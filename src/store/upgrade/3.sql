-- From version 2 to version 3: a hire and its reversal are owed to the HR system by their activities, which have an order
-- now and say which of them reverse a hire. Whatever was decided before is in the outbox already.

ALTER TABLE activities RENAME TO activities_2;
CREATE TABLE activities (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Za-z0-9_-]*'),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES users (id),
  api_key_id TEXT REFERENCES api_keys (id),
  role_id TEXT NOT NULL REFERENCES roles (id),
  candidate_id TEXT NOT NULL REFERENCES candidates (id),
  candidate_role_id TEXT NOT NULL,
  candidate_role_step_id TEXT REFERENCES candidate_role_steps (id),
  detail TEXT NOT NULL CHECK (json_type(detail) = 'object'),
  FOREIGN KEY (candidate_role_id, organization_id) REFERENCES candidate_roles (id, organization_id)
) STRICT;
INSERT INTO activities (number, id, organization_id, at, action, user_id, api_key_id, role_id, candidate_id,
  candidate_role_id, candidate_role_step_id, detail)
SELECT rowid, id, organization_id, at,
  CASE WHEN action = 'candidate_step.rejected' AND json_extract(detail, '$.before.application') = 'Hired'
    THEN 'candidate_step.hire_reversed' ELSE action END,
  user_id, api_key_id, role_id, candidate_id, candidate_role_id, candidate_role_step_id, detail
FROM activities_2;
DROP TABLE activities_2;
CREATE INDEX activities_of_organization ON activities (organization_id, at);

CREATE TABLE hr_intake (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  activity_number INTEGER NOT NULL CHECK (activity_number >= 0)
) STRICT;
INSERT INTO hr_intake (id, activity_number)
SELECT 1, coalesce(max(number), 0) FROM activities;
