-- PostgreSQL definitions of the SQLite functions that tests use in statements, and helper functions of the tests.

CREATE FUNCTION zeroblob(length BIGINT) RETURNS BYTEA LANGUAGE sql AS
  $$ SELECT decode(repeat('00', length::int), 'hex') $$;

CREATE FUNCTION randomblob(length BIGINT) RETURNS BYTEA LANGUAGE sql AS
  $$ SELECT substring(decode(string_agg(md5(random()::text), ''), 'hex') FOR length::int)
     FROM generate_series(0, length / 16) $$;

CREATE FUNCTION hex(bytes BYTEA) RETURNS TEXT LANGUAGE sql AS
  $$ SELECT upper(encode(bytes, 'hex')) $$;

CREATE FUNCTION iif(condition BOOLEAN, yes BIGINT, no BIGINT) RETURNS BIGINT LANGUAGE sql AS
  $$ SELECT CASE WHEN condition THEN yes ELSE no END $$;

-- Tests use only formats of one integer, such as '%05d'.
CREATE FUNCTION printf(format TEXT, number BIGINT) RETURNS TEXT LANGUAGE sql AS
  $$ SELECT lpad(number::text, substring(format FROM '^%0([0-9]+)d$')::int, '0') $$;

CREATE FUNCTION joined(text, text) RETURNS TEXT LANGUAGE sql AS
  $$ SELECT CASE WHEN $2 IS NULL THEN $1 WHEN $1 IS NULL THEN $2 ELSE $1 || ',' || $2 END $$;
CREATE AGGREGATE group_concat(text) (SFUNC = joined, STYPE = text);
CREATE FUNCTION joined(text, text, text) RETURNS TEXT LANGUAGE sql AS
  $$ SELECT CASE WHEN $2 IS NULL THEN $1 WHEN $1 IS NULL THEN $2 ELSE $1 || $3 || $2 END $$;
CREATE AGGREGATE group_concat(text, text) (SFUNC = joined, STYPE = text);

CREATE FUNCTION appended(text, text) RETURNS TEXT LANGUAGE sql AS
  $$ SELECT coalesce($1 || ',', '') || to_json($2)::text $$;
CREATE FUNCTION in_brackets(text) RETURNS TEXT LANGUAGE sql AS
  $$ SELECT '[' || coalesce($1, '') || ']' $$;
CREATE AGGREGATE json_group_array(text) (SFUNC = appended, STYPE = text, FINALFUNC = in_brackets);

CREATE FUNCTION json_extract(document TEXT, path TEXT) RETURNS TEXT LANGUAGE sql AS
  $$ SELECT document::json #>> string_to_array(substring(path FROM 3), '.') $$;

CREATE FUNCTION sqlite_char(VARIADIC codes INT[]) RETURNS TEXT LANGUAGE sql AS
  $$ SELECT string_agg(chr(code), '' ORDER BY place) FROM unnest(codes) WITH ORDINALITY AS u (code, place) $$;

-- Makes each identity column continue after its greatest number.
CREATE FUNCTION continue_numbers() RETURNS VOID LANGUAGE plpgsql AS
  $$ DECLARE
       c RECORD;
     BEGIN
       FOR c IN
         SELECT table_name AS t, column_name AS n FROM information_schema.columns
         WHERE table_schema = 'public' AND is_identity = 'YES'
       LOOP
         EXECUTE format('SELECT setval(pg_get_serial_sequence(%L, %L), coalesce(max(%I), 0) + 1, false) FROM %I',
                        c.t, c.n, c.n, c.t);
       END LOOP;
     END $$;

-- Aborts the statement, as `raise(ABORT, …)` does.
CREATE FUNCTION forbidden() RETURNS TRIGGER LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'forbidden'; END $$;
