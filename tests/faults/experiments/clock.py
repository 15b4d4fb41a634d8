"""Claim: a clock that jumps forward or back by an hour, a day or a year, or that stops, causes no erasure, makes no
revoked or expired key and no ended session valid again, and delays no delivery to an HR system. Candidates who are due
are erased after the time has really passed.

Method: the shim moves the clocks of a running service. First, a key expires. After two more hours of uptime, the wall
clock jumps, and half an hour passes, in which retention runs three times. Then the jump is undone. During and after
each jump, the experiment counts erased candidates and tries a revoked key, an expired key and an ended session. Except
while the clock is wrong by a year, it also hires a candidate, and the delivery must arrive. At the end, days pass on
both clocks, and retention must erase the candidates who are due. The short form leaves out two of the jumps.

If the claim were false: a candidate would be erased after a jump, a refused credential would be accepted again, or a
delivery would not arrive within 20 seconds. If the shim did not reach the service, nobody would be erased at the end.
"""

import http.server
import json
import os
import sqlite3
import threading
import time

from common import company as c
from common import verdict
from common.outcome import IS_LONG, rounds
from common.service import Directory, Service, eventually, run as run_command
from common.shim import SECOND, Shim

HOUR, DAY, YEAR = 3600, 86400, 365 * 86400
JUMPS = {"an hour": HOUR, "a day": DAY, "a year": YEAR}
DUE = 4
# Two hires for each jump by less than a year, one for each jump by a year, one while the clock is stopped, and one
# when it runs again.
HIRES_PER_ROUND_MAX = 12
RETENTION_DAYS = 30
MESSAGE_S = 20
PASSWORD = "seven copper kettles whistle"


def run(outcome, binary):
    with Directory() as directory, Receiver() as receiver:
        count = rounds(1, 10)
        company = prepare(binary, directory, DUE + count * HIRES_PER_ROUND_MAX)
        world = World(outcome, binary, directory, company, receiver)
        for nth in range(count):
            world.jumps(nth)
        world.let_time_pass()
        world.service.stop()
        verdict.sound(outcome, binary, company.path, "after the jumps")
        outcome.report(f"{world.count} jumps, {receiver.count} deliveries, {erased(company.path)} candidates erased when due")


def prepare(binary, directory, candidates):
    """Creates a company with a retention period. The first DUE candidates were rejected ten days ago."""
    decided = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(time.time() - 10 * DAY))
    role = c.role(1, range(1, candidates + 1))
    for candidate in role["candidates"][:DUE]:
        candidate["status"] = "Not Selected"
        candidate["steps"][0].update(status="rejected", rejectedAt=decided, rejectionReason="")
    organization = dict(c.organization("acme", [role]), retentionDays=RETENTION_DAYS)
    company = c.Company(binary, directory, content=c.document([organization]))
    run_command(binary, "set-password", "--db", company.path, "--email", "owner@acme.example", text=PASSWORD, check=True)
    return company


