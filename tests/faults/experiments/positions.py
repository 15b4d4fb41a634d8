"""Claim: a kill exactly before, within or after any operation that changes a file leaves every act whole: an answered
act is in the file, and an unanswered act is in the file completely or not at all.

Method: the shim numbers the operations on the service's files. For each kind of act, and for the start and the stop of
the service, it kills the process at each number, in three ways: before the operation, in the middle of a write, and
after the operation. The service then starts again, and the file is compared with the file before the act. The short
form tries two kills for each act.

If the claim were false: a kill at some position would leave changed rows without the act, an answered act would be
missing, `check` would report a finding, or the service would not start.
"""

from common import company as c
from common import shim, state, verdict
from common.operations import Numbered
from common.outcome import IS_LONG, rounds
from common.service import Directory

WAYS = {"before": shim.KILL_BEFORE, "within": shim.KILL_WITHIN, "after": shim.KILL_AFTER}


def run(outcome, binary):
    with Directory() as directory:
        company = c.Company(binary, directory, 12)
        state.find_own_tables(binary, company, directory)
        before = state.rows(company.path)
        acts = [make(company, number) for number, make in enumerate(c.ACTS, 1)]
        total = 0
        for act in [*acts, "start", "stop"]:
            positions = count_operations(binary, company, act)
            outcome.check(positions > 0, f"{name_of(act)} changes the file")
            tried = 0
            for position, way in choose(outcome, positions):
                kill_at(outcome, binary, company, before, act, position, way)
                tried += 1
            total += tried
            outcome.report(f"{name_of(act)}: {positions} operations, {tried} kills")
        outcome.report(f"{total} kills at exact positions")


def name_of(act):
    return act if isinstance(act, str) else act.name


def choose(outcome, positions):
    """Returns the positions and ways to try: all of them or, in the short form, two."""
    every = [(position, way) for position in range(1, positions + 1) for way in WAYS]
    return every if IS_LONG else outcome.random.sample(every, min(rounds(2, 2), len(every)))


def perform(numbered, act):
    """Performs the act. Returns the status of its answer, or 0 for a start and a stop, which have none."""
    if act == "start":
        return 0
    if act == "stop":
        numbered.service.stop()
        return 0
    client = numbered.service.client()
    status, _ = act.send(client)
    client.close()
    numbered.settle()
    return status


def count_operations(binary, company, act):
    with Directory() as directory:
        numbered = Numbered(binary, company, directory)
        begun = 0 if act == "start" else numbered.shim["count"]
        status = perform(numbered, act)
        count = numbered.shim["count"] - begun
        assert act in ("start", "stop") or c.is_answered(status), (act.name, status)
        numbered.service.kill()
        return count


def kill_at(outcome, binary, company, before, act, position, way):
    when = f"({name_of(act)}, {way} operation {position})"
    with Directory() as directory:
        armed = (WAYS[way], position)
        numbered = Numbered(binary, company, directory, at_start=armed if act == "start" else None)
        if act == "start":
            numbered.settle()
        else:
            numbered.shim.arm(*armed)
        status = perform(numbered, act)
        numbered.service.kill()
        path = numbered.path
        verdict.restarts(outcome, binary, path, f"after a kill {when}")
        verdict.sound(outcome, binary, path, f"after a kill {when}")
        after = state.rows(path)
        is_done = not isinstance(act, str) and act.mark in c.marks(path)
        if c.is_answered(status):
            outcome.check(is_done, f"an answered act is in the file {when}")
        if not is_done:
            changed = state.changed(before, after)
            outcome.check(not changed, f"an act that is not in the file changed nothing {when}", changed)
