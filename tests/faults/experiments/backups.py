"""Claim: a backup that is made under load contains every act answered before it began, is sound, and can be restored; a
backup that is killed leaves no damaged file under the name of the target.

Method: three clients send acts while `appliance backup` runs again and again. Every fifth backup is killed and made
again. The other copies are checked, compared with the acts answered before their backups began, and restored to new
files. The rows of each new file are compared with those of its copy.

If the claim were false: an answered act would be missing from a copy, `check` would report a finding, or a restored
file would differ from its copy.
"""

import itertools
import os
import signal
import subprocess
import time

from common import company as c
from common import state, verdict
from common.load import Load, mixed
from common.outcome import rounds
from common.service import Directory, Service, environment, eventually, run as run_command

KINDS = [c.hire, c.reject, c.withdraw, c.hold, c.erase, c.sign_up, c.attach, c.create_user]
CANDIDATES = 600
# The tables that a restore may change. A restore ends sessions, deletes sign-in links and passkey challenges, and
# records itself in the activity. It may also increment the change number (`credential_changes`).
CHANGED_BY_RESTORE = {"activities", "sessions", "sign_in_links", "credential_changes", "passkey_challenges"}


def run(outcome, binary):
    count, made, killed = rounds(5, 200), 0, 0
    while made < count:
        with Directory() as directory:
            company = c.Company(binary, directory, CANDIDATES)
            service = Service(binary, company.path)
            acts = mixed(company, outcome.random, range(1, CANDIDATES + 1), KINDS)
            # When every candidate has had an act, the load continues with new users until the last backup.
            acts = itertools.chain(acts, (c.create_user(company, nth) for nth in itertools.count(CANDIDATES + 1)))
            load = Load(service, acts, threads=3, between=lambda *_: time.sleep(0.02))
            for nth in range(min(count - made, 20)):
                if nth % 5 == 4:
                    killed += kill_backup(outcome, binary, company.path, os.path.join(directory, f"killed-{nth}.db"))
                else:
                    copy(outcome, binary, company.path, load, os.path.join(directory, f"copy-{nth}.db"))
                made += 1
            load.stop()
            outcome.check(not load.unanswered, "the service answers during backups")
            service.stop()
            verdict.sound(outcome, binary, company.path, "after the backups")
    outcome.report(f"{made} backups, {killed} of them killed before they ended")


def copy(outcome, binary, path, load, target):
    outcome.check(eventually(lambda: load.count() > 0, 20), "acts are answered before the backup")
    with load.lock:
        answered = list(load.answered)
    ended = run_command(binary, "backup", "--db", path, target)
    if not outcome.check(ended.returncode == 0, "the backup succeeds", ended.stderr):
        return
    outcome.check(eventually(lambda: load.count() > len(answered), 20), "acts are answered after the backup has begun")
    verdict.sound(outcome, binary, target, "(a backup)")
    verdict.complete(outcome, target, answered, [], "(a backup)")
    restored = target + ".restored"
    ended = run_command(binary, "restore", "--db", restored, target)
    if not outcome.check(ended.returncode == 0, "the backup is restored", ended.stderr):
        return
    verdict.sound(outcome, binary, restored, "(a restored backup)")
    before, after = state.rows(target), state.rows(restored)
    differing = set(state.changed(before, after)) - CHANGED_BY_RESTORE
    outcome.check(not differing, "the restored file has the rows of the copy", differing)
    verdict.restarts(outcome, binary, restored, "on a restored file")
    verdict.complete(outcome, restored, answered, [], "(a restored backup, started once)")
    for name in (target, restored):
        os.unlink(name)


def kill_backup(outcome, binary, path, target):
    """Kills a backup. If the backup ends before the kill, tries again with a shorter delay. Returns the number of killed
    backups, which is 1 unless a check has failed."""
    delay = outcome.random.random() * 0.08
    for delay in (delay, delay / 2, delay / 4, 0):
        process = subprocess.Popen([binary, "backup", "--db", path, target], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment())
        time.sleep(delay)
        process.kill()
        was_killed = process.wait() == -signal.SIGKILL
        if os.path.exists(target):
            verdict.sound(outcome, binary, target, "(the target of a killed backup)")
            os.unlink(target)
        if was_killed:
            break
    outcome.check(was_killed, "a backup is killed before it has ended")
    ended = run_command(binary, "backup", "--db", path, target)
    outcome.check(ended.returncode == 0, "the next backup to the same target succeeds", ended.stderr)
    verdict.sound(outcome, binary, target, "(a backup after a killed one)")
    return was_killed
