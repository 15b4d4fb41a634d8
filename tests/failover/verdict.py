"""Compares the ledger of acknowledged acts with the database."""

from collections import Counter

from libpq import Connection

DONE = """
SELECT a.action || ' ' || a.candidate_role_step_id, count(*)
FROM activities a
JOIN candidate_role_steps s ON s.id = a.candidate_role_step_id
WHERE a.action IN ('candidate_step.validated', 'candidate_step.hired') AND s.status = 'validated'
   OR a.action = 'candidate_step.rejected' AND s.status = 'rejected'
GROUP BY 1
UNION ALL
SELECT 'role ' || name, count(*)
FROM roles
GROUP BY 1
"""
USAGE = "SELECT path, count(*) FROM api_key_usage WHERE method = 'POST' GROUP BY 1"
CHAIN = "SELECT count(*), coalesce(max(number), 0) FROM activities"


def compare(outcome, url, load):
    """Checks the ledger. Returns the rounds whose acknowledged acts are not all in the database."""
    connection = Connection(url)
    done = {mark: int(count) for mark, count in connection.run(DONE)}
    usage = {path: int(count) for path, count in connection.run(USAGE)}
    [[activities, newest]] = connection.run(CHAIN)
    connection.close()

    lost = [entry for entry in load.entries if entry.act.mark not in done]
    outcome.check(not lost, "every acknowledged act is in the database", report(lost))
    twice = [mark for mark, count in done.items() if count > 1]
    outcome.check(not twice, "no act is done twice", f"{len(twice)}: {twice[:5]}")
    answers = Counter(entry.act.path for entry in load.entries)
    bare = [path for path, count in answers.items() if usage.get(path, 0) < count]
    outcome.check(not bare, "every acknowledged act has its usage row", f"{len(bare)}: {bare[:5]}")
    outcome.check(activities == newest, "the numbers of the activity have no gap", f"{activities} rows up to {newest}")
    outcome.check(not load.refused, "no act is refused", f"{len(load.refused)}: {load.refused[:3]}")
    outcome.report(f"{len(load.entries)} acts acknowledged, {sum(entry.is_repetition for entry in load.entries)} of them "
                   f"after a repetition; {len(lost)} lost, {len(twice)} done twice, {len(bare)} without a usage row; "
                   f"requests with an unknown outcome: {dict(load.unknown)}")
    return {entry.round for entry in lost}


def report(lost):
    return f"{len(lost)}: {[(entry.act.mark, f'round {entry.round}') for entry in lost[:5]]}"
