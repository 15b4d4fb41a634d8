"""Builds the source with all deliberate defects. Runs, for each defect, the experiment that must catch it."""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from common import build
from seeds.defects import DEFECTS

RUN = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "run")


def main(arguments):
    if arguments in (["apply"], ["compile"]):
        return show_that_all_apply(must_compile=arguments == ["compile"])
    wanted = [defect for defect in DEFECTS if not arguments or defect.name in arguments]
    unknown = set(arguments) - {defect.name for defect in DEFECTS}
    if unknown:
        sys.exit(f"there is no defect {', '.join(sorted(unknown))}")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-seeds.") as directory:
        binary = os.environ.get("FAULTS_SEEDED_BINARY") or build.build(directory)
        with ThreadPoolExecutor(int(os.environ.get("FAULTS_AT_ONCE", "2"))) as pool:
            caught = list(pool.map(lambda defect: is_caught(defect, binary), wanted))
        missed = [defect.name for defect, is_found in zip(wanted, caught) if not is_found]
    print(f"{len(wanted)} deliberate defects in {time.monotonic() - begun:.0f} s: {len(wanted) - len(missed)} caught"
          + (f"; not caught: {', '.join(missed)}" if missed else ""))
    return 1 if missed else 0


def show_that_all_apply(must_compile):
    """Applies all defects to a copy of the source. With `must_compile`, also checks that the copy compiles."""
    with tempfile.TemporaryDirectory(prefix="faults-seeds.") as directory:
        build.make_source(directory)
        missing = build.apply(directory)
        for sentence in missing:
            print(f"FAILED  seeds: {sentence}")
        passes = not missing and (not must_compile or build.check(directory))
    print(f"seeds: {len(DEFECTS)} deliberate defects, {len(missing)} replacements do not apply"
          + (", and the copy compiles" if passes and must_compile else ""))
    return 0 if passes else 1


def is_caught(defect, binary):
    """Runs the experiment with this defect turned on. Returns whether the experiment fails, as it must."""
    environment = {**os.environ, "FAULTS_DEFECT": defect.name, "FAULTS_NEXT_BINARY": binary}
    if defect.rounds:
        environment["FAULTS_ROUNDS"] = str(defect.rounds)
    begun = time.monotonic()
    ended = subprocess.run([sys.executable, RUN, defect.experiment, binary], env=environment, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    findings = [line for line in ended.stdout.splitlines() if line.startswith("FAILED")]
    is_found = ended.returncode != 0
    reason = (findings or ended.stdout.strip().splitlines() or ["no output"])[0 if findings else -1]
    print(f"{'caught' if is_found else 'MISSED':8} {defect.name} ({defect.what}) by {defect.experiment} in "
          f"{time.monotonic() - begun:.0f} s: {reason[:160]}", flush=True)
    return is_found
