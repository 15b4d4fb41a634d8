"""A PostgreSQL server that belongs to the experiment, and organizations in its databases.

With FAULTS_POSTGRES=1, the experiments `histories` and `tenancy` use them instead of a file. The organizations are
created over the HTTP API.
"""

import atexit
import glob
import os
import shutil
import socket
import subprocess
import tempfile
import time

from common import state
from common.company import SCOPES
from common.service import Service, run

IS_CHOSEN = os.environ.get("FAULTS_POSTGRES") == "1"
USER = "tester"


def programs():
    """Returns the directory with the programs of the newest installed version of PostgreSQL."""
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
        # The server uses the default durability settings, because the service refuses `fsync = off`.
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


class Database:
    """A database of the service with a platform admin. No process is connected to it at first."""

    def __init__(self, binary, directory, server, name):
        self.binary, self.server, self.name = binary, server, name
        server.rows("postgres", f"CREATE DATABASE {name}")
        self.path = f"postgres://{USER}@127.0.0.1:{server.port}/{name}?sslmode=disable"
        self.log = os.path.join(directory, f"{name}.log")
        self.admin = run(binary, "bootstrap-admin", "--db", self.path, "--email", "root@example.org",
                         check=True).stdout.strip()

    def serve(self):
        return Service(self.binary, self.path, log=self.log)

    def rows(self):
        """Returns a digest of each table that an act can change."""
        names = self.server.rows(self.name, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        digest = "SELECT md5(string_agg(t::text, chr(10) ORDER BY t::text)) FROM {} t"
        is_own = lambda name: name in state.OWN_TABLES or name.startswith("engine_")
        return {name: self.server.rows(self.name, digest.format(name)) for name in names if not is_own(name)}

    def findings(self):
        """Returns the roles whose number of hires differs from the number of hired applications or is too high."""
        return self.server.rows(self.name, """
            SELECT r.id, r.status, r.hired, r.positions FROM roles r
            WHERE r.hired > r.positions OR r.hired <> (
              SELECT count(*) FROM candidate_roles a WHERE a.role_id = r.id AND a.status = 'Hired')""")


class Organization:
    """An organization, created over the API, whose roles each have the same number of applications.

    The service chose the ids. `roles` has the id of each role, by its number (from 1). `candidates`, `applications`
    and `steps` are indexed by the number of the role (from 1) and that of the application (from 0). `staff` is the API
    key of the organization's owner.
    """

    def __init__(self, admin, slug, roles, applications, positions):
        self.id = admin.call("POST", "/api/admin/organizations", {"name": slug.title(), "slug": slug})["data"]["id"]
        owner = {"email": f"owner@{slug}.example", "name": "Owner"}
        self.owner = admin.call("POST", "/api/admin/users", owner)["data"]["id"]
        admin.call("PUT", f"/api/admin/organizations/{self.id}/memberships/{self.owner}", {"orgRole": "owner"})
        body = {"userId": self.owner, "name": "staff", "scopes": SCOPES}
        self.staff = admin.call("POST", "/api/admin/api-keys", body)["data"]["key"]
        self.roles, self.role_steps = {}, {}
        self.candidates, self.applications, self.steps = {}, {}, {}
        for role in range(1, roles + 1):
            self._create_role(admin, role, positions)
            for number in range(applications):
                self._add_candidate(admin, role, number)

    def _create_role(self, admin, number, positions):
        steps = [{"name": "Call", "stepType": "screening"}, {"name": "Offer", "stepType": "offer"}]
        body = {"name": f"Engineer {number}", "public": True, "positions": positions, "steps": steps}
        role = admin.call("POST", f"/api/v1/organizations/{self.id}/roles", body, key=self.staff)["data"]
        admin.call("POST", f"/api/v1/roles/{role['id']}/open", {}, key=self.staff)
        self.roles[number], self.role_steps[number] = role["id"], [step["id"] for step in role["steps"]]

    def _add_candidate(self, admin, role, number):
        body = {"name": "Ada", "email": f"ada-{role}-{number}@example.net", "roleId": self.roles[role]}
        answer = admin.call("POST", f"/api/v1/organizations/{self.id}/candidates", body, key=self.staff)["data"]
        application = answer["applications"][0]
        self.candidates[role, number], self.applications[role, number] = answer["id"], application["id"]
        self.steps[role, number] = [step["id"] for step in application["steps"]]
