"""Claim: on a disk that is filled to its last byte, the service refuses writes that it cannot store and loses no act
that it has answered; reads, sign-ins, erasures and revocations still work; with free space, everything works again.

Method: the file is on a tmpfs of 64 MB, which the experiment fills with another file. The mount requires root.

If the claim were false: a read would fail, a write would be answered and lost, or the service would not start on a full
disk.
"""

import atexit
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

PATIENCE_S = 30
BOUNDARY = "boundary-of-a-test"
RESULT = None


def check(name, holds, more=""):
    RESULT.check(holds, name, more)


def eventually(holds):
    """Waits for a condition and returns whether it became true."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


class Service:
    """A running `appliance serve`."""

    def __init__(self, appliance, db, log):
        self.log = open(log, "ab")
        self.begin = os.path.getsize(log)
        self.log_path = log
        command = [appliance, "serve", "--db", db, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stderr=self.log, stdout=self.log)
        atexit.register(self.process.kill)
        self.is_listening = eventually(lambda: self.port() or self.process.poll() is not None) and bool(self.port())

    def output(self):
        with open(self.log_path, "rb") as log:
            log.seek(self.begin)
            return log.read().decode()

    def port(self):
        found = re.search(r"^listening on http://127.0.0.1:(\d+)", self.output(), re.M)
        return found and int(found.group(1))

    def metrics(self):
        port = int(re.search(r"metrics on http://127.0.0.1:(\d+)", self.output()).group(1))
        text = call(port, "GET", "/metrics")[2]
        return {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.e+]+)$", text, re.M)}

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)


def call(port, method, path, body=None, headers=None):
    """Returns the status, headers and text of a response. The status is 0 if there was no response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    headers = dict(headers or {})
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
        headers["Content-Type"] = "application/json"
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode("utf-8", "replace")
    except OSError as error:
        return 0, {}, str(error)
    finally:
        connection.close()


