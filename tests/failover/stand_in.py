#!/usr/bin/env python3
"""A small stand-in for the service, to test the failover test itself.

    stand_in.py import --db URL FILE
    stand_in.py bootstrap-admin --db URL --email EMAIL
    stand_in.py serve --db URL --listen 127.0.0.1:0 [OPTION...]

It has the commands, the requests and the columns that the test uses, and no rule beyond them. Each request is one
transaction. An answer that confirms a change is sent after COMMIT has succeeded without a warning: if the wait for the
synchronous standby is cancelled, PostgreSQL only warns, and the outcome is unknown.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
from libpq import Broken, Connection, Refused

# A primary whose network is cut must not block a request for longer than a client waits.
TIMEOUTS = "&tcp_user_timeout=8000&keepalives_idle=3&keepalives_interval=2&keepalives_count=3"
KEY = "stand-in"

SCHEMA = """
CREATE TABLE counters (id integer PRIMARY KEY, number bigint NOT NULL)
CREATE TABLE roles (id text PRIMARY KEY, name text NOT NULL)
CREATE TABLE candidate_role_steps (id text PRIMARY KEY, status text NOT NULL)
CREATE TABLE activities (number bigint PRIMARY KEY, action text NOT NULL, candidate_role_step_id text)
CREATE TABLE api_key_usage (at bigint PRIMARY KEY, method text NOT NULL, path text NOT NULL)
CREATE TABLE stored_responses (idempotency_key text PRIMARY KEY, body text NOT NULL)
CREATE SEQUENCE usage_at
INSERT INTO counters (id, number) VALUES (1, 0)
""".strip().splitlines()

DECISION = re.compile(r"/api/v1/candidate-steps/([\w-]+)/(validate|reject|hire)")
ACTIONS = {"validate": "validated", "reject": "rejected", "hire": "hired"}
STATUS = {"validate": "validated", "reject": "rejected", "hire": "validated"}


class Unavailable(Exception):
    """The act was not done, or its outcome is unknown."""


def act(connection, action, step=None):
    [[number]] = connection.run("UPDATE counters SET number = number + 1 WHERE id = 1 RETURNING number")
    if step is None:
        connection.run("INSERT INTO activities (number, action) VALUES ($1, $2)", number, action)
    else:
        connection.run("INSERT INTO activities (number, action, candidate_role_step_id) VALUES ($1, $2, $3)",
                       number, action, step)
    return number


def decide(connection, step, verb):
    """Makes a decision. A step that has been decided is a conflict."""
    changed = connection.run("UPDATE candidate_role_steps SET status = $1 WHERE id = $2 AND status = 'pending'",
                             STATUS[verb], step)
    if not changed:
        return 409, {"code": "conflict"}
    act(connection, f"candidate_step.{ACTIONS[verb]}", step)
    return 200, {"success": True}


def create_role(connection, name, idempotency_key):
    """Creates a role once for each idempotency key."""
    connection.run("SELECT pg_advisory_xact_lock(hashtext($1))", idempotency_key)
    for [body] in connection.run("SELECT body FROM stored_responses WHERE idempotency_key = $1", idempotency_key):
        return 200, json.loads(body)
    number = act(connection, "role.created")
    answer = {"role": {"id": f"role_new_{number}"}}
    connection.run("INSERT INTO roles (id, name) VALUES ($1, $2)", answer["role"]["id"], name)
    connection.run("INSERT INTO stored_responses (idempotency_key, body) VALUES ($1, $2)", idempotency_key,
                   json.dumps(answer))
    return 200, answer


def transaction(connection, method, path, work):
    """Runs an act and its usage row in one transaction."""
    try:
        connection.run("BEGIN")
        answer = work(connection)
        connection.run("INSERT INTO api_key_usage (at, method, path) VALUES (nextval('usage_at'), $1, $2)", method, path)
        connection.run("COMMIT")
    except (Broken, Refused) as error:
        connection.close()
        raise Unavailable(str(error)) from error
    if connection.is_warned:
        raise Unavailable("the wait for the synchronous standby was cancelled")
    return answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    url = None
    database = None

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        try:
            status, answer = self.act(body)
        except Unavailable as error:
            print(f"503: {error}", flush=True)
            status, answer = 503, {"code": "unavailable"}
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def act(self, body):
        if self.path == "/api/admin/api-keys":
            return 200, {"data": {"key": KEY}}
        decision = DECISION.fullmatch(self.path)
        if decision:
            return self.transaction(lambda connection: decide(connection, *decision.groups()))
        return self.transaction(lambda connection: create_role(connection, body["name"], self.headers["Idempotency-Key"]))

    def transaction(self, work):
        if self.database is None or self.database.handle is None:
            try:
                self.database = Connection(self.url)
            except Broken as error:
                raise Unavailable(str(error)) from error
        return transaction(self.database, self.command, self.path, work)

    def finish(self):
        if self.database is not None:
            self.database.close()
        super().finish()

    def log_message(self, *_):
        """Requests are not logged."""


def fill(url, document):
    connection = Connection(url)
    connection.run("BEGIN")
    for statement in SCHEMA:
        connection.run(statement)
    for organization in document["organizations"]:
        for role in organization["roles"]:
            connection.run("INSERT INTO roles (id, name) VALUES ($1, $2)", role["id"], role["name"])
            steps = ",".join(step["id"] for candidate in role["candidates"] for step in candidate["steps"])
            connection.run("INSERT INTO candidate_role_steps (id, status) "
                           "SELECT id, 'pending' FROM unnest(string_to_array($1, ',')) id", steps)
    connection.run("COMMIT")
    connection.close()


def serve(url):
    Handler.url = url
    ThreadingHTTPServer.daemon_threads = True
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


def main():
    command, url = sys.argv[1], sys.argv[sys.argv.index("--db") + 1] + TIMEOUTS
    if command == "import":
        with open(sys.argv[-1], encoding="utf-8") as file:
            fill(url, json.load(file))
    elif command == "bootstrap-admin":
        print(KEY)
    elif command == "serve":
        serve(url)
    else:
        sys.exit(f"the stand-in has no command {command}")


main()
