"""Starts the three nodes of examples/patroni, asks Patroni about them, and kills them."""

import json
import os
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.request

import network
from common.service import eventually

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples/patroni")
TRIAL = os.path.join(EXAMPLE, "trial")
NODES = ["pg1", "pg2", "pg3"]
# The limit is high, because a former primary may have to be rewound or copied again while the machine also runs
# everything else.
PATIENCE_S = 240
# For a healthy node, Patroni answers within milliseconds.
ANSWER_S = 2
# Patroni measures the lag once in each of its loops, so the reported lag is never 0 under load.
LAG_BYTES_MAX = 1 << 20

# The pause between two polls of the cluster, each of which sends a request to each node.
POLL_S = 0.25
# The maximum time for which the test waits for answers before a kill while the standbys receive nothing. Many answers
# arrive only if commits do not wait for a standby.
DELAYED_S = 1
DELAYED_ANSWERS = 10

# The deliberate defect: commits do not wait for a standby, and any standby can become primary.
ASYNCHRONOUS = {
    "synchronous_mode: true": "synchronous_mode: false",
    "synchronous_mode_strict: true": "synchronous_mode_strict: false",
}


class Cluster:
    def __init__(self, has_namespaces):
        prefix = network.PREFIX if has_namespaces else "127.0.0."
        self.has_namespaces = has_namespaces
        self.addresses = {name: f"{prefix}1{name[-1]}" for name in NODES}
        # The data that a killed process has written survives in the kernel, so the directory can be in memory. A disk
        # would only make the return of a node slower.
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
        self.directory = tempfile.mkdtemp(prefix="failover.", dir=place)
        self.environment = {**os.environ, "TRIAL_NETWORK": prefix, "TRIAL_NAMESPACES": "1" if has_namespaces else ""}

    def trial(self, command, *arguments):
        ended = subprocess.run([TRIAL, command, self.directory, *arguments], env=self.environment, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if ended.returncode != 0:
            raise RuntimeError(f"examples/patroni/trial {command} failed; see {self.directory}")
        return ended.stdout.strip()

    def start(self, is_asynchronous):
        if self.has_namespaces:
            network.build(self.addresses)
        self.trial("prepare")
        if is_asynchronous:
            for name in NODES:
                self._replace(name, ASYNCHRONOUS)
        self.trial("start")
        self.trial("database")
        self.is_synchronous = not is_asynchronous
        self.tls = ssl.create_default_context(cafile=os.path.join(self.directory, "tls/ca.crt"))
        self.wait_until_healthy()
        return self.trial("url")

    def _replace(self, name, changes):
        path = os.path.join(self.directory, name, "patroni.yml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for old, new in changes.items():
            assert old in text, f"{path} has no line `{old}`"
            text = text.replace(old, new)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def views(self):
        """Returns, for each Patroni that answers, its view of all nodes."""
        found = []
        for address in self.addresses.values():
            try:
                answer = urllib.request.urlopen(f"https://{address}:8008/cluster", timeout=ANSWER_S, context=self.tls)
                found.append(json.load(answer)["members"])
            except (OSError, ValueError):
                continue
        return found

    def primary(self):
        """Returns the name of the node whose own Patroni reports that the node is the primary, or None."""
        for name, address in self.addresses.items():
            try:
                urllib.request.urlopen(f"https://{address}:8008/primary", timeout=ANSWER_S, context=self.tls).close()
                return name
            except OSError:
                continue
        return None

    def is_healthy(self):
        """Returns whether all nodes agree on a healthy cluster. A node that is cut off reports its last view, so the
        view of one node is not enough."""
        leaders = [self._leader(view) for view in self.views()]
        return len(leaders) == len(NODES) and len(set(leaders)) == 1 and leaders[0] is not None

    def _leader(self, members):
        """Returns the primary and its timeline, if both standbys follow it closely.

        Unless the cluster is asynchronous, one of the standbys must also be synchronous.
        """
        leaders = [member for member in members if member["role"] == "leader" and member["state"] == "running"]
        if len(members) != len(NODES) or len(leaders) != 1:
            return None
        leader, timeline = leaders[0]["name"], leaders[0].get("timeline")
        standbys = [member for member in members if member is not leaders[0]]
        follow = all(member["state"] == "streaming" and member.get("timeline") == timeline
                     and member.get("lag") in range(LAG_BYTES_MAX) for member in standbys)
        has_synchronous = any(member["role"] == "sync_standby" for member in standbys)
        return (leader, timeline) if follow and (has_synchronous or not self.is_synchronous) else None

    def wait_until_healthy(self):
        ended = time.monotonic() + PATIENCE_S
        while not self.is_healthy():
            if time.monotonic() > ended:
                raise RuntimeError(f"the cluster is not healthy after {PATIENCE_S} s: {self.views()}; see {self.directory}")
            time.sleep(POLL_S)

    def stop(self):
        self.trial("stop")

    def stop_replication(self, name, count):
        """Stops the processes that send the log to the standbys, and waits briefly for `count` to grow."""
        for pid in processes_in(self._data(name)):
            if b"walsender" in read(pid, "cmdline"):
                send(pid, signal.SIGSTOP)
        begin = count()
        eventually(lambda: count() >= begin + DELAYED_ANSWERS, DELAYED_S)

    # The three ways to lose the primary. Each function returns when the primary can acknowledge nothing more.

    def kill_postgres(self, name):
        """Kills the postmaster and all its children."""
        eventually(lambda: not [send(pid, signal.SIGKILL) for pid in processes_in(self._data(name))])

    def kill_node(self, name):
        """Kills Patroni and PostgreSQL, so that nothing on the node releases the leader key."""
        with open(os.path.join(self.directory, name, "patroni.pid"), encoding="ascii") as file:
            send(int(file.read()), signal.SIGKILL)
        self.kill_postgres(name)

    def cut_node(self, name):
        """Cuts the network of the node. The node itself continues to run."""
        network.cut(name)

    def _data(self, name):
        return os.path.join(self.directory, name, "data")

    def bring_back(self, name):
        if self.has_namespaces:
            network.join(name)
        self.trial("start", name)


def processes_in(directory):
    """Returns the processes whose working directory this is: the postmaster and its children."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{entry}/cwd") == directory and not is_dead(entry):
                found.append(int(entry))
        except OSError:
            continue
    return found


def is_dead(pid):
    return read(pid, "stat").rpartition(b") ")[2][:1] in b"ZX"


def read(pid, name):
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    return pid
