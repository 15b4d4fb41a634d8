"""What schemathesis is told of the service besides its description, because a schema cannot say it.

- Ids that it makes up lead nowhere, so nearly every request would end in a 404. Where the path of a request is a valid
  one, its ids become ids that are in the file; so do those of a valid body.
- A cursor that it makes up is one that no page gave, which is a 400. A valid request goes without.
- To JSON Schema 1.0 is an integer; to this service it is none.
- An invisible character may stand in a name only behind certain others, and a pattern for those beyond U+FFFF is not
  read alike everywhere. A valid text has a letter in its place.
- Not all that looks like an IPv6 address is one, and few texts are time zones.
- An Idempotency-Key stands for one request: each valid one is new. A dry run takes no heed of it, so it tells nothing of
  an invalid one.
- Nothing may take the run's own credential away: a change of its key or of its user goes to an id of nothing.
"""

import json
import os
import random
import re
import urllib.request

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode
from schemathesis.generation.meta import TestPhase

BASE = os.environ["DESCRIPTION_BASE"]
KEY = os.environ["DESCRIPTION_KEY"]
NOBODY = "id_of_nothing"

INVISIBLE = re.compile(
    "[\u180b-\u180d\u200c\u200d\ufe00-\ufe0f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

chance = random.Random(7)


def ask(path):
    request = urllib.request.Request(BASE + path, headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def of_document():
    """The ids of an exported document, by the segment of a path that they stand behind."""
    with open(os.environ["DESCRIPTION_DOCUMENT"], encoding="utf-8") as file:
        document = json.load(file)
    known = {"users": [user["id"] for user in document["users"]]}
    for organization in document["organizations"]:
        known.setdefault("organizations", []).append(organization["id"])
        for before in ("portal", "careers"):
            known.setdefault(before, []).append(organization["slug"])
        for role in organization["roles"]:
            known.setdefault("roles", []).append(role["id"])
            known.setdefault("steps", []).extend((role["id"], step["id"]) for step in role["steps"])
            for candidate in role["candidates"]:
                known.setdefault("candidates", []).append(candidate["id"])
                known.setdefault("candidate-roles", []).append(candidate["applicationId"])
                known.setdefault("candidate-steps", []).extend(step["id"] for step in candidate["steps"])
    return known


IDS = of_document()
ME = ask("/api/v1/me")
OWN = {ME["user"]["id"], ME["auth"]["keyId"]}
IDS["users"] = [user for user in IDS["users"] if user not in OWN]
IDS["api-keys"] = [key["id"] for key in ask("/api/admin/api-keys")["data"] if key["id"] not in OWN]
IN_BODIES = {"userId": "users", "roleId": "roles", "organizationId": "organizations"}


def is_valid(case, location):
    part = case.meta.components.get(location) if case.meta else None
    return part is not None and part.mode == GenerationMode.POSITIVE


def with_integers(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: with_integers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [with_integers(item) for item in value]
    return value


def with_visible_text(value):
    if isinstance(value, str):
        return INVISIBLE.sub("x", value)
    if isinstance(value, dict):
        return {name: with_visible_text(member) for name, member in value.items()}
    if isinstance(value, list):
        return [with_visible_text(item) for item in value]
    return value


def fill_path(case):
    segments = case.operation.path.split("/")
    for before, segment in zip(segments, segments[1:]):
        name = segment.strip("{}")
        known = IDS.get("users" if name == "userId" else before)
        if not segment.startswith("{") or not known:
            continue
        found = chance.choice(known)
        if isinstance(found, tuple):
            case.path_parameters["id"], found = found
        case.path_parameters[name] = found


@schemathesis.hook
def before_call(context, case, kwargs):
    # What follows from an earlier answer has its ids from there.
    follows = case.meta is not None and case.meta.phase.name == TestPhase.STATEFUL
    if not follows and is_valid(case, ParameterLocation.PATH) and chance.random() < 0.8:
        fill_path(case)
    if is_valid(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        case.body = with_visible_text(with_integers(case.body))
        for name in sorted(IN_BODIES.keys() & case.body.keys()):
            case.body[name] = chance.choice(IDS[IN_BODIES[name]])
        for name in ("url", "logo"):
            if "://[" in (case.body.get(name) or ""):
                case.body[name] = "http://[::1]:8080/"
        if isinstance(case.body.get("timeZone"), str):
            case.body["timeZone"] = "Europe/Berlin"
    if is_valid(case, ParameterLocation.QUERY) and case.query:
        case.query.pop("cursor", None)
    if "Idempotency-Key" in (case.headers or {}):
        if is_valid(case, ParameterLocation.HEADER):
            case.headers["Idempotency-Key"] = f"{chance.getrandbits(128):032x}"
        elif case.query:
            case.query.pop("dryRun", None)
    if case.method not in ("GET", "HEAD", "OPTIONS"):
        for name, value in (case.path_parameters or {}).items():
            if value in OWN:
                case.path_parameters[name] = NOBODY
