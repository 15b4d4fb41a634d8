#!/usr/bin/env bash
#
# Creates a file and hires a candidate over HTTP. A command creates the first admin key. Between the start of the
# service and the final `check`, every step is a call that you can copy. Read the script from top to bottom.
#
#     examples/hire.sh [APPLIANCE]
#
# APPLIANCE is the program, as an argument or in the environment. Without it, the script uses `appliance` on the PATH,
# or else target/release/appliance. The script needs curl and jq. It works in a temporary directory, on a free port of
# the loopback interface, and leaves nothing behind. Its last line names the hired candidate, and its exit status is 0.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
appliance=${1:-${APPLIANCE:-}}
if [[ -z $appliance ]]; then
  appliance=$(command -v appliance || echo "$here/../target/release/appliance")
fi
for program in "$appliance" curl jq; do
  if ! command -v "$program" >/dev/null; then
    echo "hire: program not found: $program" >&2
    exit 2
  fi
done
# This run must not depend on variables that happen to be set in the environment.
# shellcheck disable=SC2086
unset ${!APPLIANCE_@}

work=$(mktemp -d "${TMPDIR:-/tmp}/appliance-hire.XXXXXX")
server=
tidy() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap tidy EXIT

# ------------------------------------------------------------------ start ----

admin=$("$appliance" bootstrap-admin --db "$work/jobs.db" --email ada@acme.example --name Ada 2>"$work/log")
"$appliance" serve --db "$work/jobs.db" --listen 127.0.0.1:0 2>>"$work/log" &
server=$!
for _ in $(seq 100); do
  base=$(sed -n 's/^.*listening on \(http:[^ ]*\).*$/\1/p' "$work/log")
  [[ -n $base ]] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.1
done

# call KEY METHOD PATH [BODY]: prints the body of the answer; any status other than 2xx ends the script. Each POST has
# an Idempotency-Key, so that a call without an answer could be repeated and would still act once.
calls=0
call() {
  local key=$1 method=$2 path=$3 body=${4:-}
  calls=$((calls + 1))
  local options=(--silent --show-error --request "$method" --header "Authorization: Bearer $key")
  [[ $method != POST ]] || options+=(--header "Idempotency-Key: \"hire-$calls-$path\"")
  [[ -z $body ]] || options+=(--header 'Content-Type: application/json' --data "$body")
  local status
  status=$(curl "${options[@]}" --output "$work/answer" --write-out '%{http_code}' "$base$path")
  if [[ $status != 2* ]]; then
    echo "hire: $method $path was answered with $status: $(cat "$work/answer")" >&2
    exit 1
  fi
  cat "$work/answer"
}

# report WHAT EXPECTED ACTUAL: prints a line of progress. A difference ends the script.
report() {
  if [[ $2 != "$3" ]]; then
    echo "hire: $1: expected $2, got $3" >&2
    exit 1
  fi
  echo "$1"
}

# ------------------------------------------------------- an organization ----

organization=$(call "$admin" POST /api/admin/organizations '{
  "name": "Acme", "slug": "acme", "domain": "acme.example", "timeZone": "Europe/Zurich",
  "portal": { "enabled": true, "theme": { "primaryColor": "#0f766e", "showSalary": true } }
}' | jq -er .data.id)
report "organization $organization" true "$(call "$admin" GET "/api/admin/organizations/$organization" | jq .data.portal.enabled)"

# Rosa recruits for this organization. Her key acts as her, and may do what both her organization role and the key's
# scopes permit.
rosa=$(call "$admin" POST /api/admin/users '{ "email": "rosa@acme.example", "name": "Rosa" }' | jq -er .data.id)
call "$admin" PUT "/api/admin/organizations/$organization/memberships/$rosa" '{ "orgRole": "hr_representative" }' >"$work/ignored"
key=$(call "$admin" POST /api/admin/api-keys "$(jq -n --arg user "$rosa" '{ name: "Rosa", userId: $user, scopes:
  ["candidates:read", "candidates:write", "roles:read", "roles:write", "pipeline:write"] }')" | jq -er .data.key)
report "user $rosa" rosa@acme.example "$(call "$key" GET /api/v1/me | jq -r .user.email)"

# ------------------------------------------------------------------ a role ----

role=$(call "$key" POST "/api/v1/organizations/$organization/roles" '{
  "name": "Platform Engineer", "department": "Engineering", "location": "Zurich", "workType": "hybrid",
  "description": { "format": "markdown", "body": "You keep the lights on." },
  "salaryMin": 110000, "salaryMax": 140000, "salaryCurrency": "CHF", "salaryPeriod": "year",
  "public": true, "positions": 1
}' | jq -er .data.id)
for step in '{ "name": "Application", "stepType": "application" }' '{ "name": "Interview", "stepType": "interview" }' \
  '{ "name": "Offer", "stepType": "offer" }'; do
  call "$key" POST "/api/v1/roles/$role/steps" "$step" >"$work/ignored"
done
report "role $role" open "$(call "$key" POST "/api/v1/roles/$role/open" | jq -r .data.status)"
report "the role is on the portal" "Platform Engineer" "$(curl -sf "$base/api/public/portal/acme" | jq -r '.roles[0].name')"

# ------------------------------------------------------------- a candidate ----

candidate=$(call "$key" POST "/api/v1/organizations/$organization/candidates" "$(jq -n --arg role "$role" \
  '{ name: "Zoë Meier", email: "zoe@example.org", roleId: $role }')" | jq -er .data.id)
report "candidate $candidate" "$candidate" \
  "$(call "$key" GET "/api/v1/organizations/$organization/candidates?q=zoe" | jq -r '.data[0].id')"

# Zoë passes the first two steps and is hired at the last step.
step() {
  call "$key" GET "/api/v1/candidates/$candidate" |
    jq -er '.data.applications[0].steps | map(select(.status == "in_progress"))[0].id'
}
for name in Application Interview; do
  report "$name: validated" validated "$(call "$key" POST "/api/v1/candidate-steps/$(step)/validate" | jq -r .step.status)"
done
report "a dry run of the hire succeeds" true "$(call "$key" POST "/api/v1/candidate-steps/$(step)/hire?dryRun=true" | jq .dryRun)"
last=$(step)
hired=$(call "$key" POST "/api/v1/candidate-steps/$last/hire" '{ "notes": "Starts in May.", "hiredDate": "2026-11-21" }')
report "hired at $last" validated "$(jq -r .step.status <<<"$hired")"

# --------------------------------------------------- the state afterwards ----

report "the role is filled" filled "$(call "$key" GET "/api/v1/roles/$role" | jq -r .data.status)"
report "one candidate is hired, and nobody is in progress" "1 0" \
  "$(call "$key" GET "/api/v1/organizations/$organization/status" |
    jq -r '"\(.data.applications.hired) \(.data.applications.inProgress)"')"
report "the activity contains the hire" candidate_step.hired \
  "$(call "$key" GET "/api/v1/candidates/$candidate/activity" | jq -r '.data[0].action')"
"$appliance" check --db "$work/jobs.db" 2>"$work/ignored"
echo "Zoë Meier is hired."
