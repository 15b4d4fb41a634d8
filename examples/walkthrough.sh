#!/usr/bin/env bash
#
# Walks through the HTTP interface on a new copy of the sample company, one call after
# another, and checks every answer. The script is a test and a tour. Read it from top
# to bottom to see how to call many of the endpoints.
#
#     examples/walkthrough.sh [APPLIANCE [RECEIVER]]
#
# APPLIANCE is the program, as an argument or in the environment. Without it, the
# script uses `appliance` on the PATH, or else target/release/appliance.
# RECEIVER is the HR system that receives hires. Without it, the script uses the file
# examples/webhook_receiver next to APPLIANCE, where `cargo build --bins --examples`
# puts it. The script also needs curl, jq and the usual Unix tools. It works in a
# temporary directory, on free ports of the loopback interface, and leaves nothing
# behind.
#
# If every check passes, the script ends with a line `N passed, 0 failed` and exit
# status 0. The first failed check prints the expected and the actual value, and ends the
# script with exit status 1.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
document=$here/demo.json
appliance=${1:-${APPLIANCE:-}}
if [[ -z $appliance ]]; then
  appliance=$(command -v appliance || echo "$here/../target/release/appliance")
fi
receiver=${2:-${RECEIVER:-$(dirname "$(command -v "$appliance" || echo "$appliance")")/examples/webhook_receiver}}
for program in "$appliance" "$receiver" curl jq; do
  if ! command -v "$program" >/dev/null; then
    echo "walkthrough: program not found: $program" >&2
    exit 2
  fi
done

# Options can also be set by environment variables. This run must not depend on variables
# that happen to be set.
# shellcheck disable=SC2086
unset ${!APPLIANCE_@}

work=$(mktemp -d "${TMPDIR:-/tmp}/appliance-walkthrough.XXXXXX")
db=$work/walkthrough.db
base=
server=
hr_system=
passed=0

