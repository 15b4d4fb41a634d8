"""Claim: a service runs through a night unattended. It makes its backups, deletes surplus ones and survives full
disks. It loads a renewed certificate and restarts without losing a connection. A second machine restores every answered
act from the backups alone.

Method: eight hours pass on the shim's clocks, one at a time, while clients act over TLS. The file and the backups are
on small disks of their own. Except when the disk of the backups is full, each hour must leave a sound backup with all
acts answered before the backup began, and no more backups than `--backup-keep` allows. During the night, each disk is
filled and emptied once, the certificate is renewed, and another process takes over the socket. In the morning the
service is killed and its file is abandoned. The newest backup is restored elsewhere. The long form takes 20 minutes.
The mounts require root.

If the claim were false: an hour would leave no backup, a backup would lack an act, a connection would fail, or the
restored file would lack an answered act.
"""

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import time

from common import company as c
from common import verdict
from common.load import Load, mixed
from common.outcome import IS_LONG
from common.service import Client, Directory, Service, environment, eventually, run as run_command
from common.shim import SECOND, Shim

HOUR_S = 3600
COPIES_MAX = 3
# In the long form, clients act eight times, for 150 seconds each. The sizes of the disks are in megabytes.
ACTING_S, PAUSE_S, CANDIDATES = (150, 0.3, 14_000) if IS_LONG else (1, 0.03, 800)
MACHINE, COPIES = (384, 640) if IS_LONG else (96, 160)
KINDS = [c.hire, c.reject, c.validate, c.withdraw, c.hold, c.erase, c.sign_up, c.attach, c.create_user]

# Passes the socket as descriptor 3, as a service manager does (sd_listen_fds(3)), and becomes the service.
HAND_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv("/usr/bin/env", sys.argv[2:])
"""


def run(outcome, binary):
    with Directory() as directory, Disk(directory, "machine", MACHINE) as machine, Disk(directory, "copies", COPIES) as copies:
        night = Night(outcome, binary, directory, machine, copies)
        night.pass_hours()
        night.restore(os.path.join(directory, "second"))


class Disk:
    """A tmpfs of this many megabytes."""

    def __init__(self, directory, name, megabytes):
        self.path, self.size = os.path.join(directory, name), f"size={megabytes}m"
        self.filler = os.path.join(self.path, "filler")

    def __enter__(self):
        os.mkdir(self.path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", self.size, "tmpfs", self.path], check=True)
        return self

    def fill(self):
        with open(self.filler, "ab", buffering=0) as file:
            for count in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(b"x" * count):
                        pass
                except OSError:
                    pass

    def empty(self):
        os.unlink(self.filler)

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=True)


class Night:
    def __init__(self, outcome, binary, directory, machine, copies):
        self.outcome, self.binary, self.machine, self.copies = outcome, binary, machine, copies
        self.company = c.Company(binary, machine.path, CANDIDATES)
        self.certificate = Certificate(directory)
        self.shim = Shim(directory)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.service = Secured(self)
        self.acts = iter(mixed(self.company, outcome.random, range(1, CANDIDATES + 1), KINDS))
        self.answered, self.refused, self.made = [], [], 0
        # The first start makes a backup at once.
        eventually(self.names)

    def names(self):
        return sorted(name for name in os.listdir(self.copies.path) if name.endswith(".db"))

    def names_after(self, moment):
        """Returns the names of the backups that began after this moment of the service's clock. Names contain the time."""
        before = time.strftime("base-%Y-%m-%dT%H%M%SZ.db", time.gmtime(moment))
        return [name for name in self.names() if name > before]

    def pass_hours(self):
        self.hour("in the first hour")
        self.hour("in the second hour")
        self.full_copies()
        self.hour("after the disk of the backups was full")
        self.full_machine()
        self.hour("after the disk of the file was full")
        self.hour("with a renewed certificate", self.renew)
        self.hour("with an upgrade", self.upgrade)
        self.hour("in the last hour")

    def act(self, during=None):
        """Lets clients act, and records the answers. Each act has a connection of its own."""
        pause = lambda client, _: (client.close(), time.sleep(PAUSE_S))
        load = Load(self.service, self.acts, threads=3, between=pause)
        time.sleep(ACTING_S / 2)
        if during:
            during()
        time.sleep(ACTING_S / 2)
        load.stop()
        self.answered += load.answered
        self.refused += load.refused
        return load

    def hour(self, when, during=None):
        """Lets clients act, and then lets an hour pass. The service must make a backup at the end of the hour."""
        load = self.act(during)
        self.outcome.check(load.answered and not load.unanswered, f"every act is answered {when}",
                           [(act.name, text) for act, _, text in load.refused[:3]] or load.unanswered[:3])
        self.outcome.check(not load.refused, f"no act is refused {when}", [entry[1:] for entry in load.refused[:3]])
        # A retry after a failure can make a backup during the acts. Only the backup at the end of the hour counts.
        acted_at = time.time() + self.shim["wall_shift"] / SECOND
        self.shim.pass_time(HOUR_S)
        if self.outcome.check(eventually(lambda: self.names_after(acted_at)), f"a backup is made {when}",
                              self.service.output()[-500:]):
            self.made += 1
            # The service deletes surplus backups after the new backup has its name.
            is_thin = eventually(lambda: len(self.names()) <= COPIES_MAX, 20)
            self.outcome.check(is_thin, f"surplus backups are deleted {when}", self.names())
            copy = os.path.join(self.copies.path, self.names()[-1])
            verdict.sound(self.outcome, self.binary, copy, when)
            verdict.complete(self.outcome, copy, self.answered, self.refused, when)

    def full_copies(self):
        """Fills the disk of the backups for an hour."""
        self.copies.fill()
        before = self.names()
        self.shim.pass_time(HOUR_S)
        has_failed = eventually(lambda: self.service.metrics().get("appliance_backup_failures", 0) > 0)
        self.outcome.check(has_failed, "a backup without space fails, and /metrics counts it")
        self.outcome.check(self.names() == before, "a failed backup leaves the other backups unchanged", self.names())
        self.copies.empty()

    def full_machine(self):
        """Fills the disk of the file. Acts must be refused, and reads must work."""
        self.machine.fill()
        load = self.act()
        self.outcome.check(not load.unanswered, "every act is answered on a full disk", load.unanswered[:3])
        self.outcome.check(load.refused, "acts are refused on a full disk")
        status, _ = self.service.client(self.company.staff).send("GET", "/api/v1/me")
        self.outcome.check(status == 200, "reads work on a full disk", status)
        self.machine.empty()
        self.outcome.check(eventually(self.is_ready), "the service is ready again when the disk has space")

    def is_ready(self):
        return self.service.client().send("GET", "/readyz")[0] == 200

    def renew(self):
        before = self.service.serial()
        self.certificate.renew()
        self.outcome.check(eventually(lambda: self.service.serial() != before), "new connections get the new certificate")

    def upgrade(self):
        """Ends the process and starts another one on the same socket, while clients keep connecting."""
        self.service.signal(signal.SIGTERM)
        status = self.service.wait()
        self.outcome.check(status == 0, "the old process exits with 0", status)
        self.service.begin_process()

    def restore(self, second):
        """Kills the service, and restores the newest backup in another directory."""
        self.service.kill()
        self.socket.close()
        os.mkdir(second)
        path = os.path.join(second, "restored.db")
        ended = run_command(self.binary, "restore", "--db", path, os.path.join(self.copies.path, self.names()[-1]))
        self.outcome.check(ended.returncode == 0, "the second machine restores the newest backup", ended.stderr)
        verdict.sound(self.outcome, self.binary, path, "on the second machine")
        verdict.restarts(self.outcome, self.binary, path, "on the second machine")
        verdict.complete(self.outcome, path, self.answered, self.refused, "on the second machine")
        service = Service(self.binary, path)
        status, _ = service.client(self.company.staff).send("GET", "/api/v1/me")
        self.outcome.check(status == 200, "a staff key works on the second machine", status)
        service.stop()
        self.outcome.report(f"{self.made} backups, {len(self.answered)} acts answered, {len(self.refused)} refused")


