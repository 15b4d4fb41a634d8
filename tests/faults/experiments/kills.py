"""Claim: `kill -9` at any moment loses no answered request and leaves no act half done.

Method: eight clients send acts and reads without a pause. The service is killed at a random moment. The file is then
checked, and the next round starts the service again on the same file.

If the claim were false: an answered act or its usage row would be missing, a refused act would be in the file, `check`
would report a finding, or the service would not start.
"""

import time

from common import company as c
from common import verdict
from common.load import Load, mixed
from common.outcome import rounds
from common.service import Directory, Service

KINDS = [c.hire, c.reject, c.validate, c.withdraw, c.hold, c.erase, c.sign_up, c.create_key, c.create_user]
CANDIDATES = 1500


def run(outcome, binary):
    count = rounds(6, 1000)
    answered, rows, kills = 0, 0, 0
    while kills < count:
        with Directory() as directory:
            company = c.Company(binary, directory, CANDIDATES)
            numbers = iter(range(1, CANDIDATES + 1))
            path = company.path
            rows, sent = verdict.usage_rows(path), []
            for _ in range(min(count - kills, 25)):
                acts = mixed(company, outcome.random, list(_take(numbers, 55)), KINDS)
                load = kill(outcome, binary, path, acts, company)
                kills += 1
                answered += len(load.answered)
                sent += load.answered
                verdict.sound(outcome, binary, path, "after a kill")
                verdict.complete(outcome, path, sent, load.refused, "after a kill")
                rows += sum(act.key is not None for act in load.answered) + load.reads
                found = verdict.usage_rows(path)
                outcome.check(found >= rows, "every answered request with a key has a usage row", f"{found} < {rows}")
                rows = found
    outcome.report(f"{kills} kills, {answered} acts answered")


def _take(numbers, count):
    for _, number in zip(range(count), numbers):
        yield number


def kill(outcome, binary, path, acts, company):
    """Runs one round: clients send acts and reads until the service is killed."""
    service = Service(binary, path)

    def read(client, load):
        if client.send("GET", "/api/v1/me", key=company.staff)[0] == 200:
            with load.lock:
                load.reads += 1

    load = Load(service, acts, between=read)
    after = outcome.random.randrange(0, 40)
    ended = time.monotonic() + 10
    while load.count() < after and time.monotonic() < ended and any(thread.is_alive() for thread in load.threads):
        time.sleep(0.0005)
    time.sleep(outcome.random.random() * 0.01)
    service.kill()
    return load.join()
