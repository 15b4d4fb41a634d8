"""Claim: after sign-ins and after a mixed load, the service has at most 64 MB of resident memory.

Method: the experiment sends 1,000 sign-ins, half of them for unknown users. Then it sends a mixed load of uploads,
lists, pages, decisions, exports and sign-ins, and runs imports at the same time. Then it waits. After the sign-ins and
after the wait, it compares the resident memory with the limit. The wait exceeds the 60 s after which the service frees
the memory that sign-ins use. The long form loads the service for 30 minutes. The limit holds for a release build.

If the claim were false: memory would grow with the number of requests, or memory would not be freed after a load.
"""

import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from common.outcome import IS_LONG

LIMIT_MB = 64
PASSWORD = "a raven counts nine lanterns"
ROLES = 40

# The number of sign-ins, the seconds of the mixed load, and the idle seconds after it.
SHORT, LONG = (1_000, 20, 65), (1_000, 1_800, 300)
RESULT = None


def check(name, good):
    RESULT.check(good, name)


class Service:
    def __init__(self, program, directory):
        self.program, self.directory = program, directory
        self.db = os.path.join(directory, "jobs.db")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("APPLIANCE_")}
        self.key = self.run("bootstrap-admin", "--email", "ada@acme.example").strip()
        self.log = open(os.path.join(directory, "log"), "w+")
        self.process = subprocess.Popen(
            [program, "serve", "--db", self.db, "--listen", "127.0.0.1:0", "--signup-limit", "0", "--rate-limit", "0",
             "--trusted-proxy", "127.0.0.1/32"], stderr=self.log, env=self.environment)
        self.port = None
        while self.port is None:
            found = re.search(r"listening on http://127.0.0.1:(\d+)", open(self.log.name).read())
            self.port = int(found.group(1)) if found else None
            if self.process.poll() is not None:
                sys.exit(open(self.log.name).read())
            time.sleep(0.05)

    def run(self, *arguments, text=None):
        command = [self.program, arguments[0], "--db", self.db, *arguments[1:]]
        return subprocess.run(command, input=text, env=self.environment, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    def rolled_up(self):
        """Returns the resident, private dirty and anonymous memory in MB."""
        text = open(f"/proc/{self.process.pid}/smaps_rollup").read()
        return {name: int(re.search(rf"^{name}:\s+(\d+) kB", text, re.M).group(1)) / 1_000
                for name in ("Rss", "Private_Dirty", "Anonymous")}

    def report(self, when):
        memory = self.rolled_up()
        print("      " + when + ": " + ", ".join(f"{name} {value:.1f} MB" for name, value in memory.items()), flush=True)
        return memory["Rss"]


class Client:
    """A client with one connection. After a failure it opens a new one and sends the request once more."""

    def __init__(self, service):
        self.service, self.connection = service, None

    def call(self, method, path, body=None, key=None, fields=None):
        fields = dict(fields or {})
        if key:
            fields["Authorization"] = f"Bearer {key}"
        if isinstance(body, (dict, list)):
            body, fields["Content-Type"] = json.dumps(body).encode(), "application/json"
        for _ in range(2):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
                self.connection.request(method, path, body, fields)
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.connection = None
        return 0, b""

    def create(self, method, path, body=None, key=None):
        status, text = self.call(method, path, body, key)
        if status not in (200, 201):
            sys.exit(f"{method} {path} was answered with {status}: {text.decode(errors='replace')}")
        return json.loads(text)


def random_client():
    return {"X-Forwarded-For": ".".join(str(random.randrange(1, 255)) for _ in range(4))}


def sign_ins(service, count, threads=16):
    """Sends sign-ins, each from a random address. Half of them name a known user and the right password."""
    numbers, lock, statuses = iter(range(count)), threading.Lock(), {}

    def work():
        client = Client(service)
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            right = number % 2 == 0
            body = ({"email": "ada@acme.example", "password": PASSWORD} if right
                    else {"email": f"nobody-{number}@acme.example", "password": "a guess that is wrong"})
            status, _ = client.call("POST", "/api/auth/sign-in", body, fields=random_client())
            with lock:
                statuses[status] = statuses.get(status, 0) + 1

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"      responses to sign-ins: {statuses}", flush=True)
    return statuses


