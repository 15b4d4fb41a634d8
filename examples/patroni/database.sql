-- The role and the database of the service. Run this once, on the primary, with psql as the superuser. Then give the
-- role a password with `\password appliance`.

-- The role can only log in. The limit leaves connections for Patroni and for people (max_connections is 100). Each
-- server of the service uses up to 20 connections.
CREATE ROLE appliance
  LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS
  CONNECTION LIMIT 90;

-- The superuser owns the database, so the role cannot drop or rename it. The service compares text by bytes.
CREATE DATABASE appliance TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
REVOKE ALL ON DATABASE appliance FROM PUBLIC;
GRANT CONNECT ON DATABASE appliance TO appliance;

\connect appliance

-- The service creates and upgrades its tables, so it owns a schema. It has no rights in any other schema.
REVOKE ALL ON SCHEMA public FROM PUBLIC;
CREATE SCHEMA appliance AUTHORIZATION appliance;
ALTER ROLE appliance IN DATABASE appliance SET search_path = appliance;

-- A server of the service that stops in the middle of a transaction must not keep its locks. There is deliberately no
-- statement_timeout: it would also end the wait of a COMMIT for the synchronous standby. PostgreSQL then reports the
-- commit as successful, with a warning only, although perhaps no standby has it.
ALTER ROLE appliance IN DATABASE appliance SET idle_in_transaction_session_timeout = '30s';
