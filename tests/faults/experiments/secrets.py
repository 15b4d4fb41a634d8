"""Claim: no key, password, session, sign-in link or status link is in any file of the service. No secret, name or email
address is in its log. No later answer repeats a secret, except a signup link.

Method: the service creates keys, a session, a sign-in link, a signup, a status link and an HR integration, and answers
valid and invalid requests that use them. A backup is made, and the service is killed, so that its write-ahead log
remains. The experiment searches all files, the log and all later answers for the secrets, as text, in Base64 and in
hexadecimal.

If the claim were false: a file, the log or a later answer would contain a secret that it must not contain.
"""

import base64
import os
import re

from common import company as c
from common.service import Directory, Service, run as run_command

PASSWORD = "forty-one purple anvils sleeping"
HR_SECRET = "whsec_" + base64.b64encode(b"an hr secret of 24 bytes").decode()
NAME, EMAIL = "Zephyrine Quillfeather", "zephyrine.quillfeather@example.org"


def run(outcome, binary):
    with Directory() as directory:
        company = c.Company(binary, directory, 10)
        run_command(binary, "set-password", "--db", company.path, "--email", "owner@acme.example", text=PASSWORD, check=True)
        service = Service(binary, company.path, log=os.path.join(directory, "log.txt"))
        hidden, links = act(outcome, binary, service, company)
        later = read_everything(service, company)
        run_command(binary, "backup", "--db", company.path, os.path.join(directory, "copy.db"), check=True)
        service.kill()
        log = service.output().encode()
        files = {}
        for name in os.listdir(directory):
            if name != "log.txt" and os.path.isfile(os.path.join(directory, name)):
                with open(os.path.join(directory, name), "rb") as file:
                    files[name] = file.read()
        outcome.check(any(name.endswith("-wal") for name in files), "the write-ahead log remains after a kill")
        outcome.check(EMAIL.encode() in b"".join(files.values()), "the search finds an address that is in the file")
        for what, secret in hidden.items():
            for name, content in files.items():
                outcome.check(not contains(content, secret), f"{what} is not in {name}")
        for what, secret in {**hidden, **links, "a name": NAME, "an address": EMAIL, "an HR secret": HR_SECRET}.items():
            outcome.check(not contains(log, secret), f"{what} is not in the log")
        for what, secret in {**hidden, "an HR secret": HR_SECRET}.items():
            outcome.check(not contains(later.encode(), secret), f"{what} is in no later answer")
        outcome.report(f"{len(hidden) + len(links)} secrets, {len(files)} files, {len(log)} bytes of log")


def contains(content, secret):
    raw = secret.encode()
    return any(form in content for form in (raw, base64.b64encode(raw), raw.hex().encode()))


def act(outcome, binary, service, company):
    """Makes secrets and uses them.

    Returns those that no file may contain, and those that may be anywhere except in the log.
    """
    client = service.client()
    status, text = client.send("POST", "/api/auth/sign-in", {"email": "owner@acme.example", "password": PASSWORD})
    outcome.check(status == 200, "the sign-in succeeds", text)
    session = client.headers["Set-Cookie"].split(";")[0].split("=", 1)[1]
    client.send("GET", "/api/v1/me", fields={"Cookie": client.headers.get("Set-Cookie", "x").split(";")[0]})
    client.send("POST", "/api/auth/sign-in", {"email": "owner@acme.example", "password": PASSWORD + "!"})
    made = client.call("POST", "/api/admin/api-keys", {"userId": "user_owner", "name": "n"}, company.admin)["data"]
    link = run_command(binary, "sign-in-link", "--db", company.path, "--email", "owner@acme.example", check=True).stdout
    token = re.search(r"[A-Za-z0-9_-]{22,}", link.rsplit("/", 1)[-1])[0]
    status_link = client.call("POST", "/api/v1/candidate-roles/app_3/status-link", {}, company.staff)
    status_token = re.search(r"/status/([A-Za-z0-9_-]+)", str(status_link))[1]
    body, fields = c.form({"name": NAME, "email": EMAIL, "consent": "on"}, "A CV\n" * 100)
    client.send("POST", f"/api/public/signup/{company.invite}", body, fields)
    client.send("PUT", "/api/admin/organizations/org_acme/hr-integration",
                {"url": "https://hr.example/hook", "secret": HR_SECRET}, key=company.admin)
    for key in (made["key"], company.staff, company.admin[:-1] + "x"):
        client.send("GET", "/api/v1/candidates/cand_1", key=key)
        client.send("POST", "/api/v1/candidate-steps/cstep_1_1/hire", "{broken", key=key)
        client.send("GET", f"/api/v1/unknown?key={key}&name={NAME.replace(' ', '+')}", key=key)
    client.send("GET", f"/status/{status_token}")
    client.send("GET", f"/signup/{company.invite}")
    hidden = {"an admin key": company.admin, "a staff key": company.staff, "a new key": made["key"], "a password": PASSWORD,
              "a session": session, "a sign-in link": token, "a status link": status_token}
    return hidden, {"a signup link": company.invite}


def read_everything(service, company):
    """Returns the answers to GET requests with admin and staff keys, for paths without ids or with known ids."""
    client = service.client()
    description = client.call("GET", "/api/openapi.json")
    texts = []
    for path, methods in description["paths"].items():
        if "get" in methods and path.startswith("/api/"):
            for noun, known in (("organizations", "org_acme"), ("roles", "role_1"), ("candidates", "cand_1")):
                target = path.replace("{id}", known).replace("{orgSlug}", "acme").replace("{roleId}", "role_1")
                if "{" not in target and (f"/{noun}/{known}" in target or "{id}" not in path):
                    texts += [client.send("GET", target, key=key)[1] for key in (company.admin, company.staff)]
    return "\n".join(texts)
