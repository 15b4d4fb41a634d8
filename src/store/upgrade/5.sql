-- From version 4 to version 5: a row of the usage log names the row before it of the same key, so that only one in many has
-- to be found by its key.

INSERT INTO api_key_usage_by_key (key_number, at)
SELECT key_number, at
FROM api_key_usage
WHERE at > (SELECT sorted_to FROM api_key_usage_sorting)
ON CONFLICT DO NOTHING;

ALTER TABLE api_key_usage RENAME TO api_key_usage_before;
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
INSERT INTO api_key_usage (at, key_number, number, previous_at, method, path, ip, user_agent, auth_endpoint)
SELECT u.at, u.key_number, u.number,
  (SELECT k.at FROM api_key_usage_by_key k
   WHERE k.key_number = u.key_number AND k.at < u.at
   ORDER BY k.at DESC
   LIMIT 1),
  u.method, u.path, u.ip, u.user_agent, u.auth_endpoint
FROM api_key_usage_before u
ORDER BY u.at;

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
  marked_to INTEGER NOT NULL
) STRICT;
INSERT INTO api_key_usage_marking (id, marked_to)
SELECT 1, coalesce(max(at), 0) FROM api_key_usage;
INSERT INTO api_key_usage_marks (key_number, at)
SELECT k.key_number, k.at
FROM api_key_usage_by_key k
JOIN api_key_usage u ON u.at = k.at
WHERE u.number % 64 = 0
ORDER BY k.key_number, k.at;
INSERT INTO api_key_usage_newest (key_number, at, number)
SELECT n.key_number, n.at, u.number
FROM (SELECT key_number, max(at) AS at FROM api_key_usage_by_key GROUP BY key_number) n
JOIN api_key_usage u ON u.at = n.at;

DROP TABLE api_key_usage_before;
DROP TABLE api_key_usage_by_key;
DROP TABLE api_key_usage_sorting;
