"""Claim: an upgrade that is killed at any file operation leaves the old file or the upgraded one, the next start
completes the upgrade, and a program never changes a file of a newer version.

Method: the experiment makes a file and raises its version. The program must refuse the file at three starts, without
changing a byte of it. The long form also builds a program with the next version of the schema (`common/build.py`), and
kills the first start of that program on a file of the current version, at each file operation and in three ways. After
each kill, the file must be whole in the old or the new version, with all candidates. The next start must complete
the upgrade, and the copy of the old file must have the old version and all candidates.

If the claim were false: a file would have the new version without all of its changes, a row would be missing, or the
start after the kill would fail.
"""

import hashlib
import os
import shutil
import sqlite3
import tempfile

from common import build, company as c
from common import shim, verdict
from common.outcome import IS_LONG, rounds
from common.service import Directory, Service, run as run_command

WAYS = {shim.KILL_BEFORE: "before", shim.KILL_WITHIN: "within", shim.KILL_AFTER: "after"}
CONFIGURATION = 78
CANDIDATES = 200
# The columns that an upgrade leaves as they are.
COLUMNS = "id, organization_id, name, email, created_at"


def run(outcome, binary):
    with Directory() as directory:
        company = c.Company(binary, directory, CANDIDATES)
        refuse_newer(outcome, binary, company, directory)
        newer = os.environ.get("FAULTS_NEXT_BINARY")
        if newer is None and IS_LONG:
            with tempfile.TemporaryDirectory(prefix="faults-next.") as place:
                kill_upgrades(outcome, build.build(place), company)
        elif newer is not None:
            kill_upgrades(outcome, newer, company)
        else:
            outcome.report("a file of a newer version is refused; the long form kills upgrades to the next version")


def version(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        connection.close()


def refuse_newer(outcome, binary, company, directory):
    """Checks that a file of a newer version is refused and not changed."""
    place = os.path.join(directory, "newer")
    os.mkdir(place, 0o700)
    path = company.copy(place)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version(path) + 1}")
    connection.close()
    before = digest(path)
    for _ in range(3):
        service = Service(binary, path, log=os.path.join(directory, "log"), is_expected=False)
        status = service.wait(20)
        outcome.check(status == CONFIGURATION, "a file of a newer version is refused with exit status 78",
                      (status, service.output()))
        outcome.check(digest(path) == before, "a file of a newer version is not changed")
        service.kill()
    for suffix in ("-wal", "-shm", ".lock"):
        if os.path.exists(path + suffix):
            os.unlink(path + suffix)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def candidates(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute(f"SELECT {COLUMNS} FROM candidates ORDER BY number").fetchall()
    finally:
        connection.close()


def kill_upgrades(outcome, newer, company):
    old = version_of(newer) - 1
    make_old(company, old)
    before = candidates(company.path)
    positions = count_operations(newer, company, old)
    every = [(position, way) for position in range(1, positions + 1) for way in WAYS]
    wanted = rounds(30, len(every))
    for position, way in every if wanted >= len(every) else outcome.random.sample(every, wanted):
        kill_at(outcome, newer, company, position, way, before, old)
    outcome.report(f"{positions} operations of an upgrade, {min(wanted, len(every))} kills")


def version_of(binary):
    """Returns the version of the files that a program creates."""
    with Directory() as directory:
        path = os.path.join(directory, "new.db")
        run_command(binary, "bootstrap-admin", "--db", path, "--email", "root@example.org", check=True)
        return version(path)


def make_old(company, old):
    """Gives the company's file the old version, and removes the changes of the next version if the file has them."""
    connection = sqlite3.connect(company.path)
    connection.execute("DROP INDEX IF EXISTS faults_notes")
    if connection.execute("SELECT 1 FROM pragma_table_info('candidates') WHERE name = 'faults_note'").fetchone():
        connection.execute("ALTER TABLE candidates DROP COLUMN faults_note")
    connection.commit()
    connection.execute(f"PRAGMA user_version = {old}")
    connection.close()
    for suffix in ("-wal", "-shm"):
        if os.path.exists(company.path + suffix):
            os.unlink(company.path + suffix)


def start(newer, company, directory, *armed):
    home = os.path.join(directory, "home")
    os.mkdir(home, 0o700)
    path = company.copy(home)
    control = shim.Shim(directory, watched=home)
    if armed:
        control.arm(*armed)
    service = Service(newer, path, shim=control, log=os.path.join(directory, "log"), is_expected=False)
    return service, path, control


def count_operations(newer, company, old):
    """Returns the number of operations until the service has upgraded the file and listens."""
    with Directory() as directory:
        service, path, control = start(newer, company, directory)
        assert service.port, service.output()
        count = control["count"]
        service.stop()
        assert version(path) == old + 1, "the upgrade has happened"
        return count


def kill_at(outcome, newer, company, position, way, before, old):
    when = f"(upgrade, {WAYS[way]} operation {position})"
    with Directory() as directory:
        service, path, _ = start(newer, company, directory, way, position)
        service.kill()
        copy = os.path.join(directory, "after.db")
        for suffix in ("", "-wal"):
            if os.path.exists(path + suffix):
                shutil.copy(path + suffix, copy + suffix)
        outcome.check(is_whole(copy, old), f"the file is the old or the upgraded one {when}")
        outcome.check(candidates(copy) == before, f"no row is missing {when}")
        verdict.restarts(outcome, newer, path, f"after a killed upgrade {when}")
        verdict.sound(outcome, newer, path, f"after a killed upgrade {when}")
        outcome.check(version(path) == old + 1 and is_whole(path, old), f"the next start completes the upgrade {when}")
        outcome.check(candidates(path) == before, f"no row is missing after the upgrade {when}")
        saved = path + f".before-version-{old + 1}"
        outcome.check(os.path.exists(saved) and candidates(saved) == before and version(saved) == old,
                      f"the copy of the old file is complete {when}")


def is_whole(path, old):
    """Returns whether the file has all changes of its version, and none of the next."""
    connection = sqlite3.connect(path)
    try:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        has_column = connection.execute(
            "SELECT count(*) FROM pragma_table_info('candidates') WHERE name = 'faults_note'").fetchone()[0]
        has_index = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'faults_notes'").fetchone()[0]
        if found == old:
            return not has_column and not has_index
        empty = connection.execute("SELECT count(*) FROM candidates WHERE faults_note IS NULL").fetchone()[0]
        return bool(has_column and has_index and not empty)
    finally:
        connection.close()
