"""Clients that act until they are stopped, and the ledger of the answers.

Each client has an API key and works on one role after another. Every act has an Idempotency-Key. If an answer is
missing or is a 5xx, the client repeats the request at the next server, as a careful caller does. Sometimes it gives up
instead and begins with another role, as a person would. Sometimes it repeats a request that was confirmed.
"""

import itertools
import json
import random
import threading
import time
from collections import Counter, namedtuple

import pipeline
from common.service import Client

# The pause after a missing answer or a 5xx. A client that tried again without a pause would only load the machine.
RETRY_S = 0.2
# The load is far below what a server can do, because this test is about kills, not about speed. On two cores, more load
# delays Patroni itself.
PAUSE_S = 0.12
# A request that takes longer than this counts as not answered. A server of the service answers within 40 s.
ANSWER_S = 60
# The probabilities that a client repeats a confirmed request, and that it gives up after a missing answer or a 5xx.
REPEATS, GIVES_UP = 0.05, 0.1
# A service that answers with a 503 has done nothing. After any other missing confirmation, the outcome is unknown.
UNAVAILABLE = 503

# A request, named by its User-Agent, which the usage row has too.
Attempt = namedtuple("Attempt", "agent status")
# A confirmed act: the time of its answer, the server that gave it, and the round.
Entry = namedtuple("Entry", "act at server round")


class Load:
    def __init__(self, ports, keys, organization, seed):
        self.ports, self.organization, self.seed = ports, organization, seed
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()
        self.entries, self.attempts, self.unknown, self.unsettled = [], [], Counter(), []
        # Requests that were refused, and answers that contradict earlier ones.
        self.refused, self.contradictions = [], []
        self.repetitions = 0
        self.round = 0
        self.is_stopping = False
        self.threads = [threading.Thread(target=self._work, args=(nth, key), daemon=True) for nth, key in enumerate(keys)]
        for thread in self.threads:
            thread.start()

    def _work(self, nth, key):
        choice = random.Random(f"{self.seed} {nth}")
        clients = [Client(port, key, ANSWER_S) for port in self.ports]
        for number in itertools.count(1):
            acts = pipeline.acts(self.organization, f"Role-{nth}-{number}", choice)
            answer = None
            while not self.is_stopping:
                try:
                    act = acts.send(answer)
                except StopIteration:
                    break
                answer = self._do(clients, nth % len(clients), act, choice)
                if answer is None:
                    break
                time.sleep(PAUSE_S)
            if self.is_stopping:
                return

    def _do(self, clients, home, act, choice):
        """Sends an act until the service confirms or refuses it, the client gives up, or the load stops.

        Returns the decoded answer, or None if the act was not confirmed.
        """
        number, is_unknown = next(self.numbers), False
        for attempt in itertools.count():
            server = (home + attempt) % len(clients)
            status, text, is_replay = self._send(clients[server], act, number, attempt)
            if status == 200:
                with self.lock:
                    self.entries.append(Entry(act, time.monotonic(), server, self.round))
                    if is_replay and not is_unknown:
                        self.contradictions.append(f"{act.path} was done, although every earlier answer was a 503")
                if choice.random() < REPEATS:
                    self._repeat(clients[(server + 1) % len(clients)], act, number, attempt + 1, text)
                return json.loads(text)
            if 0 < status < 500:
                with self.lock:
                    self.refused.append((act.path, status, text[:300]))
                return None
            is_unknown = is_unknown or status != UNAVAILABLE
            with self.lock:
                self.unknown[status or text.split(":")[0][:60]] += 1
                if self.is_stopping or choice.random() < GIVES_UP:
                    self.unsettled.append((act, is_unknown))
                    return None
            time.sleep(RETRY_S)

    def _repeat(self, client, act, number, attempt, text):
        """Repeats a confirmed request at another server. The answer must be the stored response."""
        status, again, is_replay = self._send(client, act, number, attempt)
        with self.lock:
            self.repetitions += 1
            if status == 200 and not (again == text and is_replay):
                self.contradictions.append(f"{act.path} was answered with {text} and then with {again}")
            elif 0 < status < 500 and status != 200:
                self.refused.append((act.path, status, again[:300]))

    def _send(self, client, act, number, attempt):
        agent = f"act-{number}.{attempt}"
        fields = {"Idempotency-Key": f"act-{number}", "User-Agent": agent}
        status, text = client.send("POST", act.path, act.body, fields)
        with self.lock:
            self.attempts.append(Attempt(agent, status))
        return status, text, status != 0 and client.headers.get("Idempotency-Replayed") == "true"

    def count(self):
        return len(self.entries)

    def is_working(self):
        return all(thread.is_alive() for thread in self.threads)

    def answered_since(self, begin):
        """Counts the acts that each server has confirmed since `begin`. Returns the smallest of these numbers."""
        with self.lock:
            counts = Counter(entry.server for entry in self.entries[-2000:] if entry.at > begin)
        return min(counts[server] for server in range(len(self.ports)))

    def longest_pause(self, begin, end):
        """Returns the longest time between two successive confirmations by one server.

        The period begins with the last confirmation before `begin` and ends at `end`.
        """
        with self.lock:
            entries = list(self.entries)
        return max(self._pause([entry.at for entry in entries if entry.server == server], begin, end)
                   for server in range(len(self.ports)))

    def _pause(self, times, begin, end):
        times = sorted(times)
        within = [at for at in times if at <= begin][-1:] + [at for at in times if begin < at <= end]
        return max((later - at for at, later in zip(within, within[1:])), default=0.0)

    def stop(self):
        """Stops the clients and waits until all of them have ended."""
        self.is_stopping = True
        for thread in self.threads:
            thread.join()