def multipart(fields, file=None):
    parts = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
             for name, value in fields.items()]
    if file is not None:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="cv"; filename="cv.txt"\r\n\r\n'
        parts.append(head.encode() + file + b"\r\n")
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode(), {
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


def fill(path):
    """Fills the disk to its last byte."""
    with open(path, "ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                pass


def free_bytes(directory):
    stat = os.statvfs(directory)
    return stat.f_bavail * stat.f_frsize


class Company:
    """An organization with a role, staff and candidates, created over HTTP."""

    def __init__(self, service, admin):
        self.service = service
        self.admin = self.bearer(admin)
        body = {"name": "Acme", "slug": "acme", "domain": "acme.example", "portal": {"enabled": True}}
        self.organization = self.make(self.admin, "/api/admin/organizations", body)["id"]
        self.user = self.make(self.admin, "/api/admin/users", {"email": "rosa@acme.example", "name": "Rosa"})["id"]
        path = f"/api/admin/organizations/{self.organization}/memberships/{self.user}"
        self.call("PUT", path, {"orgRole": "owner"}, self.admin)
        self.key_id, key = self.key()
        self.staff = self.bearer(key)
        role = {"name": "Engineer", "public": True, "positions": 9}
        self.role = self.make(self.staff, f"/api/v1/organizations/{self.organization}/roles", role)["id"]
        step = {"name": "Application", "stepType": "application"}
        self.make(self.staff, f"/api/v1/roles/{self.role}/steps", step)
        self.call("POST", f"/api/v1/roles/{self.role}/open", None, self.staff)
        self.candidates = [self.candidate(nth) for nth in range(6)]

    def bearer(self, key):
        return {"Authorization": f"Bearer {key}"}

    def key(self):
        scopes = ["candidates:read", "candidates:write", "roles:read", "roles:write", "pipeline:write"]
        made = self.make(self.admin, "/api/admin/api-keys", {"name": "k", "userId": self.user, "scopes": scopes})
        return made["id"], made["key"]

    def candidate(self, nth):
        body = {"name": f"Candidate {nth}", "email": f"c{nth}@example.org", "roleId": self.role}
        return self.make(self.staff, f"/api/v1/organizations/{self.organization}/candidates", body)["id"]

    def call(self, method, path, body=None, headers=None):
        return call(self.service.port(), method, path, body, headers)

    def make(self, headers, path, body):
        status, _, text = self.call("POST", path, body, headers)
        if status not in (200, 201):
            raise RuntimeError(f"POST {path} was answered with {status}: {text}")
        return json.loads(text)["data"]

    def signup_path(self):
        text = self.call("POST", "/api/public/portal/acme/apply", {"roleId": self.role})[2]
        return "/signup/" + re.search(r"/signup/(\w+)", text).group(1)

    def apply(self, path, email, file=None):
        """Sends a signup as a form to the API."""
        fields = {"name": "Ada", "email": email, "consent": "true"}
        body, headers = multipart(fields, file)
        return self.call("POST", "/api/public" + path, body, headers)

    def usage_rows(self):
        text = self.call("GET", "/api/admin/api-keys", None, self.admin)[2]
        keys = json.loads(text)["data"]
        return next(key["requestCount"] for key in keys if key["id"] == self.key_id)


def run(outcome, binary):
    global RESULT
    RESULT = outcome
    directory = tempfile.mkdtemp(prefix="appliance-full-disk.")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", directory], capture_output=True, text=True)
    if mounted.returncode:
        os.rmdir(directory)
        outcome.check(False, "a tmpfs is mounted (this needs root)", mounted.stderr.strip())
        return
    log = tempfile.NamedTemporaryFile(prefix="appliance-full-disk.", suffix=".log", delete=False).name
    try:
        attack(binary, directory, log)
    finally:
        subprocess.run(["umount", "-l", directory], check=False)
        shutil.rmtree(directory, ignore_errors=True)
        if outcome.failed:
            with open(log) as text:
                lines = [line for line in text if " 200 " not in line]
                print("the last lines of the log, without answers with 200:", *lines[-40:], sep="\n")
        os.unlink(log)


def attack(appliance, directory, log):
    db, filler = os.path.join(directory, "jobs.db"), os.path.join(directory, "filler")
    bootstrap = [appliance, "bootstrap-admin", "--db", db, "--email", "ada@acme.example", "--name", "Ada"]
    admin = subprocess.run(bootstrap, capture_output=True, text=True, check=True).stdout.strip()
    password = b"a long and unusual pass phrase"
    subprocess.run([appliance, "set-password", "--db", db, "--email", "ada@acme.example"], input=password, check=True,
                   capture_output=True)
    service = Service(appliance, db, log)
    company = Company(service, admin)
    reserve = db + ".reserve"
    check("the reserve is a sixteenth of a small disk", os.path.exists(reserve) and os.path.getsize(reserve) == 4 << 20)

    # Little space: the service refuses attachments and nothing else.
    path = company.signup_path()
    with open(filler, "wb") as file:
        file.write(b"x" * (free_bytes(directory) - (2 << 20)))
    status, headers, text = company.apply(path, "little@example.org", b"engines " * 1000)
    check("below the minimum free space, attachments are refused", status == 503 and headers["Retry-After"] == "300",
          (status, text))
    status, _, text = company.apply(path, "little@example.org")
    check("below the minimum free space, signups without an attachment are accepted", status == 200, (status, text))
    check("below the minimum free space, staff can decide", company.call(
        "PUT", f"/api/v1/candidates/{company.candidates[5]}/hold", {"reason": "a case"}, company.staff)[0] == 200)

    # A full disk: the service refuses ordinary writes, but reads, sign-ins, erasures and revocations work.
    before = company.usage_rows()
    status = 200
    count = 0
    while status == 200 and count < 50:
        fill(filler)
        count += 1
        status, _, text = company.apply(path, f"full{count}@example.org")
    check("on a full disk, ordinary writes are eventually refused", status == 503, (status, text))
    fill(filler)
    metrics = service.metrics()
    check("metrics report the full disk", metrics.get("appliance_disk_full") == 1 and "appliance_disk_free_bytes" in metrics
          and "appliance_attachment_bytes" in metrics, metrics)
    check("the portal is served", company.call("GET", "/api/public/portal/acme")[0] == 200)
    check("the career pages are served", company.call("GET", "/careers/acme")[0] == 200)
    check("a form is served", company.call("GET", path)[0] == 200)
    reads = [company.call("GET", f"/api/v1/candidates/{candidate}", None, company.staff)[0]
             for candidate in company.candidates for _ in range(10)]
    reads += [company.call("GET", "/api/v1/me", None, company.staff)[0] for _ in range(10)]
    check("authenticated reads still work", set(reads) == {200}, sorted(set(reads)))
    check("the usage rows of these reads are owed", service.metrics().get("appliance_usage_rows_owed", 0) >= len(reads))
    body = {"email": "ada@acme.example", "password": password.decode()}
    status, headers, text = company.call("POST", "/api/auth/sign-in", body)
    check("sign-in works", status == 200, (status, text))
    cookie = {"Cookie": (headers.get("Set-Cookie") or "").split(";")[0]}
    check("a session can read", company.call("GET", "/api/v1/me", None, cookie)[0] == 200)
    status, _, text = company.call("DELETE", f"/api/v1/candidates/{company.candidates[0]}", None, company.staff)
    check("staff erase a candidate", status == 200, (status, text))
    fill(filler)
    status, _, text = company.call("DELETE", f"/api/v1/candidates/{company.candidates[1]}", None, company.staff)
    check("staff erase another candidate", status == 200, (status, text))
    status, _, text = company.call("DELETE", f"/api/admin/api-keys/{company.key_id}", None, company.admin)
    check("an admin revokes a key", status == 200, (status, text))
    check("the revoked key is refused", company.call("GET", "/api/v1/me", None, company.staff)[0] == 401)

    # With free space, everything works again.
    os.remove(filler)
    check("with free space, ordinary writes work again", eventually(
        lambda: company.apply(path, "space@example.org")[0] == 200))
    check("with free space, attachments are accepted again", eventually(
        lambda: company.apply(path, "file@example.org", b"engines " * 99)[0] == 200))
    check("with free space, owed rows are written", eventually(lambda: service.metrics()["appliance_usage_rows_owed"] == 0))
    rows = company.usage_rows()
    check("no usage row is missing", rows >= before + len(reads), (before, len(reads), rows))
    check("the reserve has its full size again", eventually(lambda: os.path.exists(reserve) and os.path.getsize(reserve) == 4 << 20))
    check("the service stops normally", service.stop() == 0)
    check_file(appliance, db)

    # A start on a full disk, without a write-ahead log or shared memory.
    fill(filler)
    check("the disk has no free byte", free_bytes(directory) == 0, free_bytes(directory))
    leftover = [name for name in os.listdir(directory) if name.endswith(("-wal", "-shm"))]
    check("a stopped service leaves no write-ahead log and no shared memory", not leftover, leftover)
    service = company.service = Service(appliance, db, log)
    check("on a full disk, the service starts and listens", service.is_listening, service.output())
    if not service.is_listening:
        return
    check("after a start on a full disk, the portal is served",
          company.call("GET", "/api/public/portal/acme")[0] == 200)
    check("after a start on a full disk, admins can read",
          company.call("GET", "/api/admin/api-keys", None, company.admin)[0] == 200)
    fill(filler)
    service.stop(signal.SIGKILL)
    service = company.service = Service(appliance, db, log)
    check("after a kill on a full disk, the service starts and listens", service.is_listening, service.output())
    check("after a kill on a full disk, the portal is served", company.call("GET", "/api/public/portal/acme")[0] == 200)
    os.remove(filler)
    company.key_id, key = eventually(lambda: company.call("GET", "/readyz")[0] == 200) and company.key()
    company.staff = company.bearer(key)
    answers = [company.call("GET", f"/api/v1/candidates/{candidate}", None, company.staff) for candidate in company.candidates]
    found = [(status, "Candidate " in text) for status, _, text in answers]
    check("the erased candidates are gone, and no others", found == [(200, False)] * 2 + [(200, True)] * 4, found)
    check("the service stops normally", service.stop() == 0)
    check_file(appliance, db)


def check_file(appliance, db):
    ended = subprocess.run([appliance, "check", "--db", db], capture_output=True, text=True)
    check("the file is sound", ended.returncode == 0, ended.stdout + ended.stderr)
