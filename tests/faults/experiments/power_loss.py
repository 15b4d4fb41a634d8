"""Claim: a power failure at any moment loses no answered act and leaves a sound file, no matter which unsynced writes
the disk lost, completed or tore.

Method: the shim records every file operation of a service that carries out acts one after the other, stops, starts
again and carries out more. The experiment notes how many operations had happened when each answer arrived. From the
record, it rebuilds states that a disk could have, spread evenly over the operations. It checks each state with
`appliance check`, and compares it with the acts answered by then. It also starts the service on every tenth state.

If the claim were false: a sync that is missing, late or out of order would leave a state in which an answered act is
missing or the file is damaged.
"""

import os
import shutil
import sqlite3

from common import company as c
from common import state, verdict
from common.disk import POLICIES, Disk, read_record
from common.operations import Numbered
from common.outcome import rounds
from common.service import Directory, Service, run as run_command

STARTS_EVERY = 10
ACTS = 40


def run(outcome, binary):
    states, wanted = 0, rounds(120, 20_000)
    while states < wanted:
        with Directory() as directory:
            company = c.Company(binary, directory, ACTS)
            recording = Recording(outcome, binary, company, directory)
            recording.make()
            states += recording.rebuild(min(wanted - states, 4000))
    outcome.report(f"{states} states of the disk")


class Recording:
    def __init__(self, outcome, binary, company, directory):
        self.outcome, self.binary, self.company, self.directory = outcome, binary, company, directory
        self.record = os.path.join(directory, "record")
        self.answers = []

    def make(self):
        """Carries out the acts and notes the number of operations at each answer."""
        numbered = Numbered(self.binary, self.company, self.directory, record=self.record)
        os.mkdir(os.path.join(self.directory, "first"))
        acts = [self.outcome.random.choice(c.ACTS)(self.company, number) for number in range(1, ACTS + 1)]
        acts[:len(c.ACTS)] = [make(self.company, number) for number, make in enumerate(c.ACTS, 1)]
        self.send(numbered, numbered.service, acts[:-4])
        numbered.service.stop()
        service = Service(self.binary, numbered.path, shim=numbered.shim, log=os.path.join(self.directory, "log"))
        self.send(numbered, service, acts[-4:])
        service.stop()
        self.home, self.home_inode = numbered.home, os.stat(numbered.home).st_ino

    def send(self, numbered, service, acts):
        client = service.client()
        for act in acts:
            status, text = act.send(client)
            self.outcome.check(c.is_answered(status), f"{act.name} succeeds", (status, text[:200]))
            self.answers.append((numbered.shim["count"], act.mark))
        client.close()

    def rebuild(self, wanted):
        """Rebuilds and checks up to this many states, at operations spread evenly over the record.

        Returns the number of states.
        """
        first = os.path.join(self.directory, "first")
        shutil.copy(self.company.path, os.path.join(first, "a.db"))
        disk = Disk(first)
        disk.home, disk.home_inode = self.home, self.home_inode
        operations = read_record(self.record)
        disk.names, disk.files = self.begin(disk)
        each = max(1, len(operations) * len(POLICIES) // wanted)
        made, offset = 0, self.outcome.random.randrange(each)
        for at, operation in enumerate(operations):
            disk.perform(operation)
            for nth, policy in enumerate(POLICIES):
                if (at * len(POLICIES) + nth + offset) % each == 0 and made < wanted:
                    self.verify(disk, operation[5], policy, made)
                    made += 1
        return made

    def begin(self, disk):
        """Returns the names and files at the start, with the inode of the recorded file instead of that of the copy."""
        (content,) = disk.files.values()
        path = os.path.join(self.home, "a.db")
        return {path: os.stat(path).st_ino}, {os.stat(path).st_ino: content}

    def verify(self, disk, number, policy, nth):
        when = f"after a power failure at operation {number} ({policy})"
        target = os.path.join(self.directory, "state")
        os.mkdir(target, 0o700)
        disk.rebuild(target, policy, self.outcome.random)
        path = os.path.join(target, "a.db")
        wanted = [mark for at, mark in self.answers if at <= number]
        if nth % STARTS_EVERY == 0:
            verdict.restarts(self.outcome, self.binary, path, when)
        checked = run_command(self.binary, "check", "--db", path)
        self.outcome.check(checked.returncode == 0, f"the file is sound {when}", checked.stdout + checked.stderr)
        try:
            found = c.marks(path)
        except sqlite3.Error as error:
            found = {str(error)}
        missing = [mark for mark in wanted if mark not in found]
        listed = state.erasure_list(path).decode("utf-8", "replace")
        missing += [mark for mark in wanted if mark.startswith("erased ") and mark.split()[1] + " " not in listed]
        self.outcome.check(not missing, f"every answered act is in the file {when}", missing[:5])
        shutil.rmtree(target)
