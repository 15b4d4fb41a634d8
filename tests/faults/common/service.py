"""Runs the service as a process: starts it on a free port, sends it requests, and stops or kills it."""

import atexit
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

PATIENCE_S = 60


def environment(more=None):
    others = {name: value for name, value in os.environ.items() if not name.startswith(("APPLIANCE_", "LD_PRELOAD"))}
    return {**others, **(more or {})}


def run(binary, *arguments, text=None, shim=None, check=False):
    """Runs a command to its end."""
    ended = subprocess.run([binary, *arguments], capture_output=True, text=True, input=text, timeout=600,
                           env=environment(shim and shim.environment))
    if check and ended.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended


def eventually(holds, patience_s=PATIENCE_S):
    """Waits until a condition holds, for at most `patience_s` seconds. Returns the last value of the condition."""
    ended = time.monotonic() + patience_s
    while True:
        value = holds()
        if value or time.monotonic() > ended:
            return value
        time.sleep(0.01)


class Directory:
    """A new directory, which is removed at the end of the block."""

    def __enter__(self):
        # /dev/shm is in memory. A sync there needs no disk, so rounds take milliseconds.
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = tempfile.mkdtemp(prefix="faults.", dir=place)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Service:
    """A running `appliance serve` on a file or a PostgreSQL database."""

    def __init__(self, binary, path, *options, shim=None, log=None, is_expected=True):
        self.path, self.log_path = path, log or path + ".log"
        self.log = open(self.log_path, "ab")
        self.begin = os.path.getsize(self.log_path)
        command = [binary, "serve", "--db", path, "--listen", "127.0.0.1:0", "--rate-limit", "0", "--signup-limit", "0",
                   "--min-free", "0", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env=environment(shim and shim.environment))
        atexit.register(self._end)
        self.port = None
        self.has_ended = False
        eventually(self._is_listening)
        if self.port is None and is_expected:
            self.kill()
            raise RuntimeError(f"the service does not start: {self.output()}")

    def _end(self):
        """Ends the process if the experiment was interrupted."""
        if self.process.poll() is None:
            self.process.kill()

    def _is_listening(self):
        self.has_ended = self.process.poll() is not None
        found = re.search(r"listening on https?://127\.0\.0\.1:(\d+)", self.output())
        self.port = int(found[1]) if found else None
        return self.port or self.has_ended

    def output(self):
        with open(self.log_path, "rb") as log:
            log.seek(self.begin)
            return log.read().decode("utf-8", "replace")

    def client(self, key=None):
        return Client(self.port, key)

    def metrics(self):
        port = int(re.search(r"metrics on http://127\.0\.0\.1:(\d+)", self.output())[1])
        text = Client(port).send("GET", "/metrics")[1]
        return {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.e+-]+)$", text, re.M)}

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, patience_s=PATIENCE_S):
        """Waits for the process to end. Returns its exit status, or None if it is still running."""
        try:
            return self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if self.process.poll() is not None:
                self.log.close()

    def stop(self):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        status = self.wait()
        if status is None:
            self.kill()
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        atexit.unregister(self._end)


class Client:
    """A client with one connection, which it opens again after an error."""

    def __init__(self, port, key=None, timeout_s=PATIENCE_S):
        self.port, self.key, self.timeout_s = port, key, timeout_s
        self.connection = None
        self.headers = {}

    def send(self, method, path, body=None, fields=None, key=None):
        """Sends a request. Returns the status and the text of the answer; the status is 0 if there was no answer."""
        fields = dict(fields or {})
        key = key or self.key
        if key and "Cookie" not in fields:
            fields.setdefault("Authorization", f"Bearer {key}")
        if isinstance(body, (dict, list)):
            body, fields["Content-Type"] = json.dumps(body), "application/json"
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout_s)
            self.connection.request(method, path, body=body, headers=fields)
            answer = self.connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
            self.headers = answer.headers
            return answer.status, text
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return 0, str(error)

    def call(self, method, path, body=None, key=None):
        """Sends a request that must succeed, and returns the decoded answer."""
        status, text = self.send(method, path, body, key=key)
        if status not in (200, 201):
            raise RuntimeError(f"{method} {path} was answered with {status}: {text[:500]}")
        return json.loads(text)

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None
