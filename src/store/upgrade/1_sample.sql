-- A file of version 1 with integrations of every kind and what is owed to two of them, for the test that upgrades it.
INSERT INTO organizations (id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
  require_external_position_id, created_at, updated_at)
SELECT 'org_' || value, 'org-' || value, 'org-' || value, 'Acme', '', '', 0, '{}', 0, 1, 1
FROM json_each('[1, 2, 3, 4, 5]');

INSERT INTO hr_integrations (organization_id, url, secret, enabled) VALUES
  ('org_1', 'https://hr.example/1', 'whsec_c2VjcmV0', 1),
  ('org_2', 'https://hr.example/2', 'correct horse', 1),
  ('org_3', 'https://hr.example/3', 'whsec_YQ==', 0),
  ('org_4', 'https://hr.example/4', NULL, 0),
  ('org_5', 'https://hr.example/5', 'whsec_YQ=', 1);

INSERT INTO roles (id, organization_id, name, description, department, location, status, public, positions, hired,
  created_at, updated_at)
SELECT 'role_' || id, id, 'Engineer', '{}', '', '', 'open', 0, 9, 0, 1, 2
FROM organizations;
INSERT INTO candidates (id, organization_id, name, email, email_key, created_at, updated_at)
SELECT 'cand_' || id, id, 'Ada', 'ada@example.org', 'ada@example.org', 1, 1
FROM organizations;
INSERT INTO candidate_roles (id, organization_id, candidate_id, role_id, status, applied_at, updated_at)
SELECT 'app_' || id, id, 'cand_' || id, 'role_' || id, 'In Progress', 1, 1
FROM organizations;

INSERT INTO users (id, email, email_key, name, platform_role, created_at, updated_at)
VALUES ('user_1', 'eve@example.org', 'eve@example.org', 'Eve', 'admin', 1, 1);
INSERT INTO activities (id, organization_id, at, action, user_id, role_id, candidate_id, candidate_role_id, detail)
SELECT 'act_' || (value ->> 0), 'org_1', value ->> 0, 'candidate_step.' || (value ->> 1), 'user_1', 'role_org_1', 'cand_org_1',
  'app_org_1', json_object('before', json_object('application', (value ->> 2)))
FROM json_each('[[1, "hired", "In Progress"], [2, "rejected", "Hired"], [3, "rejected", "Not Selected"]]');

INSERT INTO hr_deliveries (number, id, organization_id, candidate_role_id, type, payload, state, attempts, created_at,
  next_attempt_at)
VALUES
  (1, 'evt_1', 'org_1', 'app_org_1', 'candidate.hired', '{}', 'pending', 0, 100, 100),
  (2, 'evt_2', 'org_1', 'app_org_1', 'candidate.hire_reversed', '{}', 'pending', 0, 200, 200),
  (3, 'evt_3', 'org_3', 'app_org_3', 'candidate.hired', '{}', 'pending', 0, 300, 300);

INSERT INTO api_keys (number, id, digest, user_id, name, start, scopes, enabled, created_at, updated_at)
SELECT value, 'key_' || value, unhex(format('%064d', value)), 'user_1', 'a', 'rpk_abcd', 'candidates:read', 1, 1, 1
FROM json_each('[1, 2, 3]');
INSERT INTO api_key_usage (at, key_number, number, method, path, ip, user_agent, auth_endpoint)
SELECT 1000 + row, key_number, row_number() OVER (PARTITION BY key_number ORDER BY row), 'GET', '/' || row, '192.0.2.1', '', '/'
FROM (
  WITH RECURSIVE counted (row, key_number) AS (SELECT 0, 1 UNION ALL SELECT row + 1, 1 + (row + 1) % 2 FROM counted WHERE row < 259)
  SELECT row, key_number FROM counted
);
