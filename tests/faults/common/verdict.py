"""Checks a file after a fault: the file is sound, contains every confirmed act and contains no refused act."""

import sqlite3

from common.company import marks
from common.service import Service, run

# No act removes the mark of another act, because each act concerns its own candidate, key, user or role.


def sound(outcome, binary, path, when):
    """Checks the file with `appliance check`."""
    checked = run(binary, "check", "--db", path)
    return outcome.check(checked.returncode == 0, f"the file is sound {when}", checked.stdout + checked.stderr)


def complete(outcome, path, confirmed, refused, when):
    """Checks that the file contains every confirmed act and no refused act. Returns the marks in the file."""
    found = marks(path)
    missing = [act.mark for act in confirmed if act.mark not in found]
    outcome.check(not missing, f"every confirmed act is in the file {when}", missing[:5])
    undue = [act.mark for act, *_ in refused if act.mark in found]
    outcome.check(not undue, f"no refused act is in the file {when}", undue[:5])
    return found


def usage_rows(path):
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT count(*) FROM api_key_usage").fetchone()[0]
    finally:
        connection.close()


def restarts(outcome, binary, path, when):
    """Starts and stops the service on the file."""
    try:
        status = Service(binary, path).stop()
    except RuntimeError as error:
        return outcome.check(False, f"the service starts {when}", str(error)[-500:])
    return outcome.check(status == 0, f"the service starts and stops {when}", f"exit status {status}")