def erased(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT count(*) FROM candidates WHERE erased_at IS NOT NULL").fetchone()[0]
    finally:
        connection.close()


class World:
    def __init__(self, outcome, binary, directory, company, receiver):
        self.outcome, self.binary, self.company, self.receiver = outcome, binary, company, receiver
        self.shim = Shim(directory)
        self.service = Service(binary, company.path, "--allow-private-hr-targets", "--metrics-listen", "127.0.0.1:0",
                               shim=self.shim, log=os.path.join(directory, "log"))
        self.count, self.next = 0, DUE + 1
        status, text = self.admin.send("PUT", "/api/admin/organizations/org_acme/hr-integration",
                                       {"url": f"http://127.0.0.1:{receiver.port}/"})
        assert status == 200, text
        self.expired = self.let_a_key_expire()
        self.pass_time(2.2 * HOUR)

    # Each use creates a new client, because the service closes idle connections when time passes.
    @property
    def admin(self):
        return self.service.client(self.company.admin)

    @property
    def staff(self):
        return self.service.client(self.company.staff)

    def pass_time(self, seconds):
        """Lets time pass on both clocks, and gives the service half a second to act."""
        self.shim.pass_time(seconds)
        time.sleep(0.5)

    def let_a_key_expire(self):
        """Creates a key for one day, lets the day pass, and returns the key."""
        wanted = {"userId": "user_owner", "name": "short", "expiresInDays": 1}
        key = self.admin.call("POST", "/api/admin/api-keys", wanted)["data"]["key"]
        self.outcome.check(self.status_of(key) == 200, "a key is accepted before it expires")
        self.pass_time(1.1 * DAY)
        self.outcome.check(self.status_of(key) == 401, "a key is refused after it has expired")
        return key

    def status_of(self, key):
        return self.service.client().send("GET", "/api/v1/me", key=key)[0]

    def believed(self):
        return self.service.metrics().get("appliance_clock_believed") == 1

    def jumps(self, nth):
        self.outcome.check(eventually(self.believed, 20), "the clock is believed before the jumps")
        for name, size in JUMPS.items():
            for sign, way in ((1, "forward"), (-1, "back")):
                if not IS_LONG and (name, way) in (("an hour", "back"), ("a day", "forward")):
                    continue
                self.jump(f"{name} {way}", sign * size)
        self.stand()

    def jump(self, name, seconds):
        access = Access(self)
        before = erased(self.company.path)
        self.shim.jump(seconds)
        access.refuse(f"after a jump of {name}", is_used=abs(seconds) < YEAR)
        for _ in range(3):
            self.pass_time(660)
        self.outcome.check(not self.believed(), f"the clock is not believed after a jump of {name}")
        self.outcome.check(erased(self.company.path) == before, f"nobody is erased after a jump of {name}")
        if abs(seconds) < YEAR:
            self.hire(f"after a jump of {name}")
        self.shim.jump(-seconds)
        access.refuse(f"when a jump of {name} is undone")
        self.hire(f"when a jump of {name} is undone")
        # The believed time has followed the jump for half an hour. It needs about as long to agree with the clock
        # again.
        self.pass_time(4 * 660)
        self.outcome.check(eventually(self.believed, 20), f"the clock is believed after a jump of {name} is undone")
        self.outcome.check(erased(self.company.path) == before, f"nobody is erased when a jump of {name} is undone")
        self.count += 2

    def stand(self):
        """Stops the wall clock while half an hour of uptime passes."""
        before = erased(self.company.path)
        access = Access(self)
        self.shim["wall_stands_at"] = time.time_ns() + self.shim["wall_shift"]
        for _ in range(3):
            self.shim["monotonic_shift"] = self.shim["monotonic_shift"] + 660 * SECOND
            time.sleep(0.5)
        access.refuse("while the clock is stopped")
        self.hire("while the clock is stopped")
        self.shim["wall_stands_at"] = 0
        self.shim.jump(3 * 660)
        self.hire("when the clock runs again")
        self.pass_time(4 * 660)
        self.outcome.check(eventually(self.believed, 20), "a clock that was stopped is believed again")
        self.outcome.check(erased(self.company.path) == before, "nobody is erased while the clock is stopped")
        self.count += 1

    def hire(self, when):
        act = c.hire(self.company, self.next)
        self.next += 1
        count = self.receiver.count
        status, text = act.send(self.staff)
        if self.outcome.check(status == 200, f"staff can hire {when}", (status, text[:300])):
            begun = time.monotonic()
            self.outcome.check(eventually(lambda: self.receiver.count > count, MESSAGE_S), f"the delivery arrives {when}",
                               f"{time.monotonic() - begun:.0f} s")

    def let_time_pass(self):
        """Lets days pass on both clocks. Only the candidates who are due are erased."""
        self.outcome.check(erased(self.company.path) == 0, "nobody is erased before the retention period ends")
        self.pass_time((RETENTION_DAYS - 10 + 1) * DAY)
        time.sleep(1)
        self.outcome.check(erased(self.company.path) == 0, "nobody is erased on the day on which they become due")
        for _ in range(3):
            self.pass_time(DAY)
            time.sleep(0.5)
        self.outcome.check(eventually(lambda: erased(self.company.path) == DUE, 20),
                           "the candidates who are due are erased later", erased(self.company.path))


class Access:
    """A key that was revoked and a session that was ended before a jump."""

    def __init__(self, world):
        self.world = world
        data = world.admin.call("POST", "/api/admin/api-keys", {"userId": "user_owner", "name": "revoked"})["data"]
        self.revoked = data["key"]
        world.admin.call("DELETE", f"/api/admin/api-keys/{data['id']}")
        client = world.service.client()
        status, text = client.send("POST", "/api/auth/sign-in", {"email": "owner@acme.example", "password": PASSWORD})
        assert status == 200, (status, text)
        self.session = {"Cookie": client.headers["Set-Cookie"].split(";")[0]}
        client.send("POST", "/api/auth/sign-out", {}, {**self.session, "Sec-Fetch-Site": "same-origin"})

    def refuse(self, when, is_used=True):
        client = self.world.service.client()
        status, _ = client.send("GET", "/api/v1/me", key=self.revoked)
        self.world.outcome.check(status == 401, f"a revoked key is refused {when}", status)
        status = self.world.status_of(self.world.expired)
        self.world.outcome.check(status == 401, f"an expired key is refused {when}", status)
        status, _ = client.send("GET", "/api/v1/me", fields=self.session)
        self.world.outcome.check(status == 401, f"an ended session is refused {when}", status)
        if is_used:
            status, _ = client.send("GET", "/api/v1/me", key=self.world.company.staff)
            self.world.outcome.check(status == 200, f"a valid key is accepted {when}", status)


class Receiver:
    """An HR system that accepts every delivery."""

    def __init__(self):
        self.count = 0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.count += 1
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
