"""The company that the experiments use: an imported organization, its keys, and acts that each leave a mark.

A mark is a row of `MARKS`, a query on the file. An experiment notes the marks of the acts that were answered, and
compares them with the marks in the file after a fault.
"""

import json
import os
import re
import shutil
import sqlite3

from common.service import Service, run

BOUNDARY = "faults-boundary"
SCOPES = ["candidates:read", "candidates:write", "roles:read", "roles:write", "pipeline:write"]

# Selects every mark in a file. The rows have the form of `Act.mark`.
MARKS = """
SELECT 'hired ' || id FROM candidate_roles WHERE status = 'Hired'
UNION ALL SELECT 'rejected ' || id FROM candidate_roles WHERE status = 'Not Selected'
UNION ALL SELECT 'withdrawn ' || id FROM candidate_roles WHERE status = 'Withdrawn'
UNION ALL SELECT 'validated ' || id FROM candidate_role_steps WHERE status = 'validated'
UNION ALL SELECT 'held ' || id || ' ' || hold_reason FROM candidates WHERE hold_reason IS NOT NULL
UNION ALL SELECT 'erased ' || id FROM candidates WHERE erased_at IS NOT NULL
UNION ALL SELECT 'signup ' || email FROM signups
UNION ALL SELECT 'key ' || name FROM api_keys WHERE name IS NOT NULL
UNION ALL SELECT 'revoked ' || id FROM api_keys WHERE enabled = 0
UNION ALL SELECT 'user ' || email FROM users
UNION ALL SELECT 'role ' || name FROM roles
UNION ALL SELECT 'attachment ' || s.email FROM signups s JOIN documents d ON d.signup_id = s.id
"""


def candidate(number, role=1):
    return {
        "id": f"cand_{number}", "applicationId": f"app_{number}", "name": f"Candidate {number}",
        "email": f"candidate-{number}@example.net", "appliedAt": "2026-11-01T10:00:00Z",
        "steps": [
            {"id": f"cstep_{number}_1", "roleStepId": f"step_{role}_1", "status": "in_progress"},
            {"id": f"cstep_{number}_2", "roleStepId": f"step_{role}_2", "status": "pending"},
        ],
    }


def role(number, candidates, positions=10_000):
    return {
        "id": f"role_{number}", "name": f"Engineer {number}", "status": "open", "public": True, "positions": positions,
        "createdAt": "2026-10-01T08:00:00Z",
        "steps": [
            {"id": f"step_{number}_1", "name": "Call", "stepType": "screening"},
            {"id": f"step_{number}_2", "name": "Offer", "stepType": "offer"},
        ],
        "candidates": [candidate(nth, number) for nth in candidates],
    }


def organization(name, roles, owner="owner"):
    return {
        "id": f"org_{name}", "slug": name, "name": name.title(), "domain": f"{name}.example",
        "portal": {"enabled": True, "theme": {}}, "members": [{"userId": f"user_{owner}", "orgRole": "owner"}],
        "roles": roles,
    }


def document(organizations, owners=("owner",)):
    users = [{"id": f"user_{owner}", "email": f"{owner}@acme.example", "name": f"The {owner}"} for owner in owners]
    return {"users": users, "organizations": organizations}


def import_document(binary, path, content):
    source = path + ".json"
    with open(source, "w", encoding="utf-8") as file:
        json.dump(content, file)
    run(binary, "import", "--db", path, source, check=True)
    os.unlink(source)


class Company:
    """A file with an organization, an admin key, a staff key and a signup link. No process has it open at first."""

    def __init__(self, binary, directory, candidates=60, content=None):
        self.path = os.path.join(directory, "base.db")
        import_document(binary, self.path, content or document([organization("acme", [role(1, range(1, candidates + 1))])]))
        self.admin = run(binary, "bootstrap-admin", "--db", self.path, "--email", "root@example.org",
                         check=True).stdout.strip()
        service = Service(binary, self.path)
        client = service.client(self.admin)
        body = {"userId": "user_owner", "name": "staff", "scopes": SCOPES}
        self.staff = client.call("POST", "/api/admin/api-keys", body)["data"]["key"]
        link = client.call("POST", "/api/public/portal/acme/apply", {"roleId": "role_1"})["inviteUrl"]
        self.invite = re.search(r"/signup/([A-Za-z0-9_-]+)", link)[1]
        service.stop()
        assert not os.path.exists(self.path + "-wal"), "a stopped service leaves no write-ahead log"

    def copy(self, directory, name="a.db"):
        path = os.path.join(directory, name)
        shutil.copy(self.path, path)
        return path


