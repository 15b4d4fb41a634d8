"""Claim: an idle service writes nothing to its disk except a heartbeat every five minutes, and uses almost no processor
time.

Method: the shim counts the operations on the files of a service that has answered some requests and then receives none.
The short form watches for 15 seconds and allows no operation. The long form watches for half an hour.

If the claim were false: a background job would write whenever it runs, or a loop would use the processor.
"""

import os
import time

from common import company as c
from common.operations import Numbered
from common.outcome import IS_LONG
from common.service import Directory

SECONDS = 1800 if IS_LONG else 15
# About ten seconds after the last request, usage rows are indexed and the write-ahead log is copied into the file.
SETTLE_S = 90 if IS_LONG else 16
HEARTBEAT_S, OPERATIONS_OF_HEARTBEAT = 300, 40
# Background jobs check for work several times a second. A debug build needs several times the processor time of a
# release build.
PROCESSOR_SHARE_MAX = 0.02


def run(outcome, binary):
    with Directory() as directory:
        company = c.Company(binary, directory, 20)
        numbered = Numbered(binary, company, directory)
        client = numbered.service.client()
        for nth, make in enumerate(c.ACTS, 1):
            outcome.check(c.is_answered(make(company, nth).send(client)[0]), "the acts before the silence succeed")
        client.close()
        time.sleep(SETTLE_S)
        count, used = numbered.shim["count"], processor(numbered.service.process.pid)
        time.sleep(SECONDS)
        operations = numbered.shim["count"] - count
        share = (processor(numbered.service.process.pid) - used) / SECONDS
        allowed = (SECONDS // HEARTBEAT_S + IS_LONG) * OPERATIONS_OF_HEARTBEAT
        outcome.check(operations <= allowed, "an idle service writes only heartbeats",
                      f"{operations} operations, {allowed} allowed")
        outcome.check(share <= PROCESSOR_SHARE_MAX, "an idle service needs almost no processor time", f"{share:.2%}")
        outcome.check(numbered.service.stop() == 0, "the service stops normally")
        outcome.report(f"{SECONDS} s: {operations} file operations, {share:.2%} of a core")


def processor(pid):
    """Returns the processor time of a process in seconds."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
