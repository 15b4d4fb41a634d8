"""A PostgreSQL server that belongs to the experiment, and a company in one of its databases.

With FAULTS_POSTGRES=1, an experiment that supports it uses this company instead of `company.Company`. The company is
created with the HTTP API, because `appliance import` works only on a file.
"""

import atexit
import glob
import os
import shutil
import socket
import subprocess
import tempfile
import time

from common.company import SCOPES
from common.service import Service, run

IS_CHOSEN = os.environ.get("FAULTS_POSTGRES") == "1"
USER = "tester"


def programs():
    """Returns the directory with the programs of PostgreSQL, of the newest version if there are several."""
    def version(path):
        return int(path.split("/")[4])
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=version)
    if not found:
        raise RuntimeError("PostgreSQL is not installed; install Debian's package postgresql")
    return found[-1]


class Server:
    """A cluster in a temporary directory. It ends with the experiment."""

    def __init__(self):
        self.bin = programs()
        self.directory = tempfile.mkdtemp(prefix="faults-postgres.", dir="/tmp")
        # PostgreSQL refuses to run as root.
        self.as_user = []
        if os.geteuid() == 0:
            self.as_user = ["runuser", "-u", "postgres", "--"]
            shutil.chown(self.directory, "postgres")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        data = os.path.join(self.directory, "data")
        self._run("initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        # The server has its own durability settings, because the service refuses `fsync = off`.
        command = [f"{self.bin}/postgres", "-D", data, "-k", self.directory, "-p", str(self.port),
                   "-c", "listen_addresses=127.0.0.1"]
        self.process = subprocess.Popen([*self.as_user, *command], cwd="/", stderr=subprocess.DEVNULL)
        atexit.register(self.stop)
        ended = time.monotonic() + 60
        while self._psql("postgres", "SELECT 1").returncode != 0:
            if time.monotonic() > ended:
                raise RuntimeError("PostgreSQL does not start")
            time.sleep(0.05)

    def _run(self, program, *arguments):
        subprocess.run([*self.as_user, f"{self.bin}/{program}", *arguments], cwd="/", check=True, capture_output=True)

    def _psql(self, database, sql):
        return subprocess.run([f"{self.bin}/psql", "-XqAt", "-U", USER, "-h", self.directory, "-p", str(self.port),
                               "-d", database, "-c", sql], capture_output=True, text=True)

    def rows(self, database, sql):
        ended = self._psql(database, sql)
        if ended.returncode != 0:
            raise RuntimeError(f"{sql}: {ended.stderr}")
        return ended.stdout.splitlines()

    def stop(self):
        if self.process.poll() is None:
            data = os.path.join(self.directory, "data")
            self._run("pg_ctl", "-D", data, "-m", "immediate", "stop")
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Company:
    """A database with an organization whose roles each have the same number of applications. `step` and `role` return
    the ids, which the service chose."""

    def __init__(self, binary, directory, server, name, roles, applications, positions):
        self.server, self.name = server, name
        server.rows("postgres", f"CREATE DATABASE {name}")
        self.path = f"postgres://{USER}@127.0.0.1:{server.port}/{name}?sslmode=disable"
        self.log = os.path.join(directory, f"{name}.log")
        self.admin = run(binary, "bootstrap-admin", "--db", self.path, "--email", "root@example.org",
                         check=True).stdout.strip()
        service = Service(binary, self.path, log=self.log)
        self._create(service.client(self.admin), roles, applications, positions)
        service.stop()

    def _create(self, admin, roles, applications, positions):
        body = {"name": "Acme", "slug": "acme"}
        organization = admin.call("POST", "/api/admin/organizations", body)["data"]["id"]
        user = admin.call("POST", "/api/admin/users", {"email": "owner@acme.example", "name": "Owner"})["data"]["id"]
        admin.call("PUT", f"/api/admin/organizations/{organization}/memberships/{user}", {"orgRole": "owner"})
        body = {"userId": user, "name": "staff", "scopes": SCOPES}
        self.staff = admin.call("POST", "/api/admin/api-keys", body)["data"]["key"]
        self.roles, self.steps = [], {}
        for role in range(1, roles + 1):
            steps = [{"name": "Call", "stepType": "screening"}, {"name": "Offer", "stepType": "offer"}]
            body = {"name": f"Engineer {role}", "public": True, "positions": positions, "steps": steps}
            path = f"/api/v1/organizations/{organization}"
            self.roles.append(admin.call("POST", f"{path}/roles", body, key=self.staff)["data"]["id"])
            admin.call("POST", f"/api/v1/roles/{self.roles[-1]}/open", {}, key=self.staff)
            for number in range(applications):
                body = {"name": "Ada", "email": f"ada-{number}@example.net", "roleId": self.roles[-1]}
                answer = admin.call("POST", f"{path}/candidates", body, key=self.staff)["data"]
                application = next(one for one in answer["applications"] if one["roleId"] == self.roles[-1])
                self.steps[role, number] = [step["id"] for step in application["steps"]]

    def role(self, role):
        return self.roles[role - 1]

    def step(self, role, application, step):
        return self.steps[role, application][step]

    def findings(self):
        """Returns the roles whose number of hires is not that of their hired applications, or is too high."""
        return self.server.rows(self.name, """
            SELECT r.id, r.status, r.hired, r.positions FROM roles r
            WHERE r.hired > r.positions OR r.hired <> (
              SELECT count(*) FROM candidate_roles a WHERE a.role_id = r.id AND a.status = 'Hired')""")
