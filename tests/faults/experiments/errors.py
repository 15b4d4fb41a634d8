"""Claim: if the disk fails during an act, the act is refused and changes nothing, or it succeeds and is in the file. If
the answer says that the outcome is unknown, the act is in the file completely or not at all. A failed file operation
never damages the file, and leaves an act without an answer only if the service ends with an error.

Method: the shim makes the Nth file operation of an act fail with EIO or ENOSPC, once or from then on, for every N until
the act needs no more operations. The service is then stopped or, every second time, killed, and restarts twice without
faults. Each time, the file is compared with the answer. After a refusal, the rows, the exported interchange document
and the erasure list must be the same as before the act. The short form tries a few acts at random N.

If the claim were false: a refused act would have changed a row, an answered one would be missing, an act would be in
the file after only one of the restarts, or `check` would report a finding.
"""

import errno
import itertools

from common import company as c
from common import shim, state
from common.operations import Numbered
from common.outcome import IS_LONG, rounds
from common.service import Directory, Service, run as run_command

UNKNOWN = "the change may or may not have been saved"
UNKNOWN_PAGE = "We do not know whether it was saved"
KINDS = shim.ALL_KINDS | 1 << shim.OPEN
SHORT = {("erased", errno.EIO, shim.FAIL), ("erased", errno.ENOSPC, shim.FAIL), ("hired", errno.EIO, shim.FAIL),
         ("attachment", errno.ENOSPC, shim.FAIL), ("user", errno.EIO, shim.FAIL), ("validated", errno.EIO, shim.FAIL_FROM)}
SHORT_POSITIONS = 6


def run(outcome, binary):
    with Directory() as directory:
        company = c.Company(binary, directory, 12)
        state.find_own_tables(binary, company, directory)
        before = whole_state(binary, company.path)
        counts = {"refused": 0, "done": 0, "unknown": 0}
        acts = [make(company, number) for number, make in enumerate(c.ACTS, 1)]
        for act, error, action in itertools.product(acts, (errno.EIO, errno.ENOSPC), (shim.FAIL, shim.FAIL_FROM)):
            if not IS_LONG and (act.name, error, action) not in SHORT:
                continue
            faults = 0
            for nth in positions(outcome):
                injected = attempt(outcome, binary, company, before, act, action, error, nth, counts)
                faults += injected > 0
                if not injected and IS_LONG:
                    break
            outcome.check(faults > 0, f"faults are injected into {act.name}")
            outcome.report(f"{act.name}, {errno.errorcode[error]}: {faults} faults")
        if IS_LONG:
            outcome.check(counts["unknown"] > 0, "some answers report an unknown outcome")
        outcome.report(", ".join(f"{count} {what}" for what, count in counts.items()))


def positions(outcome):
    return range(1, 10_000) if IS_LONG else outcome.random.sample(range(1, 36), rounds(SHORT_POSITIONS, 35))


def whole_state(binary, path):
    return state.rows(path), state.export(binary, path), state.erasure_list(path)


def attempt(outcome, binary, company, before, act, action, error, nth, counts):
    """Sends one act with one fault. Returns the number of operations that failed."""
    name = f"({act.name}, {errno.errorcode[error]} at operation {nth}{'+' if action == shim.FAIL_FROM else ''})"
    with Directory() as directory:
        numbered = Numbered(binary, company, directory)
        numbered.shim.arm(action, nth, error, KINDS)
        client = numbered.service.client()
        status, text = act.send(client)
        client.close()
        numbered.shim.disarm()
        injected = numbered.shim["injected"]
        ended = numbered.service.process.poll()
        # A failed commit can be in the write-ahead log. The service must overwrite that commit before it refuses the
        # act. A missing overwrite is visible only if the service commits nothing else before it ends. That is why every
        # second attempt kills the service.
        if (nth + error) % 2 == 0:
            numbered.service.kill()
        else:
            numbered.service.stop()
        path, found = numbered.path, []
        for _ in range(2):
            try:
                Service(binary, path).stop()
            except RuntimeError as why:
                outcome.check(False, f"the service starts again {name}", why)
                return injected
            found.append((whole_state(binary, path), act.mark in c.marks(path)))
        checked = run_command(binary, "check", "--db", path)
        outcome.check(checked.returncode == 0, f"the file is sound {name}", checked.stdout + checked.stderr)
        outcome.check(status != 0 or ended not in (None, 0), f"the act is answered {name}", text)
        is_unknown = status == 0 or UNKNOWN in text or UNKNOWN_PAGE in text
        kind = "unknown" if is_unknown else "done" if status < 400 else "refused"
        counts[kind] += 1
        if kind == "done" and act.name == "erased":
            listed = state.erasure_list(path).decode()
            outcome.check(act.mark.split()[1] in listed, f"an answered erasure is in the erasure list {name}", listed)
        judge(outcome, kind, before, found, f"{name}, answered with {status}")
        return injected


def judge(outcome, kind, before, found, name):
    """Compares the file after each of the two restarts with the answer."""
    dones = [done for _, done in found]
    if kind == "unknown":
        outcome.check(len(set(dones)) == 1, f"the two restarts agree {name}")
        for after, done in found:
            outcome.check(done or after[:2] == before[:2], f"an act that is not in the file changed nothing {name}",
                          state.changed(before[0], after[0]))
    elif kind == "done":
        outcome.check(all(dones), f"an answered act is in the file after both restarts {name}", dones)
    else:
        outcome.check(not any(dones), f"a refused act is not in the file {name}", dones)
        for after, _ in found:
            outcome.check(after == before, f"a refused act changed nothing {name}", state.changed(before[0], after[0]))
