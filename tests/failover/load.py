"""Clients that make decisions until they are stopped, and the ledger of what was acknowledged.

Each client leads one candidate after another through the pipeline, and creates a role after each candidate. If an answer
is missing or is a 5xx, the outcome is unknown: the client repeats the request at the next server until it learns the
outcome, as a careful caller does.
"""

import threading
import time
from collections import Counter, namedtuple

from common.service import Client

# The number of steps of the pipeline. More steps need fewer candidates, which are imported first.
STEPS = 10
# A person who meets a 503 tries again; a client that tries without a pause would only load the machine.
RETRY_S = 0.1
# The load is far below what a server can do, because the kills are tested, not the speed. On two cores, more load
# delays Patroni itself.
PAUSE_S = 0.03
# A request that takes longer than this counts as not answered.
ANSWER_S = 60

Act = namedtuple("Act", "mark path body fields")
# An acknowledged act: when its answer arrived, in which round, and whether a repetition learned that it was done before.
Entry = namedtuple("Entry", "act at round is_repetition")


def decision(number, step):
    identifier = f"cstep_{number}_{step}"
    if step < STEPS:
        verb, action, body = "validate", "validated", {}
    elif number % 2:
        verb, action, body = "hire", "hired", {"notes": "yes"}
    else:
        verb, action, body = "reject", "rejected", {"outcomeNotes": "no"}
    return Act(f"candidate_step.{action} {identifier}", f"/api/v1/candidate-steps/{identifier}/{verb}", body, {})


def new_role(number):
    return Act(f"role Pilot {number}", "/api/v1/organizations/org_acme/roles", {"name": f"Pilot {number}"},
               {"Idempotency-Key": f"pilot-{number}"})


class Load:
    def __init__(self, ports, key, clients, candidates):
        self.ports, self.key = ports, key
        self.lock = threading.Lock()
        self.entries, self.refused, self.unknown = [], [], Counter()
        self.round = 0
        self.is_stopping = False
        self.threads = [threading.Thread(target=self._work, args=(range(nth + 1, candidates + 1, clients),), daemon=True)
                        for nth in range(clients)]
        for thread in self.threads:
            thread.start()

    def _work(self, numbers):
        clients = [Client(port, self.key, ANSWER_S) for port in self.ports]
        for number in numbers:
            for act in [*(decision(number, step) for step in range(1, STEPS + 1)), new_role(number)]:
                if self.is_stopping:
                    return
                if not self._do(clients, act):
                    break
                time.sleep(PAUSE_S)

    def _do(self, clients, act):
        """Sends an act until its outcome is known. Returns whether it is done."""
        is_repetition = False
        while True:
            status, text = clients[0].send("POST", act.path, act.body, act.fields)
            at = time.monotonic()
            with self.lock:
                # A decision that was made before is a conflict. A role that was created before has a stored response.
                if status == 200 or status == 409 and is_repetition and not act.fields:
                    self.entries.append(Entry(act, at, self.round, is_repetition))
                    return True
                if 0 < status < 500:
                    self.refused.append((act, status, text[:200]))
                    return False
                self.unknown[status or text.split(":")[0][:60]] += 1
            is_repetition = True
            clients.append(clients.pop(0))
            time.sleep(RETRY_S)

    def count(self):
        return len(self.entries)

    def is_working(self):
        return all(thread.is_alive() for thread in self.threads)

    def since(self, begin):
        """Returns how many answers have arrived after a time."""
        with self.lock:
            return sum(entry.at > begin for entry in self.entries[-1000:])

    def longest_pause(self, begin, end):
        """Returns the longest time between two answers, from the last one before `begin` on."""
        with self.lock:
            times = sorted(entry.at for entry in self.entries)
        earlier = [at for at in times if at <= begin][-1:]
        within = earlier + [at for at in times if begin < at <= end]
        return max((later - at for at, later in zip(within, within[1:])), default=0.0)

    def stop(self):
        """Waits until the outcome of every act is known."""
        self.is_stopping = True
        for thread in self.threads:
            thread.join()
