"""Builds `shim.c`, and controls it through a page of memory that the service and the experiment share."""

import atexit
import mmap
import os
import shutil
import struct
import subprocess
import tempfile

NOTHING, KILL_BEFORE, KILL_WITHIN, KILL_AFTER, FAIL, FAIL_FROM = range(6)
CREATE, WRITE, SYNC, TRUNCATE, RENAME, UNLINK, OPEN, ALLOCATE = range(1, 9)
KINDS = {CREATE: "create", WRITE: "write", SYNC: "sync", TRUNCATE: "truncate", RENAME: "rename", UNLINK: "unlink",
         ALLOCATE: "allocate"}
ALL_KINDS = sum(1 << kind for kind in KINDS)
SECOND = 1_000_000_000

# The members of `struct control` in shim.c, in order.
MEMBERS = ("count", "action", "at", "error", "kinds", "injected", "wall_shift", "wall_stands_at", "monotonic_shift",
           "is_shifting")

_built = None


def library():
    """Compiles the shim at the first call. Returns the path of the library."""
    global _built
    if _built is None:
        directory = tempfile.mkdtemp(prefix="faults-shim.")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        _built = os.path.join(directory, "shim.so")
        source = os.path.join(os.path.dirname(__file__), "shim.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", _built, source, "-ldl",
                        "-lpthread"], check=True)
    return _built


class Shim:
    """The control page of one process, and the environment that loads the shim into it."""

    def __init__(self, directory, watched=None, record=None):
        descriptor, self.path = tempfile.mkstemp(prefix="control.", dir=directory)
        os.ftruncate(descriptor, 4096)
        self.page = mmap.mmap(descriptor, 4096)
        os.close(descriptor)
        self.environment = {"LD_PRELOAD": library(), "FAULTS_CONTROL": self.path}
        if watched:
            self.environment["FAULTS_DIR"] = watched
        if record:
            self.environment["FAULTS_RECORD"] = record

    def __getitem__(self, member):
        return struct.unpack_from("<q", self.page, 8 * MEMBERS.index(member))[0]

    def __setitem__(self, member, value):
        struct.pack_into("<q", self.page, 8 * MEMBERS.index(member), value)

    def arm(self, action, after, error=0, kinds=ALL_KINDS):
        """Arms an action at a later operation. With `after` = 1, that is the next operation."""
        self["action"] = NOTHING
        self["error"], self["kinds"], self["injected"] = error, kinds, 0
        self["at"] = self["count"] + after
        self["action"] = action

    def disarm(self):
        self["action"] = NOTHING

    def jump(self, seconds):
        """Moves the wall clock by this many seconds."""
        self["wall_shift"] = self["wall_shift"] + int(seconds * SECOND)

    def pass_time(self, seconds):
        """Lets time pass: moves both clocks."""
        self["is_shifting"] = 1
        self["monotonic_shift"] = self["monotonic_shift"] + int(seconds * SECOND)
        self.jump(seconds)

    def close(self):
        self.page.close()
        os.unlink(self.path)
