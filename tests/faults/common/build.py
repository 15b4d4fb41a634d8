"""Builds a copy of the source with the next version of the schema and with the deliberate defects of `seeds`.

The product has no switch for the defects. Each replacement names the exact text that it replaces, so it no longer
applies after that text has changed. One build contains all defects. An environment variable turns one of them on.
"""

import os
import shutil
import subprocess

from seeds.defects import DEFECTS, NEXT_VERSION

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SWITCH = '''
/// Returns whether this deliberate defect is on.
pub fn has_defect(name: &str) -> bool {
    std::env::var_os("FAULTS_DEFECT").is_some_and(|on| on == *name)
}
'''


def apply(root):
    """Applies every replacement below `root`. Reports those whose text does not occur exactly once."""
    missing = []
    for name, path, old, new in [("next version", *change) for change in NEXT_VERSION] + [
            (defect.name, *change) for defect in DEFECTS for change in defect.changes]:
        place = os.path.join(root, path)
        try:
            with open(place, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            text = ""
        if text.count(old) != 1:
            missing.append(f"{name}: {path} has its text {text.count(old)} times")
            continue
        with open(place, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
    return missing


def copy_source(target):
    """Copies what a build of the program needs."""
    for entry in os.scandir(ROOT):
        if entry.is_file():
            shutil.copy(entry.path, target)
    for name in (".cargo", "src", "examples", "benches", "tests"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(target, name))


def build(directory):
    """Builds the copy and returns the path of its binary."""
    copy_source(directory)
    missing = apply(directory)
    if missing:
        raise RuntimeError("; ".join(missing))
    with open(os.path.join(directory, "src", "lib.rs"), "a", encoding="utf-8") as file:
        file.write(SWITCH)
    target = os.environ.get("FAULTS_TARGET_DIR", os.path.join(ROOT, "target", "faults"))
    cargo = os.environ.get("FAULTS_CARGO", "cargo").split()
    subprocess.run([*cargo, "build", "--quiet", "--locked", "--bin", "appliance"], cwd=directory, check=True,
                   env={**os.environ, "CARGO_TARGET_DIR": target})
    return os.path.join(target, "debug", "appliance")
