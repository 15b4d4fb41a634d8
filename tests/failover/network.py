"""Network namespaces, one for each node, joined by a bridge. A test can cut a node off from the others.

Everything is in namespaces of the test itself. The kernel removes them when the test ends, however it ends.
"""

import os
import subprocess
import sys

INSIDE = "FAILOVER_INSIDE"
BRIDGE = "nodes"
PREFIX = "10.0.0."
# The address of the servers of the service in this network.
HOST = PREFIX + "1"

UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def is_possible():
    return INSIDE in os.environ or subprocess.run([*UNSHARE, "true"], stderr=subprocess.DEVNULL).returncode == 0


def enter():
    """Starts the test again in namespaces of its own. Returns whether the test is inside them."""
    if INSIDE in os.environ:
        return True
    if not is_possible():
        return False
    # The shell is the first process of the namespace, so it collects processes whose parents have ended.
    command = [*UNSHARE, "bash", "-c", '"$@"; exit $?', "bash", sys.executable, *sys.argv]
    os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def build(nodes):
    """Creates the bridge, and for each node a namespace that is named after the node and joined to the bridge."""
    os.makedirs("/run/netns", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run/netns"], check=True)
    ip("link", "set", "lo", "up")
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("link", "set", BRIDGE, "up")
    ip("address", "add", f"{HOST}/24", "dev", BRIDGE)
    for name, address in nodes.items():
        ip("netns", "add", name)
        ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", f"to-{name}", "up")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        join(name)


def cut(name):
    """Cuts a node off. Its own link stays up, so nothing on the node is notified and packets disappear."""
    ip("link", "set", f"to-{name}", "nomaster")


def join(name):
    ip("link", "set", f"to-{name}", "master", BRIDGE)
