"""Claim: after the answer to the revocation of a key, the disabling of its user or the removal of the user from the
organization, the key never acts in the organization again. After the answer to a sign-out, the session is never
accepted again.

Method: six threads use one key to place legal holds on candidates, without a pause. Meanwhile an admin revokes the key
over HTTP or with `key revoke`, removes the user from the organization, or disables the user. Requests that begin after
the answer must be refused. The activity gives the order of all acts; no act of the key may follow its revocation. In
the same way, six threads request `/api/v1/me` with one session while its user signs out.

If the claim were false: a request that began after the answer would have been answered with 200, or the activity would
contain an act of the key after its revocation.
"""

import json
import sqlite3
import threading
import time

from common import company as c
from common import verdict
from common.outcome import rounds
from common.service import Directory, Service, run as run_command

THREADS = 6
PASSWORD = "nine blue herons argue"
WAYS = ("request", "command", "member", "user")


def run(outcome, binary):
    count, acts, late = max(rounds(12, 500), len(WAYS)), 0, 0
    with Directory() as directory:
        company = c.Company(binary, directory, THREADS * 2)
        service = Service(binary, company.path)
        for nth in range(count):
            way = WAYS[nth % len(WAYS)]
            done, tried = race(outcome, binary, service, company, nth, way)
            acts, late = acts + done, late + tried
        run_command(binary, "set-password", "--db", company.path, "--email", "owner@acme.example", text=PASSWORD, check=True)
        sessions = count // len(WAYS)
        for _ in range(sessions):
            sign_out(outcome, service)
        outcome.check(acts > 0 and late > 0, "there are acts before and requests after the revocations", (acts, late))
        service.stop()
        verdict.sound(outcome, binary, company.path, "after the revocations")
    outcome.report(f"{count} revocations, {acts} acts before them, {late} requests after their answers; "
                   f"{sessions} sign-outs")


def race(outcome, binary, service, company, nth, way):
    admin = service.client(company.admin)
    user = admin.call("POST", "/api/admin/users", {"email": f"u{nth}@acme.example", "name": "U"})["data"]["id"]
    admin.call("PUT", f"/api/admin/organizations/org_acme/memberships/{user}", {"orgRole": "owner"})
    key = admin.call("POST", "/api/admin/api-keys", {"userId": user, "name": f"k{nth}", "scopes": c.SCOPES})["data"]

    def act(client, number, attempt):
        return client.send("PUT", f"/api/v1/candidates/cand_{number}/hold", {"reason": f"{nth}/{number}/{attempt}"})

    def end():
        revoke(binary, admin, company, key["id"], user, f"u{nth}@acme.example", way)

    statuses, late = during(outcome, lambda: service.client(key["key"]), act, end)
    outcome.check(late and all(status in (401, 403, 404) for status in late),
                  f"every request after the answer is refused ({way})", sorted(set(late)))
    follow_the_record(outcome, company.path, key["id"], user, way)
    return statuses.count(200), len(late)


def sign_out(outcome, service):
    client = service.client()
    status, text = client.send("POST", "/api/auth/sign-in", {"email": "owner@acme.example", "password": PASSWORD})
    assert status == 200, (status, text)
    session = {"Cookie": client.headers["Set-Cookie"].split(";")[0]}

    def end():
        status, text = client.send("POST", "/api/auth/sign-out", {}, {**session, "Sec-Fetch-Site": "same-origin"})
        assert status in (200, 204), (status, text)

    _, late = during(outcome, service.client, lambda client, *_: client.send("GET", "/api/v1/me", fields=session), end)
    outcome.check(late and all(status == 401 for status in late), "the session is refused after the sign-out",
                  sorted(set(late)))


def during(outcome, connect, act, end):
    """Sends requests from all threads, ends their credential, and lets the threads send some more requests. Returns the
    statuses of all requests, and the statuses of those that began after the credential had ended."""
    moments, lock, ended = [], threading.Lock(), threading.Event()

    def work(number):
        client = connect()
        attempt = 0
        while not ended.is_set():
            attempt += 1
            begun = time.monotonic()
            status, _ = act(client, number, attempt)
            with lock:
                moments.append((begun, status))

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(1, THREADS + 1)]
    for thread in threads:
        thread.start()
    while not any(status == 200 for _, status in list(moments)):
        time.sleep(0.001)
    time.sleep(outcome.random.random() * 0.05)
    end()
    answered = time.monotonic()
    count = len(moments)
    while len(moments) < count + 4 * THREADS:
        time.sleep(0.001)
    ended.set()
    for thread in threads:
        thread.join()
    return [status for _, status in moments], [status for begun, status in moments if begun > answered]


def revoke(binary, admin, company, key_id, user, email, way):
    if way == "request":
        admin.call("DELETE", f"/api/admin/api-keys/{key_id}")
    elif way == "command":
        run_command(binary, "key", "revoke", "--db", company.path, key_id, check=True)
    elif way == "member":
        status, text = admin.send("DELETE", f"/api/admin/organizations/org_acme/memberships/{user}")
        assert status in (200, 204), text
    else:
        run_command(binary, "user", "disable", "--db", company.path, email, check=True)


def follow_the_record(outcome, path, key_id, user, way):
    """Compares the number of the key's last act in the activity with that of its revocation."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        last = connection.execute("SELECT max(number) FROM activities WHERE api_key_id = ? AND organization_id IS NOT NULL",
                                  (key_id,)).fetchone()[0]
        marks = connection.execute("SELECT number, action, detail, user_id FROM activities ORDER BY number DESC LIMIT 200")
        revoked = [number for number, action, detail, _ in marks
                   if (key_id in detail or user in json.dumps(detail)) and "created" not in action
                   and not action.startswith(("candidate", "membership.add"))]
    finally:
        connection.close()
    if outcome.check(revoked, f"the activity contains the revocation ({way})"):
        outcome.check(last is not None and last < max(revoked),
                      f"the activity contains no act of the key after the revocation ({way})", (last, revoked))
