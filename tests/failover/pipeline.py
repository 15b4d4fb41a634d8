"""The acts of a client on one role: the client fills the role from six candidates, as staff would.

Each act has a path and a body, and the rows that it adds to the activity of its subject. The subject is a role,
identified by its name, or an application, identified by the address of its candidate. No two acts add the same row to
one subject.
"""

from collections import namedtuple

STEPS = ["Application", "Call", "Interview", "Offer"]
CANDIDATES = 6
POSITIONS = 2

Act = namedtuple("Act", "subject rows path body")


def acts(organization, name, random):
    """Yields the acts. The caller sends back the decoded answer to each act."""
    role = (yield create(organization, name))["data"]["id"]
    yield Act(name, [("role.opened", None)], f"/api/v1/roles/{role}/open", {})
    applications = []
    for nth in range(CANDIDATES):
        candidate = (yield add(organization, role, f"{name.lower()}-{nth}@example.net"))["data"]
        applications.append((candidate["email"], [step["id"] for step in candidate["applications"][0]["steps"]]))
    for nth, (email, steps) in enumerate(applications):
        yield from advance(email, steps, random)
        # Hires come last, because the last one fills the role.
        yield hire(email, steps) if nth >= CANDIDATES - POSITIONS else reject(email, steps)


def create(organization, name):
    body = {"name": name, "positions": POSITIONS, "steps": [{"name": step} for step in STEPS]}
    return Act(name, [("role.created", None)], f"/api/v1/organizations/{organization}/roles", body)


def add(organization, role, email):
    body = {"name": f"Candidate {email}", "email": email, "roleId": role}
    rows = [("candidate.added", None), ("candidate_role.added", None)]
    return Act(email, rows, f"/api/v1/organizations/{organization}/candidates", body)


def advance(email, steps, random):
    """Advances a candidate to the last step, by validations and by moves, which can skip steps."""
    at = 0
    while at < len(steps) - 1:
        is_move = random.random() < 0.4
        there = random.randrange(at + 1, len(steps)) if is_move else at + 1
        yield decision(email, "moved", "move", steps[there]) if is_move else decision(email, "validated", "validate", steps[at])
        at = there


def hire(email, steps):
    return decision(email, "hired", "hire", steps[-1], {"notes": "yes"})


def reject(email, steps):
    return decision(email, "rejected", "reject", steps[-1], {"outcomeNotes": "no"})


def decision(email, action, verb, step, body=None):
    return Act(email, [(f"candidate_step.{action}", step)], f"/api/v1/candidate-steps/{step}/{verb}", body or {})


def state(rows, steps):
    """Returns the status of an application after these rows of its activity, and the status of each of its steps."""
    statuses, application, at = ["in_progress"] + ["pending"] * (len(steps) - 1), "In Progress", 0
    for action, step in rows:
        there = steps.index(step) if step is not None else 0
        if action == "candidate_step.validated":
            there += 1
        if action in ("candidate_step.validated", "candidate_step.moved"):
            statuses[at:there + 1] = ["validated"] + ["skipped"] * (there - at - 1) + ["in_progress"]
            at = there
        elif action == "candidate_step.rejected":
            statuses[there], application = "rejected", "Not Selected"
        elif action == "candidate_step.hired":
            statuses[there], application = "validated", "Hired"
    return application, statuses
