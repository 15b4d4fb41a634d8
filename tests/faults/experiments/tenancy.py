"""Claim: no route under /api/v1 shows or changes data of an organization if the caller is neither a member nor a
platform admin. If the path names the record, the answer is the same 404 as for an id that does not exist. If the body
names it, the request does nothing.

Method: an owner of one organization, with all scopes except those for admins, sends requests to every path of the
OpenAPI description that begins with /api/v1, a noun and an id. For each method, the path first has an id from another
organization, and then an id that does not exist. Both answers must be a 404, and their bodies may differ only in the
request id. The owner also sends ids from the other organization in bodies. No row of either organization may change.
With FAULTS_POSTGRES=1, the service uses a PostgreSQL server instead of a file.

If the claim were false: an answer would have another status or text, or a row would change.
"""

import json
import re

from common import company as c
from common import postgres, state
from common.service import Directory, Service



class Ids:
    """The ids that the requests name: those of the caller's organization, and those of the other one."""

    def __init__(self, own, other):
        organization, role, step, application, candidate_step = own
        # For each noun before {id}: an id from the other organization, and an id that does not exist.
        self.of_nouns = {
            "organizations": (other["organization"], "org_nobody"), "roles": (other["role"], "role_none"),
            "candidates": (other["candidate"], "cand_none"), "candidate-roles": (other["application"], "app_none"),
            "candidate-steps": (other["candidate_step"], "cstep_none"),
        }
        self.others = {"stepId": other["step"], "documentId": "doc_1", "batchId": "batch_1", "userId": other["owner"]}
        self.body = {
            "name": "N", "email": "n@example.org", "reason": "r", "roleId": role, "stepIds": [step], "positions": 2,
            "dueOn": "2027-01-01", "stepType": "other", "action": "reject", "candidateRoleIds": [application],
            "candidateStepIds": [candidate_step],
        }
        self.batch = {name: self.body[name] for name in ("action", "candidateRoleIds", "candidateStepIds")}
        # Requests that name the other organization's ids in the body, and the caller's own ids in the path.
        foreign = {"action": "reject", "candidateRoleIds": [other["application"]],
                   "candidateStepIds": [other["candidate_step"]]}
        new = {"name": "N", "email": "n@example.org", "roleId": other["role"]}
        self.foreign_bodies = [
            ("POST", f"/api/v1/organizations/{organization}/candidates", new),
            ("POST", f"/api/v1/candidate-roles/{application}/transfer", {"roleId": other["role"]}),
            ("POST", f"/api/v1/roles/{role}/decisions", foreign),
        ]


class File:
    """Two organizations in a file."""

    def __init__(self, binary, directory):
        organizations = [c.organization("acme", [c.role(1, range(1, 6))]),
                         c.organization("beta", [c.role(2, range(101, 106))], owner="other")]
        company = c.Company(binary, directory, content=c.document(organizations, ("owner", "other")))
        self.binary, self.path, self.staff = binary, company.path, company.staff
        other = {"organization": "org_beta", "owner": "user_other", "role": "role_2", "step": "step_2_1",
                 "candidate": "cand_101", "application": "app_101", "candidate_step": "cstep_101_1"}
        self.ids = Ids(("org_acme", "role_1", "step_1_1", "app_1", "cstep_1_1"), other)

    def serve(self):
        return Service(self.binary, self.path)

    def rows(self):
        return state.rows(self.path)


class Server:
    """Two organizations in a database on a PostgreSQL server."""

    def __init__(self, binary, directory):
        self.database = postgres.Database(binary, directory, postgres.Server(), "tenancy")
        service = self.serve()
        admin = service.client(self.database.admin)
        own, other = [postgres.Organization(admin, slug, 1, 5, 10_000) for slug in ("acme", "beta")]
        service.stop()
        self.staff = own.staff
        others = {"organization": other.id, "owner": other.owner, "role": other.roles[1], "step": other.role_steps[1][0],
                  "candidate": other.candidates[1, 0], "application": other.applications[1, 0],
                  "candidate_step": other.steps[1, 0][0]}
        owns = own.id, own.roles[1], own.role_steps[1][0], own.applications[1, 0], own.steps[1, 0][0]
        self.ids = Ids(owns, others)

    def serve(self):
        return self.database.serve()

    def rows(self):
        return self.database.rows()


def run(outcome, binary):
    with Directory() as directory:
        company = (Server if postgres.IS_CHOSEN else File)(binary, directory)
        before = company.rows()
        service = company.serve()
        client = service.client(company.staff)
        description = client.call("GET", "/api/openapi.json")
        tried = 0
        for path, methods in description["paths"].items():
            found = re.match(r"/api/v1/([a-z-]+)/\{id\}", path)
            if not found:
                continue
            for method, operation in methods.items():
                if method.upper() in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                    compare(outcome, client, company.ids, (method.upper(), path, found[1]), "requestBody" in operation)
                    tried += 1
        outcome.check(tried > 30, "the description has enough operations", tried)
        for method, path, body in company.ids.foreign_bodies:
            status, text = client.send(method, path, body)
            is_refused = 400 <= status < 500 or '"done":0' in text
            outcome.check(is_refused and "beta" not in text.lower(),
                          f"{method} {path} with an id of another organization in the body is refused or does nothing",
                          (status, text))
        service.stop()
        after = company.rows()
        changed = [name for name in state.changed(before, after) if name not in ("portal_changes", "credential_changes")]
        outcome.check(not changed, "no row has changed", changed)
        outcome.report(f"{tried} routes with ids of another organization")


def compare(outcome, client, ids, route, has_body):
    method, path, noun = route
    answers = []
    for known in ids.of_nouns[noun]:
        target = path.replace("{id}", known)
        for name, value in ids.others.items():
            target = target.replace("{" + name + "}", value)
        body = ids.batch if path.endswith("/decisions") else ids.body
        status, text = client.send(method, target, body if has_body else None)
        answers.append((status, normal(text)))
    outcome.check(answers[0][0] == 404, f"{method} {path} with an id of another organization gets a 404", answers[0])
    outcome.check(answers[0] == answers[1], f"{method} {path} does not show that the id exists", answers)


def normal(text):
    """Returns the body of an answer without its request id."""
    try:
        members = json.loads(text)
    except ValueError:
        return text
    if isinstance(members, dict):
        members.pop("requestId", None)
    return members
