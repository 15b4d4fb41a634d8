"""Claim: SIGTERM under load leaves no request unanswered and loses nothing; the service exits with 0 and leaves no
write-ahead log.

Method: eight clients send acts and reads without a pause, each on a connection of its own. The service gets SIGTERM at
a random moment. A client opens a new connection after each one that the service closes, until it cannot connect. The
file is then checked and compared with the answers.

If the claim were false: a connection would end between a request and its answer, the exit status would not be 0,
a write-ahead log would remain, or an answered act would be missing.
"""

import os
import signal
import socket
import threading
import time

from common import company as c
from common import verdict
from common.load import mixed
from common.outcome import rounds
from common.service import Directory, Service

CLIENTS, CANDIDATES = 8, 400
KINDS = [c.hire, c.reject, c.withdraw, c.hold, c.sign_up, c.create_user]


def run(outcome, binary):
    stops, answers, count = 0, 0, rounds(6, 200)
    while stops < count:
        with Directory() as directory:
            company = c.Company(binary, directory, CANDIDATES)
            sent = []
            numbers = list(range(1, CANDIDATES + 1))
            for _ in range(min(4, count - stops)):
                chosen, numbers = numbers[:100], numbers[100:]
                acts = mixed(company, outcome.random, chosen, KINDS)
                answers += stop(outcome, binary, company, acts, sent)
                stops += 1
    outcome.report(f"{stops} stops, {answers} answers, 0 unanswered" if not outcome.failed else f"{stops} stops")


def stop(outcome, binary, company, acts, sent):
    service = Service(binary, company.path)
    clients = [Raw(service.port, company, acts[nth::CLIENTS]) for nth in range(CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(0.02 + outcome.random.random() * 0.2)
    service.signal(signal.SIGTERM)
    for client in clients:
        client.join(60)
    status = service.wait(60)
    outcome.check(status == 0, "the service exits with 0", (status, service.output()[-300:]))
    unanswered = [client.unanswered for client in clients if client.unanswered]
    outcome.check(not unanswered, "every request is answered", unanswered[:3])
    outcome.check(not os.path.exists(company.path + "-wal"), "no write-ahead log remains")
    for client in clients:
        sent += client.answered
    verdict.sound(outcome, binary, company.path, "after a stop")
    verdict.complete(outcome, company.path, sent, [], "after a stop")
    return sum(client.count for client in clients)


class Raw(threading.Thread):
    """A client that notices where in a request or answer a connection ends."""

    def __init__(self, port, company, acts):
        super().__init__(daemon=True)
        self.port, self.company, self.acts = port, company, iter(acts)
        self.answered, self.unanswered, self.count = [], None, 0

    def run(self):
        while (connection := self.connect()) is not None:
            with connection:
                is_used = False
                while self.exchange(connection, is_used):
                    is_used = True
            if self.unanswered:
                return

    def connect(self):
        try:
            return socket.create_connection(("127.0.0.1", self.port), 30)
        except OSError:
            return None

    def exchange(self, connection, is_used):
        """Sends a request and reads its answer. `is_used` means that the connection has already carried an answer.

        Returns whether the connection can be used again.
        """
        act = next(self.acts, None) or c.Act("read", "GET", "/api/v1/me", key=self.company.staff)
        request = encode(act)
        try:
            connection.sendall(request)
            head, is_last = receive(connection)
        except OSError as error:
            head, is_last = b"", str(error)
        if not head:
            # The first request of a connection counts as refused if the service no longer listens: the kernel then
            # drops the connections that the service has not accepted.
            if is_used or not self.is_refused():
                self.unanswered = (act.name, is_last)
            return False
        self.count += 1
        if c.is_answered(int(head.split()[1])) and act.name != "read":
            self.answered.append(act)
        return not is_last

    def is_refused(self):
        """Returns whether the service has stopped listening."""
        probe = self.connect()
        if probe:
            probe.close()
        return probe is None


def encode(act):
    import json
    body = act.body if isinstance(act.body, str) else json.dumps(act.body) if act.body is not None else ""
    fields = {"Host": "localhost", "Content-Length": len(body.encode()), **(act.fields or {})}
    if isinstance(act.body, dict):
        fields["Content-Type"] = "application/json"
    if act.key:
        fields["Authorization"] = f"Bearer {act.key}"
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{act.method} {act.path} HTTP/1.1\r\n{head}\r\n{body}".encode()


def receive(connection):
    """Reads one answer. Returns its head, and whether it is the last answer on the connection.

    If the connection ends first, the head is empty, and the second value is the reason.
    """
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return b"", "closed"
        data += part
    head, body = data.split(b"\r\n\r\n", 1)
    fields = head.lower()
    length = int(fields.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in fields else 0
    while len(body) < length:
        part = connection.recv(65536)
        if not part:
            return b"", "closed within an answer"
        body += part
    return head, b"connection: close" in fields
