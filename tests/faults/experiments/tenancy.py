"""Claim: no route under /api/v1 shows or changes data of an organization if the caller is neither a member nor a
platform admin. The answer is the same 404 as for an id that does not exist.

Method: an owner of one organization, with all scopes except those for admins, sends requests to every path of the
OpenAPI description that begins with /api/v1, a noun and an id. For each method, the path first has an id from another
organization, and then an id that does not exist. Both answers must be a 404 with the same body except for the request
id. The owner also sends ids from the other organization in bodies. No row of either organization may change.

If the claim were false: an answer would have another status or text, or a row would change.
"""

import json
import os
import re

from common import company as c
from common import state
from common.service import Directory, Service

# For each noun before {id}: an id from the other organization, and an id that does not exist.
IDS = {
    "organizations": ("org_beta", "org_nobody"), "roles": ("role_2", "role_none"), "candidates": ("cand_101", "cand_none"),
    "candidate-roles": ("app_101", "app_none"), "candidate-steps": ("cstep_101_1", "cstep_none"),
}
OTHERS = {"stepId": "step_2_1", "documentId": "doc_1", "batchId": "batch_1", "userId": "user_other"}
BODY = {"name": "N", "email": "n@example.org", "reason": "r", "roleId": "role_1", "stepIds": ["step_1_1"],
        "positions": 2, "dueOn": "2027-01-01", "stepType": "other", "action": "reject", "candidateRoleIds": ["app_1"],
        "candidateStepIds": ["cstep_1_1"]}
BATCH = {name: BODY[name] for name in ("action", "candidateRoleIds", "candidateStepIds")}
# Requests that name the other organization's ids in the body, and the caller's own ids in the path.
FOREIGN_BODIES = [
    ("POST", "/api/v1/organizations/org_acme/candidates", {"name": "N", "email": "n@example.org", "roleId": "role_2"}),
    ("POST", "/api/v1/candidate-roles/app_1/transfer", {"roleId": "role_2"}),
    ("POST", "/api/v1/roles/role_1/decisions", {"action": "reject", "candidateRoleIds": ["app_101"], "candidateStepIds": ["cstep_101_1"]}),
]


def run(outcome, binary):
    with Directory() as directory:
        organizations = [c.organization("acme", [c.role(1, range(1, 6))]),
                         c.organization("beta", [c.role(2, range(101, 106))], owner="other")]
        company = c.Company(binary, directory, content=c.document(organizations, ("owner", "other")))
        before = state.rows(company.path)
        service = Service(binary, company.path)
        client = service.client(company.staff)
        description = client.call("GET", "/api/openapi.json")
        tried = 0
        for path, methods in description["paths"].items():
            found = re.match(r"/api/v1/([a-z-]+)/\{id\}", path)
            if not found:
                continue
            for method, operation in methods.items():
                if method.upper() in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                    compare(outcome, client, method.upper(), path, found[1], "requestBody" in operation)
                    tried += 1
        outcome.check(tried > 30, "the description has enough paths", tried)
        for method, path, body in FOREIGN_BODIES:
            status, text = client.send(method, path, body)
            is_refused = 400 <= status < 500 or '"done":0' in text
            outcome.check(is_refused and "beta" not in text.lower(), f"{method} {path} with a foreign id is refused",
                          (status, text))
        service.stop()
        after = state.rows(company.path)
        changed = [name for name in state.changed(before, after) if name not in ("portal_changes", "credential_changes")]
        outcome.check(not changed, "no row has changed", changed)
        outcome.report(f"{tried} routes with ids of another organization")
        assert os.path.exists(company.path)


def compare(outcome, client, method, path, noun, has_body):
    answers = []
    for known in IDS[noun]:
        target = path.replace("{id}", known)
        for name, value in OTHERS.items():
            target = target.replace("{" + name + "}", value)
        body = BATCH if path.endswith("/decisions") else BODY
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
