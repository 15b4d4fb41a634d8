"""Compares the ledger of the clients with the database."""

from collections import Counter, defaultdict

import pipeline
from libpq import Connection

# Acts on an application are identified by the address of its candidate, and all other acts by the name of their role.
ACTIVITY = """
SELECT a.number, coalesce(c.email, r.name), a.action, coalesce(a.candidate_role_step_id, '')
FROM activities a
JOIN roles r ON r.id = a.role_id OR a.role_id IS NULL AND r.id = (
  SELECT role_id FROM candidate_roles WHERE candidate_id = a.candidate_id)
LEFT JOIN candidates c ON c.id = a.candidate_id
WHERE a.number > $1
ORDER BY a.number
"""
APPLICATIONS = """
SELECT c.email, r.name, cr.status, string_agg(s.id, ',' ORDER BY s.step_order), string_agg(s.status, ',' ORDER BY s.step_order)
FROM candidate_roles cr
JOIN candidates c ON c.id = cr.candidate_id
JOIN roles r ON r.id = cr.role_id
JOIN candidate_role_steps s ON s.candidate_role_id = cr.id
GROUP BY cr.id, c.email, r.name, cr.status
"""
USAGE = "SELECT user_agent, count(*) FROM api_key_usage WHERE user_agent LIKE 'act-%' GROUP BY 1"
CHAIN = "SELECT count(*), coalesce(max(number), 0) FROM activities"
# The creation of a role writes these rows too. They are not acts of their own.
IGNORED = {"role_step.added"}


class Check:
    """Checks in each round whether the activity contains the acts that were confirmed since the last round."""

    def __init__(self, url):
        self.url, self.newest, self.entries = url, 0, 0
        self.found = defaultdict(list)

    def lost(self, load):
        with load.lock:
            entries = load.entries[self.entries:]
        self.entries += len(entries)
        connection = Connection(self.url)
        found, self.newest = activity(connection, self.newest)
        connection.close()
        for subject, rows in found.items():
            # An act can be in the activity before its answer arrives.
            self.found[subject] += rows
        return [entry for entry in entries if not has(self.found, entry.act)]


def activity(connection, after):
    """Returns the activity of each subject after a number, and the newest number."""
    found, newest = defaultdict(list), after
    for number, subject, action, step in connection.run(ACTIVITY, after):
        newest = int(number)
        if action not in IGNORED:
            found[subject].append((action, step or None))
    return found, newest


def has(found, act):
    return set(act.rows) <= set(found.get(act.subject, ()))


def compare(outcome, url, load):
    """Checks the whole ledger. Returns the rounds whose confirmed acts are not all in the database."""
    connection = Connection(url)
    found, _ = activity(connection, 0)
    applications = connection.run(APPLICATIONS)
    usage = {agent: int(count) for agent, count in connection.run(USAGE)}
    [[activities, newest]] = connection.run(CHAIN)
    connection.close()

    lost = compare_acts(outcome, load, found)
    compare_states(outcome, found, applications)
    compare_usage(outcome, load, usage)
    outcome.check(activities == newest, "the numbers of the activity have no gap", f"{activities} rows up to {newest}")
    outcome.check(not load.refused, "no act is refused", f"{len(load.refused)}: {load.refused[:3]}")
    outcome.check(not load.contradictions, "no answer contradicts another", some(load.contradictions))
    return {entry.round for entry in lost}


def compare_acts(outcome, load, found):
    lost = [entry for entry in load.entries if not has(found, entry.act)]
    outcome.check(not lost, "every acknowledged act is in the database",
                  some([(entry.act.rows, f"round {entry.round}") for entry in lost]))
    twice = [(subject, row) for subject, rows in found.items() for row, count in Counter(rows).items() if count > 1]
    outcome.check(not twice, "no act is done twice", some(twice))

    expected = defaultdict(list)
    for entry in load.entries:
        expected[entry.act.subject] += entry.act.rows
    done, unsettled = 0, {act.subject: (act.rows, is_unknown) for act, is_unknown in load.unsettled}
    wrong = []
    for subject in found.keys() | expected.keys():
        rows, tail = found[subject], unsettled.get(subject, ([], False))
        if rows == expected[subject] + tail[0] and tail[1]:
            done += 1
        elif rows != expected[subject]:
            wrong.append((subject, rows, expected[subject], tail))
    outcome.check(not wrong, "the activity has the acknowledged acts in their order, and no act whose only answers were"
                  " 503s", some(wrong))
    unknown = sum(is_unknown for _, is_unknown in load.unsettled)
    outcome.report(f"{load.count()} acts acknowledged: {len(lost)} lost, {len(twice)} done twice; {load.repetitions} of them "
                   f"repeated afterwards; requests without a confirmation: {dict(load.unknown)}; "
                   f"given up: {len(load.unsettled) - unknown} after a 503 and {unknown} with an unknown outcome, "
                   f"of which {done} were done")
    return lost


def compare_states(outcome, found, applications):
    """Checks that each application is in the state that its activity implies."""
    wrong, hires = [], Counter()
    for email, role, status, steps, statuses in applications:
        expected = pipeline.state(found[email], steps.split(","))
        if (status, statuses.split(",")) != expected:
            wrong.append((email, status, statuses, expected))
        hires[role] += status == "Hired"
    outcome.check(not wrong, "each application is in the state that its activity implies", some(wrong))
    crowded = [role for role, count in hires.items() if count > pipeline.POSITIONS]
    outcome.check(not crowded, "no position is filled twice", some(crowded))
    outcome.report(f"{len(applications)} applications, {sum(hires.values())} hires")


def compare_usage(outcome, load, usage):
    """Checks that each request answered with a status below 500 has one usage row, and that no other has more than one.

    A request that was answered with a 503 must have none.
    """
    bare = [attempt for attempt in load.attempts if 0 < attempt.status < 500 and usage.get(attempt.agent) != 1]
    outcome.check(not bare, "every request answered with a status below 500 has one usage row", some(bare))
    extra = [attempt for attempt in load.attempts if usage.get(attempt.agent, 0) > (attempt.status != 503)]
    outcome.check(not extra, "no request has a second usage row, and none that was answered with a 503 has one", some(extra))
    outcome.report(f"{len(load.attempts)} requests, {sum(usage.values())} usage rows; "
                   f"{len(bare)} requests answered with a status below 500 do not have exactly one")


def some(found):
    return f"{len(found)}: {found[:5]}"
