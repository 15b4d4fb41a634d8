"""Counts the checks of an experiment and prints the first failures."""

import os
import random
import sys
import time

# Set while a deliberate defect is on: one finding is enough.
STOPS_AT_FIRST = "FAULTS_DEFECT" in os.environ
IS_LONG = os.environ.get("FAULTS") == "long"


def rounds(short, long):
    """Returns the number of rounds of the short or the long form, unless FAULTS_ROUNDS gives another number."""
    return int(os.environ.get("FAULTS_ROUNDS", long if IS_LONG else short))


class Outcome:
    """The result of one experiment."""

    def __init__(self, name):
        self.name, self.passed, self.failed = name, 0, 0
        self.begun = time.monotonic()
        self.seed = int(os.environ.get("FAULTS_SEED", random.SystemRandom().randrange(1 << 32)))
        self.random = random.Random(self.seed)

    def check(self, holds, claim, more=""):
        """Counts a check. The first 20 failures are printed, each with the seed that repeats it."""
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            if self.failed <= 20:
                print(f"FAILED  {self.name}: {claim} {more} (FAULTS_SEED={self.seed})", flush=True)
            if STOPS_AT_FIRST:
                sys.exit(self.finish())
        return bool(holds)

    def report(self, text):
        print(f"{self.name}: {text}", flush=True)

    def finish(self):
        if self.passed + self.failed == 0:
            self.check(False, "the experiment checks something")
        took = time.monotonic() - self.begun
        print(f"{self.name}: {self.passed} passed, {self.failed} failed in {took:.1f} s", flush=True)
        return 1 if self.failed else 0