class Act:
    """A request, and the mark that it leaves in the file.

    A signup with an attachment leaves the mark of a signup too.
    """

    def __init__(self, mark, method, path, body=None, key=None, fields=None):
        self.mark, self.method, self.path, self.body = mark, method, path, body
        self.key, self.fields = key, fields

    def send(self, client):
        return client.send(self.method, self.path, self.body, self.fields, self.key)

    @property
    def name(self):
        return self.mark.split()[0]


def form(fields, content=None):
    """Returns the body and the header fields of a signup form. `content` is the text of its CV."""
    lines = []
    for name, value in fields.items():
        lines += [f"--{BOUNDARY}", f'Content-Disposition: form-data; name="{name}"', "", value]
    if content is not None:
        lines += [f"--{BOUNDARY}", 'Content-Disposition: form-data; name="cv"; filename="cv.txt"',
                  "Content-Type: text/plain", "", content]
    text = "\r\n".join([*lines, f"--{BOUNDARY}--", ""])
    return text, {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


def hire(company, number):
    return Act(f"hired app_{number}", "POST", f"/api/v1/candidate-steps/cstep_{number}_1/hire", {"notes": "yes"},
               company.staff)


def reject(company, number):
    return Act(f"rejected app_{number}", "POST", f"/api/v1/candidate-steps/cstep_{number}_1/reject",
               {"outcomeNotes": "no"}, company.staff)


def validate(company, number):
    return Act(f"validated cstep_{number}_1", "POST", f"/api/v1/candidate-steps/cstep_{number}_1/validate", {},
               company.staff)


def withdraw(company, number):
    return Act(f"withdrawn app_{number}", "POST", f"/api/v1/candidate-roles/app_{number}/withdraw", {}, company.staff)


def hold(company, number):
    return Act(f"held cand_{number} case {number}", "PUT", f"/api/v1/candidates/cand_{number}/hold",
               {"reason": f"case {number}"}, company.staff)


def erase(company, number):
    return Act(f"erased cand_{number}", "DELETE", f"/api/v1/candidates/cand_{number}", key=company.staff)


def sign_up(company, number):
    body, fields = form({"name": "Ada", "email": f"ada-{number}@example.org", "consent": "on"})
    return Act(f"signup ada-{number}@example.org", "POST", f"/api/public/signup/{company.invite}", body, fields=fields)


def attach(company, number):
    body, fields = form({"name": "Ada", "email": f"cv-{number}@example.org", "consent": "on"}, f"CV {number}\n" * 4000)
    return Act(f"attachment cv-{number}@example.org", "POST", f"/api/public/signup/{company.invite}", body, fields=fields)


def create_key(company, number):
    return Act(f"key new {number}", "POST", "/api/admin/api-keys", {"userId": "user_owner", "name": f"new {number}"},
               company.admin)


def create_user(company, number):
    return Act(f"user new-{number}@acme.example", "POST", "/api/admin/users",
               {"email": f"new-{number}@acme.example", "name": "New"}, company.admin)


def create_role(company, number):
    return Act(f"role Pilot {number}", "POST", "/api/v1/organizations/org_acme/roles", {"name": f"Pilot {number}"},
               company.staff)


ACTS = [hire, reject, validate, withdraw, hold, erase, sign_up, attach, create_key, create_user, create_role]


def marks(path):
    """Returns every mark that the file has."""
    connection = sqlite3.connect(path)
    try:
        return {mark for (mark,) in connection.execute(MARKS)}
    finally:
        connection.close()


def is_answered(status):
    return 200 <= status < 400
