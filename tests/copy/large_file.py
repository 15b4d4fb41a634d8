"""Makes a large file that `appliance check` accepts: the file of a demo, with many more candidates for one role.

Each added candidate has an application with three steps, words in the word index, an activity row in the chain and a
row in the usage log. Every hundredth candidate has an attachment of 150 kB.
"""

import hashlib
import random
import signal
import sqlite3
import subprocess

ATTACHMENT_BYTES = 150_000
CHUNK_BYTES = 65_536
CANDIDATES_OF_ATTACHMENT = 100
BLOCK_CANDIDATES = 1_024
SECOND = 1_000_000
FIRST_NAMES = ["Ada", "Boris", "Chidi", "Dora", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kofi", "Lena"]
LAST_NAMES = ["Abel", "Berg", "Costa", "Diaz", "Eriksen", "Fischer", "Garcia", "Haddad", "Ito", "Jansen", "Kowalski"]


def tables(connection):
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    return [name for (name,) in connection.execute(query)]


def keys(connection, table):
    columns = connection.execute(f"SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk")
    return ", ".join(f'"{name}"' for (name,) in columns)


def counts(path):
    connection = sqlite3.connect(path)
    found = [(table, connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in tables(connection)]
    connection.close()
    return found


def activities_max(path):
    connection = sqlite3.connect(path)
    (number,) = connection.execute("SELECT max(number) FROM activities").fetchone()
    connection.close()
    return number


def make(binary, path, count):
    demo = subprocess.Popen([binary, "serve", "--demo", "--listen", "127.0.0.1:0", "--db", path],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    demo.stdout.readline()
    demo.send_signal(signal.SIGTERM)
    demo.communicate()
    connection = sqlite3.connect(path)
    # If the script is interrupted, its next run makes a new file, so this file need not survive a crash.
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -200000")
    dropped = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE type IN ('index', 'trigger')"
                                 " AND sql IS NOT NULL ORDER BY rowid").fetchall()
    for kind, name, _ in dropped:
        connection.execute(f"DROP {kind} {name}")
    fill(connection, count)
    for _, _, sql in dropped:
        connection.execute(sql)
    connection.commit()
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


def one(connection, sql, *values):
    """Returns the first row of a query, as a dictionary from column names to values."""
    cursor = connection.execute(sql, values)
    return dict(zip([column[0] for column in cursor.description], cursor.fetchone()))


def insert(connection, table, rows):
    """Inserts rows, which all have the columns of the first row."""
    rows = iter(rows)
    first = next(rows)
    columns, places = ", ".join(first), ", ".join("?" * len(first))
    sql = f"INSERT INTO {table} ({columns}) VALUES ({places})"
    connection.execute(sql, tuple(first.values()))
    connection.executemany(sql, (tuple(row.values()) for row in rows))


def record_id(prefix, n):
    """Returns an id like those of the service: a part that sorts by time, and then digits that look random."""
    return f"{prefix}_01k{n:08d}{n * 0x9e3779b97f4a7c15 % 2**60:015x}"


def fill(connection, count):
    # All added applications are copies of this one, which has three steps.
    application = one(connection, "SELECT * FROM candidate_roles a WHERE status = 'In Progress' AND (SELECT count(*)"
                      " FROM candidate_role_steps s WHERE s.candidate_role_id = a.id) = 3 LIMIT 1")
    candidate = one(connection, "SELECT * FROM candidates WHERE id = ?", application["candidate_id"])
    steps = [one(connection, "SELECT * FROM candidate_role_steps WHERE id = ?", id) for (id,) in connection.execute(
        "SELECT id FROM candidate_role_steps WHERE candidate_role_id = ? ORDER BY step_order", (application["id"],))]
    (first,) = connection.execute("SELECT max(number) + 1 FROM candidates").fetchone()
    numbers = range(first, first + count)
    insert(connection, "candidates", (candidate_row(candidate, n) for n in numbers))
    insert(connection, "candidate_words", (word for n in numbers for word in word_rows(candidate["organization_id"], n)))
    changed = lambda n: {"id": record_id("cr", n), "candidate_id": record_id("cand", n), "candidate_number": n}
    insert(connection, "candidate_roles", (application | changed(n) for n in numbers))
    insert(connection, "candidate_role_steps",
           (step | {"id": record_id(f"crs{at}", n), "candidate_role_id": record_id("cr", n)}
            for n in numbers for at, step in enumerate(steps)))
    connection.execute("UPDATE organization_statuses SET in_progress = in_progress + ? WHERE organization_id = ?",
                       (count, candidate["organization_id"]))
    add_activities(connection, application, numbers)
    add_usage(connection, numbers)
    add_attachments(connection, numbers)


def name_of(n):
    return f"{FIRST_NAMES[n % len(FIRST_NAMES)]} {LAST_NAMES[n % len(LAST_NAMES)]}"


def address_of(n):
    return f"{n}@{LAST_NAMES[n % len(LAST_NAMES)].lower()}.example"


def candidate_row(candidate, n):
    address = address_of(n)
    return candidate | {"number": n, "id": record_id("cand", n), "name": name_of(n), "email": address,
                        "email_key": address, "created_at": candidate["created_at"] + n * SECOND}


def word_rows(organization, n):
    in_name = name_of(n).lower().split()
    for word in [*in_name, str(n), "example"]:
        yield {"organization_id": organization, "in_name": int(word in in_name), "word": word, "candidate_number": n,
               "block": n // BLOCK_CANDIDATES}


def add_activities(connection, application, numbers):
    """Continues the chain as the service does (`ChainLink::hash` in src/domain/activity.rs)."""
    head = one(connection, "SELECT number, hash, at FROM activities ORDER BY number DESC LIMIT 1")
    organization, role = application["organization_id"], application["role_id"]
    salts = random.Random(1)

    def rows():
        previous = head["hash"]
        for n in numbers:
            number, at = head["number"] + 1 + n - numbers[0], head["at"] + n - numbers[0] + 1
            columns = [record_id("act", n), organization, "candidate.added", None, None, role, record_id("cand", n),
                       record_id("cr", n), None]
            detail, salt = f'{{"name":"{name_of(n)}"}}', salts.randbytes(16)
            detail_hash = hashlib.sha256(salt + detail.encode()).digest()
            link = [previous, number.to_bytes(8, "big"), at.to_bytes(8, "big")]
            for column in columns:
                bytes_of_column = (column or "").encode()
                link.append((2**64 - 1 if column is None else len(bytes_of_column)).to_bytes(8, "big"))
                link.append(bytes_of_column)
            previous = hashlib.sha256(b"".join([*link, detail_hash])).digest()
            names = ["id", "organization_id", "action", "user_id", "api_key_id", "role_id", "candidate_id",
                     "candidate_role_id", "candidate_role_step_id"]
            yield {"number": number, "at": at, **dict(zip(names, columns)), "detail": detail, "salt": salt,
                   "detail_hash": detail_hash, "hash": previous}

    insert(connection, "activities", rows())


def add_usage(connection, numbers):
    """Adds one usage row for each candidate, all with the same key and later than all existing usage and activity rows."""
    (key,) = connection.execute("SELECT min(number) FROM api_keys").fetchone()
    last = connection.execute(
        "SELECT at, number FROM api_key_usage WHERE key_number = ? ORDER BY at DESC LIMIT 1", (key,)).fetchone()
    before, used = last or (None, 0)
    (begin,) = connection.execute("SELECT max(coalesce((SELECT max(at) FROM api_key_usage), 0),"
                                  " (SELECT max(at) FROM activities))").fetchone()

    def rows():
        previous = before
        for nth, n in enumerate(numbers, 1):
            at = begin + nth * 1_000
            yield {"at": at, "key_number": key, "number": used + nth, "previous_at": previous, "method": "GET",
                   "path": f"/api/v1/candidates/{record_id('cand', n)}", "ip": "192.0.2.7", "user_agent": "curl/8.5.0",
                   "auth_endpoint": "me"}
            previous = at

    insert(connection, "api_key_usage", rows())


def add_attachments(connection, numbers):
    (document,) = connection.execute("SELECT coalesce(max(number), 0) FROM documents").fetchone()
    added = 0
    for n in numbers[::CANDIDATES_OF_ATTACHMENT]:
        document += 1
        content = random.Random(n).randbytes(ATTACHMENT_BYTES)
        insert(connection, "documents", [{
            "number": document, "id": record_id("doc", n), "candidate_role_id": record_id("cr", n),
            "file_name": "cv.pdf", "media_type": "application/pdf", "bytes": len(content), "created_at": n * SECOND,
            "sha256": hashlib.sha256(content).digest()}])
        chunks = [content[at:at + CHUNK_BYTES] for at in range(0, len(content), CHUNK_BYTES)]
        connection.executemany("INSERT INTO document_pieces (document_number, number, content) VALUES (?, ?, ?)",
                               [(document, at, chunk) for at, chunk in enumerate(chunks, 1)])
        added += len(content)
    connection.execute("UPDATE attachment_totals SET bytes = bytes + ? WHERE id = 1", (added,))
