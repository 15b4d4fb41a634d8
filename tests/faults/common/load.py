"""Clients that send acts from several threads and record whether each act was answered."""

import threading

from common.company import is_answered


class Load:
    """Sends acts until none are left or `stop` is called. A thread ends after an act without an answer.

    Every thread has a connection of its own.
    """

    def __init__(self, service, acts, threads=8, between=None):
        self.service, self.acts, self.between = service, iter(acts), between
        self.lock = threading.Lock()
        self.answered, self.refused, self.unanswered, self.reads = [], [], [], 0
        self.is_stopping = False
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def _next(self):
        with self.lock:
            return None if self.is_stopping else next(self.acts, None)

    def _work(self):
        client = self.service.client()
        while (act := self._next()) is not None:
            status, text = act.send(client)
            with self.lock:
                if status == 0:
                    self.unanswered.append(act)
                elif is_answered(status):
                    self.answered.append(act)
                else:
                    self.refused.append((act, status, text))
            if status == 0:
                break
            if self.between:
                self.between(client, self)
        client.close()

    def count(self):
        return len(self.answered)

    def stop(self):
        self.is_stopping = True
        return self.join()

    def join(self):
        for thread in self.threads:
            thread.join()
        return self


def mixed(company, random, numbers, kinds):
    """Returns one act for each number, of a kind drawn at random."""
    return [random.choice(kinds)(company, number) for number in numbers]