class Certificate:
    """A self-signed certificate, which `renew` replaces."""

    def __init__(self, directory):
        self.chain, self.key = os.path.join(directory, "chain.pem"), os.path.join(directory, "key.pem")
        self.renew()

    def renew(self):
        chain, key = self.chain + ".new", self.key + ".new"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "90", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", chain,
                        "-keyout", key], check=True, capture_output=True)
        os.replace(chain, self.chain)
        os.replace(key, self.key)


class Secured(Service):
    """The service with TLS, on a socket that outlives the process."""

    def __init__(self, night):
        self.night, self.path = night, night.company.path
        self.log_path = os.path.join(os.path.dirname(night.certificate.chain), "log")
        self.port = night.socket.getsockname()[1]
        self.begin_process()

    def begin_process(self):
        night = self.night
        self.log = open(self.log_path, "ab")
        self.begin = os.path.getsize(self.log_path)
        variables = [f"{name}={value}" for name, value in night.shim.environment.items()]
        descriptor = night.socket.fileno()
        serve = [night.binary, "serve", "--db", self.path, "--base-url", "https://localhost", "--tls-cert",
                 night.certificate.chain, "--tls-key", night.certificate.key, "--backup-dir", night.copies.path,
                 "--backup-every", "1h", "--backup-keep", str(COPIES_MAX), "--metrics-listen", "127.0.0.1:0",
                 "--rate-limit", "0", "--signup-limit", "0", "--min-free", "0"]
        self.process = subprocess.Popen([sys.executable, "-c", HAND_OVER, str(descriptor), "env", *variables, *serve],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=environment(),
                                        pass_fds=(descriptor,))
        if not eventually(lambda: "listening on " in self.output() or self.process.poll() is not None) or self.process.poll():
            raise RuntimeError(f"the service does not start: {self.output()}")

    def client(self, key=None):
        return SecuredClient(self.port, key)

    def serial(self):
        """Returns the serial number of the certificate that new connections get."""
        text = ssl.get_server_certificate(("127.0.0.1", self.port))
        shown = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=text, capture_output=True, text=True, check=True)
        return shown.stdout


class SecuredClient(Client):
    """A client over TLS, which accepts any certificate."""

    def send(self, *arguments, **named):
        if self.connection is None:
            # The certificate is self-signed, and only the experiment's service listens on this port.
            context = ssl._create_unverified_context()
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=self.timeout_s, context=context)
        return super().send(*arguments, **named)
