"""Rebuilds the files that a disk could have after a power failure, from the record of the shim.

The model is more hostile than most file systems. Synced content survives. A write or truncate that was not synced can
survive or be lost, independently of all others. Such a write can also be torn at sector boundaries. The changes to a
directory's names reach the disk in order, up to some point after the directory's last sync.
"""

import os
import struct

from common import shim

ENTRY = struct.Struct("<IIqqqq")
SECTOR = 512
# Files that no state of the disk includes: SQLite rebuilds the first after a crash, and the second is always empty.
IGNORED = ("-shm", ".lock")
POLICIES = ("lost", "written", "some", "torn", "last torn")


def read_record(path):
    """Returns the operations of a record: (kind, path, inode, offset, bytes, number, data)."""
    with open(path, "rb") as file:
        raw = file.read()
    operations, at = [], 0
    while at < len(raw):
        kind, path_bytes, inode, offset, count, number = ENTRY.unpack_from(raw, at)
        at += ENTRY.size
        name = raw[at:at + path_bytes].decode()
        at += path_bytes
        data = b""
        if kind == shim.WRITE:
            data = raw[at:at + count]
            at += count
        operations.append((kind, name, inode, offset, count, number, data))
    return operations


class File:
    """The content of a file on the disk, and the changes that are not synced."""

    def __init__(self, content=b""):
        self.durable, self.pending = bytearray(content), []

    def sync(self):
        for change in self.pending:
            apply(self.durable, change)
        self.pending = []


def apply(content, change):
    kind, offset, data = change
    if kind == shim.TRUNCATE:
        if len(content) < offset:
            content.extend(bytes(offset - len(content)))
        del content[offset:]
    else:
        if len(content) < offset:
            content.extend(bytes(offset - len(content)))
        content[offset:offset + len(data)] = data


def survivors(pending, policy, random):
    """Returns those changes to a file that reached the disk."""
    if policy == "lost":
        return []
    if policy == "written":
        return pending
    if policy == "last torn":
        return pending[:-1] + torn(pending[-1], random) if pending else []
    written = [change for change in pending if random.random() < 0.5]
    if policy == "some":
        return written
    return [part for change in pending for part in torn(change, random)]


def torn(change, random):
    """Returns those sectors of a write that reached the disk. A truncate reaches the disk as a whole or not at all."""
    kind, offset, data = change
    if kind == shim.TRUNCATE:
        return [change] if random.random() < 0.5 else []
    parts, at = [], 0
    while at < len(data):
        end = min(len(data), at + SECTOR - (offset + at) % SECTOR)
        if random.random() < 0.5:
            parts.append((kind, offset + at, data[at:end]))
        at = end
    return parts


class Disk:
    """The files of one directory on the disk, after the operations performed so far."""

    def __init__(self, home):
        self.home, self.files = home, {}
        # The names on the disk, and the changes to names that are not synced.
        self.names, self.pending_names = {}, []
        with os.scandir(home) as entries:
            for entry in entries:
                with open(entry.path, "rb") as file:
                    self.files[entry.inode()] = File(file.read())
                self.names[entry.path] = entry.inode()
        self.home_inode = os.stat(home).st_ino

    def perform(self, operation):
        kind, name, inode, offset, count, _, data = operation
        if kind == shim.CREATE:
            self.files.setdefault(inode, File())
            self.pending_names.append(("add", name, inode))
        elif kind == shim.UNLINK:
            self.pending_names.append(("remove", name, 0))
        elif kind == shim.RENAME:
            self.pending_names.append(("rename", name, 0))
        elif kind == shim.SYNC and inode == self.home_inode:
            for change in self.pending_names:
                change_name(self.names, change)
            self.pending_names = []
        elif inode in self.files:
            file = self.files[inode]
            if kind == shim.SYNC:
                file.sync()
            elif kind == shim.WRITE:
                file.pending.append((kind, offset, data))
            elif kind == shim.TRUNCATE:
                file.pending.append((kind, offset, b""))
            elif kind == shim.ALLOCATE:
                # A reservation of space has no content to lose.
                pass

    def rebuild(self, directory, policy, random):
        """Writes a state that the disk could have now.

        Returns the number of lost changes. The number can be too low if writes are torn.
        """
        names = dict(self.names)
        count = len(self.pending_names)
        reached = {"lost": 0, "written": count}.get(policy, random.randint(0, count))
        for change in self.pending_names[:reached]:
            change_name(names, change)
        lost = count - reached
        for path, inode in names.items():
            if path.endswith(IGNORED):
                continue
            file = self.files[inode]
            content = bytearray(file.durable)
            written = survivors(file.pending, policy, random)
            lost += len(file.pending) - len(written)
            for change in written:
                apply(content, change)
            target = os.path.join(directory, os.path.relpath(path, self.home))
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                out.write(content)
        return lost


def change_name(names, change):
    what, name, inode = change
    if what == "add":
        names[name] = inode
    elif what == "remove":
        names.pop(name, None)
    else:
        old, new = name.split("\n")
        if old in names:
            names[new] = names.pop(old)
