"""Hires a candidate with a client that was generated from the OpenAPI description.

At first, the only user in the file is an admin.
"""

import sys

from generated.api.api_keys import create_api_key
from generated.api.caller import get_me
from generated.api.candidate_steps import hire_candidate_step, validate_candidate_step
from generated.api.candidates import add_candidate, get_candidate
from generated.api.organizations import create_organization
from generated.api.roles import add_role_step, create_role, get_role, open_role
from generated.api.users import create_user, put_membership
from generated.client import AuthenticatedClient
from generated.models import (
    HireWish,
    MembershipWish,
    NewApiKey,
    NewCandidate,
    NewOrganization,
    NewRole,
    NewRoleStep,
    NewUser,
    OrgRole,
    Problem,
    Scope,
    StepType,
    ValidateWish,
)

base, key = sys.argv[1:]


def client(key):
    return AuthenticatedClient(base_url=base, token=key, raise_on_unexpected_status=True)


def data(response):
    assert not isinstance(response, Problem), response
    return response.data


admin = client(key)
me = get_me.sync(client=admin)
assert (me.user.email, me.auth.type_) == ("admin@appliance.example", "api_key"), me

# The admin creates the organization, its recruiter, and a key for the recruiter.
organization = data(create_organization.sync(client=admin, body=NewOrganization(slug="halmwind", name="Halmwind")))
user = data(create_user.sync(client=admin, body=NewUser(email="ingrid@halmwind.example", name="Ingrid Aalto")))
membership = MembershipWish(org_role=OrgRole.HR_REPRESENTATIVE)
data(put_membership.sync(organization.id, user.id, client=admin, body=membership))
scopes = [Scope.ROLESREAD, Scope.ROLESWRITE, Scope.CANDIDATESREAD, Scope.CANDIDATESWRITE, Scope.PIPELINEWRITE]
made = data(create_api_key.sync(client=admin, body=NewApiKey(name="recruiting", user_id=user.id, scopes=scopes)))
recruiter = client(made.key)
assert get_me.sync(client=recruiter).user.id == user.id

# The recruiter creates a role with a pipeline and opens it.
role = data(create_role.sync(organization.id, client=recruiter, body=NewRole(name="Turbine Technician", positions=1)))
for name, kind in [("Application", StepType.APPLICATION), ("Interview", StepType.INTERVIEW), ("Offer", StepType.OFFER)]:
    data(add_role_step.sync(role.id, client=recruiter, body=NewRoleStep(name=name, step_type=kind)))
assert data(open_role.sync(role.id, client=recruiter)).status == "open"

# The recruiter adds a candidate, advances the application twice and hires the candidate.
new_candidate = NewCandidate(name="Ada Lovelace", email="ada@example.org", role_id=role.id)
candidate = data(add_candidate.sync(organization.id, client=recruiter, body=new_candidate))
step = candidate.applications[0].steps[0]
for _ in range(2):
    step = validate_candidate_step.sync(step.id, client=recruiter, body=ValidateWish()).next_step
hired = hire_candidate_step.sync(step.id, client=recruiter, body=HireWish(notes="Starts in January"))
assert (hired.step.status, hired.step.step_type) == ("validated", "offer"), hired

application = data(get_candidate.sync(candidate.id, client=recruiter)).applications[0]
assert (application.status, application.hire_notes) == ("Hired", "Starts in January"), application
assert data(get_role.sync(role.id, client=recruiter)).status == "filled"

# The service refuses a second hire with a problem that the description declares.
again = hire_candidate_step.sync(step.id, client=recruiter, body=HireWish())
assert isinstance(again, Problem) and again.code == "conflict", again
print("the generated client hired", candidate.name)
