"""Claim: no request, however damaged, is answered with a 5xx, leaves a client waiting, or stops the service.

Method: for every path and method of the OpenAPI description, the experiment makes a request with an admin key and one
with a staff key. It damages the requests at random: it changes, cuts, repeats and inserts bytes, replaces values in
JSON bodies with extreme or nested values or with values of another type, and adds header fields and queries. Four
threads send the requests, each request on a new connection. All the while, the service must answer health checks within
5 seconds. At the end, `appliance check` checks the file.

If the claim were false: an answer would have a status of 500 or more, a client would wait longer than the deadlines of
the service, or the process would have ended.
"""

import json
import random as randoms
import socket
import threading
import time

from common import company as c
from common import verdict
from common.outcome import rounds
from common.service import Directory, Service

THREADS = 4
# The limit exceeds every deadline of the service except the one for a whole form. A request whose body is too short
# does not wait for a deadline, because the client closes its side of the connection.
PATIENCE_S = 35
STRANGE = [b"\0", b"\xff\xfe", b"%00", b"%ff", b"../", b"{{{{", b"\r\n", b"'", b"\"", b"9" * 30, b"-1", b"1e999", b"null",
           b"[[[[[[[[", "\u202e\u0000\ud7ff".encode(), b"A" * 9000, b"{\"a\":" * 200, b"\r\n\r\n", b";", b"\t"]


