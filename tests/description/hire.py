"""From an empty file to a hired candidate, by a client that was made from the description and nothing else."""

import sys

from generated.api.caller import get_me
from generated.client import AuthenticatedClient

base, key = sys.argv[1:]
client = AuthenticatedClient(base_url=base, token=key, raise_on_unexpected_status=True)

me = get_me.sync(client=client)
assert me.user.email == "admin@appliance.example", me
assert me.auth.type_ == "api_key" and "pipeline:write" in me.auth.scopes, me
print("the client works")