class Company:
    def __init__(self, service):
        self.service = service
        client, key = Client(service), service.key
        data = client.create("POST", "/api/admin/organizations",
                             {"name": "Acme", "slug": "acme", "portal": {"enabled": True}}, key)["data"]
        self.organization, self.roles, self.tokens = data["id"], [], []
        user = client.create("GET", "/api/v1/me", key=key)["user"]["id"]
        client.create("PUT", f"/api/admin/organizations/{self.organization}/memberships/{user}", {"orgRole": "owner"}, key)
        scopes = ["candidates:read", "candidates:write", "roles:read", "roles:write", "pipeline:write"]
        self.key = client.create("POST", "/api/admin/api-keys", {"name": "load", "userId": user, "scopes": scopes},
                               key)["data"]["key"]
        for number in range(ROLES):
            role = client.create("POST", f"/api/v1/organizations/{self.organization}/roles", {
                "name": f"Engineer {number}", "location": f"Town {number % 7}", "public": True, "positions": 500,
                "description": {"format": "markdown", "body": "Work. " * 300}}, self.key)["data"]["id"]
            for name in ("Application", "Interview", "Offer"):
                client.create("POST", f"/api/v1/roles/{role}/steps", {"name": name, "stepType": "other"}, self.key)
            client.create("POST", f"/api/v1/roles/{role}/open", key=self.key)
            self.roles.append(role)
            link = client.create("POST", "/api/public/portal/acme/apply", {"roleId": role})["inviteUrl"]
            self.tokens.append(re.search(r"/signup/([^?]+)", link).group(1))


