"""The state of a file: every row that an act can change, the exported interchange document, and the erasure list."""

import hashlib
import os
import shutil
import sqlite3

from common.service import Service, run

# Tables that belong to no act: the service writes them for every request or on its own schedule.
OWN_TABLES = {
    "api_key_usage", "api_key_usage_marks", "api_key_usage_newest", "api_key_usage_marking", "readiness",
    "form_secrets", "service_marks", "believed_clock",
    # The chunks of an attachment, which are staged before the act. The service deletes unclaimed chunks after an hour.
    "document_pieces",
}

# An attachment that no signup has claimed is not part of the state. Neither are the totals of all attachments, which
# include it. `check` compares the totals with the rows.
CLAIMED = {"documents": "WHERE signup_id IS NOT NULL", "attachment_totals": "WHERE false"}


def rows(path):
    """Returns a digest of each table that an act can change. No process may have the file open."""
    connection = sqlite3.connect(path)
    try:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        digests = {}
        for name in names:
            if name in OWN_TABLES or name.startswith("sqlite_"):
                continue
            found = sorted(map(repr, connection.execute(f'SELECT * FROM "{name}" {CLAIMED.get(name, "")}')))
            digests[name] = hashlib.sha256("\n".join(found).encode()).hexdigest()
        return digests
    finally:
        connection.close()


def changed(before, after):
    """Returns the names of the tables that differ."""
    return [name for name in before if before[name] != after.get(name)]


def find_own_tables(binary, company, directory):
    """Adds to OWN_TABLES the tables that change when the service starts and stops."""
    path = company.copy(directory, "idle.db")
    before = rows(path)
    for _ in range(2):
        Service(binary, path).stop()
    OWN_TABLES.update(changed(before, rows(path)))


def erasure_list(path):
    try:
        with open(path + ".erased", "rb") as lines:
            return lines.read()
    except FileNotFoundError:
        return b""


def export(binary, path):
    """Returns the exported interchange document. An export is recorded in the file, so it runs on a copy."""
    copy = path + ".copy"
    shutil.copy(path, copy)
    with open(copy + ".erased", "wb") as erased:
        erased.write(erasure_list(path))
    exported = run(binary, "export", "--db", copy, check=True).stdout
    for name in (copy, copy + ".erased"):
        os.unlink(name)
    return exported