def run(outcome, binary):
    count = rounds(4000, 1_000_000)
    with Directory() as directory:
        company = c.Company(binary, directory, 30)
        service = Service(binary, company.path)
        requests = valid_requests(service, company)
        outcome.check(len(requests) > 60, "the description has enough operations", len(requests))
        senders = [Sender(service, requests, outcome.random.random(), count // THREADS) for _ in range(THREADS)]
        for sender in senders:
            sender.start()
        while any(sender.is_alive() for sender in senders):
            time.sleep(0.2)
            begun = time.monotonic()
            status, _ = service.client().send("GET", "/healthz")
            outcome.check(status == 200 and time.monotonic() - begun < 5, "the service answers a health check within 5 s",
                          status)
        statuses = {}
        for sender in senders:
            for problem in sender.problems:
                outcome.check(False, "a damaged request gets an answer other than a 5xx", problem)
            for status, number in sender.statuses.items():
                statuses[status] = statuses.get(status, 0) + number
        sent = sum(statuses.values())
        outcome.check(sent == count // THREADS * THREADS, "every request is sent", sent)
        outcome.check(sum(number for status, number in statuses.items() if status >= 100) > count // 2,
                      "most requests are answered", statuses)
        outcome.check(service.process.poll() is None, "the service is still running")
        outcome.check("panic" not in service.output(), "the log contains no panic")
        outcome.check(service.stop() == 0, "the service stops normally")
        verdict.sound(outcome, binary, company.path, "after the requests")
    outcome.report(f"{count} requests; answers by status: {dict(sorted(statuses.items()))}")


def valid_requests(service, company):
    """Returns two requests for each path and method of the description: one with an admin key, one with a staff key."""
    description = service.client().call("GET", "/api/openapi.json")
    values = {"orgSlug": "acme", "roleId": "role_1", "token": company.invite, "stepId": "step_1_1", "userId": "user_owner",
              "documentId": "doc_1", "batchId": "batch_1"}
    # Requests may revoke this key.
    key = service.client(company.admin).call("POST", "/api/admin/api-keys", {"userId": "user_owner", "name": "other"})["data"]
    requests = []
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if method.upper() not in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                continue
            parameters = dict(values, id=id_for(path, key["id"]))
            target = path
            for name, value in parameters.items():
                target = target.replace("{" + name + "}", value)
            body = {"name": "N", "email": "n@example.org", "reason": "r", "notes": "n", "roleId": "role_1",
                    "userId": "user_owner", "candidateId": "cand_1", "stepIds": ["cstep_1_1"], "positions": 2,
                    "expiresInDays": 30, "url": "https://hr.example/", "password": "x", "dueOn": "2027-01-01"}
            for credential in (company.admin, company.staff):
                requests.append(encode(method.upper(), target, credential, body if "requestBody" in operation else None))
    return requests


def id_for(path, key):
    for part, value in (("candidate-steps", "cstep_1_1"), ("candidate-roles", "app_1"), ("candidates", "cand_1"),
                        ("roles", "role_1"), ("organizations", "org_acme"), ("users", "user_owner")):
        if f"/{part}/" in path:
            return value
    return key


def encode(method, target, key, body):
    text = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n"
    return head.encode() + b"\r\n" + text


class Sender(threading.Thread):
    def __init__(self, service, requests, seed, count):
        super().__init__(daemon=True)
        self.port, self.requests, self.count = service.port, requests, count
        self.random = randoms.Random(seed)
        self.statuses, self.problems = {}, []

    def run(self):
        for _ in range(self.count):
            data = self.damage(self.random.choice(self.requests))
            try:
                status = self.exchange(data)
            except socket.timeout:
                self.problems.append(("no answer", data[:600]))
                status = 0
            except OSError:
                # The service can refuse a request and close the connection while the client is still sending.
                status = 1
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if status >= 500:
                self.problems.append((status, data[:600]))
            if len(self.problems) > 5:
                return

    def exchange(self, data):
        """Sends the bytes on a new connection, shuts down the sending side and reads the answer. Because of the
        shutdown, a body that is too short ends at once."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
            while answer and b"\r\n" not in answer:
                more = connection.recv(65536)
                if not more:
                    break
                answer += more
            while connection.recv(65536):
                pass
        return int(answer.split()[1]) if answer.startswith(b"HTTP/1.") else 2

    def damage(self, data):
        for _ in range(self.random.choice((1, 1, 1, 2, 3, 5))):
            data = self.random.choice(DAMAGES)(self.random, data)
        return fix_length(data) if self.random.random() < 0.7 else data


def fix_length(data):
    """Corrects Content-Length after damage, so that a damaged body reaches the handler."""
    head, mark, body = data.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length:")]
    if mark and len(lines) != len(head.split(b"\r\n")):
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + mark + body


def change(random, data):
    at = random.randrange(len(data))
    return data[:at] + bytes([random.randrange(256)]) + data[at + 1:]


def cut(random, data):
    at = random.randrange(len(data))
    return data[:at] + data[min(len(data), at + random.randrange(1, 40)):] or b"GET"


def repeat(random, data):
    at = random.randrange(len(data))
    part = data[at:at + random.randrange(1, 60)]
    return data[:at] + part * random.randrange(2, 6) + data[at:]


def insert(random, data):
    at = random.randrange(len(data))
    return data[:at] + random.choice(STRANGE) + data[at:]


def insert_in_target(random, data):
    line, mark, rest = data.partition(b" HTTP/1.1")
    at = random.randrange(len(line) + 1)
    return line[:at] + random.choice(STRANGE) + line[at:] + mark + rest


def ask(random, data):
    """Adds a query with strange values."""
    names = [b"limit", b"before", b"after", b"q", b"status", b"cursor", b"order", b"locale", b"roleId", b"from", b"to"]
    value = random.choice([*STRANGE, b"2026-11-21", b"0", b"99999999999999999999", b"%E2%82", b"asc"])
    return data.replace(b" HTTP/1.1", b"?" + random.choice(names) + b"=" + value.replace(b"\r\n", b"%0d") + b" HTTP/1.1", 1)


def swap_value(random, data):
    """Replaces the value of a member of the JSON body."""
    head, mark, body = data.partition(b"\r\n\r\n")
    try:
        members = json.loads(body)
        name = random.choice(list(members))
    except (ValueError, IndexError, TypeError):
        return change(random, data)
    members[name] = random.choice([None, True, 0, -1, 1e308, 2 ** 63, "", "x" * 300, "x" * 20_000, [], {}, [[]] * 50,
                                   "\u0000", "2026-13-45", "9999-12-31T23:59:60Z", {"a": {"b": []}}, "\ud7ff", [None]])
    return head + mark + json.dumps(members).encode()


def add_field(random, data):
    line, mark, rest = data.partition(b"\r\n")
    field = random.choice([
        b"Content-Type: text/plain", b"Content-Type: multipart/form-data; boundary=x", b"Transfer-Encoding: chunked",
        b"Expect: 100-continue", b"If-None-Match: *", b"Idempotency-Key: k", b"Range: bytes=0-", b"Accept-Encoding: gzip;q=x",
        b"Cookie: session=x; __Host-session=y", b"X-Forwarded-For: ,,,", b"Host: ", b"Content-Length: 5", b"Upgrade: h2c",
        b"Connection: close, upgrade", b"Accept-Language: " + b"de," * 500, b"Origin: null", b"Content-Encoding: gzip",
    ])
    return line + mark + field + b"\r\n" + rest


DAMAGES = [change, change, cut, repeat, insert, insert_in_target, ask, swap_value, swap_value, swap_value, add_field]