def form(number, size):
    boundary = "boundary-of-the-form"
    parts = []
    for name, value in (("name", f"Zoe {number}"), ("email", f"zoe-{number}-{random.random()}@example.org"),
                        ("consent", "true"), ("note", "hello " * 100)):
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
    parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="cv"; filename="cv.txt"\r\n'
                 f'Content-Type: text/plain\r\n\r\n'.encode() + b"lines of text\n" * (size // 14) + b"\r\n")
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def mixed(service, company, seconds):
    """Sends requests of all kinds from 24 connections for this many seconds, and runs imports at the same time.

    Returns the number of requests that got no answer or a 5xx.
    """
    until, responses, lock = time.monotonic() + seconds, {}, threading.Lock()

    def note(kind, status):
        with lock:
            responses[kind, status] = responses.get((kind, status), 0) + 1

    def upload(client):
        body, fields = form(random.randrange(10**9), random.choice([50_000, 300_000, 2_000_000, 9_000_000]))
        status, _ = client.call("POST", f"/api/public/signup/{random.choice(company.tokens)}", body,
                                fields={**fields, **random_client()})
        note("upload", status)

    def lists(client):
        role, organization = random.choice(company.roles), company.organization
        path = random.choice([
            f"/api/v1/organizations/{organization}/candidates?limit=200", f"/api/v1/roles/{role}/board?limit=200",
            f"/api/v1/organizations/{organization}/candidates?q=zoe&limit=200", f"/api/v1/roles/{role}/report",
            f"/api/v1/organizations/{organization}/roles?limit=200",
            f"/api/v1/organizations/{organization}/activity?limit=200", f"/api/v1/organizations/{organization}/status"])
        note("list", client.call("GET", path, key=company.key)[0])

    def admin(client):
        path = random.choice(["/api/admin/api-keys", "/api/admin/users", "/api/admin/organizations", "/api/openapi.json"])
        note("admin", client.call("GET", path, key=service.key)[0])

    def pages(client):
        role = random.choice(company.roles)
        path = random.choice([f"/careers/acme/roles/{role}", "/careers/acme", f"/careers/acme?q=town-{random.random()}",
                              "/careers/acme/jobs.xml", "/careers/acme/feed.atom", "/api/public/portal/acme",
                              f"/api/public/portal/acme/roles/{role}", f"/signup/{random.choice(company.tokens)}"])
        language = random.choice(["en", "de", "fr", "es"])
        coding = random.choice(["gzip", "identity"])
        note("page", client.call("GET", path, fields={"Accept-Language": language, "Accept-Encoding": coding})[0])

    def decide(client):
        path = f"/api/v1/organizations/{company.organization}/candidates?limit=100"
        status, text = client.call("GET", path, key=company.key)
        people = json.loads(text)["data"] if status == 200 else []
        if people:
            person = random.choice(people)["id"]
            status, text = client.call("GET", f"/api/v1/candidates/{person}", key=company.key)
            steps = [step for application in json.loads(text)["data"]["applications"] for step in application["steps"]
                     if step["status"] == "in_progress"]
            if steps:
                act = random.choice(["validate", "reject", "hire"])
                status, _ = client.call("POST", f"/api/v1/candidate-steps/{steps[0]['id']}/{act}",
                                        {"outcomeNotes": "as agreed"}, company.key)
                note(act, status)
            note("export", client.call("GET", f"/api/v1/candidates/{person}/export", key=company.key)[0])
            if random.random() < 0.1:
                role = random.choice(company.roles)
                client.call("PATCH", f"/api/v1/roles/{role}", {"department": f"D {random.random()}"}, company.key)

    def sign_in(client):
        right = random.random() < 0.5
        email = "ada@acme.example" if right else f"nobody-{random.random()}@acme.example"
        status, _ = client.call("POST", "/api/auth/sign-in", {"email": email, "password": PASSWORD}, fields=random_client())
        note("sign-in", status)
        time.sleep(0.2)

    def work(kind):
        client = Client(service)
        while time.monotonic() < until:
            kind(client)

    kinds = [upload] * 6 + [lists] * 5 + [admin] * 1 + [pages] * 6 + [decide] * 4 + [sign_in] * 2
    workers = [threading.Thread(target=work, args=(kind,)) for kind in kinds]
    for worker in workers:
        worker.start()
    imports, failed_imports, highest, reported = 0, 0, 0.0, time.monotonic()
    while time.monotonic() < until:
        imports += 1
        company_of = {"name": f"Imported {imports}", "slug": f"imported-{imports}", "roles": [
            {"name": "Clerk", "status": "open", "positions": 5, "steps": [{"name": "Application"}, {"name": "Offer"}],
             "candidates": [{"name": f"Person {n}", "email": f"p{imports}-{n}@example.org"} for n in range(2_000)]}]}
        try:
            service.run("import", "-", text=json.dumps({"organizations": [company_of]}))
        except subprocess.CalledProcessError as error:
            failed_imports += 1
            print(f"      an import failed: {error.stderr.strip()}")
        highest = max(highest, service.rolled_up()["Rss"])
        if time.monotonic() - reported > 60:
            reported = time.monotonic()
            service.report(f"{until - reported:.0f} s before the end of the mixed load")
        time.sleep(max(2.0, seconds / 60))
    for worker in workers:
        worker.join()
    sums = {}
    for (kind, status), count in sorted(responses.items()):
        sums.setdefault(kind, []).append(f"{status}: {count}")
    print(f"      {imports} imports; " + "; ".join(f"{kind} {', '.join(counts)}" for kind, counts in sums.items()))
    print(f"      at most {highest:.1f} MB resident during the mixed load")
    check("every import during the mixed load succeeds", failed_imports == 0)
    return sum(count for (_, status), count in responses.items() if status == 0 or status >= 500)


def run(outcome, binary):
    global RESULT
    RESULT = outcome
    count, seconds, idle = LONG if IS_LONG else SHORT
    with tempfile.TemporaryDirectory(prefix="appliance-memory.") as directory:
        service = Service(binary, directory)
        try:
            service.run("set-password", "--email", "ada@acme.example", text=PASSWORD)
            company = Company(service)
            service.report("at the start")
            begun = time.monotonic()
            statuses = sign_ins(service, count)
            print(f"      {count} sign-ins took {time.monotonic() - begun:.1f} s")
            wrong = count // 2
            expected = {200: count - wrong, 401: wrong}
            check("half of the sign-ins succeed and the others are refused", statuses == expected)
            memory = service.report(f"after {count} sign-ins")
            check(f"after {count} sign-ins, at most {LIMIT_MB} MB are resident", memory <= LIMIT_MB)
            server_errors = mixed(service, company, seconds)
            check("the mixed load causes no server error", server_errors == 0)
            service.report("at the end of the mixed load")
            time.sleep(idle)
            memory = service.report(f"{idle} idle seconds later")
            check(f"after the mixed load, at most {LIMIT_MB} MB are resident", memory <= LIMIT_MB)
        finally:
            service.process.send_signal(signal.SIGTERM)
            service.process.wait()
