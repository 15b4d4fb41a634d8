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
    """Applies every replacement below `root`. Returns a message for each text that does not occur exactly once."""
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
            missing.append(f"{name}: {path} contains the text to replace {text.count(old)} times instead of once")
            continue
        with open(place, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
    return missing


def make_source(directory):
    """Copies the files that a build of the program needs, and adds the switch."""
    for entry in os.scandir(ROOT):
        if entry.is_file():
            shutil.copy(entry.path, directory)
    for name in (".cargo", "src", "examples", "benches", "tests"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(directory, name), ignore=shutil.ignore_patterns("node_modules"))
    with open(os.path.join(directory, "src", "lib.rs"), "a", encoding="utf-8") as file:
        file.write(SWITCH)


def check(directory):
    """Returns whether a source with all defects compiles."""
    # If clippy has run, the target directory has the results of its checks of the dependencies, so cargo does not check
    # the dependencies again.
    target = os.path.realpath(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")))
    return cargo("check", "--lib", directory, target).returncode == 0


def build(directory):
    """Builds a copy of the source with all defects. Returns the path of its binary."""
    make_source(directory)
    missing = apply(directory)
    if missing:
        raise RuntimeError("; ".join(missing))
    target = os.environ.get("FAULTS_TARGET_DIR", os.path.join(ROOT, "target", "faults"))
    if cargo("build", "--bin=appliance", directory, target).returncode != 0:
        raise RuntimeError("the copy with the deliberate defects does not compile")
    return os.path.join(target, "debug", "appliance")


def cargo(command, what, directory, target):
    words = os.environ.get("FAULTS_CARGO", "cargo").split()
    return subprocess.run([*words, command, "--quiet", "--locked", what], cwd=directory, check=False,
                          env={**os.environ, "CARGO_TARGET_DIR": target})
