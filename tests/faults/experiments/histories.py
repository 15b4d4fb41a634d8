"""Claim: concurrent decisions on a role are linearizable. They have the same results as if they were made one after the
other, in an order that respects when each decision began and ended. So a position is never filled twice.

Method: four clients hire and reject the same few applicants of one role and read the role, all at the same time. They
record when each request began and ended. A search looks for an order of the requests that respects these times and in
which a model of the role gives every answer that was given. Every second history ends with `kill -9`; each of its
unanswered requests may or may not have taken effect. The last requests of each history, after all others, read
the role and try to hire every applicant. With FAULTS_POSTGRES=1, the service uses a PostgreSQL server instead of a
file.

If the claim were false: no such order would exist, for example because two hires for the last position were both
answered with 200, or because a read did not show a decision that had been answered.
"""

import json
import threading
import time

from common import company as c
from common import postgres, verdict
from common.outcome import rounds
from common.service import Directory, Service

CLIENTS, REQUESTS, APPLICATIONS, ROLES = 4, 4, 4, 30
POSITIONS = 2


class Request:
    def __init__(self, what, application=None, step=None):
        self.what, self.application, self.step = what, application, step
        self.begun, self.ended, self.answer = 0.0, float("inf"), None

    def __repr__(self):
        return f"{self.what} {self.application or ''}/{self.step or ''} -> {self.answer} [{self.begun:.6f}, {self.ended:.6f}]"


# The model: for each application, its status and the set of its rejected steps.
START = tuple(("In Progress", ()) for _ in range(APPLICATIONS))


def hired(state):
    return sum(status == "Hired" for status, _ in state)


def apply(state, request):
    """Returns the state after the request, and the answer that the model gives."""
    if request.what == "read":
        return state, "filled" if hired(state) == POSITIONS else "open"
    status, rejected = state[request.application]
    if request.what == "hire":
        if status != "In Progress":
            return state, 409
        if hired(state) == POSITIONS:
            return state, 400
        new = ("Hired", rejected)
    else:
        if request.step in rejected:
            return state, 409
        new = ("Not Selected", tuple(sorted((*rejected, request.step))))
    return (*state[:request.application], new, *state[request.application + 1:]), 200


def is_linearizable(requests):
    """Returns whether an order of the requests explains all answers (Wing and Gong's algorithm, with memoization)."""
    seen, stack = set(), [(frozenset(range(len(requests))), START)]
    while stack:
        left, state = stack.pop()
        if (left, state) in seen:
            continue
        seen.add((left, state))
        if all(requests[nth].answer is None for nth in left):
            return True
        first_end = min(requests[nth].ended for nth in left)
        for nth in left:
            request = requests[nth]
            if request.begun > first_end:
                continue
            after, answer = apply(state, request)
            if request.answer is None or answer == request.answer:
                stack.append((left - {nth}, after))
    return False


class FileCompany:
    """A company on a file."""

    def __init__(self, outcome, binary, directory):
        numbers = range(1, APPLICATIONS + 1)
        roles = [c.role(nth, [nth * 10 + number for number in numbers], POSITIONS) for nth in range(1, ROLES + 1)]
        company = c.Company(binary, directory, content=c.document([c.organization("acme", roles)]))
        self.outcome, self.binary, self.path, self.staff = outcome, binary, company.path, company.staff

    def serve(self):
        return Service(self.binary, self.path)

    def role(self, role):
        return f"role_{role}"

    def step(self, role, application, step):
        return f"cstep_{role * 10 + application + 1}_{step + 1}"

    def check(self):
        verdict.sound(self.outcome, self.binary, self.path, "after the histories")


