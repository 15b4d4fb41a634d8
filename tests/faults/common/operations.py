"""A service whose file operations are numbered, so that a fault can be injected at any of them."""

import os
import time

from common.service import Service
from common.shim import Shim

QUIET_S = 0.04
PATIENCE_S = 20


class Numbered:
    """A service on a copy of the company's file, under the shim."""

    def __init__(self, binary, company, directory, record=None, at_start=None, options=()):
        self.home = os.path.join(directory, "home")
        os.mkdir(self.home, 0o700)
        self.path = company.copy(self.home)
        self.shim = Shim(directory, watched=self.home, record=record)
        if at_start:
            self.shim.arm(*at_start)
        self.service = Service(binary, self.path, *options, shim=self.shim, log=os.path.join(directory, "log"),
                               is_expected=not at_start)
        if not at_start:
            self.settle()

    def settle(self):
        """Waits at most PATIENCE_S seconds, until the service has performed no operation for a moment.

        Returns whether the service is still running.
        """
        ended = time.monotonic() + PATIENCE_S
        count, since = -1, time.monotonic()
        while time.monotonic() < ended and self.service.process.poll() is None:
            if self.shim["count"] != count:
                count, since = self.shim["count"], time.monotonic()
            elif time.monotonic() - since > QUIET_S:
                return True
            time.sleep(0.003)
        return self.service.process.poll() is None
