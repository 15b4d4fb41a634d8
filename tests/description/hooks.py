"""Facts about the service that schemathesis needs and that a schema cannot express.

- A generated id names nothing, so nearly every request would end in a 404. Valid bodies and most valid paths therefore
  get ids that exist in the file.
- The service refuses a generated cursor with 400, because no answer of the service contained that cursor. Valid
  requests have neither `cursor` nor `after`.
- A generated ETag matches no version, so every request with one would end in a 412. In valid requests, If-Match is `*`.
- JSON Schema accepts 1.0 as an integer. The service does not, so valid bodies get 1 instead.
- A name may contain an invisible character only after certain others, and validators disagree about patterns with
  characters beyond U+FFFF. In valid bodies, a letter replaces each invisible character.
- Few generated strings in the form of an IPv6 address or a time zone are valid, so valid requests get a fixed value.
- An Idempotency-Key names one request, so each valid key is new. A dry run ignores the key, so a request with an
  invalid key is never a dry run.
- The run must not revoke its own credential. Requests that would change its key or its user get an id that does not
  exist.
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
ABSENT_ID = "id_of_nothing"

INVISIBLE = re.compile(
    "[\u180b-\u180d\u200c\u200d\ufe00-\ufe0f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

RANDOM = random.Random(7)


def get(path):
    request = urllib.request.Request(BASE + path, headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def ids_in_document():
    """Returns the ids of an exported interchange document, by the path segment that precedes them."""
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


IDS = ids_in_document()
ME = get("/api/v1/me")
OWN = {ME["user"]["id"], ME["auth"]["keyId"]}
IDS["users"] = [user for user in IDS["users"] if user not in OWN]
IDS["api-keys"] = [key["id"] for key in get("/api/admin/api-keys")["data"] if key["id"] not in OWN]
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
    for preceding, segment in zip(segments, segments[1:]):
        name = segment.strip("{}")
        known = IDS.get("users" if name == "userId" else preceding)
        if not segment.startswith("{") or not known:
            continue
        chosen = RANDOM.choice(known)
        if isinstance(chosen, tuple):
            case.path_parameters["id"], chosen = chosen
        case.path_parameters[name] = chosen


@schemathesis.hook
def before_call(context, case, kwargs):
    # The ids of a stateful request come from an earlier response.
    is_stateful = case.meta is not None and case.meta.phase.name == TestPhase.STATEFUL
    if not is_stateful and is_valid(case, ParameterLocation.PATH) and RANDOM.random() < 0.8:
        fill_path(case)
    if is_valid(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        case.body = with_visible_text(with_integers(case.body))
        for name in sorted(IN_BODIES.keys() & case.body.keys()):
            case.body[name] = RANDOM.choice(IDS[IN_BODIES[name]])
        for name in ("url", "logo"):
            if "://[" in (case.body.get(name) or ""):
                case.body[name] = "http://[::1]:8080/"
        if isinstance(case.body.get("timeZone"), str):
            case.body["timeZone"] = "Europe/Berlin"
    if is_valid(case, ParameterLocation.QUERY) and case.query:
        case.query.pop("cursor", None)
        case.query.pop("after", None)
    if case.meta and case.meta.generation.mode == GenerationMode.POSITIVE and "If-Match" in (case.headers or {}):
        case.headers["If-Match"] = "*"
    if "Idempotency-Key" in (case.headers or {}):
        if is_valid(case, ParameterLocation.HEADER):
            case.headers["Idempotency-Key"] = f"{RANDOM.getrandbits(128):032x}"
        elif case.query:
            case.query.pop("dryRun", None)
    if case.method not in ("GET", "HEAD", "OPTIONS"):
        for name, value in (case.path_parameters or {}).items():
            if value in OWN:
                case.path_parameters[name] = ABSENT_ID