class ServerCompany:
    """The same company on a PostgreSQL server."""

    def __init__(self, outcome, binary, directory, server, name):
        self.outcome, self.database = outcome, postgres.Database(binary, directory, server, name)
        service = self.serve()
        admin = service.client(self.database.admin)
        self.organization = postgres.Organization(admin, "acme", ROLES, APPLICATIONS, POSITIONS)
        self.staff = self.organization.staff
        service.stop()

    def serve(self):
        return self.database.serve()

    def role(self, role):
        return self.organization.roles[role]

    def step(self, role, application, step):
        return self.organization.steps[role, application][step]

    def check(self):
        findings = self.database.findings()
        self.outcome.check(not findings, "each role counts its hires, and has at most one for each position", findings)


def run(outcome, binary):
    prove_the_search(outcome)
    server = postgres.Server() if postgres.IS_CHOSEN else None
    wanted, made, requests, overlaps = rounds(60, 2000), 0, 0, 0
    while made < wanted:
        with Directory() as directory:
            if server:
                company = ServerCompany(outcome, binary, directory, server, f"histories_{made}")
            else:
                company = FileCompany(outcome, binary, directory)
            service = company.serve()
            for role in range(1, min(ROLES, wanted - made) + 1):
                is_killed = role % 2 == 0
                history = record(outcome, service, company, role, is_killed)
                if is_killed:
                    service.kill()
                    service = company.serve()
                history += final_reads(service, company, role)
                made, requests = made + 1, requests + len(history)
                overlaps += sum(a.begun < b.begun < a.ended for a in history for b in history)
                outcome.check(is_linearizable(history), "the history has an order that explains it",
                              sorted(history, key=lambda request: request.begun))
            service.stop()
            company.check()
    outcome.check(overlaps > made, "requests overlap", overlaps)
    outcome.report(f"{made} histories, {requests} requests, {overlaps} overlapping pairs")


def prove_the_search(outcome):
    """Checks that the search accepts a correct history, and finds no order for one that fills a position twice."""
    history = [Request("hire", number) for number in range(POSITIONS + 1)]
    for request in history:
        request.begun, request.ended, request.answer = 1, 2, 200
    outcome.check(not is_linearizable(history), "the search rejects a history that fills a position twice")
    outcome.check(is_linearizable(history[:POSITIONS]), "the search accepts a correct history")


def record(outcome, service, company, role, is_killed):
    """Sends the requests of one history, from all clients at the same time."""
    plans = [[draw(outcome.random) for _ in range(REQUESTS)] for _ in range(CLIENTS)]
    barrier, history, lock = threading.Barrier(CLIENTS + is_killed), [], threading.Lock()

    def work(plan):
        client = service.client(company.staff)
        client.send("GET", "/healthz")
        barrier.wait()
        for request in plan:
            with lock:
                history.append(request)
            request.begun = time.monotonic()
            status, text = send(client, company, role, request)
            if status == 0:
                request.answer = None
                return
            request.ended = time.monotonic()
            request.answer = json.loads(text)["data"]["status"] if request.what == "read" and status == 200 else status

    threads = [threading.Thread(target=work, args=(plan,), daemon=True) for plan in plans]
    for thread in threads:
        thread.start()
    if is_killed:
        delay = outcome.random.random() * 0.02
        barrier.wait()
        time.sleep(delay)
        service.kill()
    for thread in threads:
        thread.join()
    return history


def draw(random):
    what = random.choice(["hire", "hire", "hire", "reject", "read"])
    return Request(what, random.randrange(APPLICATIONS), random.randrange(2) if what == "reject" else None)


def send(client, company, role, request):
    if request.what == "read":
        return client.send("GET", f"/api/v1/roles/{company.role(role)}")
    step = company.step(role, request.application, request.step or 0)
    return client.send("POST", f"/api/v1/candidate-steps/{step}/{request.what}", {})


def final_reads(service, company, role):
    """Reads the role, then tries to hire every applicant. The answer to a hire shows whether the application is
    in progress."""
    client = service.client(company.staff)
    requests = [Request("read")] + [Request("hire", number) for number in range(APPLICATIONS)]
    for request in requests:
        request.begun = time.monotonic()
        status, text = send(client, company, role, request)
        request.ended = time.monotonic()
        request.answer = json.loads(text)["data"]["status"] if request.what == "read" else status
    return requests
