"""Claim: if the service's file, its write-ahead log or its lock file is moved, replaced or removed while the service
runs, the service stops writing, names the file and exits with 78. Every answered act is in the file that the service
had opened or in the write-ahead log of that file. A symbolic link to the file works. A file that cannot be used is
refused.

Method: the service carries out acts, then one change is made to its files, and more acts are sent. The files are put
back, checked and compared with the answers. The experiment also starts the service through a link, and on paths that
the service must refuse.

If the claim were false: an act would be answered after the file was gone, a new empty file would appear, or the service
would continue.
"""

import os
import shutil

from common import company as c
from common import verdict
from common.service import Directory, Service, run as run_command

CONFIGURATION = 78


def move(path):
    os.rename(path, path + ".moved")
    return lambda: os.rename(path + ".moved", path)


def move_all(path):
    for suffix in ("-wal", "-shm", ""):
        os.rename(path + suffix, path + ".moved" + suffix)

    def restore():
        for suffix in ("-wal", "-shm", ""):
            if os.path.exists(path + ".moved" + suffix):
                os.rename(path + ".moved" + suffix, path + suffix)
    return restore


def replace(path):
    shutil.copy(path + ".other", path + ".new")
    os.link(path, path + ".first")
    os.rename(path + ".new", path)
    return lambda: os.rename(path + ".first", path)


def remove(path):
    os.link(path, path + ".first")
    os.unlink(path)
    return lambda: os.rename(path + ".first", path)


def remove_log(path):
    os.link(path + "-wal", path + ".first")
    os.unlink(path + "-wal")
    return lambda: os.rename(path + ".first", path + "-wal")


def remove_lock(path):
    os.unlink(path + ".lock")
    return lambda: None


def replace_by_link(path):
    os.rename(path, path + ".first")
    os.symlink(path + ".other", path)
    return lambda: os.rename(path + ".first", path)


CHANGES = [move, move_all, replace, remove, remove_log, remove_lock, replace_by_link]


def run(outcome, binary):
    with Directory() as directory:
        company = c.Company(binary, directory, 20)
        for change in CHANGES:
            with Directory() as place:
                try_change(outcome, binary, company, place, change)
        with Directory() as place:
            try_links(outcome, binary, company, place)
        with Directory() as place:
            try_refusals(outcome, binary, company, place)
    outcome.report(f"{len(CHANGES)} changes to the files while the service runs")


def try_change(outcome, binary, company, place, change):
    name = f"({change.__name__})"
    path = company.copy(place)
    company.copy(place, "a.db.other")
    service = Service(binary, path, log=os.path.join(place, "log"))
    client = service.client()
    answered = [act for act in (c.hire(company, nth) for nth in range(1, 6)) if c.is_answered(act.send(client)[0])]
    outcome.check(len(answered) == 5, f"the acts before the change succeed {name}")
    restore = change(path)
    refused = []
    for nth in range(6, 12):
        act = c.hire(company, nth)
        status, _ = act.send(client)
        (answered if c.is_answered(status) else refused).append(act)
    outcome.check(len(answered) == 5, f"no decision is answered after the change {name}", len(answered))
    status = service.wait(20)
    outcome.check(status == CONFIGURATION, f"the service exits with 78 {name}", (status, service.output()[-300:]))
    outcome.check("a.db" in service.output().rstrip().splitlines()[-1],
                  f"the last line of the log names the file {name}", service.output()[-300:])
    service.kill()
    if change in (move, remove, move_all):
        outcome.check(not os.path.exists(path), f"no new file appears {name}")
    restore()
    verdict.restarts(outcome, binary, path, f"when the files are back {name}")
    verdict.sound(outcome, binary, path, f"when the files are back {name}")
    verdict.complete(outcome, path, answered, [(act,) for act in refused], f"when the files are back {name}")
    other = c.marks(path + ".other")
    outcome.check(not any(act.mark in other for act in answered), f"the other file is unchanged {name}")


def try_links(outcome, binary, company, place):
    """A service opens its file through a symbolic link. A second service on the same file is refused, and the
    write-ahead log is next to the file."""
    real = os.path.join(place, "real")
    os.mkdir(real, 0o700)
    path = company.copy(real)
    link = os.path.join(place, "link.db")
    os.symlink(path, link)
    service = Service(binary, link, log=os.path.join(place, "log"))
    client = service.client()
    outcome.check(c.is_answered(c.hire(company, 1).send(client)[0]), "the service works through a link")
    outcome.check(not os.path.exists(link + "-wal") and os.path.exists(path + "-wal"),
                  "the write-ahead log is next to the file")
    second = Service(binary, path, log=os.path.join(place, "second"), is_expected=False)
    outcome.check(second.has_ended and second.port is None, "a second service on the same file is refused",
                  second.output()[-200:])
    second.kill()
    service.kill()
    verdict.restarts(outcome, binary, path, "after a kill of a service that uses a link")
    verdict.complete(outcome, path, [c.hire(company, 1)], [], "after a kill of a service that uses a link")


def try_refusals(outcome, binary, company, place):
    """Checks that the service refuses an empty file, a file that others can read, text, a directory, and a path in a
    missing directory."""
    empty = os.path.join(place, "empty.db")
    open(empty, "w").close()
    os.chmod(empty, 0o600)
    shared = company.copy(place, "shared.db")
    os.chmod(shared, 0o644)
    text = os.path.join(place, "text.db")
    with open(text, "w", encoding="ascii") as file:
        file.write("no database " * 1000)
    os.chmod(text, 0o600)
    for path in (empty, shared, text, place):
        before = sorted(os.listdir(place))
        service = Service(binary, path, log=os.path.join(os.path.dirname(company.path), "refused.log"), is_expected=False)
        status = service.wait(20)
        outcome.check(status == CONFIGURATION or path == place and status == 1, "a file that cannot be used is refused",
                      (os.path.basename(path), status, service.output()))
        # SQLite leaves an empty write-ahead log next to a file that others can read.
        outcome.check(path == shared or sorted(os.listdir(place)) == before, "a refusal creates no file",
                      (os.path.basename(path), sorted(set(os.listdir(place)) - set(before))))
    missing = os.path.join(place, "none", "a.db")
    ended = run_command(binary, "serve", "--db", missing, "--listen", "127.0.0.1:0")
    outcome.check(ended.returncode != 0 and ended.stderr.strip(), "a missing directory is refused", ended.stderr)
