"""Clients of package-test. Each request uses a connection of its own, so that a closed socket makes a request fail.

    load.py once KEY    sends one request
    load.py load KEY    sends requests from eight clients until the file load.stop exists

The script fails if a connection was refused, or if a request got no answer or a status other than 200.
"""

import os
import re
import socket
import sys
import threading
import time
from collections import Counter

ADDRESS = ("127.0.0.1", 8080)


def request(key):
    """Returns the status of the answer, or a description of the failure. The service records each use of a key in the
    database, so this request also writes."""
    try:
        connection = socket.create_connection(ADDRESS, timeout=60)
    except OSError as error:
        return f"not connected: {type(error).__name__}"
    answer = b""
    with connection:
        try:
            connection.sendall(
                b"GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n"
                b"Authorization: Bearer " + key.encode() + b"\r\n\r\n"
            )
            while more := connection.recv(65536):
                answer += more
        except OSError as error:
            return f"no answer: {type(error).__name__}"
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    if not head.startswith(b"HTTP/1.1 ") or not length or int(length[1]) != len(body):
        return f"incomplete answer: {answer[:60]}"
    return int(head[9:12])


def client(key, seen, waits):
    while not os.path.exists("load.stop"):
        started = time.monotonic()
        seen[request(key)] += 1
        waits.append(time.monotonic() - started)
        time.sleep(0.002)


def main():
    mode, key = sys.argv[1:]
    if mode == "once":
        sys.exit(request(key) != 200)
    tallies = [(Counter(), []) for _ in range(8)]
    threads = [threading.Thread(target=client, args=(key, *tally)) for tally in tallies]
    for thread in threads:
        thread.start()
    while sum(seen[200] for seen, _ in tallies) < 200:
        time.sleep(0.01)
    open("load.ready", "w").close()
    for thread in threads:
        thread.join()
    seen = sum((seen for seen, _ in tallies), Counter())
    longest = max(max(waits) for _, waits in tallies)
    print(f"        {sum(seen.values())} requests, {dict(seen)}, the longest wait {longest:.2f} s")
    sys.exit(set(seen) != {200})


main()
