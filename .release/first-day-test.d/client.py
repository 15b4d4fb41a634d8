"""The clients of first-day-test. Every request to the service uses https and trusts only the authority's root.

    client.py root       prints the root certificate of the authority
    client.py wait       waits until the portal answers
    client.py publish    publishes a role with the API key in the file `key`
    client.py apply      applies for the role, as a candidate would, and then finds the candidate, as staff would
"""

import json
import ssl
import sys
import time
import urllib.error
import urllib.request

BASE = "https://jobs.example.com"


def call(method, path, body=None, is_staff=False):
    """Sends a request, and returns the decoded answer."""
    fields = {"Content-Type": "application/json"}
    if is_staff:
        fields["Authorization"] = "Bearer " + open("key").read().strip()
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, fields, method=method)
    trust = ssl.create_default_context(cafile="root.pem")
    with urllib.request.urlopen(request, context=trust, timeout=30) as answer:
        text = answer.read().decode()
    return json.loads(text) if text.startswith("{") else text


def root():
    trust = ssl.create_default_context(cafile="authority.pem")
    with urllib.request.urlopen("https://localhost:15000/roots/0", context=trust, timeout=5) as answer:
        print(answer.read().decode())


def wait():
    end = time.monotonic() + 120
    while True:
        try:
            return call("GET", "/careers/acme")
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > end:
                raise SystemExit(f"the portal does not answer: {error}") from error
            time.sleep(0.1)


def publish():
    organization = call("GET", "/api/admin/organizations", is_staff=True)["data"][0]["id"]
    role = call(
        "POST",
        f"/api/v1/organizations/{organization}/roles",
        {"name": "Platform Engineer", "public": True, "positions": 1},
        is_staff=True,
    )["data"]["id"]
    for name, kind in [("Application", "application"), ("Offer", "offer")]:
        call("POST", f"/api/v1/roles/{role}/steps", {"name": name, "stepType": kind}, is_staff=True)
    call("POST", f"/api/v1/roles/{role}/open", is_staff=True)
    assert "Platform Engineer" in call("GET", "/careers/acme")
    print(f"published {role}")


def apply():
    role = call("GET", "/api/public/portal/acme")["roles"][0]["id"]
    link = call("POST", "/api/public/portal/acme/apply", {"roleId": role})["inviteUrl"]
    assert link.startswith(BASE + "/signup/"), link
    token = link.removeprefix(BASE + "/signup/").split("?")[0]
    call("POST", f"/api/public/signup/{token}", {"name": "Zoë Meier", "email": "zoe@example.org", "consent": True})
    organization = call("GET", "/api/admin/organizations", is_staff=True)["data"][0]["id"]
    found = call("GET", f"/api/v1/organizations/{organization}/candidates?q=zoe", is_staff=True)["data"]
    assert [candidate["name"] for candidate in found] == ["Zoë Meier"], found
    print("the application of Zoë Meier arrived")


{"root": root, "wait": wait, "publish": publish, "apply": apply}[sys.argv[1]]()