tidy() {
  local process
  for process in $server $hr_system; do
    kill -KILL "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ---------------------------------------------------------------- helpers ----

section() { printf '\n# %s\n' "$1"; }

ok() {
  passed=$((passed + 1))
  printf 'ok   %s\n' "$1"
}

# fail SENTENCE EXPECTED ACTUAL reports a failed check and ends the script.
fail() {
  printf 'FAIL %s\n     expected: %s\n     actual:   %s\n' "$1" "$2" "$3"
  if [[ -s $work/serve.log ]]; then
    printf '     the last lines of the log of the server:\n'
    tail -n 15 "$work/serve.log" | sed 's/^/       /'
  fi
  printf '\n%d passed, 1 failed\n' "$passed"
  exit 1
}

# answer prints the last answer, for a message.
answer() { printf '%s answered %s %s' "$asked" "$status" "$(head -c 2000 "$work/body")"; }

# header NAME prints the value of a header of the last answer, or nothing.
header() {
  { grep -i "^$1:" "$work/headers" || true; } | tail -n 1 | cut -d: -f2- | tr -d '\r' | sed 's/^ *//'
}

# request METHOD PATH [curl arguments…] leaves the answer in $status, in the file
# `headers` and in the file `body`. It checks only that there is an answer.
hr_key=
hr_requests=0
request() {
  local method=(--request "$1") path=$2
  asked="$1 $2"
  # With --request HEAD, curl would wait for a body that never arrives.
  [[ $1 == HEAD ]] && method=(--head)
  shift 2
  # The usage log is compared with this count later.
  [[ -n $hr_key && " $* " == *" $hr_key "* ]] && hr_requests=$((hr_requests + 1))
  : >"$work/headers"
  : >"$work/body"
  # --disable must be the first option: with it, curl ignores .curlrc. No request may
  # use a proxy.
  status=$(curl --disable --silent --show-error --noproxy '*' --globoff --max-time 20 \
    --user-agent walkthrough/1 "${method[@]}" --dump-header "$work/headers" --output "$work/body" \
    --write-out '%{http_code}' "$@" --url "$base$path" 2>"$work/curl.err") ||
    fail "$asked is answered" "an HTTP answer" "$(cat "$work/curl.err")"
}

# expect STATUS METHOD PATH [curl arguments…] makes the request and checks the
# status. It also checks that an answer of the API has a request id, and that an error
# is a problem document. STATUS can be `200|204`. With a code, such as `409:conflict`,
# the problem document must have that code.
expect() {
  local statuses=${1%%:*} code=
  [[ $1 == *:* ]] && code=${1#*:}
  shift
  request "$@"
  local sentence="$asked answers ${statuses//|/ or }${code:+ $code}"
  [[ $status =~ ^($statuses)$ ]] || fail "$sentence" "status $statuses" "$(answer)"
  if [[ $2 == /api/* ]]; then
    local id
    id=$(header X-Request-Id)
    [[ -n $id ]] || fail "$sentence" "a header X-Request-Id" "$(cat "$work/headers")"
    if ((status >= 400)) && [[ $1 != HEAD ]]; then
      [[ $(header Content-Type) == application/problem+json* ]] ||
        fail "$sentence" "application/problem+json" "$(header Content-Type)"
      jq --exit-status --arg id "$id" --arg code "$code" --argjson status "$status" \
        '.status == $status and .requestId == $id and .success == false
         and (.type | type == "string") and (.title | length > 0) and (.detail | type == "string")
         and (.code | length > 0) and ($code == "" or .code == $code)' \
        "$work/body" >/dev/null 2>&1 ||
        fail "$sentence" "a problem document${code:+ with the code $code}" "$(answer)"
    fi
  fi
  ok "$sentence"
}

# holds 'jq expression' 'sentence' [jq arguments…] checks the last body.
holds() {
  local expression=$1 sentence=$2
  shift 2
  jq --exit-status "$@" "$expression" "$work/body" >/dev/null 2>&1 ||
    fail "$sentence" "$expression${*:+ with $*}" "$(answer)"
  ok "$sentence"
}

# equals ACTUAL EXPECTED 'sentence' checks that both values are equal.
equals() {
  [[ $1 == "$2" ]] || fail "$3" "$2" "$1"
  ok "$3"
}

# matches ACTUAL REGEX 'sentence' checks that a part of the value matches.
matches() {
  [[ $1 =~ $2 ]] || fail "$3" "something that matches $2" "$1"
  ok "$3"
}

# exits STATUS 'sentence' command… checks the exit status of the command. The function
# leaves the output of the command in the files `out` and `err`.
exits() {
  local expected=$1 sentence=$2 came=0
  shift 2
  "$@" >"$work/out" 2>"$work/err" || came=$?
  [[ $came == "$expected" ]] ||
    fail "$sentence" "exit status $expected of: $*" "exit status $came: $(cat "$work/out" "$work/err" | head -c 2000)"
  ok "$sentence"
}

# start [arguments of serve…] starts the server and waits until it reports its
# address. With port 0 it listens on a free port, so two runs never conflict.
start() {
  : >"$work/serve.log"
  "$appliance" serve --db "$db" --listen 127.0.0.1:0 "$@" 2>"$work/serve.log" >"$work/serve.out" &
  server=$!
  local try
  # Ten seconds is enough for a small file, even on a busy machine.
  for ((try = 0; try < 100; try++)); do
    base=$(sed -n 's|.*listening on \(http://[^ ]*\).*|\1|p' "$work/serve.log" | head -n 1)
    base=${base%/}
    [[ -n $base ]] && ok "serve listens on $base" && return
    kill -0 "$server" 2>/dev/null || fail "serve starts" "a running process" "it ended: $(cat "$work/serve.log")"
    sleep 0.1
  done
  fail "serve starts" "a line 'listening on http://…' within 10 s" "$(cat "$work/serve.log")"
}

# stop ends the server as a service manager does.
stop() {
  kill -TERM "$server"
  local try came=0
  # No request is in progress, so the server should end quickly. A service manager
  # would wait 30 s.
  for ((try = 0; try < 300; try++)); do
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  kill -0 "$server" 2>/dev/null && fail "serve ends on SIGTERM" "an end within 30 s" "it still runs"
  wait "$server" || came=$?
  server=
  equals "$came" 0 "serve ends on SIGTERM with exit status 0"
}

# until_holds 'jq expression' 'sentence' PATH requests the path until the expression
# holds.
until_holds() {
  local expression=$1 sentence=$2 path=$3 try
  for ((try = 0; try < 100; try++)); do
    request GET "$path" "${as_admin[@]}"
    jq --exit-status "$expression" "$work/body" >/dev/null 2>&1 && ok "$sentence" && return
    sleep 0.1
  done
  fail "$sentence" "$expression within 10 s" "$(answer)"
}

# The curl arguments that precede the JSON body of a request.
json=(--header 'Content-Type: application/json' --data)

# ------------------------------------------------------ before the server ----

section 'A new file with the sample company'

exits 0 'import accepts the sample company' "$appliance" import --db "$db" "$document"
exits 1 'a second import is refused, because the ids exist' "$appliance" import --db "$db" "$document"
matches "$(cat "$work/err")" '/(users|organizations)/0' 'the refusal names the location in the document'

admin_email=platform@example.com
password='a long enough passphrase'
exits 0 'bootstrap-admin creates an admin' "$appliance" bootstrap-admin --db "$db" --email "$admin_email" --name 'Platform Admin'
admin_key=$(cat "$work/out")
matches "$admin_key" '^rpk_[0-9A-Za-z]{38}$' 'standard output has only the key'
exits 0 'set-password reads the password from standard input' \
  "$appliance" set-password --db "$db" --email "$admin_email" <<<"$password"

# The HR system of this walk-through is on the same machine. Without this flag, the
# service would refuse to send to it.
start --allow-private-hr-targets

as_admin=(--oauth2-bearer "$admin_key")

# ----------------------------------------------------------------- health ----

section 'Health, and the errors that all paths have in common'

expect 200 GET /healthz
expect 200 GET /readyz
expect 200 GET /
expect 404:not_found GET /api/v1/nothing-here
expect 405:method_not_allowed POST /api/v1/me
matches "$(header Allow)" 'GET' 'the 405 names the methods that work'

# ----------------------------------------------------------------- portal ----

section 'GET /api/public/portal/{orgSlug}'

# The expected list comes from the document, so a role that is added to the document
# needs no change to this script.
open_roles=$(jq --compact-output \
  '[.organizations[] | select(.slug == "halmwind").roles[] | select(.status == "open" and .public)]
   | sort_by(.createdAt) | reverse | map(.id)' "$document")

expect 200 GET /api/public/portal/halmwind
holds '.org | .name == "Halmwind Energy" and .slug == "halmwind"
       and (.domain | length > 0) and (.logo | startswith("https://"))' 'the portal names the organization'
holds '.org.portalTheme | .showSalary == true and (.primaryColor | test("^#[0-9a-f]{6}$"))' 'the portal has its theme'
# shellcheck disable=SC2016
holds '[.roles[].id] == $roles' 'the portal has every open, public role, newest first' --argjson roles "$open_roles"
holds 'all(.roles[]; (.name | length > 0) and (.description | type == "object") and (.department | type == "string")
       and (.location | type == "string") and has("workType") and has("collarType")
       and (.createdAt | test("^[0-9-]{10}T[0-9:]{8}\\.[0-9]{6}Z$")))' 'each role has its fields'
holds '.roles[] | select(.id == "role_wind-turbine-technician")
       | .salaryMin == 24.5 and .salaryMax == 31 and .salaryCurrency == "EUR" and .salaryPeriod == "hour"' 'the salary is shown'
holds '.roles[] | select(.id == "role_treasury-analyst") | keys | any(startswith("salary")) | not' \
  'a role without a salary has no salary fields'
holds '.roles[] | select(.id == "role_treasury-analyst") | .workType == null and .collarType == null' \
  'a work type and a collar type can be null'
equals "$(header Access-Control-Allow-Origin)" '*' 'any site may read the portal'

etag=$(header ETag)
matches "$etag" '^"[^"]+"$' 'the portal has a strong ETag'
expect 304 GET /api/public/portal/halmwind --header "If-None-Match: $etag"
equals "$(wc -c <"$work/body" | tr -d ' ')" 0 'an unchanged portal is not sent again'
expect 200 HEAD /api/public/portal/halmwind
# Requests for an unknown portal and for a disabled one get the same response.
expect 404:not_found GET /api/public/portal/no-such-company
expect 404:not_found GET /api/public/portal/brennick-marine

section 'GET /api/public/portal/{orgSlug}/roles/{roleId}'

expect 200 GET /api/public/portal/halmwind/roles/role_controls-engineer
holds '.org.slug == "halmwind" and .org.portalTheme.showSalary == true' 'the answer has the organization of the role'
holds '.role | .id == "role_controls-engineer" and .workType == "hybrid" and .collarType == "white"
       and .salaryMin == 68000 and .salaryPeriod == "year" and .description.format == "markdown"' 'the role has its fields'
# The requests name, in this order, a draft, a closed role, a filled one, an open one
# that is not public, a role of another organization, and that role on the disabled
# portal of its own organization.
expect 404:not_found GET /api/public/portal/halmwind/roles/role_storage-product-lead
expect 404:not_found GET /api/public/portal/halmwind/roles/role_financial-controller
expect 404:not_found GET /api/public/portal/halmwind/roles/role_people-partner
expect 404:not_found GET /api/public/portal/halmwind/roles/role_head-of-asset-management
expect 404:not_found GET /api/public/portal/halmwind/roles/role_crew-transfer-skipper
expect 404:not_found GET /api/public/portal/brennick-marine/roles/role_crew-transfer-skipper

section 'POST /api/public/portal/{orgSlug}/apply'

apply=/api/public/portal/halmwind/apply
expect 200 POST "$apply" "${json[@]}" '{"roleId": "role_controls-engineer"}'
invite=$(jq --raw-output .inviteUrl "$work/body")
matches "$invite" "^$base/signup/[^/?]+\?locale=en$" 'apply answers with a signup link in English'
expect 200 GET "${invite#"$base"}"
expect 200 POST "$apply" "${json[@]}" '{"roleId": "role_controls-engineer"}'
# shellcheck disable=SC2016
holds '.inviteUrl == $url' 'a second call answers with the same link' --arg url "$invite"
expect 200 POST "$apply" "${json[@]}" '{"roleId": "role_controls-engineer", "locale": "de"}'
# shellcheck disable=SC2016
holds '.inviteUrl == $url' 'the link has the locale of the request' --arg url "${invite%en}de"
expect 400:validation_error POST "$apply" "${json[@]}" '{}'
holds 'any(.errors[]; .field == "roleId")' 'the refusal names the missing roleId'
expect 400:validation_error POST "$apply" "${json[@]}" '{"roleId": "role_controls-engineer", "locale": "not a locale"}'
expect 400:bad_request POST "$apply" "${json[@]}" '{"roleId": '
expect 415:unsupported_media_type POST "$apply" --header 'Content-Type: text/plain' --data 'roleId'
expect 404:not_found POST "$apply" "${json[@]}" '{"roleId": "role_financial-controller"}'
expect 404:not_found POST /api/public/portal/brennick-marine/apply "${json[@]}" '{"roleId": "role_crew-transfer-skipper"}'

expect '200|204' OPTIONS "$apply" --header 'Origin: https://halmwind.example.com' \
  --header 'Access-Control-Request-Method: POST' --header 'Access-Control-Request-Headers: content-type'
equals "$(header Access-Control-Allow-Origin)" '*' 'the preflight allows any origin'
matches "$(header Access-Control-Allow-Methods)" 'POST' 'the preflight allows POST'
matches "$(header Access-Control-Allow-Headers)" '(\*|[Cc]ontent-[Tt]ype)' 'the preflight allows a JSON body'
equals "$(header Access-Control-Allow-Credentials)" '' 'the preflight allows no credentials'

# -------------------------------------------------------------- principal ----

section 'GET /api/v1/me, with a key and with a session'

expect 200 GET /api/v1/me "${as_admin[@]}"
# shellcheck disable=SC2016
holds '.user.email == $email and .user.role == "admin" and (.user.id | length > 0)' 'me names the admin' --arg email "$admin_email"
holds '.auth.type == "api_key" and (.auth.keyId | length > 0) and (.auth.scopes | index("pipeline:write") != null)' \
  'me names the key and its scopes'
equals "$(header RateLimit-Policy)" '"default";q=1200;w=60' 'the answer to an authenticated request states the rate limit'
equals "$(header Access-Control-Allow-Origin)" '' 'no other site may read the answer to a request with a key'

expect 401:unauthorized GET /api/v1/me
matches "$(header WWW-Authenticate)" '^Bearer realm=' 'the 401 asks for a bearer key'
expect 401:unauthorized GET /api/v1/me --oauth2-bearer "${admin_key%?}_"
matches "$(header WWW-Authenticate)" 'error="invalid_token"' 'the 401 for a mistyped key names the reason'

expect 401:unauthorized POST /api/auth/sign-in "${json[@]}" "{\"email\": \"$admin_email\", \"password\": \"not the passphrase\"}"
expect 200 POST /api/auth/sign-in --cookie-jar "$work/cookies" "${json[@]}" \
  "{\"email\": \"$admin_email\", \"password\": \"$password\"}"
holds '.auth.type == "session" and .user.role == "admin"' 'sign-in answers in the form of /api/v1/me'
matches "$(header Set-Cookie)" 'HttpOnly' 'no script can read the session cookie'
matches "$(header Set-Cookie)" 'SameSite=Lax' 'no other site can send the session cookie with a POST form'

# The next requests only read the jar, so they send the same cookie even after the
# sign-out.
as_session=(--cookie "$work/cookies")
expect 200 GET /api/v1/me "${as_session[@]}"
# shellcheck disable=SC2016
holds '.user.email == $email and .auth.type == "session" and (.auth | has("keyId") or has("scopes") | not)' \
  'a session has neither key nor scopes' --arg email "$admin_email"
# A wrong key is refused even with a valid session.
expect 401:unauthorized GET /api/v1/me "${as_session[@]}" --oauth2-bearer "${admin_key%?}_"
# A session is not enough for an endpoint that requires a key.
expect 401:unauthorized GET /api/admin/api-keys "${as_session[@]}"

# --------------------------------------------------------------- API keys ----

section 'POST /api/admin/api-keys'

keys=/api/admin/api-keys

# create_key NAME USER [more fields as JSON] leaves the key in $key and its id in
# $key_id.
create_key() {
  expect 200 POST "$keys" "${as_admin[@]}" "${json[@]}" \
    "$(jq --null-input --compact-output --arg name "$1" --arg userId "$2" --argjson more "${3:-"{}"}" '{$name, $userId} + $more')"
  key=$(jq --raw-output .data.key "$work/body")
  key_id=$(jq --raw-output .data.id "$work/body")
}

create_key 'Recruiting desk' user_joel-lindqvist
hr_key=$key hr_key_id=$key_id
as_hr=(--oauth2-bearer "$hr_key")
holds '.success == true and .data.name == "Recruiting desk" and .data.userId == "user_joel-lindqvist"' 'the key is created for the user'
holds '.data | .prefix == "rpk_" and (.key | test("^rpk_[0-9A-Za-z]{38}$")) and .start == .key[0:8]' 'the key has its prefix and start'
holds '.data.expiresAt | sub("\\.[0-9]+Z$"; "Z") | (fromdateiso8601 - now) / 86400 | . > 89.9 and . <= 90' 'the key is valid for 90 days'
holds '.data.scopes | sort == ["candidates:read", "pipeline:write", "roles:read"]' 'the key has the default scopes'

create_key 'Plain member' user_leonie-brandt '{"expiresInDays": 1}'
as_member=(--oauth2-bearer "$key")
create_key 'No scopes' user_joel-lindqvist '{"scopes": [], "expiresInDays": 365}'
as_scopeless=(--oauth2-bearer "$key")
create_key 'Fleet desk' user_pieter-vandijk
as_fleet=(--oauth2-bearer "$key")

expect 400:validation_error POST "$keys" "${as_admin[@]}" "${json[@]}" '{"userId": "user_joel-lindqvist"}'
holds '[.errors[].field] == ["name"]' 'the refusal names the missing name'
expect 400:validation_error POST "$keys" "${as_admin[@]}" "${json[@]}" '{}'
holds '[.errors[].field] | sort == ["name", "userId"]' 'every invalid field is named at once'
for days in 0 366 '"90"'; do
  expect 400:validation_error POST "$keys" "${as_admin[@]}" "${json[@]}" \
    "{\"name\": \"Wrong\", \"userId\": \"user_joel-lindqvist\", \"expiresInDays\": $days}"
  holds '[.errors[].field] == ["expiresInDays"]' "$days is refused as expiresInDays"
done
expect 400:validation_error POST "$keys" "${as_admin[@]}" "${json[@]}" \
  '{"name": "Wrong", "userId": "user_joel-lindqvist", "scopes": ["everything"]}'
expect 404:not_found POST "$keys" "${as_admin[@]}" "${json[@]}" '{"name": "Nobody", "userId": "user_nobody"}'
expect 403:forbidden POST "$keys" "${as_hr[@]}" "${json[@]}" '{"name": "Mine", "userId": "user_joel-lindqvist"}'
expect 401:unauthorized POST "$keys" "${json[@]}" '{"name": "Mine", "userId": "user_joel-lindqvist"}'

section 'GET /api/admin/api-keys'

expect 200 GET "$keys" "${as_admin[@]}"
holds '.success == true and (.data | length == 5)' 'every key is listed, including the first'
# shellcheck disable=SC2016
holds '.data[] | select(.id == $id) | .name == "Recruiting desk" and .prefix == "rpk_" and (.start | length == 8)
       and .enabled == true and .requestCount == $count and (.lastRequest | length > 0) and (.updatedAt | length > 0)
       and .createdAt < .expiresAt' 'a listed key has its fields' --arg id "$hr_key_id" --argjson count "$hr_requests"
# shellcheck disable=SC2016
holds '.data[] | select(.id == $id).owner | [.id, .email, .name, .platformRole, .orgRole, .organizationId]
       == ["user_joel-lindqvist", "joel.lindqvist@halmwind.example.com", "Joel Lindqvist", "user", "hr_representative", "org_halmwind"]' \
  'a listed key names its owner' --arg id "$hr_key_id"
holds '.data[] | select(.owner.platformRole == "admin").owner | .orgRole == null and .organizationId == null' \
  'a key whose user has no membership shows neither an organization role nor an organization'
# shellcheck disable=SC2016
holds '[.. | strings | select(. == $key)] == []' 'the list never contains a whole key' --arg key "$hr_key"
expect 403:forbidden GET "$keys" "${as_hr[@]}"
expect 401:unauthorized GET "$keys"

expect 200 GET /api/v1/me "${as_hr[@]}"
# shellcheck disable=SC2016
holds '(.user | [.id, .email, .role] == ["user_joel-lindqvist", "joel.lindqvist@halmwind.example.com", "user"]) and .auth.keyId == $id' \
  'a key acts as its user' --arg id "$hr_key_id"

# ------------------------------------------------------------- HR system ----

section 'An HR system that receives every hire'

integration=/api/admin/organizations/org_halmwind/hr-integration
expect 404:not_found GET "$integration" "${as_admin[@]}"
expect 403:forbidden PUT "$integration" "${as_hr[@]}" "${json[@]}" '{"url": "https://hr.example.com/hooks"}'
expect 400:validation_error PUT "$integration" "${as_admin[@]}" "${json[@]}" '{"url": "ftp://hr.example.com/hooks", "secret": "short"}'
holds '[.errors[].field] == ["url", "secret"]' 'every invalid field is named at once'

# If neither the request nor the integration has a secret, the service generates one.
# Only this answer shows it.
expect 200 PUT "$integration" "${as_admin[@]}" "${json[@]}" '{"url": "https://hr.example.com/hooks", "enabled": false}'
holds '.data | .hasSecret and .enabled == false and (.secret | test("^whsec_[A-Za-z0-9+/]{43}=$"))' 'the secret is generated and shown'
hr_secret=$(jq --raw-output .data.secret "$work/body")
expect 200 GET "$integration" "${as_admin[@]}"
holds '.data.hasSecret and (.data | has("secret") | not)' 'the secret is never shown again'

: >"$work/receiver.log"
WEBHOOK_SECRET=$hr_secret "$receiver" --listen 127.0.0.1:0 >"$work/received" 2>"$work/receiver.log" &
hr_system=$!
for ((try = 0; try < 100; try++)); do
  hr_url=$(sed -n 's|.*listening on \(http://[^ ]*\).*|\1|p' "$work/receiver.log")
  [[ -n $hr_url ]] && break
  sleep 0.1
done
matches "$hr_url" '^http://' 'the HR system listens'

expect 200 PUT "$integration" "${as_admin[@]}" "${json[@]}" "{\"url\": \"$hr_url/hooks\", \"enabled\": true}"
holds '.data | .enabled and (has("secret") | not)' 'the secret does not change'
expect 202 POST "$integration/test" "${as_admin[@]}"
ping=$(jq --raw-output .data.id "$work/body")
deliveries=/api/admin/hr-deliveries
until_holds '.data.state == "delivered"' 'the ping is delivered' "$deliveries/$ping"
holds '.data.lastAttempt | .status == 204 and .error == null' 'the attempt is recorded'
# The receiver prints only what the library of Standard Webhooks has verified.
equals "$(jq --raw-output '[.id, .message.type] | join(" ")' "$work/received")" "$ping ping" 'the HR system has verified the ping'

# ----------------------------------------------------------------- reject ----

section 'POST /api/v1/candidate-steps/{id}/reject'

steps=/api/v1/candidate-steps
interview=$steps/cstep_jonas-petersen_panel-interview
expect 403:forbidden POST "$interview/reject" "${as_member[@]}"
expect 403:insufficient_scope POST "$interview/reject" "${as_scopeless[@]}"
matches "$(header WWW-Authenticate)" 'error="insufficient_scope".*scope="pipeline:write"' 'the refusal names the scope'
expect 401:unauthorized POST "$interview/reject"
expect 401:unauthorized POST "$interview/reject" "${as_session[@]}" --header "Origin: $base"
# A step of another organization looks like one that does not exist.
expect 404:not_found POST "$steps/cstep_maarten-visser_offer/reject" "${as_hr[@]}"
expect 404:not_found POST "$steps/cstep_nobody/reject" "${as_hr[@]}"
expect 400:bad_request POST "$interview/reject" "${as_hr[@]}" "${json[@]}" '{"outcomeNotes": 7}'
holds 'any(.errors[]; .field == "outcomeNotes")' 'the refusal names the invalid field'
expect 400:bad_request POST "$interview/reject" "${as_hr[@]}" "${json[@]}" '["outcomeNotes"]'

expect 200 POST "$interview/reject" "${as_hr[@]}" "${json[@]}" \
  '{"outcomeNotes": "Strong, but another profile fits better.", "outcomeType": "rejected_by_organization", "outcomeReason": "preferred_another_candidate"}'
holds '.success == true and .step.status == "rejected" and (.step.rejectedAt | length > 0)' 'the step is rejected'
holds '.step.rejectionReason == "Strong, but another profile fits better."' 'the notes are the rejection reason'
holds '.step | .id == "cstep_jonas-petersen_panel-interview" and .roleId == "role_controls-engineer"
       and .roleStepId == "step_controls-engineer_panel-interview" and .name == "Panel interview"
       and .order == 4 and .stepType == "interview"' 'the step has its fields'
expect 409:conflict POST "$interview/reject" "${as_hr[@]}"
expect 409:conflict POST "$interview/hire" "${as_hr[@]}"
expect 200 POST "$steps/cstep_li-wei_technical-exercise/reject" "${as_hr[@]}"
holds '.step.status == "rejected" and .step.rejectionReason == ""' 'the body is optional'

# ------------------------------------------------------------------- hire ----

section 'POST /api/v1/candidate-steps/{id}/hire'

offer=$steps/cstep_emeka-obi_offer
expect 403:forbidden POST "$offer/hire" "${as_member[@]}"
expect 403:insufficient_scope POST "$offer/hire" "${as_scopeless[@]}"
expect 401:unauthorized POST "$offer/hire"
expect 404:not_found POST "$steps/cstep_nobody/hire" "${as_hr[@]}"
expect 404:not_found POST "$steps/cstep_maarten-visser_offer/hire" "${as_hr[@]}"
expect 400:bad_request POST "$offer/hire" "${as_hr[@]}" "${json[@]}" '{"hiredDate": "next Tuesday", "offerAcceptedDate": "2026-02-30"}'
holds '[.errors[].field] | sort == ["hiredDate", "offerAcceptedDate"]' 'the refusal names both dates'

expect 200 POST "$offer/hire" "${as_hr[@]}" "${json[@]}" \
  '{"notes": "Starts with the December group.", "hiredDate": "2026-11-02", "offerAcceptedDate": "2026-10-30T16:05:00+01:00", "externalPositionId": "HW-FS-0313"}'
holds '.success == true and .step.status == "validated" and (.step.validatedAt | length > 0)' 'the step is validated'
holds '.step | .id == "cstep_emeka-obi_offer" and .roleId == "role_wind-turbine-technician"
       and .roleStepId == "step_wind-turbine-technician_offer" and .name == "Offer" and .order == 6 and .stepType == "offer"' \
  'the answer has the final step'
expect 409:conflict POST "$offer/hire" "${as_hr[@]}"
# The first candidate was rejected earlier, and the second has withdrawn.
expect 409:conflict POST "$steps/cstep_lars-iversen_practical-day/hire" "${as_hr[@]}"
expect 409:conflict POST "$steps/cstep_milan-dvorak_crew-interview/hire" "${as_hr[@]}"

expect 200 POST "$steps/cstep_soren-matthiesen_medical-check/hire" "${as_hr[@]}"
holds '.step | .id == "cstep_soren-matthiesen_offer" and .status == "validated"' \
  'the answer to a hire at an earlier step also has the final step'

section 'The last position of a role'

expect 200 GET /api/public/portal/halmwind/roles/role_control-room-operator
expect 200 POST "$steps/cstep_nadia-rahimi_offer/hire" "${as_hr[@]}"
holds '.step.status == "validated"' 'the last position is taken'
expect 400:bad_request POST "$steps/cstep_viktor-lauritzen_offer/hire" "${as_hr[@]}"
holds '.detail | test("filled")' 'the next hire is refused because the positions are filled'
expect 404:not_found GET /api/public/portal/halmwind/roles/role_control-room-operator
expect 404:not_found POST "$apply" "${json[@]}" '{"roleId": "role_control-room-operator"}'
expect 200 GET /api/public/portal/halmwind --header "If-None-Match: $etag"
holds '[.roles[].id] | index("role_control-room-operator") == null' 'the filled role is no longer on the portal'

expect 200 POST "$steps/cstep_nadia-rahimi_offer/reject" "${as_hr[@]}" "${json[@]}" \
  '{"outcomeNotes": "She changed her mind.", "outcomeType": "rejected_by_candidate", "outcomeReason": "accepted_other_offer"}'
holds '.step.status == "rejected"' 'rejecting a hired candidate reverses the hire'
expect 200 GET /api/public/portal/halmwind/roles/role_control-room-operator
expect 409:conflict POST "$steps/cstep_nadia-rahimi_offer/hire" "${as_hr[@]}"
expect 200 POST "$steps/cstep_viktor-lauritzen_offer/hire" "${as_hr[@]}" "${json[@]}" '{"externalPositionId": "HW-OP-0109"}'
holds '.step.status == "validated"' 'the free position can be taken again'

section 'An organization that requires an external position id'

skipper=$steps/cstep_maarten-visser_offer
expect 400:bad_request POST "$skipper/hire" "${as_fleet[@]}"
holds '[.detail, .errors[]?.field] | any(test("externalPositionId"))' 'the refusal names the missing field'
expect 400:bad_request POST "$skipper/hire" "${as_fleet[@]}" "${json[@]}" '{"externalPositionId": "  "}'
expect 200 POST "$skipper/hire" "${as_fleet[@]}" "${json[@]}" '{"externalPositionId": "BM-CTV-05", "outcomeNotes": "Takes over in January."}'
holds '.step.status == "validated"' 'with the position id, the step is validated'

section 'The messages that the HR system received'

until_holds '.data == []' 'no delivery is pending' "$deliveries?organizationId=org_halmwind&state=pending"
heard=$(jq --raw-output 'select(.message.type != "ping") | [.message.type, .message.data.candidate.name] | join(" ")' "$work/received" | LC_ALL=C sort)
equals "$heard" "candidate.hire_reversed Nadia Rahimi
candidate.hired Emeka Obi
candidate.hired Nadia Rahimi
candidate.hired Sören Matthiesen
candidate.hired Viktor Lauritzen" 'every hire and the reversal have arrived'
equals "$(jq --raw-output 'select(.message.data.candidate.name == "Nadia Rahimi").message.type' "$work/received" | tr '\n' ' ')" \
  'candidate.hired candidate.hire_reversed ' 'the messages about one application arrive in order'
jq 'select(.message.data.candidate.name == "Emeka Obi").message' "$work/received" >"$work/body"
holds '.version == 1 and (.data | .hiredDate == "2026-11-02T00:00:00.000000Z" and .externalPositionId == "HW-FS-0313"
       and .note == "Starts with the December group." and .role.name == "Offshore Wind Turbine Technician"
       and .organization.slug == "halmwind" and .decidedBy.id == "user_joel-lindqvist")' 'the message contains the data of the hire'

expect 200 GET "$deliveries?limit=2" "${as_admin[@]}"
holds '(.data | length) == 2 and .pagination.hasMore' 'deliveries are listed in pages, newest first'
newest=$(jq --raw-output '.data[0].id' "$work/body")
expect 200 GET "$deliveries?limit=500&cursor=$(jq --raw-output .pagination.nextCursor "$work/body")" "${as_admin[@]}"
holds '(.data | length) == 4 and .pagination.hasMore == false' 'the next page has the rest'
expect 409:conflict POST "$deliveries/$newest/retry" "${as_admin[@]}"
expect 403:forbidden GET "$deliveries" "${as_hr[@]}"
exits 0 'no delivery is stuck' "$appliance" hr-deliveries --db "$db"
equals "$(cat "$work/out")" '' 'the list of stuck deliveries is empty'

# A ping is accepted while the HR system is unreachable, and its delivery fails.
kill -KILL "$hr_system"
wait "$hr_system" 2>/dev/null || true
hr_system=
expect 202 POST "$integration/test" "${as_admin[@]}"
until_holds '.data.state == "failed" and (.data.lastAttempt.error | test("no connection"))' 'a ping without a receiver fails, and its attempt names the reason' \
  "$deliveries/$(jq --raw-output .data.id "$work/body")"
expect 200 GET "$deliveries?state=failed" "${as_admin[@]}"
holds '[.data[].type] == ["ping"]' 'failed deliveries can be listed separately'
expect 200 DELETE "$integration" "${as_admin[@]}"
expect 404:not_found DELETE "$integration" "${as_admin[@]}"

# ------------------------------------------------------------------ usage ----

section 'GET /api/admin/api-keys/{id}/usage'

usage=$keys/$hr_key_id/usage
expect 200 GET "$usage" "${as_admin[@]}"
# shellcheck disable=SC2016
holds '.success == true and (.data.key | .id == $id and .name == "Recruiting desk" and (.createdAt | length > 0)
       and (.lastRequest | length > 0) and (.owner | [.id, .email, .name]
       == ["user_joel-lindqvist", "joel.lindqvist@halmwind.example.com", "Joel Lindqvist"]))' 'the log names its key' --arg id "$hr_key_id"
# shellcheck disable=SC2016
holds '(.data.rows | length == $count) and .data.key.requestCount == $count' \
  "the log has a row for each of the $hr_requests requests with the key" --argjson count "$hr_requests"
holds '.data.pagination | [.limit, .hasMore, .nextBefore] == [100, false, null]' 'without a limit, a page has at most 100 rows'
holds 'all(.data.rows[]; (.id | length > 0) and (.method | length > 0) and (.path | startswith("/api/"))
       and .ip == "127.0.0.1" and .userAgent == "walkthrough/1")' 'each row has its fields'
holds '.data.key.lastRequest == .data.rows[0].timestamp' 'the newest row is first'
holds 'any(.data.rows[]; .method == "POST" and .path == "/api/v1/candidate-steps/cstep_emeka-obi_offer/hire"
       and .authEndpoint == "/api/v1/candidate-steps/{id}/hire")' 'the hire is in the log'
jq '[.data.rows[].timestamp]' "$work/body" >"$work/all.json"

# Reads one row per page, from the newest to the oldest. The loop has a limit, in case
# a defect makes the log endless.
: >"$work/paged"
before=(--data-urlencode limit=1)
for ((page = 1; page <= 200; page++)); do
  request GET "$usage" "${as_admin[@]}" --get "${before[@]}"
  [[ $status == 200 ]] || fail 'a request for a page of the usage log succeeds' 'status 200' "$(answer)"
  jq --raw-output '.data.rows[].timestamp' "$work/body" >>"$work/paged"
  [[ $(jq .data.pagination.hasMore "$work/body") == true ]] || break
  before=(--data-urlencode limit=1 --data-urlencode "before=$(jq --raw-output .data.pagination.nextBefore "$work/body")")
done
holds '.data.pagination | [.limit, .hasMore, .nextBefore] == [1, false, null]' 'the last page has no next page'
jq --raw-input --slurp 'split("\n") | map(select(. != ""))' "$work/paged" >"$work/body"
# shellcheck disable=SC2016
holds '. == $all[0]' 'the pages contain each row exactly once' --slurpfile all "$work/all.json"
holds '. == (unique | reverse)' 'each row is older than the one before it'

expect 200 GET "$usage?limit=0" "${as_admin[@]}"
holds '.data.pagination.limit == 1' 'a limit below the range becomes the minimum'
expect 200 GET "$usage?limit=501" "${as_admin[@]}"
holds '.data.pagination.limit == 500' 'a limit above the range becomes the maximum'
expect 400:validation_error GET "$usage?limit=abc" "${as_admin[@]}"
expect 400:validation_error GET "$usage?before=yesterday" "${as_admin[@]}"
expect 404:not_found GET "$keys/key_nobody/usage" "${as_admin[@]}"
expect 403:forbidden GET "$usage" "${as_hr[@]}"
expect 401:unauthorized GET "$usage"

# ----------------------------------------------------------------- revoke ----

section 'DELETE /api/admin/api-keys/{id}'

expect 403:forbidden DELETE "$keys/$hr_key_id" "${as_hr[@]}"
expect 404:not_found DELETE "$keys/key_nobody" "${as_admin[@]}"
expect 401:unauthorized DELETE "$keys/$hr_key_id"
expect 200 DELETE "$keys/$hr_key_id" "${as_admin[@]}"
holds '.success == true' 'the key is revoked'
expect 401:unauthorized GET /api/v1/me "${as_hr[@]}"
expect 401:unauthorized POST "$steps/cstep_amara-okonkwo_offer/hire" "${as_hr[@]}"
# Revoking again succeeds and changes nothing.
expect 200 DELETE "$keys/$hr_key_id" "${as_admin[@]}"
expect 200 GET "$keys" "${as_admin[@]}"
# shellcheck disable=SC2016
holds '.data[] | select(.id == $id).enabled == false' 'the revoked key is still listed' --arg id "$hr_key_id"
expect 200 GET "$usage" "${as_admin[@]}"
holds '.data.rows | length > 0' 'the usage log of the revoked key remains'

# --------------------------------------------------------------- sign-out ----

section 'POST /api/auth/sign-out'

# An unsafe request with a session must state that it comes from the same origin.
expect 403:forbidden POST /api/auth/sign-out "${as_session[@]}"
expect 403:forbidden POST /api/auth/sign-out "${as_session[@]}" --header 'Origin: https://elsewhere.example'
expect 200 GET /api/v1/me "${as_session[@]}"
expect 204 POST /api/auth/sign-out "${as_session[@]}" --header "Origin: $base"
expect 401:unauthorized GET /api/v1/me "${as_session[@]}"
expect 401:unauthorized POST /api/auth/sign-out "${as_session[@]}" --header "Origin: $base"

section 'The end of the server'

stop

# ------------------------------------------------------------- rate limit ----

section 'A restart with a low rate limit'

start --rate-limit 2
expect 200 GET /api/v1/me "${as_admin[@]}"
expect 200 GET /api/v1/me "${as_admin[@]}"
expect 429:rate_limited GET /api/v1/me "${as_admin[@]}"
matches "$(header Retry-After)" '^[1-9][0-9]*$' 'the refusal states when to retry'
expect 200 GET /api/public/portal/halmwind
holds '[.roles[].id] | index("role_control-room-operator") == null' 'the decisions are stored'
stop

# ----------------------------------------------------------- command line ----

section 'The file afterwards'

exits 0 'check finds nothing wrong' "$appliance" check --db "$db"

exits 0 'export writes the document' "$appliance" export --db "$db"
cp "$work/out" "$work/export.json"
cp "$work/out" "$work/body"
asked=export status=0
# shellcheck disable=SC2016
application='[.organizations[].roles[].candidates[]? | select(.applicationId == $id)][0]'
holds "$application"' | .status == "Hired" and .externalPositionId == "HW-FS-0313" and .hireNotes == "Starts with the December group."
      and (.hiredDate | startswith("2026-11-02T00:00:00")) and (.offerAcceptedDate | startswith("2026-10-30T15:05:00"))' \
  'the export has the hire' --arg id app_emeka-obi
holds "$application"' | .status == "Hired" and ([.steps[].status] == ["validated", "validated", "validated", "validated", "validated", "validated"])' \
  'a hire at an earlier step validates that step as well' --arg id app_soren-matthiesen
holds "$application"' | .status == "Not Selected" and ([.steps[] | select(.status == "rejected").outcomeReason] == ["preferred_another_candidate"])' \
  'the export has the rejection' --arg id app_jonas-petersen
holds "$application"'.status == "In Progress"' 'the other application of the same candidate is in progress' --arg id app_jonas-petersen_grid-data
holds "$application"' | .status == "Not Selected" and (.hiredDate // null) == null' 'the reversed hire has no date' --arg id app_nadia-rahimi
holds '[.organizations[].roles[] | select(.status == "filled").id] | sort
       == ["role_control-room-operator", "role_crew-transfer-skipper", "role_people-partner"]' 'the export has the filled roles'
# shellcheck disable=SC2016
holds '[.. | strings | select(startswith("rpk_") or startswith("$argon2"))] == []' 'the export contains no key and no password'

# Arrays without a meaningful order are sorted; steps are not.
same='.users |= sort_by(.id) | .organizations |= (sort_by(.id) | map(.members |= sort_by(.userId)
      | .roles |= (sort_by(.id) | map(if .candidates then .candidates |= sort_by(.applicationId) else . end))))'
exits 0 'the export can be imported into a new file' "$appliance" import --db "$work/again.db" "$work/export.json"
exits 0 'the new file can be exported' "$appliance" export --db "$work/again.db"
equals "$(jq --sort-keys "$same" "$work/out")" "$(jq --sort-keys "$same" "$work/export.json")" \
  'the two exports have the same content'

exits 0 'backup copies the file' "$appliance" backup --db "$db" "$work/backup.db"
equals "$(find "$work/backup.db" -perm 600)" "$work/backup.db" 'only its owner can read the backup'
exits 0 'check finds nothing wrong in the backup' "$appliance" check --db "$work/backup.db"

printf '\n%d passed, 0 failed\n' "$passed"
